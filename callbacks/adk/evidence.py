"""Evidence packets on ADK's side: made, measured and recorded before each model call.

The application says what a question is to be answered from (`EvidenceSource`). The packet is made
by callbacks.evidence, measured by the plugin's counter, recorded in the store before it is sent,
and stands between the history block and the turn's own contents. Tool calls are evidence_tools',
what becomes of the model's answer is evidence_release's.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from google.adk.agents.invocation_context import InvocationContext
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from callbacks.adk.evidence_turn import Ask, EvidenceSource, Handover, Released, TurnEvidence
from callbacks.adk.keeper import epoch_ms
from callbacks.adk.meter import Meter
from callbacks.adk.refusal import RefusalText
from callbacks.adk.turn import Turn
from callbacks.context.errors import BudgetExceeded, ContextError
from callbacks.context.trace import Block
from callbacks.counting.request import CountRequest
from callbacks.evidence.assembly import assemble_async
from callbacks.evidence.contract import TaskContract
from callbacks.evidence.errors import EvidenceInsufficient
from callbacks.evidence.phrasebook import Phrasebook
from callbacks.evidence.record import blobs, make_record
from callbacks.evidence.statements import Answer
from stores.generations import GENERATION_TTL_MS, Generation, GenerationStore

_NO_ID = re.compile(r"[^A-Za-z0-9._:-]")

Naming = Callable[[InvocationContext, int], str]
"""(invocation, revision) -> the id of a generation, one of its person's."""


def invocation_name(context: InvocationContext, revision: int) -> str:
    """Return the invocation's id with the packet's revision, in the characters of an id."""
    return f"{_NO_ID.sub('-', context.invocation_id)[:100]}.{revision}"


class EvidencePackets:
    """What of an application's evidence a turn's requests hold, and what may leave of an answer."""

    def __init__(
        self,
        source: EvidenceSource,
        *,
        contract: TaskContract,
        book: Phrasebook,
        store: GenerationStore,
        ttl_ms: int = GENERATION_TTL_MS,
        naming: Naming = invocation_name,
        hand_over: Callable[[Handover], Awaitable[None]] | None = None,
        on_release: Callable[[Released], None] | None = None,
        clock: Callable[[], int] = epoch_ms,
    ) -> None:
        """Bind the packets to an application.

        Args:
            source: Says what a question is to be answered from.
            contract: The approved contract; another hash at run time stops the turn.
            book: The application's words: every sentence that is released is made of them.
            store: Keeps the records.
            ttl_ms: How long it keeps them, in milliseconds.
            naming: Gives each packet its id.
            hand_over: Gets an answer that is not released, for a person to judge.
            on_release: Gets the end of each turn, for the operator; it holds what was answered.
            clock: Milliseconds since the epoch.
        """
        self.source = source
        self.book = book
        self.hand_over = hand_over
        self.on_release = on_release
        self.clock = clock
        self._contract = contract
        self._approved = contract.digest()
        self._failures = dict(contract.failures)
        self._store = store
        self._ttl_ms = ttl_ms
        self._naming = naming

    def sentences(self, otherwise: RefusalText) -> RefusalText:
        """Return the contract's sentences for failures, with others where it has none."""
        return lambda code: self._failures.get(code) or otherwise(code)

    async def prepare(
        self, turn: Turn, context: InvocationContext, request: LlmRequest, meter: Meter
    ) -> TurnEvidence | None:
        """Return the turn's packet: the same at every step until a tool has said something.

        Args:
            turn: The turn.
            context: Its invocation.
            request: The request in which it will stand; it gets the answer's schema.
            meter: Measures the packet's channels.

        Returns:
            None where the application has nothing to prove.

        Raises:
            ContextError: With CONTRACT_MISMATCH, EVIDENCE_INSUFFICIENT, or the counter's failure.
        """
        state = turn.evidence
        if state is None:
            state = turn.evidence = TurnEvidence()
            await self.assemble(turn, context, request, meter)
        elif state.stale:
            await self.assemble(turn, context, request, meter)
        if state.assembly is None:
            return None
        if _takes_schema(context, request):
            request.set_output_schema(Answer)
        state.request = request
        return state

    async def assemble(
        self,
        turn: Turn,
        context: InvocationContext,
        request: LlmRequest,
        meter: Meter,
        *,
        total: int | None = None,
    ) -> None:
        """Make the turn's next packet.

        Args:
            turn: The turn.
            context: Its invocation.
            request: Whose envelope is recorded.
            meter: Measures.
            total: A limit of the evidence's size below the contract's own.

        Raises:
            ContextError: See `prepare`.
        """
        state = turn.evidence
        if state is None:
            state = turn.evidence = TurnEvidence()
        now_ms = self.clock()
        ask = Ask(
            generation=self._naming(context, state.revision + 1),
            revision=state.revision + 1,
            now_ms=now_ms,
            observed=tuple(state.observed),
            failed=tuple(state.failed),
        )
        question = await self.source.gather(context, ask)
        state.stale = False
        state.question = question
        if question is None:
            state.assembly = state.record = None
            return
        if turn.owner is None:
            # Nobody whose access could have been verified, and nobody to keep a record for.
            raise EvidenceInsufficient(numbers={"reason": "no_owner"})
        inputs = replace(
            question.inputs,
            generation=ask.generation,
            approved_sha256=self._approved,
            asked=replace(question.inputs.asked, now_ms=now_ms),
            total=total,
        )
        unit = meter.counter.unit

        async def measure(text: str) -> int:
            return await measured(text, request.model or "", meter)

        def estimate(text: str) -> int:
            size = len(text.encode("utf-8"))
            return size if unit == "utf8_bytes" else -(-size // 3)

        state.assembly = await assemble_async(inputs, measure=measure, estimate=estimate)
        state.revision += 1
        envelope = CountRequest(model=request.model or "", config=request.config, contents=())
        state.record = make_record(
            state.assembly,
            counter=type(meter.counter).__name__,
            unit=unit,
            config_sha256=envelope.fingerprint,
        )
        state.block = types.Content(
            role="user", parts=[types.Part(text=state.assembly.packet.text)]
        )

    async def narrow(
        self, turn: Turn, context: InvocationContext, request: LlmRequest, meter: Meter, over: int
    ) -> None:
        """Go back to selection because the whole request is too large by so many units.

        Raises:
            EvidenceInsufficient: Nothing smaller proves what the answer needs.
        """
        state = turn.evidence
        held = state.assembly if state is not None else None
        fixed = {"contract", "task", "plan", "output"}
        evidence = sum(size for name, size in held.sizes if name not in fixed) if held else 0
        if held is None or over >= evidence:
            raise EvidenceInsufficient(numbers={"reason": "over_budget", "over": over})
        # Selection works with estimates: the share that has to go is the same in both.
        total = held.selection.units * (evidence - over) // evidence
        await self.assemble(turn, context, request, meter, total=total)

    async def keep(self, turn: Turn) -> None:
        """Record the packet that is about to be sent; what cannot be recorded is not sent.

        Raises:
            StoreError: The store failed, or the person's revision moved.
        """
        state = turn.evidence
        if state is None or state.record is None or state.assembly is None:
            return
        await self.keep_as(
            turn, state.record.id, state.record.canonical(), blobs(state.assembly.packet)
        )

    async def keep_as(
        self, turn: Turn, name: str, record: bytes, originals: Mapping[str, bytes]
    ) -> None:
        """Record something of a turn under an id of its own.

        Raises:
            StoreError: The store failed, or the person's revision moved.
        """
        if turn.owner is None:
            raise EvidenceInsufficient(numbers={"reason": "no_owner"})
        await self._store.keep_generation(
            turn.owner,
            Generation(id=name, record=record, originals=originals),
            expected_revision=turn.revision,
            now_ms=self.clock(),
            ttl_ms=self._ttl_ms,
        )


async def measured(text: str, model: str, meter: Meter) -> int:
    """Return the size of one channel's text by the plugin's counter; nothing costs nothing.

    Raises:
        ContextError: It could not be measured.
    """
    if not text:
        return 0
    content = types.Content(role="user", parts=[types.Part(text=text)])
    alone = CountRequest(model=model, config=types.GenerateContentConfig(), contents=(content,))
    return await meter.exactly(alone)


def evidence_blocks(state: TurnEvidence | None) -> tuple[Block, ...]:
    """Return what became of each item, for the request's record: ids and reasons (16)."""
    return state.record.blocks() if state is not None and state.record is not None else ()


def with_packet(
    contents: Sequence[types.Content],
    index: int,
    state: TurnEvidence | None,
    acknowledgement: str,
) -> list[types.Content]:
    """Return new contents with the packet at `index`, right before the newest message.

    The acknowledgement keeps roles alternating, as behind the history block.
    """
    if state is None or state.block is None:
        return list(contents)
    answer = types.Content(role="model", parts=[types.Part(text=acknowledgement)])
    follows = index < len(contents) and contents[index].role == "model"
    pair = [state.block] if follows else [state.block, answer]
    return [*contents[:index], *pair, *contents[index:]]


def over_budget(error: ContextError) -> int:
    """Return by how many units a request was too large; 0 where that is not what is wrong."""
    if not isinstance(error, BudgetExceeded):
        return 0
    units, limit = error.numbers.get("units"), error.numbers.get("limit")
    return units - limit if isinstance(units, int) and isinstance(limit, int) else 0


def _takes_schema(context: InvocationContext, request: LlmRequest) -> bool:
    """Say whether the answer's schema can be given beside what else the request holds.

    Where it cannot, the contract's output form says it in words, and the gate reads nothing else.
    """
    if request.config.response_schema is not None:
        return False
    model = getattr(context.agent, "canonical_model", None)
    capabilities = getattr(model, "capabilities", None)
    return not request.config.tools or bool(getattr(capabilities, "output_schema_and_tools", False))
