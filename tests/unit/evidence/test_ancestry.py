"""What falls with a source, through however many steps, wherever the steps stand."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callbacks.evidence.ancestry import lineage_of, with_derived
from callbacks.evidence.assembly import assemble
from callbacks.evidence.gate import check
from callbacks.evidence.item import EvidenceItem
from tests.unit.evidence.procurement import BOOK, ROWS, answer, at, inputs, measure

NAMES = "abcdefg"
MADE = st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=3))


def reaches(made, start, end, steps=7):
    """Whether one was made from the other: every way of every length, one after the other."""
    return start == end or (
        steps > 0 and any(reaches(made, one, end, steps - 1) for one in made.get(start, ()))
    )


@example({"a": ["b"], "b": ["a"], "c": ["b"]}, {"a"})
@given(MADE, st.sets(st.sampled_from(NAMES)))
def test_what_goes_back_to_what_fell_falls_and_nothing_else(made, fallen):
    """Invariant 8: near or far, round in circles or not, as trying every way finds it."""
    expected = {name for name in NAMES if any(reaches(made, name, one) for one in fallen)}
    assert with_derived(fallen, made) == expected


@given(MADE, st.sets(st.sampled_from(NAMES)), st.sets(st.sampled_from(NAMES)))
def test_the_lineage_of_items_says_as_much_of_them_as_all_there_is(made, items, fallen):
    """What is kept of the lineage is enough to tell which of the items fall, and no more."""
    kept = lineage_of(items, made)
    assert with_derived(fallen, kept) & items == with_derived(fallen, made) & items
    assert all(any(reaches(made, one, name) for one in items) for name in kept)


def chained(steps):
    """The rows, the approval rule made of BOARD-1, that of BOARD-2, and so on."""
    rows = []
    for row in ROWS:
        if row["id"] == "PROC-AUTH-2025-v1/4.2":
            named = [row["id"], *(f"BOARD-{step}" for step in range(1, steps + 1))]
            for step, name in enumerate(named):
                lineage = {**row["lineage"], "derived_from": named[step + 1 : step + 2]}
                kind = row["kind"] if step == 0 else "minutes"
                rows.append({**row, "id": name, "kind": kind, "lineage": lineage})
        else:
            rows.append(row)
    return rows


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_a_packet_knows_what_its_items_go_back_to(steps):
    """Also through what is not in the packet: minutes that no claim accepts."""
    made = assemble(inputs(rows=chained(steps)), measure=measure)
    assert f"BOARD-{steps}" not in made.packet.by_id
    gone = with_derived([f"BOARD-{steps}"], made.lineage)
    judged = check(answer(), made.packet, BOOK, now_ms=at("10:16:00"), fallen=gone)
    assert judged.expired == ("C2",)


def test_a_gate_follows_what_stands_in_the_packet():
    """Of the steps that are items of the packet themselves, none has to be told to the gate."""
    rule, definition = "PROC-AUTH-2025-v1/4.2", "PROC-AUTH-2025-v1/2"
    rows = [
        {**row, "lineage": {**row["lineage"], "derived_from": [source]}}
        if (source := {rule: definition, definition: "BOARD-1"}.get(row["id"]))
        else row
        for row in ROWS
    ]
    made = assemble(inputs(rows=rows), measure=measure).packet
    fallen = frozenset({"BOARD-1"})
    placed = EvidenceItem.from_data(next(row for row in rows if row["id"] == rule))
    assert fallen.isdisjoint(placed.lineage.derived_from)
    sections = tuple(
        one.model_copy(update={"items": tuple(p for p in one.items if p.item != definition)})
        for one in made.spec.sections
    )
    bare = made.model_copy(update={"spec": made.spec.model_copy(update={"sections": sections})})
    assert "C2" in check(answer(), bare, BOOK, now_ms=at("10:16:00"), fallen=fallen).expired


@pytest.mark.parametrize("lineage", [None, 7, {"derived_from": 7}, {"derived_from": [7]}])
def test_a_row_without_a_usable_lineage_hides_no_fall(lineage):
    """What is no item is judged as such, or left out; looking for what fell does not stumble."""
    odd = {**ROWS[0], "id": "ODD", "kind": "minutes", "lineage": lineage}
    made = assemble(inputs(rows=[*ROWS, odd], fallen=("FIN-B991",)), measure=measure)
    assert ("FIN-B991", "invalidated") in made.excluded
