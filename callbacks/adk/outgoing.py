"""Outgoing requests: built within the budget at before_model, measured again at the gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from callbacks.adk import contents as adk_contents
from callbacks.adk.evidence import EvidencePackets, evidence_blocks, over_budget, with_packet
from callbacks.adk.evidence_turn import TurnEvidence
from callbacks.adk.fitting import Fitting
from callbacks.adk.history import HistoryPolicy, history_rules, prepared_once, with_history
from callbacks.adk.injection import holding
from callbacks.adk.internals import static_prefix
from callbacks.adk.keeper import failed
from callbacks.adk.meter import Meter
from callbacks.adk.reducing import Reducer, Reducers, fit_reduced
from callbacks.adk.refusal import Refusal, RefusalText
from callbacks.adk.report import RequestRecord
from callbacks.adk.tree import PreferenceInPrompt
from callbacks.adk.turn import Awaited, AwaitedRequests, Turn
from callbacks.context.errors import BudgetExceeded, ContextError, CounterFailed
from callbacks.context.fit import Fit
from callbacks.context.render import ACK, render
from callbacks.context.schema import ContextSchema
from callbacks.context.trace import Block
from callbacks.context.window import ContextWindow
from callbacks.counting.request import CountRequest
from callbacks.counting.verdict import Verdict

NARROWINGS = 3
"""How often a packet is made smaller because the whole request was too large."""

OnRequest = Callable[[CountRequest, RequestRecord], None]


class OutgoingRequests:
    """Everything between what ADK assembled and what the model gets."""

    def __init__(
        self,
        *,
        schema: ContextSchema,
        meter: Meter,
        max_turns: int,
        sentence: RefusalText,
        on_request: OnRequest | None,
        history: HistoryPolicy | None = None,
        reducers: Mapping[str, Reducer] | None = None,
        evidence: EvidencePackets | None = None,
    ) -> None:
        """Build and check requests; see ContextBudgetPlugin for the arguments."""
        self._schema = schema
        self._history = history
        self._evidence = evidence
        self._reducers = Reducers(reducers)
        self._rules = [schema.rules(), *history_rules(history)]
        self._meter = meter
        self._max_turns = max_turns
        self._sentence = sentence
        self._on_request = on_request
        self._awaited = AwaitedRequests()
        self._fitting = Fitting(schema, meter, max_turns)

    async def build(self, turn: Turn, context: InvocationContext, request: LlmRequest) -> None:
        """Replace the past by the history block, as much of it as fits.

        Raises:
            ContextError: Nothing legal fits, or it could not be measured.
        """
        own = bare = adk_contents.own_contents(
            context, request.contents, stateful=bool(request.previous_interaction_id)
        )
        index = adk_contents.insertion_index(own, context.user_content, static_prefix(request))
        request.append_instructions(self._rules)
        acknowledgement = ACK[self._schema.language]
        # What another agent asked of this one (AgentTool, task agents) is no person's exchange.
        own_history = turn.outer is None and context.isolation_scope is None
        evidence: TurnEvidence | None = None
        if self._evidence is not None and own_history:
            evidence = await self._evidence.prepare(turn, context, request, self._meter)
        base = adk_contents.count_request(request)

        def candidate(window: ContextWindow, contents: Sequence[types.Content]) -> CountRequest:
            block = render(window, self._schema)
            return base.with_contents(
                tuple(adk_contents.with_block(contents, index, block, acknowledgement))
            )

        window = turn.window if own_history else ContextWindow()
        decided: tuple[Block, ...] = ()
        own = with_packet(bare, index, evidence, acknowledgement)
        if self._history is not None and own_history:
            whole = window.keep(self._max_turns, self._schema)
            own, decided = await with_history(
                own,
                index,
                prepared=await prepared_once(self._history, turn, context),
                language=self._history.language,
                measure=lambda contents: self._meter.measure(
                    candidate(whole, contents), turn.root.calls
                ),
                limit=self._meter.budget.limit,
            )
        tried: list[tuple[ContextWindow, CountRequest]] = []

        async def fit_with(contents: Sequence[types.Content]) -> Fit:
            tried.clear()

            def build(window: ContextWindow) -> CountRequest:
                known = next((made for cut, made in tried if cut is window), None)
                if known is None:
                    known = candidate(window, contents)
                    tried.append((window, known))
                return known

            return await self._fitting.fit(window, build, turn.root.calls)

        for left in reversed(range(NARROWINGS + 1)):
            try:
                fitted, shortened = await fit_reduced(self._reducers, own, fit_with)
                break
            except ContextError as error:
                error.blocks += decided
                over = over_budget(error)
                if evidence is None or self._evidence is None or not (left and over):
                    raise
            # Back to selection: what decides is never cut off, least of all by the model's API.
            await self._evidence.narrow(turn, context, request, self._meter, over)
            own = with_packet(bare, index, evidence, acknowledgement)
        if self._evidence is not None and evidence is not None:
            await self._evidence.keep(turn)
        # The very request that was measured: building contents anew costs more than counting them.
        chosen = next(built for window, built in tried if window is fitted.window)
        request.contents = list(chosen.contents)
        blocks = (*fitted.blocks, *decided, *evidence_blocks(evidence), *shortened)
        self._awaited.add(request, Awaited(turn, agent_name(context), blocks))

    async def ask_again(
        self, turn: Turn, context: InvocationContext, request: LlmRequest
    ) -> LlmResponse | None:
        """Send one more request of a turn through the gate; None where the agent has no model."""
        agent = context.agent
        if not isinstance(agent, LlmAgent):
            return None
        blocks = evidence_blocks(turn.evidence)
        self._awaited.add(request, Awaited(turn, agent_name(context), blocks))
        came: LlmResponse | None = None
        async for response in agent.canonical_model.generate_content_async(request, stream=False):
            came = response
        if came is not None:
            usage = came.usage_metadata
            measured = usage.prompt_token_count if usage is not None else None
            turn.root.report.measured_prompt_tokens.append(measured)
            self.measured(turn, measured)
        return came

    async def check(self, request: LlmRequest) -> LlmResponse | None:
        """Measure the request as it leaves; None lets it pass. The gate asks this last of all."""
        awaited = self._awaited.take(request)
        budget = self._meter.budget
        counted: CountRequest | None = None
        units: object = None
        verdict: Verdict | None = None
        refusal: Refusal | None = None
        try:
            counted = adk_contents.count_request(request)
            _require_whole(request)
            _require_public(counted)
            calls = awaited.turn.root.calls if awaited is not None else None
            before = counted.canonical()
            verdict = await self._meter.require(counted, calls)
            units = verdict.units
            _require_same(before, request)
        except Exception as error:  # noqa: BLE001 - the gate lets nothing by on a failure
            refusal = failed(error)
            units = refusal.numbers.get("units")
        record = RequestRecord(
            agent=awaited.agent if awaited is not None else "",
            unit=budget.unit,
            limit=budget.limit,
            units=units if isinstance(units, int) else None,
            decision=verdict.decision if verdict is not None else "refused",
            blocks=awaited.blocks if awaited is not None else (),
            fingerprint=counted.fingerprint if counted is not None else None,
            bound=verdict.bound if verdict is not None and verdict.units is None else None,
        )
        if awaited is not None:
            awaited.turn.root.report.requests.append(record)
        if refusal is not None:
            if awaited is not None:
                awaited.turn.refuse(refusal)
            return refusal.as_llm_response(self._sentence)
        if awaited is not None:
            awaited.turn.sent = counted
        if self._on_request is not None and counted is not None:
            try:
                self._on_request(counted, record)
            except Exception as error:  # noqa: BLE001 - who must see each request did not see this
                return failed(error).as_llm_response(self._sentence)
        return None

    def unmeasured(self, request: LlmRequest, error: Exception) -> LlmResponse:
        """Answer for a request at the gate whose model or tools cannot be gated."""
        awaited = self._awaited.take(request)
        refusal = failed(error)
        if awaited is not None:
            awaited.turn.refuse(refusal)
        return refusal.as_llm_response(self._sentence)

    def measured(self, turn: Turn, units: int | None) -> None:
        """Compare what the model call measured with what was promised for its request."""
        sent, turn.sent = turn.sent, None
        if sent is not None and self._meter.budget.unit == "tokens":
            self._meter.observe(sent, units)

    def refused(self, turn: Turn, context: InvocationContext, error: Exception) -> LlmResponse:
        """Record that no request was made of this step, and answer for the model."""
        refusal = turn.refuse(failed(error))
        blocks: tuple[Block, ...] = error.blocks if isinstance(error, BudgetExceeded) else ()
        units = refusal.numbers.get("units")
        turn.root.report.requests.append(
            RequestRecord(
                agent=agent_name(context),
                unit=self._meter.budget.unit,
                limit=self._meter.budget.limit,
                units=units if isinstance(units, int) else None,
                decision="refused",
                blocks=blocks,
                fingerprint=None,
            )
        )
        return refusal.as_llm_response(self._sentence)


def _require_whole(request: LlmRequest) -> None:
    """Refuse a request part of which no counter can see, whatever its unit (invariant 1).

    Its beginning is on the server, its body is changed on the way, or the SDK would make further
    requests of its own.
    """
    config = request.config
    automatic = config.automatic_function_calling
    causes = {
        "interactions": bool(request.previous_interaction_id),
        "cached_content": bool(config.cached_content),
        "extra_body": bool(config.http_options and config.http_options.extra_body),
        "automatic_function_calling": any(callable(tool) for tool in config.tools or [])
        and not (automatic is not None and automatic.disable),
    }
    for cause, found in causes.items():
        if found:
            raise CounterFailed(numbers={"cause": cause})


def _require_same(measured: bytes, request: LlmRequest) -> None:
    """Refuse a request that was changed while a counter was asked about it (invariant 1)."""
    if adk_contents.count_request(request).canonical() != measured:
        raise CounterFailed(numbers={"cause": "changed_meanwhile"})


def _require_public(counted: CountRequest) -> None:
    """Refuse what a running tool asks a model itself with what it was filled with (invariant 6)."""
    if tools := holding(lambda: counted.canonical().decode("utf-8", "replace")):
        raise PreferenceInPrompt(tools)


def agent_name(context: InvocationContext) -> str:
    """Return the running agent's name; empty where there is none."""
    return context.agent.name if context.agent is not None else ""
