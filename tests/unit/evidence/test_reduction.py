"""Evidence gets smaller in a fixed order, each step checked, and what decides stays."""

from dataclasses import replace

import pytest

from callbacks.evidence.assembly import assemble
from callbacks.evidence.compression import aggregate, aggregate_of, aggregate_row
from callbacks.evidence.errors import EvidenceError
from callbacks.evidence.gate import check
from callbacks.evidence.item import EvidenceItem, make_row
from callbacks.evidence.plan import make_plan
from callbacks.evidence.reduction import reduce_items
from callbacks.evidence.value import Vocabulary
from tests.unit.evidence.procurement import (
    BOOK,
    CATALOGUE,
    CONTRACT,
    PLAN,
    ROWS,
    answer,
    at,
    inputs,
    measure,
    money,
)

RULE, SOURCING, BALANCE = ROWS[2], ROWS[3], ROWS[4]
WORDS = Vocabulary.from_data(
    {
        "terms": [
            {"id": "central_comparison", "labels": [["zh-Hant", "中央採購比價"]]},
            {"id": "hualien", "labels": [["zh-Hant", "花蓮分店"]]},
        ]
    }
)


def reduced(*rows, plan=PLAN, **more):
    items = [EvidenceItem.from_data(row) for row in rows]
    return reduce_items(items, plan, **{"tables": {}, "vocabulary": WORDS, **more})


def test_the_same_span_counts_once_and_the_shortest_stays():
    """Page and PDF of one clause are one piece of evidence; which one went is recorded."""
    page = make_row(**{**SOURCING, "id": "PAGE", "text": SOURCING["text"] + "（網頁版）"})
    found = reduced(SOURCING, page)
    assert [item.id for item in found.items] == [SOURCING["id"]]
    assert found.reasons == (("PAGE", "same_span"),)
    made = assemble(inputs(rows=[*ROWS, page]), measure=measure)
    assert ("PAGE", "same_span") in made.reasons


def test_only_sentences_that_say_something_stay():
    """Words around a rule go; its own sentence stays to the letter, with where it is from."""
    padded = make_row(
        **{**SOURCING, "text": "本節說明背景與沿革。" + SOURCING["text"] + "歡迎各單位參考利用。"}
    )
    found = reduced(padded)
    (item,) = found.items
    assert item.text == SOURCING["text"]
    assert item.lineage.derived_from == (SOURCING["id"],)
    assert item.facts == EvidenceItem.from_data(SOURCING).facts
    assert found.reasons == ((SOURCING["id"], "extracted"),)
    rows = [row for row in ROWS if row["id"] != SOURCING["id"]]
    made = assemble(inputs(rows=[*rows, padded], vocabulary=WORDS), measure=measure)
    assert item.id in made.packet.by_id
    assert (SOURCING["id"], "extracted") in made.reasons


@pytest.mark.parametrize(
    "more",
    [
        "但離島不適用。",
        "經費應於90日內核銷。",
        "各單位應事先登錄。",
        "未經核准者無效。",
        "逾三十人者另計。",
        "Unless the owner agrees.",
    ],
)
def test_what_decides_is_never_shortened_away(more):
    """A number, an exception, an obligation, a negation in another sentence keeps it there."""
    (item,) = reduced(make_row(**{**SOURCING, "text": SOURCING["text"] + more})).items
    assert item.text == SOURCING["text"] + more


def test_a_party_is_never_shortened_away():
    """A sentence that names somebody who matters stays."""
    text = SOURCING["text"] + "由花蓮分店通知。"
    (item,) = reduced(make_row(**{**SOURCING, "text": text})).items
    assert item.text == text


def test_definitions_and_what_others_lead_to_stay_as_they_are():
    """A definition, and whatever an approved link names, keeps every word and its id."""
    wordy = {**RULE, "text": "背景說明如下。" + RULE["text"]}
    definition = make_row(**{**ROWS[1], "text": "名詞如下。" + ROWS[1]["text"]})
    linking = make_row(**{**SOURCING, "links": [{"relation": "procedure", "target": RULE["id"]}]})
    found = reduced(make_row(**wordy), definition, linking)
    assert [item.id for item in found.items] == sorted(
        [RULE["id"], definition["id"], SOURCING["id"]]
    )
    assert found.reasons == ()


ENTRIES = tuple(
    {"id": f"L-{number}", "account": "B-991", "kind": kind, "currency": "CNY", "minor": minor}
    for number, (kind, minor) in enumerate(
        (("grant", 150_000_000), ("spent", -30_000_000), ("note", 5), ("grant", 0)), 1
    )
)


def balance():
    known = aggregate(ENTRIES, where={"account": "B-991"}, column="minor", currency="CNY")
    row = aggregate_row(
        known,
        {
            **{name: value for name, value in BALANCE.items() if name != "content_sha256"},
            "facts": [{"claim": "available_budget", "subject": "B-991", "predicate": "available",
                       "value": money(known.total // 100, "excluded")}],
        },
    )  # fmt: skip
    return known, row


def test_a_sum_stands_as_long_as_its_rows_give_it():
    """An aggregate says filter, rows and formula; when a row changes it falls, and is named."""
    known, row = balance()
    rows = [one for one in ROWS if one["id"] != BALANCE["id"]]
    held = inputs(rows=[*rows, row], tables={row["id"]: ENTRIES})
    made = assemble(held, measure=measure)
    assert aggregate_of(made.packet.item("FIN-B991")) == known
    assert made.packet.item("FIN-B991").lineage.derived_from == known.included
    changed = ({**ENTRIES[0], "minor": 149_999_999}, *ENTRIES[1:])
    for now in (changed, ENTRIES[1:], ({"id": "L-1", "account": "B-991"},)):
        fell = assemble(replace(held, tables={row["id"]: now}), measure=measure)
        assert ("FIN-B991", "rows_changed") in fell.reasons
        section = fell.packet.section("C4")
        assert section is not None
        assert section.items == ()


def test_a_sum_that_cannot_be_computed_again_is_none():
    """What says it is a sum and does not say of what proves nothing."""
    _, row = balance()
    forged = make_row(**{**row, "text": "1200000"})
    assert reduced(forged).reasons == (("FIN-B991", "not_recomputable"),)
    with pytest.raises(EvidenceError):
        aggregate_row(aggregate([], where={}, column="minor", currency="CNY"), {})


DECISION = make_row(
    id="DEC-1", kind="decision", source="decision_log", entity="DEC-1", access=["group:staff"],
    trust="authoritative", lineage={"document": "DEC-1"},
    text="經過說明與多次往返討論之後，去年由集團委員會審批；另有附帶討論與致謝。",
    facts=[{"claim": "last_year", "subject": "group_committee", "predicate": "decided",
            "value": {"kind": "word", "word": "yes"}}],
)  # fmt: skip


def summary_of(text, **more):
    return make_row(
        id="DEC-1-S", kind="decision", source="decision_log", entity="DEC-1", trust="prepared",
        text=text, access=["group:staff"],
        lineage={"document": "DEC-1", "derived_from": ["DEC-1"], "rule": "summary-1"}, **more,
    )  # fmt: skip


def test_a_summary_stands_for_background_alone():
    """A prepared summary stands for what decides nothing, if nothing is lost; never for a rule."""
    plan = make_plan(CONTRACT, "purchase_advice", ("approval", "history"), CATALOGUE)
    (item,) = reduced(DECISION, summary_of("去年由集團委員會審批。"), plan=plan).items
    assert (item.id, item.text) == ("DEC-1-S", "去年由集團委員會審批。")
    assert item.facts == EvidenceItem.from_data(DECISION).facts
    losing = reduced(DECISION, summary_of("去年不由集團委員會審批。"), plan=plan)
    assert [one.id for one in losing.items] == ["DEC-1", "DEC-1-S"]
    rule = make_row(**{**DECISION, "facts": RULE["facts"]})
    kept = reduced(rule, summary_of("去年由集團委員會審批。"), plan=plan)
    assert [one.id for one in kept.items] == ["DEC-1-S", "DEC-1/extract-1"]
    assert kept.items[0].facts == ()


def test_what_was_derived_falls_with_its_source():
    """A source that falls after the packet was made takes the extract that stands in it along."""
    padded = make_row(**{**SOURCING, "text": "本節說明背景與沿革。" + SOURCING["text"]})
    rows = [row for row in ROWS if row["id"] != SOURCING["id"]]
    packet = assemble(inputs(rows=[*rows, padded], vocabulary=WORDS), measure=measure).packet
    (cited,) = packet.spec.sections[2].items
    assert packet.item(cited.item).lineage.derived_from == (SOURCING["id"],)
    verdict = check(
        answer(), packet, BOOK, now_ms=at("10:17:00"), fallen=frozenset({SOURCING["id"]})
    )
    assert verdict.expired == ("C3",)


def test_where_the_text_says_it_otherwise_nothing_is_cut():
    """If no name of a fact's value is seen in the text, nobody can tell what may go: all stays."""
    text = "本節說明背景與沿革。" + SOURCING["text"]
    padded = make_row(**{**SOURCING, "text": text})
    assert reduced(padded, vocabulary=Vocabulary()).items[0].text == text
    said = {"kind": "literally", "words": "本節說明"}
    quoted = make_row(**{**padded, "facts": [{**SOURCING["facts"][0], "value": said}]})
    assert reduced(quoted).items[0].text == text
    absent = {**SOURCING["facts"][0], "value": {**said, "words": "別處"}}
    assert reduced(make_row(**{**padded, "facts": [absent]})).items[0].text == text
