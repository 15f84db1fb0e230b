"""Tools of a turn that has a packet: which calls are made, and what their results are taken for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.adk.tools.tool_context import ToolContext

from callbacks.adk.evidence import EvidencePackets
from callbacks.adk.evidence_turn import TurnEvidence
from callbacks.adk.internals import invocation_of
from callbacks.adk.keeper import TurnKeeper, failed
from callbacks.adk.refusal import SENTENCES, Refusal, RefusalText
from callbacks.adk.turn import Turn
from callbacks.evidence.arguments import check_call
from callbacks.evidence.item import EvidenceItem, make_row

MAX_STOPPED = 5
"""How many stopped tool calls end a turn: a model that a text leads on would go on for ever."""

_RESULT_CHARS = 100_000
_OVERLAP_CHARS = 1_000


class EvidenceTools:
    """Stands around each tool call of a turn that has a packet."""

    def __init__(
        self, packets: EvidencePackets | None, keeper: TurnKeeper, sentence: RefusalText
    ) -> None:
        """Judge calls by the packet that is in force; with no packets, let everything be."""
        self._packets = packets
        self._keeper = keeper
        self._sentence = sentence

    def before(
        self, tool: str, arguments: Mapping[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Return the result that stands for a call that is not made; None lets it be made."""
        turn = self._keeper.find(invocation_of(tool_context))
        if self._packets is None or turn is None:
            return None
        try:
            stopped = self._stopped(turn, tool, arguments)
        except Exception as error:  # noqa: BLE001 - a call that cannot be judged is not made
            stopped = turn.refuse(failed(error))
        return None if stopped is None else stopped.as_tool_result(self._sentence)

    def after(
        self, tool: str, arguments: Mapping[str, Any], tool_context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        """Take note of a result: rows of what it validly says, and text nobody vouches for.

        The next request's packet is made with them; the result itself stays as it is.
        """
        turn = self._keeper.find(invocation_of(tool_context))
        if self._packets is None or turn is None:
            return None
        state = turn.root.evidence
        if state is None or state.assembly is None or self._is_ours(result):
            return None
        try:
            state.results.extend(_as_text(result, len(state.results)))
            source, now_ms = self._packets.source, self._packets.clock()
            rows = source.observed(tool, arguments, result, now_ms)
        except Exception as error:  # noqa: BLE001 - what nobody could take note of is not answered from
            return turn.refuse(failed(error)).as_tool_result(self._sentence)
        if rows is not None:
            state.observed.extend(rows)
            state.failed.extend(() if rows else (tool,))
            state.stale = True
        return None

    def _in_request(self, state: TurnEvidence) -> list[EvidenceItem]:
        """Return the results that the model was given, as they stand in its request.

        Other plugins and callbacks may have put another result in a tool's place, before or after
        it was noted here, and a result may hold more than its text says.
        """
        contents = state.request.contents if state.request is not None else []
        found = [
            part.function_response.response
            for content in contents
            for part in content.parts or []
            if part.function_response is not None
            and not self._is_ours(part.function_response.response)
        ]
        return _as_text(found, len(state.results)) if found else []

    def _is_ours(self, result: Any) -> bool:
        """Tell a result that stands for a call that was not made."""
        code = result.get("error_code") if isinstance(result, Mapping) else None
        # Only codes there are: a tool that makes up one would say with it whatever it likes.
        known = isinstance(code, str) and code in SENTENCES
        return known and result == Refusal(str(code)).as_tool_result(self._sentence)

    def _stopped(self, turn: Turn, tool: str, arguments: Mapping[str, Any]) -> Refusal | None:
        """Say why a call is not made; it is recorded with the turn's end, by names and reasons."""
        state = turn.root.evidence
        if state is None or state.assembly is None or state.question is None:
            return None
        stopped = check_call(
            tool,
            arguments,
            state.assembly.packet,
            said=state.question.said,
            seen=(*state.question.seen, *state.results, *self._in_request(state)),
        )
        if not stopped:
            return None
        state.stopped.extend(stopped)
        if len(state.stopped) >= MAX_STOPPED:
            return turn.refuse(Refusal("ANSWER_NOT_RELEASED", {"reason": "stopped_tool_calls"}))
        return Refusal("TOOL_CALL_STOPPED", {"reason": stopped[0].reason})


def _as_text(result: Any, number: int) -> list[EvidenceItem]:
    """Return all texts in a tool's result as items that are no origin of anything."""
    text = "\n".join(_leaves(result)).encode("utf-8", "replace").decode()
    step = _RESULT_CHARS - _OVERLAP_CHARS
    pieces = [text[at : at + _RESULT_CHARS] for at in range(0, len(text), step)]
    return [
        EvidenceItem.from_data(
            make_row(
                id=f"result-{number + at}", kind="tool_text", source="tool", entity="tool",
                access=[], trust="untrusted", text=piece, lineage={"document": "tool"},
            )
        )
        for at, piece in enumerate(pieces)
    ]  # fmt: skip


def _leaves(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [leaf for pair in value.items() for one in pair for leaf in _leaves(one)]
    if isinstance(value, list | tuple | set | frozenset):
        return [leaf for one in value for leaf in _leaves(one)]
    return [] if value is None else [str(value)]
