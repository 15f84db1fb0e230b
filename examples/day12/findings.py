"""What the demo of day 12 found, as report.json has it, and the checks it must pass."""

from __future__ import annotations

import json
from typing import Any

from examples.day12.helpdesk import BUDGET
from examples.day12.messages import NEWEST, QUERY_TERMS, SECRET, with_newest
from examples.day12.offline_model import OFFLINE_MODEL
from examples.day12.run import PRINTER, Found, shown

BLOCKS = ("history-summary", "message-03", "message-06")
TRACE = (
    ("context", "history_input", "6_messages"),
    ("guardrail", "sensitive_data_minimization", "dropped"),
    ("context", "relevance_selection", "kept"),
    ("context", "history_compaction", "summarized"),
    ("context", "irrelevant_history", "dropped"),
    ("context", "recency_selection", "kept"),
    ("context", "model_context", "3_blocks"),
)


def checks(found: Found, secret_files: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return each check as `{"name", "ok"}`; the demo passed if all of them hold.

    Args:
        found: What was seen.
        secret_files: Files of the output folder in which the secret stands.
    """
    prepared, live, steps = found.prepared, found.live, found.steps
    by_id = {block.block_id: block.content for block in prepared.blocks}
    requests = [request for one in (live, found.without, found.printer) for request in one.requests]
    sent = [request.canonical() for request in requests]
    record = live.records[0] if live.records else None
    last = (live.requests[0].contents[-1].parts if live.requests else None) or []
    results = {
        "three_blocks_as_promised": tuple(by_id) == BLOCKS,
        "seven_trace_rows_as_promised": _rows(found) == TRACE,
        "newest_request_whole": by_id.get("message-06") == NEWEST,
        "older_vpn_beats_newer_printer": "message-03" in by_id and "message-05" not in by_id,
        "last_three_would_have_lost_it": "message-03" not in found.last_three,
        "trace_counts_the_secret": prepared.trace[1].detail == "1 secret removed",
        "ranker_saw_no_secret": bool(found.ranked) and not _holds_secret(*found.ranked),
        "no_secret_in_blocks_or_trace": not _holds_secret(repr(prepared), repr(prepared.trace)),
        "agent_sends_the_same_blocks": shown(live) == prepared.older,
        "newest_is_last_and_as_typed": [part.text for part in last] == [NEWEST],
        "counted_what_was_sent": record is not None
        and len(sent[0]) == record.units
        and record.units <= BUDGET,
        "every_message_has_a_reason": record is not None
        and [block.as_json() for block in record.blocks]
        == [block.as_json() for block in prepared.decisions],
        "no_secret_in_requests_or_sessions": not _holds_secret(
            *(request.decode() for request in sent),
            live.session,
            found.without.session,
            found.printer.session,
        ),
        "no_secret_in_files": secret_files == (),
        "answer_uses_the_record": "message-03" in live.text and "重新登入" in live.text,
        "without_history_it_cannot": "message-03" not in found.without.text
        and shown(found.without) == (),
        "not_opening_a_ticket_is_heard": live.tools == () and "不開工單" in live.text,
        "asking_for_one_is_heard_too": found.printer.tools == ("open_ticket",),
        "synonym_brings_the_printer_back": "message-05"
        in {block.block_id for block in shown(found.printer)},
        "budget_cuts_in_order": [step.blocks for step in steps] == [BLOCKS[:2], BLOCKS[:1], (), ()],
        "then_it_is_refused": steps[-1].error_code == "CURRENT_AND_RULES_EXCEED_INPUT_BUDGET"
        and steps[-1].model_calls == 0,
        "rules_are_the_same_bytes": len({r.envelope_json for r in _with_policy(found)}) == 1,
    }
    return [{"name": name, "ok": bool(ok)} for name, ok in results.items()]


def report(found: Found, secret_files: tuple[str, ...]) -> dict[str, Any]:
    """Return report.json; docs/history.md says what its keys mean."""
    checked = checks(found, secret_files)
    raw = sum(len(message.text.encode()) for message in with_newest())
    kept = sum(len(block.content.encode()) for block in found.prepared.blocks)
    return {
        "passed": all(check["ok"] for check in checked),
        "model": OFFLINE_MODEL,
        "unit": "utf8_bytes",
        "input_tokens": None,
        "query_terms": list(QUERY_TERMS),
        "history": [
            # A secret message's text is in no output, this one included.
            message.as_json() | ({"text": None} if message.sensitivity == "secret" else {})
            for message in with_newest()
        ],
        "blocks": [
            {"block_id": b.block_id, "reason": b.reason, "content": b.content}
            for b in found.prepared.blocks
        ],
        "trace": [row.as_json() for row in found.prepared.trace],
        "decisions": [decision.as_json() for decision in found.prepared.decisions],
        "content_bytes": {"all_messages": raw, "blocks": kept},
        "last_three_messages": list(found.last_three),
        "agent": {
            "question": NEWEST,
            "answer": found.live.text,
            "tools": list(found.live.tools),
            "units": [record.units for record in found.live.records],
            "limit": BUDGET,
            "block_text": _block_text(found),
            "request_sha256": [record.fingerprint for record in found.live.records],
        },
        "without_history": {"answer": found.without.text},
        "another_question": {
            "question": PRINTER,
            "answer": found.printer.text,
            "tools": list(found.printer.tools),
            "blocks": [block.block_id for block in shown(found.printer)],
        },
        "budgets": [
            {
                "limit": step.limit,
                "units": step.units,
                "older_blocks": list(step.blocks),
                "error_code": step.error_code,
                "model_calls": step.model_calls,
            }
            for step in found.steps
        ],
        "checks": checked,
    }


def _rows(found: Found) -> tuple[tuple[str, str, str], ...]:
    return tuple((row.kind, row.name, row.outcome) for row in found.prepared.trace)


def _block_text(found: Found) -> str:
    contents = found.live.requests[0].contents if found.live.requests else ()
    texts = [part.text or "" for content in contents[:1] for part in content.parts or []]
    return "\n".join(texts)


def _with_policy(found: Found) -> list[Any]:
    return [*found.live.requests, *found.printer.requests]


def _holds_secret(*texts: str) -> bool:
    escaped = json.dumps(SECRET)[1:-1]
    return any(SECRET in text or escaped in text for text in texts)
