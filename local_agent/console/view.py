"""A turn as the page shows it: data for the browser, every word of it chosen here."""

from __future__ import annotations

import json
from typing import Any

from callbacks.adk.report import RequestRecord, ToolRecord, TurnReport
from callbacks.context.schema import ContextSchema
from callbacks.context.trace import Block
from local_agent import templates
from local_agent.console import words
from local_agent.console.anatomy import Anatomy, Piece, dissect
from local_agent.console.recorder import Sent, Turn

Json = dict[str, Any]


def summary(turn: Turn) -> Json:
    """Return what the list of turns shows."""
    return {
        "number": turn.number,
        "title": words.TURN.format(number=turn.number),
        "said": turn.said,
        "state": state_of(turn),
        "state_label": words.STATES[state_of(turn)],
    }


def state_of(turn: Turn) -> str:
    """Return `waiting`, `answered` or `refused`."""
    if turn.report is not None and turn.report.refusal is not None:
        return "refused"
    return "answered" if turn.answers else "waiting"


def detail(turn: Turn, schema: ContextSchema) -> Json:
    """Return all that is known of a turn, in words.

    Args:
        turn: From the recorder.
        schema: How its requests' history block is written.
    """
    report = turn.report
    return {
        **summary(turn),
        "kind": words.KINDS.get(turn.kind, turn.kind),
        "note": _note(turn),
        "refusal": _refusal(report) if report is not None else None,
        "requests": [
            _request(turn.number, index, sent, schema) for index, sent in enumerate(turn.sent)
        ],
        "backend": _backend(turn),
    }


def number(value: int) -> str:
    """Write a number with separators."""
    return f"{value:,}"


def _note(turn: Turn) -> str:
    if turn.report is not None:
        return ""
    return words.WITHOUT_MODEL if turn.answers else words.WAITING


def _refusal(report: TurnReport) -> Json | None:
    refusal = report.refusal
    if refusal is None:
        return None
    return {
        "code": refusal.code,
        "sentence": templates.refusal(refusal.code),
        "numbers": {
            name: number(value) if isinstance(value, int) else value
            for name, value in refusal.numbers.items()
        },
    }


def _request(turn: int, index: int, sent: Sent, schema: ContextSchema) -> Json:
    record = sent.record
    anatomy = dissect(sent.canonical, schema) if sent.canonical is not None else None
    label, explained = words.DECISIONS[record.decision]
    return {
        "index": index,
        "decision": record.decision,
        "decision_label": label,
        "decision_explained": explained,
        "measured": _measured(record),
        "limit": f"{number(record.limit)} {words.UNIT[record.unit]}",
        "share": _share(record),
        "segments": _segments(record, anatomy),
        "blocks": [_block(block) for block in record.blocks],
        "fingerprint": record.fingerprint,
        "exact": f"api/turns/{turn}/requests/{index}" if sent.canonical is not None else None,
        "exact_bytes": None if sent.canonical is None else number(len(sent.canonical)),
        "layers": _layers(anatomy),
    }


def _measured(record: RequestRecord) -> str:
    unit = words.UNIT[record.unit]
    if record.units is not None:
        return f"{number(record.units)} {unit}"
    if record.bound is not None:
        return f"{words.AT_MOST.format(bound=number(record.bound))} {unit}"
    return words.UNKNOWN


def _share(record: RequestRecord) -> float | None:
    """Return how much of the budget it takes, in percent; None where that is unknown."""
    known = record.units if record.units is not None else record.bound
    return None if known is None else round(100 * known / record.limit, 1)


def _segments(record: RequestRecord, anatomy: Anatomy | None) -> list[Json]:
    """Return the layers' shares of the bar; only bytes can be told apart by layer."""
    if anatomy is None or record.unit != "utf8_bytes":
        return []
    return [
        {
            "layer": name,
            "label": words.LAYERS[name][0],
            "size": f"{number(size)} {words.UNIT[record.unit]}",
            "share": round(100 * size / record.limit, 2),
        }
        for name, size in anatomy.sizes.items()
    ]


def _block(block: Block) -> Json:
    piece, _, place = block.id.partition("-")
    label = words.PIECES.get(piece, block.id)
    return {
        "id": block.id,
        "label": label.format(number=place),
        "action": block.action.value,
        "action_label": words.ACTIONS[block.action.value],
        "reason": block.reason,
        "reason_label": words.REASONS.get(block.reason, block.reason),
    }


def _layers(anatomy: Anatomy | None) -> Json:
    if anatomy is None:
        return {"rules": None, "newest": [], "window": [], "ledger": []}
    return {
        "rules": {"instruction": anatomy.instruction, "tools": anatomy.tools},
        "newest": [_piece(piece) for piece in anatomy.newest],
        "window": list(anatomy.window),
        "ledger": list(anatomy.ledger),
    }


def _piece(piece: Piece) -> Json:
    role = words.ROLES.get(piece.role, piece.role)
    return {"role": role if piece.tool is None else f"{role} · {piece.tool}", "text": piece.text}


def _backend(turn: Turn) -> Json:
    report = turn.report
    facts = [
        ("revisions", _arrow(turn.revisions)),
        ("deliveries", str(turn.deliveries)),
        ("answers", str(turn.answers)),
    ]
    if report is None:
        return {"facts": _facts(facts), "calls": [], "forgotten": False, "private": None}
    revision = words.STATELESS if report.revision is None else str(report.revision)
    tools = "、".join(result.tool for result in report.private_results)
    measured = [
        words.UNKNOWN if one is None else number(one) for one in report.measured_prompt_tokens
    ]
    facts = [
        ("revision", revision),
        ("journal", words.YES if report.recorded else words.NO),
        *facts,
        ("private", tools or words.NO),
        ("measured", "、".join(measured) or words.UNKNOWN),
    ]
    private = [{"tool": result.tool, "result": result.result} for result in report.private_results]
    return {
        "facts": _facts(facts),
        "calls": [_call(call) for call in report.tool_calls],
        "forgotten": turn.forgotten,
        "private": json.dumps(private, ensure_ascii=False, indent=2, default=str)
        if private
        else None,
    }


def _arrow(revisions: tuple[int | None, int | None]) -> str:
    """Return the revision before an event and, once it was answered with another, after it."""
    before, after = revisions
    known = words.UNKNOWN if before is None else str(before)
    return known if after in {None, before} else f"{known} → {after}"


def _facts(rows: list[tuple[str, str]]) -> list[Json]:
    return [{"name": name, "label": words.FACTS[name], "value": value} for name, value in rows]


def _call(call: ToolRecord) -> Json:
    names = dict.fromkeys((*call.proposed_arguments, *call.effective_arguments))
    return {
        "tool": call.tool,
        "origin": call.preference_origin,
        "origin_label": words.ORIGINS[call.preference_origin],
        "revision": call.memory_revision,
        "rows": [_argument(call, name) for name in names],
    }


def _argument(call: ToolRecord, name: str) -> Json:
    proposed = call.proposed_arguments.get(name)
    effective = call.effective_arguments.get(name)
    filled = (proposed or None) != (effective or None)  # a model leaves open by leaving empty
    return {
        "name": name,
        "proposed": str(proposed or words.PROPOSED_NOTHING),
        "effective": str(effective or words.PROPOSED_NOTHING),
        "filled": filled,
        "origin": words.ORIGINS[call.preference_origin] if filled else words.PROPOSED,
    }
