"""What the demo found, as report.json has it, and the checks that decide whether it passed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

from callbacks.context.errors import ContextError
from callbacks.context.render import parse
from callbacks.context.window import ContextWindow
from callbacks.counting.request import CountRequest
from local_agent.context import SCHEMA
from local_agent.demo import script
from local_agent.demo.drills import Consent, Refused
from local_agent.demo.ways import TurnSeen
from local_agent.settings import OFFLINE_MODEL

WAYS: Final = ("raw_history", "projected_history", "budgeted")
BLOCK_LIMIT: Final = 450
"""The most bytes that the history block may add to the request of turn 5."""


@dataclass(frozen=True)
class Findings:
    """All that was seen; `report` and `checks` only read it.

    Attributes:
        turns: Way -> its turns.
        stranger: The last question from somebody without a past, as a control.
        value_in_live: Files of the closed live store and its log that hold the forgotten value.
        value_in_copies: Copies of the store that hold it; the one from before must, as a control.
        clear_in_copies: Copies that hold it unsealed; none may, the one from before included.
        network_attempts: Names looked up and connections begun while all of this ran.
    """

    turns: Mapping[str, Sequence[TurnSeen]]
    stranger: TurnSeen
    refused: Refused
    consent: Consent
    value_in_live: tuple[str, ...]
    value_in_copies: tuple[str, ...]
    clear_in_copies: tuple[str, ...]
    budget: int
    network_attempts: int
    seconds: float
    made_at: str

    @property
    def last(self) -> TurnSeen:
        """The fifth turn on the production path."""
        return self.turns["budgeted"][-1]

    @property
    def found_after_forget(self) -> tuple[str, ...]:
        """Every live file that held the value after it was forgotten, while open or closed."""
        return tuple(sorted({*self.consent.found_after, *self.value_in_live}))


def history_bytes(turn: TurnSeen) -> int:
    """Return what earlier turns add to the turn's requests: each with minus without them."""
    return sum(
        request.size - request.with_contents(request.contents[-1:]).size
        for request in turn.requests
    )


def block_text(turn: TurnSeen) -> str:
    """Return the text of the history block in the turn's first request; empty if it has none."""
    for request in turn.requests[:1]:
        for content in request.contents[:-1]:
            for part in content.parts or []:
                if part.text and _window(part.text) is not None:
                    return part.text
    return ""


def checks(found: Findings) -> list[dict[str, Any]]:
    """Return each check as `{"name", "ok"}`; the demo passed if all of them hold."""
    last, drill = found.last, found.consent
    window = _window(block_text(last)) or ContextWindow()
    sizes = [found.turns[way][-1].size for way in WAYS]
    bounded = [turn for way in WAYS[1:] for turn in found.turns[way]]
    results = {
        "five_turns_each": all(
            len(found.turns[way]) == len(script.TURNS)
            and all(len(turn.requests) == 1 and turn.tool for turn in found.turns[way])
            for way in WAYS
        ),
        "same_tools_in_all_ways": len({_asked(found.turns[way]) for way in WAYS}) == 1,
        "turn_5_searches_places": last.tool == "search_local_places",
        "turn_5_town_resolved": last.arguments.get("area") == script.TOWN,
        "town_from_the_ledger_alone": window.ledger.slots.get("area") == script.TOWN
        and not any("area" in projection.slots for projection in window.projections),
        "without_a_ledger_unresolved": found.stranger.tool == "show_local_help",
        "budgeted_below_projected_below_raw": sizes[2] < sizes[1] < sizes[0],
        "history_block_within_450_bytes": 0 < history_bytes(last) <= BLOCK_LIMIT,
        "plugin_counted_what_was_sent": all(_counted_as_sent(turn) for turn in bounded),
        "every_request_within_budget": all(
            request.size <= found.budget for turn in bounded for request in turn.requests
        ),
        "rules_and_tools_byte_identical": len(
            {r.envelope_json for turn in bounded for r in turn.requests}
        )
        == 1,
        "no_past_sentence_sent": all(_no_past_sentence(found.turns[way]) for way in WAYS[1:]),
        "one_byte_budget_refused": found.refused.code == "CURRENT_AND_RULES_EXCEED_INPUT_BUDGET",
        "no_model_call_when_refused": found.refused.model_calls == 0,
        "consent_fills_the_search": _is(drill.before, script.VALUE, "consented_memory", 1),
        "forgetting_empties_the_search": _is(drill.after, "any", "none", 2),
        "old_card_is_stale": drill.old_card == "stale",
        "memory_leaves_no_trace_in_requests": drill.requests[0].canonical()
        == drill.requests[1].canonical(),
        "value_was_there_before": bool(drill.found_before)
        and any("before" in name for name in found.value_in_copies),
        "value_never_in_the_clear": found.clear_in_copies == (),
        "value_in_no_live_file": found.found_after_forget == (),
        "value_not_in_copy_after": not any("after" in name for name in found.value_in_copies),
        "no_network": found.network_attempts == 0,
    }
    return [{"name": name, "ok": bool(ok)} for name, ok in results.items()]


def report(found: Findings) -> dict[str, Any]:
    """Return report.json.

    Sizes are UTF-8 bytes of the canonical JSON of whole requests; `input_tokens` is None because
    tokens were not measured (invariant 13). A turn's `raw_history`, `projected_history` and
    `budgeted` are its size in each way, everything else of it is from the production path.
    `history_bytes` is what earlier turns add: each request with minus without them. Counts of
    `value_found_in_files` are of files of the live store and its log, for the value itself and for
    the bytes that the store sealed it as.
    """
    checked = checks(found)
    drill = found.consent
    sizes = {way: [turn.size for turn in found.turns[way]] for way in WAYS}
    return {
        "passed": all(check["ok"] for check in checked),
        "unit": "utf8_bytes",
        "input_tokens": None,
        "model": OFFLINE_MODEL,
        "budget": {"limit": found.budget, "unit": "utf8_bytes"},
        "turns": [_turn(found, index) for index in range(len(script.TURNS))],
        "cumulative": {way: list(accumulate(sizes[way])) for way in WAYS},
        "history_bytes": {way: [history_bytes(turn) for turn in found.turns[way]] for way in WAYS},
        "history_block": {
            "turn": len(script.TURNS),
            "bytes": history_bytes(found.last),
            "text": block_text(found.last),
        },
        "history_block_bytes": history_bytes(found.last),
        "refusal": {
            "code": found.refused.code,
            "model_calls": found.refused.model_calls,
            "units": found.refused.units,
            "limit": found.refused.limit,
            "shown": found.refused.text,
        },
        "consent": {
            "before": drill.before,
            "after": drill.after,
            "saved": drill.saved,
            "forgotten": drill.forgotten,
            "old_card": drill.old_card,
            "value_found_in_files": len(found.found_after_forget),
            "value_found_in_files_before": len(drill.found_before),
            "files": {
                "before": sorted(drill.found_before),
                "after": list(found.found_after_forget),
            },
            "shown": drill.shown,
        },
        "without_ledger": {"tool": found.stranger.tool, "arguments": found.stranger.arguments},
        "network_attempts": found.network_attempts,
        "checks": checked,
        "seconds": round(found.seconds, 3),
        "made_at": found.made_at,
    }


def _turn(found: Findings, index: int) -> dict[str, Any]:
    turn = found.turns["budgeted"][index]
    calls = turn.report.tool_calls if turn.report is not None else []
    record = calls[0].as_dict() if calls else {}
    requests = turn.report.requests if turn.report is not None else []
    return {
        "turn": index + 1,
        "user": script.TURNS[index],
        **{way: found.turns[way][index].size for way in WAYS},
        "tool": record.get("tool"),
        "proposed_arguments": record.get("proposed_arguments"),
        "effective_arguments": record.get("effective_arguments"),
        "preference_origin": record.get("preference_origin"),
        "blocks": [block.as_json() for request in requests for block in request.blocks],
        "request_sha256": [request.fingerprint for request in turn.requests],
        "shown": turn.text,
    }


def _window(text: str) -> ContextWindow | None:
    try:
        return parse(text, SCHEMA)
    except ContextError:  # an ordinary message
        return None


def _asked(turns: Sequence[TurnSeen]) -> str:
    return repr([(turn.tool, sorted(turn.arguments.items())) for turn in turns])


def _counted_as_sent(turn: TurnSeen) -> bool:
    records = turn.report.requests if turn.report is not None else []
    return [(r.units, r.fingerprint) for r in records] == [
        (request.size, request.fingerprint) for request in turn.requests
    ]


def _no_past_sentence(turns: Sequence[TurnSeen]) -> bool:
    return not any(
        sentence.encode() in request.canonical()
        for index, turn in enumerate(turns)
        for request in turn.requests
        for sentence in script.TURNS[:index]
    )


def _is(record: Mapping[str, Any], diet: str, origin: str, revision: int) -> bool:
    return (
        record.get("tool") == "search_local_places"
        and record.get("effective_arguments", {}).get("dietary_type") == diet
        and record.get("preference_origin") == origin
        and record.get("memory_revision") == revision
    )


def requests_by_file(found: Findings) -> dict[str, CountRequest]:
    """Return every request under the name of its file below `requests/`."""
    named: dict[str, CountRequest] = {}
    for way in WAYS:
        for index, turn in enumerate(found.turns[way], start=1):
            for step, request in enumerate(turn.requests, start=1):
                suffix = "" if len(turn.requests) == 1 else f"-{step}"
                named[f"{way}/turn-{index}{suffix}.json"] = request
    for request in found.stranger.requests:
        named["drills/without-ledger.json"] = request
    named["drills/search-while-remembered.json"] = found.consent.requests[0]
    named["drills/search-after-forgetting.json"] = found.consent.requests[1]
    return named
