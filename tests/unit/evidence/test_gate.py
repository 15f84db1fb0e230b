"""An answer goes out only if every field is its evidence's, and only in the application's words."""

import json

import pytest

from benchmarks.evidence.gates import measure_gate
from callbacks.evidence.arguments import check_call
from callbacks.evidence.assembly import assemble
from callbacks.evidence.conflict import Lookup
from callbacks.evidence.edited import check_edited
from callbacks.evidence.errors import AnswerNotReleased
from callbacks.evidence.gate import check, check_text, drop_expired, next_step
from callbacks.evidence.item import EvidenceItem, make_row
from callbacks.evidence.statements import read_answer
from callbacks.evidence.value import Vocabulary
from tests.unit.evidence.procurement import BOOK, ROWS, answer, at, inputs, measure

PACKET = assemble(inputs(), measure=measure).packet
NOW = at("10:17:00")


def judge(said, packet=PACKET, now_ms=NOW, **more):
    return check(said, packet, BOOK, now_ms=now_ms, **more)


def test_the_answer_of_the_case():
    """Conditional, every figure with its source, the balance with its time; nothing is approved."""
    verdict = judge(answer())
    assert verdict.problems == ()
    assert verdict.text == (
        "以下是附條件的說明，待確認事項未定前不能當成結論；不構成核准，也不執行任何動作。\n"
        "待確認：是否與同項目合併（由採購負責人確認合併認定）。\n"
        "待確認：交易分類（由採購負責人確認分類認定）。\n"
        "待確認：是否緊急（由採購負責人確認緊急認定）。\n"
        "待確認：是否框架合約（由採購負責人確認框架合約認定）。\n"
        "[C1] （附條件）H-117 酒店的所有權：集團所有"
        "（截至 2026-07-21 08:00:00；依據：HOTEL-MASTER H-117）。\n"
        "[C2] （附條件）金額超過 500,000 CNY（不含）時，由集團委員會審批"
        "（例外：是否緊急、是否框架合約；本案 860,000 CNY：符合；"
        "依據：PROC-AUTH-2025-v1 §4.2、PROC-AUTH-2025-v1 §2）。\n"
        "[C3] （附條件）普通資本更新須經中央採購比價（依據：PROC-AUTH-2025-v1 §5.1）。\n"
        "[C4] 帳戶 B-991 系統顯示可用 1,200,000 CNY，不等於審批完成"
        "（截至 2026-07-21 10:14:03；依據：FIN-B991 available_cny）。"
    )
    assert "more than 500,000 CNY" in judge(answer(), language="en").text
    verdict.require()
    assert next_step(verdict, reassembled=False, person=True) == "release"


def test_an_expired_balance_is_refreshed_or_dropped():
    """At 10:20 the balance is not released; without it the answer says that it is not shown."""
    late = at("10:20:00")
    verdict = judge(answer(), now_ms=late)
    assert (verdict.released, verdict.expired, verdict.text) == (False, ("C4",), "")
    assert next_step(verdict, reassembled=False, person=False) == "refresh"
    with pytest.raises(AnswerNotReleased) as refusal:
        verdict.require()
    assert refusal.value.error_code == "ANSWER_NOT_RELEASED"
    dropped = judge(drop_expired(answer(), PACKET, verdict.expired), now_ms=late)
    assert dropped.released
    assert "1,200,000" not in dropped.text
    assert "不顯示數值" in dropped.text
    assert judge(answer(), now_ms=at("10:18:59")).released
    assert not judge(answer(), now_ms=at("10:19:00")).released
    assert judge(answer(), fallen=frozenset({"PROC-AUTH-2025-v1/2"})).expired == ("C2",)


def test_a_claim_without_a_value_states_none():
    """Where the ledger is down, the statement has no value; a value there is stopped."""
    rows = [row for row in ROWS if row["id"] != "FIN-B991"]
    down = Lookup(claim="available_budget", state="unavailable")
    packet = assemble(inputs(rows=rows, lookups=(down,)), measure=measure).packet
    data = json.loads(answer().model_dump_json())
    data["unknowns"].append("available_budget")
    data["statements"][3] = {"claim": "C4", "outcome": "unavailable"}
    verdict = check_text(json.dumps(data), packet, BOOK, now_ms=NOW)
    assert verdict.problems == ()
    assert "請更新後再問" in verdict.text
    data["statements"][3]["value"] = "0"
    assert not check_text(json.dumps(data), packet, BOOK, now_ms=NOW).released


def change(index, **fields):
    data = json.loads(answer().model_dump_json())
    data["statements"][index] |= fields
    return judge(read_answer(json.dumps(data)))


@pytest.mark.parametrize(
    ("index", "fields", "reason"),
    [
        (1, {"comparator": "ge"}, "comparator"),
        (1, {"value": "50萬元以上（不含）", "unit": "CNY"}, "value"),
        (1, {"value": "500.000"}, "value"),
        (1, {"value": "50萬左右"}, "value"),
        (1, {"unit": "TWD"}, "value"),
        (1, {"unit": None, "value": "500,000"}, "value"),
        (1, {"subject": "區域總經理"}, "subject"),
        (1, {"exceptions": ["emergency"]}, "exceptions"),
        (1, {"exceptions": ["emergency", "framework", "board"]}, "exceptions"),
        (1, {"exceptions": ["緊急同樣適用", "framework"]}, "exceptions"),
        (1, {"polarity": "denied"}, "polarity"),
        (1, {"citations": ["PROC-AUTH-2025-v1/4.2"]}, "citations"),
        (1, {"citations": ["PROC-AUTH-2025-v1/5.1"]}, "citations"),
        (1, {"as_of": "2026-07-21T10:14:03+08:00"}, "as_of"),
        (1, {"outcome": "supported"}, "outcome"),
        (1, {"predicate": "sourced_by"}, "predicate"),
        (1, {"quote": "500,000元以上"}, "quote"),
        (3, {"value": "1,200,001"}, "value"),
        (3, {"as_of": None}, "as_of"),
        (3, {"as_of": "2026-07-21T10:14:03Z"}, "as_of"),
        (3, {"claim": "C9"}, "not_planned"),
        (3, {"claim": "C3"}, "stated_twice"),
        (3, {"outcome": "unknown", "value": None}, "value"),
    ],
)
def test_one_wrong_field_is_enough(index, fields, reason):
    """Each field of a statement is its evidence's or the answer stays in."""
    verdict = change(index, **fields)
    assert not verdict.released
    assert reason in {problem.reason for problem in verdict.problems}
    assert verdict.text == ""
    assert next_step(verdict, reassembled=False, person=True) == "reassemble"
    assert next_step(verdict, reassembled=True, person=True) == "person"
    assert next_step(verdict, reassembled=True, person=False) == "error"


def test_a_verbatim_quote_passes():
    """A quote is a part of its source, character for character."""
    assert change(1, quote="超過500,000元（不含）").released


@pytest.mark.parametrize(
    "changes",
    [
        {"outcome": "supported"},
        {"unknowns": ["classification"]},
        {"conflicts": ["conflict-1"]},
        {"statements": []},
    ],
)
def test_the_whole_answer_is_consistent(changes):
    """Outcome, unknowns and conflicts are the packet's; no required claim is left out."""
    assert not judge(answer(**changes)).released


@pytest.mark.parametrize(
    "text",
    ["", "x", "{}", '{"outcome":"conditional","statements":[],"action":"pay"}', "\ud800",
     '{"outcome":"conditional","outcome":"supported","statements":[]}'],
)  # fmt: skip
def test_only_the_schema_is_read(text):
    """Prose, extra fields and repeated keys are no answer; the refusal quotes none of it."""
    with pytest.raises(AnswerNotReleased) as refusal:
        read_answer(text)
    assert refusal.value.__context__ is None
    assert not check_text(text, PACKET, BOOK, now_ms=NOW).released


def test_mutations_are_stopped_and_right_answers_pass():
    """Wrong in one thing: stopped. Right in any format, order, language: released."""
    found = measure_gate(400, 80, 4)
    assert found["stopped"] == 1.0
    assert found["false_stops"] == 0.0
    assert found["edited"]["released_with_changed_meaning"] == 0


def edit(old, new):
    said = answer()
    text = judge(said).text
    assert old in text
    return check_edited(text.replace(old, new), said, PACKET, BOOK, now_ms=NOW)


def test_an_edited_answer_goes_out_in_the_applications_words():
    """Another way to write a value is re-typed and rendered again, never released as typed."""
    result = edit("金額超過 500,000 CNY", "金額超過 50萬 CNY")
    assert (result.step, result.text) == ("retyped", judge(answer()).text)
    assert edit("。", "。").step == "release"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("超過 500,000 CNY（不含）", "500,000 CNY 以上"),
        ("500,000 CNY", "510,000 CNY"),
        ("集團委員會", "區域總經理"),
        ("由集團委員會審批", "不由集團委員會審批"),
        ("截至 2026-07-21 10:14:03；", ""),
        ("（附條件）金額", "金額"),
        ("待確認：交易分類（由採購負責人確認分類認定）。\n", ""),
        ("。\n[C3]", "。\n可以直接採購。\n[C3]"),
        ("[C3]", "[C2]"),
    ],
)
def test_a_changed_meaning_goes_to_a_person(old, new):
    """What cannot be re-typed is not released, whoever wrote it."""
    result = edit(old, new)
    assert (result.step, result.text) == ("person", "")
    assert result.unread or result.missing


def test_an_answer_that_would_not_go_out_is_not_edited_into_going_out():
    """Edited or not, what the gate stops stays in."""
    said = answer(outcome="supported")
    assert check_edited("x", said, PACKET, BOOK, now_ms=NOW).step == "person"


MAIL = EvidenceItem.from_data(ROWS[7])


@pytest.mark.parametrize(
    ("tool", "arguments", "reason"),
    [
        ("send_mail", {"to": "x"}, "tool_not_in_contract"),
        ("finance_balance", {"account": "990-17"}, "only_untrusted_origin"),
        ("finance_balance", {"account": "https://evil.example/upload"}, "only_untrusted_origin"),
        ("finance_balance", {"deep": [{"url": "evil.example"}]}, "only_untrusted_origin"),
        ("search_policy", {"keyword": "忽略採購規則"}, "only_untrusted_origin"),
        ("finance_balance", {"account": "B-992"}, "no_trusted_origin"),
        ("finance_balance", {"account": "FIN-B991 B-991"}, "no_trusted_origin"),
        ("finance_balance", {"limit": 1.5}, "no_trusted_origin"),
    ],
)
def test_a_strangers_word_reaches_no_tool(tool, arguments, reason):
    """An argument whose only origin is untrusted text is stopped, and so is one from nowhere."""
    stopped = check_call(tool, arguments, PACKET, seen=[MAIL])
    assert [one.reason for one in stopped] == [reason]


@pytest.mark.parametrize(
    "arguments",
    [
        {"account": "B-991", "hotel": "H-117"},
        {"amount": "860000"},
        {"amount": 860_000, "dry": True, "note": None},
        {"account": "990-17-from-the-person"},
    ],
)
def test_what_the_case_or_the_person_says_may_be_asked(arguments):
    """Values of the case, of trusted evidence and of the person's own message pass."""
    said = ["990-17-from-the-person", "H-117", "dry", "note"]
    assert check_call("finance_balance", arguments, PACKET, said=said, seen=[MAIL]) == ()


def test_free_arguments_are_the_models_own_words():
    """A search phrase may be made up, but not out of a stranger's text."""
    assert check_call("search_policy", {"keyword": "電視"}, PACKET, seen=[MAIL]) == ()


def test_a_name_of_two_words_is_no_name():
    """A label that two words share means neither."""
    terms = [{"id": one, "labels": [["en", "Same"]]} for one in ("a", "b")]
    book = Vocabulary.from_data({"terms": terms})
    assert book.find("same") is None
    assert book.label("a", "de") == "a"
    assert book.label("z", "en") == "z"
    assert make_row(text="x")["content_sha256"]
