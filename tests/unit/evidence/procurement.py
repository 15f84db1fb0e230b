"""The case of hotel H-117 (examples.procurement.case) as the tests of this room use it."""

# ruff: noqa: E501 - one statement a line reads as the table it is

import json

from callbacks.evidence.admission import Asked, Reader
from callbacks.evidence.inputs import Inputs
from callbacks.evidence.statements import Answer
from examples.procurement.case import (
    BOOK,
    CASE,
    CATALOGUE,
    CONTRACT,
    DUTIES,
    FIELDS,
    MATRIX,
    OPEN,
    PLAN,
    ROWS,
    at,
    event,
    money,
)

__all__ = [
    "BOOK",
    "CASE",
    "CATALOGUE",
    "CONTRACT",
    "DUTIES",
    "FIELDS",
    "MATRIX",
    "OPEN",
    "PLAN",
    "ROWS",
    "at",
    "event",
    "money",
]

READER = Reader(frozenset({"group:staff", "group:budget-H117", "person-7"}))


def inputs(**more: object) -> Inputs:
    """Returns what the packet of the case is made from."""
    fields: dict[str, object] = {
        "generation": "CG-771-14",
        "contract": CONTRACT,
        "approved_sha256": CONTRACT.digest(),
        "plan": PLAN,
        "rows": ROWS,
        "reader": READER,
        "reader_id": "person-7",
        "asked": Asked(at("10:16:00"), at("10:16:00"), (("hotel", "H-117"), ("region", "east"))),
        "matrix": MATRIX,
        "case": CASE,
        "duties": DUTIES,
        **more,
    }
    return Inputs(**fields)  # type: ignore[arg-type]  # a test hands in what it likes


def measure(text: str) -> int:
    """Counts UTF-8 bytes by three: a size in the order of tokens, for limits in tokens."""
    return -(-len(text.encode("utf-8")) // 3)


def answer(**changes: object) -> Answer:
    """Returns the right answer to the case, with changes."""
    data: dict[str, object] = {
        "outcome": "conditional",
        "unknowns": list(OPEN),
        "conflicts": [],
        "statements": [
            {"claim": "C1", "subject": "H-117", "predicate": "owned_by", "comparator": "eq", "value": "集團所有", "as_of": "2026-07-21T00:00:00Z", "citations": ["HOTEL-H117"], "outcome": "conditional"},
            {"claim": "C2", "subject": "集團委員會", "predicate": "approves_when_amount", "comparator": "gt", "value": "50萬元", "unit": "CNY", "exceptions": ["emergency", "framework"], "citations": ["PROC-AUTH-2025-v1/2", "PROC-AUTH-2025-v1/4.2"], "outcome": "conditional"},
            {"claim": "C3", "subject": "ordinary_capex", "predicate": "sourced_by", "comparator": "eq", "value": "central_comparison", "citations": ["PROC-AUTH-2025-v1/5.1"], "outcome": "conditional"},
            {"claim": "C4", "subject": "B-991", "predicate": "available", "comparator": "eq", "value": "1,200,000", "unit": "CNY", "as_of": "2026-07-21T10:14:03+08:00", "citations": ["FIN-B991"], "outcome": "supported"},
        ],
    }  # fmt: skip
    return Answer.model_validate_json(json.dumps({**data, **changes}))
