"""The release gate in after_model: what the model gives is judged, what a person reads is rendered.

Nothing that a model wrote is ever shown: its typed statements are compared with the packet, and the
application's sentences leave instead. An answer that is stopped gets one packet put together anew
and one more try, then a person or an error; never a release.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from callbacks.adk.evidence import EvidencePackets
from callbacks.adk.evidence_turn import Handover, Released, TurnEvidence
from callbacks.adk.keeper import failed
from callbacks.adk.meter import Meter
from callbacks.adk.refusal import Refusal, RefusalText
from callbacks.adk.turn import Turn
from callbacks.context.errors import ContextError
from callbacks.evidence.ancestry import with_derived
from callbacks.evidence.assembly import Assembly
from callbacks.evidence.errors import AnswerNotReleased
from callbacks.evidence.gate import Verdict, check, check_text, drop_expired
from callbacks.evidence.packet import EvidencePacket
from callbacks.evidence.record import GenerationRecord
from callbacks.evidence.release import Ending, make_note
from callbacks.evidence.statements import read_answer
from stores.errors import StoreError

logger = logging.getLogger("local_agent.context")

AskModel = Callable[[Turn, InvocationContext, LlmRequest], Awaitable[LlmResponse | None]]
"""Sends a request through the gate, counted as every other, and returns what came."""


@dataclass(frozen=True, slots=True)
class _Judged:
    """An answer with its packet and verdict."""

    text: str
    assembly: Assembly
    record: GenerationRecord
    verdict: Verdict

    @property
    def packet(self) -> EvidencePacket:
        return self.assembly.packet

    @property
    def only_expired(self) -> bool:
        return bool(self.verdict.expired) and all(
            one.reason == "expired" for one in self.verdict.problems
        )


class ReleaseGate:
    """Judges what a model gives in a turn that has a packet."""

    def __init__(
        self, packets: EvidencePackets, meter: Meter, sentence: RefusalText, ask: AskModel
    ) -> None:
        """Judge answers; `ask` sends the one further request that a stopped answer gets."""
        self._packets = packets
        self._meter = meter
        self._sentence = sentence
        self._ask = ask

    async def judge(
        self, turn: Turn, context: InvocationContext, response: LlmResponse
    ) -> LlmResponse | None:
        """Return what leaves in place of a model's response; None where it may stay as it is."""
        state = turn.evidence
        if state is None or state.assembly is None or turn.outer is not None:
            return None
        if turn.refusal is not None and response.error_code == turn.refusal.code:
            return None  # our own answer
        if response.partial:
            return LlmResponse(partial=True)
        parts = (response.content.parts if response.content else None) or []
        calls = _calls(parts)
        if calls:
            # Whatever it says beside a call is prose; a call keeps its part, and its signature.
            return _bare(response, calls)
        try:
            return await self._judge_answer(turn, context, state, response)
        except Exception as error:  # noqa: BLE001 - a gate that fails is closed, and never raises through ADK
            return turn.refuse(failed(error)).as_llm_response(self._sentence)

    def let_by(self, turn: Turn, event: Event) -> Event | None:
        """Return what is given out in place of an event; None where it may stay as it is.

        Other plugins and callbacks may answer in the model's place, before a packet is made or
        before the gate is asked, or change what it let out. So it is looked at once more where an
        event leaves: of an answer that is not the very text that the gate let out, nothing leaves
        but calls of tools and their results, whatever kind of part, role or message it came in.
        """
        state = turn.evidence
        if turn.outer is not None or event.author == "user":
            return None
        if state is not None and state.assembly is None:
            return None  # the application was asked, and has nothing to prove
        parts = (event.content.parts if event.content else None) or []
        if turn.refusal is not None and (
            event.error_code == turn.refusal.code
            or parts == [types.Part(text=self._sentence(turn.refusal.code))]
        ):
            return None
        role = event.content.role if event.content else None
        # ADK gives results of tools to the model as the user's; nobody else speaks in them.
        results = [part for part in parts if part.function_response is not None]
        rest = _calls(parts) + (results if role == "user" else [])
        text = state.released if state is not None else None
        released = bool(text) and parts == [types.Part(text=text)]
        told = {name: None for name in _TOLD if getattr(event, name, None) is not None}
        if (released or len(rest) == len(parts)) and not told:
            return None
        if released:
            return event.model_copy(update=told)
        if parts and not event.partial and (not rest or event.is_final_response()):
            turn.refuse(Refusal("ANSWER_NOT_RELEASED", {"reason": "not_judged"}))
        content = types.Content(role=role, parts=rest) if rest else None
        return event.model_copy(update={**told, "content": content})

    async def _judge_answer(
        self,
        turn: Turn,
        context: InvocationContext,
        state: TurnEvidence,
        response: LlmResponse,
    ) -> LlmResponse:
        first = await self._check(state, _said(response))
        if first.verdict.released:
            return await self._let_out(turn, state, first, response, "release")
        last, came = first, response
        if not state.again:
            state.again = True
            answered = await self._again(turn, context, state)
            if answered is not None:
                came = answered
                last = await self._check(state, _said(answered))
                if last.verdict.released:
                    return await self._let_out(turn, state, last, came, "release")
        for judged in (last, first):
            dropped = self._dropped(judged)
            if dropped is not None:
                return await self._let_out(turn, state, dropped, came, "dropped")
        return await self._keep_in(turn, state, last)

    async def _check(self, state: TurnEvidence, text: str) -> _Judged:
        if state.assembly is None or state.record is None:
            raise AnswerNotReleased(numbers={"reason": "no_packet"})
        packet, lineage = state.assembly.packet, state.assembly.lineage
        ids = {item.id for item in packet.items}.union(*lineage.values())
        fallen = with_derived(await self._packets.source.fallen(sorted(ids)), lineage)
        verdict = check_text(
            text, packet, self._packets.book, now_ms=self._packets.clock(), fallen=fallen
        )
        return _Judged(text, state.assembly, state.record, verdict)

    async def _again(
        self, turn: Turn, context: InvocationContext, state: TurnEvidence
    ) -> LlmResponse | None:
        """Put the packet together anew and ask once more; None where that could not be done."""
        request, block = state.request, state.block
        held = (state.question, state.assembly, state.record, state.block, state.revision)
        if request is None or block is None:
            return None
        try:
            await self._packets.assemble(turn, context, request, self._meter)
            if state.block is None or state.block is block:
                raise AnswerNotReleased(numbers={"reason": "nothing_to_prove"})
            await self._packets.keep(turn)
        except (ContextError, StoreError) as error:
            # The packet there was stays in force; what it can still answer is judged by it.
            logger.info("event=packet_not_renewed code=%s", error.error_code)
            state.question, state.assembly, state.record, state.block, state.revision = held
            return None
        contents = [state.block if one is block else one for one in request.contents]
        if not any(one is state.block for one in contents):
            return None
        again = request.model_copy(update={"contents": contents})
        state.request = again
        answered = await self._ask(turn, context, again)
        return None if answered is None or answered.error_code else answered

    def _dropped(self, judged: _Judged) -> _Judged | None:
        """Return an answer without what has expired, if nothing else is wrong with it."""
        if not judged.only_expired:
            return None
        answer = drop_expired(read_answer(judged.text), judged.packet, judged.verdict.expired)
        verdict = check(answer, judged.packet, self._packets.book, now_ms=self._packets.clock())
        return replace(judged, verdict=verdict) if verdict.released else None

    async def _let_out(
        self,
        turn: Turn,
        state: TurnEvidence,
        judged: _Judged,
        response: LlmResponse,
        ending: Ending,
    ) -> LlmResponse:
        await self._note(turn, state, judged, ending)
        state.released = judged.verdict.text
        generation = judged.packet.spec.generation
        told = {"evidence": {"generation": generation, "ending": ending}}
        return _bare(response, [types.Part(text=judged.verdict.text)], told)

    async def _keep_in(self, turn: Turn, state: TurnEvidence, judged: _Judged) -> LlmResponse:
        ending: Ending = "error"
        generation = judged.packet.spec.generation
        problems = tuple((one.claim, one.reason) for one in judged.verdict.problems)
        if self._packets.hand_over is not None:
            await self._packets.hand_over(Handover(generation, judged.text, problems))
            ending = "person"
        await self._note(turn, state, judged, ending)
        refusal = Refusal(
            "ANSWER_NOT_RELEASED",
            {
                "generation": generation,
                "ending": ending,
                "problems": len(problems),
                "reason": problems[0][1],
            },
        )
        return turn.refuse(refusal).as_llm_response(self._sentence)

    async def _note(self, turn: Turn, state: TurnEvidence, judged: _Judged, ending: Ending) -> None:
        """Record how the turn ended; what cannot be recorded does not leave."""
        note, originals = make_note(
            judged.packet.spec.generation,
            judged.verdict,
            revision=state.revision,
            ending=ending,
            answer=judged.text,
            stopped=tuple(state.stopped),
            at_ms=self._packets.clock(),
        )
        await self._packets.keep_as(turn, note.id, note.canonical(), originals)
        if self._packets.on_release is not None:
            self._packets.on_release(
                Released(note, judged.assembly, judged.record, judged.verdict, judged.text)
            )


def _said(response: LlmResponse) -> str:
    parts = (response.content.parts if response.content else None) or []
    return "".join(part.text for part in parts if part.text and not part.thought)


_TOLD = (
    "grounding_metadata",
    "citation_metadata",
    "logprobs_result",
    "output_transcription",
    "error_message",
    "output",
)
"""Fields of a response or an event, beside its content, that may hold what a model wrote."""


def _calls(parts: Sequence[types.Part]) -> list[types.Part]:
    """Return the calls of tools among parts, as the same objects where they hold nothing else."""
    return [
        part.model_copy(update={"text": None}) if part.text else part
        for part in parts
        if part.function_call is not None
    ]


def _bare(
    response: LlmResponse,
    parts: list[types.Part],
    metadata: dict[str, Any] | None = None,
) -> LlmResponse:
    """Return a response with these parts, its sizes and states, and nothing that a model wrote."""
    kept = {name: None for name in _TOLD if name in LlmResponse.model_fields}
    content = types.Content(role="model", parts=parts)
    return response.model_copy(update={**kept, "content": content, "custom_metadata": metadata})
