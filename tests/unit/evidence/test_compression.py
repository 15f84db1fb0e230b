"""What is made smaller keeps its numbers, comparators, negations and conditions, or stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callbacks.evidence.compression import (
    aggregate,
    dedupe,
    extract,
    losses,
    shortened,
    split,
    still_holds,
    summary,
)  # fmt: skip
from callbacks.evidence.errors import EvidenceError
from callbacks.evidence.item import EvidenceItem, make_row
from callbacks.evidence.trust import Trust
from tests.unit.evidence.procurement import ROWS

RULE = EvidenceItem.from_data(ROWS[2])


def span(name, start, end, **more):
    lineage = {"document": "D", "section": "1", "start": start, "end": end}
    return EvidenceItem.from_data(
        make_row(**{**ROWS[2], "id": name, "lineage": lineage, **more})
    )  # fmt: skip


def test_overlapping_passages_of_one_section_are_one():
    """Five passages of a clause: the widest stays, and it is known what went into it."""
    kept, merges = dedupe([span("a", 0, 9), span("b", 0, 9), span("c", 2, 5), span("d", 5, 12)])
    assert [item.id for item in kept] == ["a", "d"]
    assert [(one.dropped, one.kept, one.reason) for one in merges] == [
        ("b", "a", "same_span"), ("c", "a", "inside_span"),
    ]  # fmt: skip


def test_what_says_more_or_is_for_fewer_is_not_merged():
    """A passage inside another stays if the other asserts less, or fewer may read it."""
    silent = span("a", 0, 9, facts=[])
    closed = span("b", 0, 9, access=["group:managers"])
    assert len(dedupe([silent, span("c", 2, 5)])[0]) == 2
    assert len(dedupe([closed, span("c", 2, 5)])[0]) == 2


TEXT = "Tower A has 12 floors. It opened in 1990. Except on Sundays, it is open. Prices rose 3.5 %."


def test_an_extract_keeps_whole_sentences_and_their_conditions():
    """The sentence with the value stays, with the exception that leans on it."""
    assert extract(TEXT, ["12 floors"]) == "Tower A has 12 floors."
    assert extract(TEXT, ["1990"]) == "It opened in 1990. Except on Sundays, it is open."
    assert extract(TEXT, ["open."]).startswith("It opened in 1990. Except")
    assert extract(TEXT, ["13 floors"]) == TEXT
    assert extract(TEXT, [""]) == TEXT
    assert extract(TEXT, ["3.5 %"]) == "Prices rose 3.5 %."


@given(st.text(max_size=80))
def test_sentences_are_the_text(text):
    """Splitting loses no character (12)."""
    assert "".join(split(text)) == text


@pytest.mark.parametrize(
    ("shorter", "lost"),
    [
        ("金額超過500,000元由集團委員會審批", ()),
        ("金額超過600,000元由集團委員會審批", ("number",)),
        ("金額500,000元以上由集團委員會審批", ("comparator",)),
        ("金額超過500,000元不得由集團委員會審批", ("negation",)),
        ("金額超過500,000由集團委員會審批", ("unit",)),
        ("如果金額超過500,000元由集團委員會審批", ("condition",)),
        ("金額超過500,000元由委員審批", ("party",)),
    ],
)
def test_each_loss_is_named(shorter, lost):
    """> is not ≥, a number without its unit is another number, and a condition is a condition."""
    assert losses("金額超過500,000元由集團委員會審批", shorter, ["集團委員會"]) == lost


def test_a_summary_that_loses_something_is_not_used():
    """The original stays; a summary that loses nothing is background and proves nothing."""
    assert summary(RULE, "大額採購由集團委員會審批。", new_id="S") is RULE
    plain = RULE.model_copy(update={"text": "集團委員會每週開會，地點在總部大樓的會議室。"})
    short = summary(plain, "委員會每週開會。", new_id="S", parties=["委員會"])
    assert (short.id, short.trust, short.facts) == ("S", Trust.PREPARED, ())
    assert short.lineage.derived_from == (RULE.id,)


def test_a_shortened_item_is_derived_and_says_from_what():
    """An extract is a new item with a hash of its own; one that is no shorter is none."""
    long = RULE.model_copy(update={"text": RULE.text + "背景說明。" * 9})
    short = shortened(long, ["500,000"], new_id="X")
    assert short is not None
    assert short.text == RULE.text
    assert (short.lineage.derived_from, short.facts) == ((RULE.id,), RULE.facts)
    assert EvidenceItem.from_json(short.canonical()) == short
    assert shortened(RULE, ["500,000"], new_id="X") is None


LINES = [
    {"id": f"r{n}", "kind": "capex" if n % 2 else "opex", "currency": "CNY", "minor": n * 100}
    for n in range(6)
]


@given(st.randoms(), st.integers(0, 5))
def test_an_aggregate_is_computed_again_and_falls_with_any_row(source, changed):
    """The same rows in any order give the same sum and hash; a changed row makes it fall (12)."""
    rows = [dict(row) for row in LINES]
    made = aggregate(rows, where={"kind": "capex"}, column="minor", currency="CNY")
    assert (made.total, made.included, made.excluded) == (
        900, ("r1", "r3", "r5"), ("r0", "r2", "r4"),
    )  # fmt: skip
    source.shuffle(rows)
    assert still_holds(made, rows)
    rows[changed]["minor"] += 1
    assert not still_holds(made, rows)


@pytest.mark.parametrize(
    "change", [{"id": "r1"}, {"currency": "USD"}, {"minor": 1.0}, {"minor": True}]
)
def test_rows_that_do_not_add_up_are_refused(change):
    """Repeated ids, another currency and amounts that are not whole are no sum."""
    rows = [*LINES[:3], {**LINES[3], **change}]
    with pytest.raises(EvidenceError):
        aggregate(rows, where={"kind": "capex"}, column="minor", currency="CNY")
