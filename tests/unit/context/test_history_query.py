"""What a request asks about, in words a person chose or in its own."""

import pytest
from hypothesis import given

from callbacks.context.errors import InvalidSetting
from callbacks.context.query import MAX_TERMS, Synonyms, asked_terms, chosen_terms
from callbacks.context.ranking import Term
from tests.unit.context.histories import texts

TABLE = Synonyms([("印表機", "打印機", "printer"), ("VPN", "虛擬私人網路"), ("Wi-Fi", "無線網路")])


def first(request: str, synonyms: Synonyms = TABLE) -> list[str]:
    return [term.alternatives[0] for term in asked_terms(request, synonyms)]


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ("現在 VPN 又出現 E401，只要排障步驟，不要開工單", ["VPN", "e401", "排障步驟"]),
        ("不是印表機，是 VPN", ["VPN"]),
        ("不是印表機而是 VPN", ["VPN"]),
        ("與印表機無關，VPN 壞了", ["VPN"]),
        ("是不是 VPN 壞了？", ["VPN"]),
        ("VPN 要不要重開", ["VPN", "重開"]),
        ("不能連 VPN", ["VPN"]),
        ("I cannot connect to the VPN", ["VPN", "cannot", "connect"]),
        ("It is not the printer but the VPN", ["VPN"]),
        ("fix the VPN instead of the printer", ["VPN", "fix"]),
        ("VPN E401; don't open a ticket", ["VPN", "e401"]),
        ("ＶＰＮ　Ｅ４０１，請協助", ["VPN", "e401"]),
        ("wifi 很慢", ["Wi-Fi"]),
        ("版本 v2.1，錯誤 0x80070005", ["版本", "v2.1", "錯誤", "0x80070005"]),
        ("不是印表機，是 VPN 連不上", ["VPN"]),
        ("不要開單", ["開單"]),
        ("現在怎麼辦？", []),
        ("", []),
    ],
)
def test_a_request_asks_about_what_it_does_not_turn_down(request_: str, words: list[str]):
    """Terms are the request's own words without common ones and without what it turns down."""
    assert sorted(first(request_)) == sorted(words)


def test_only_what_is_turned_down_is_asked_about_where_nothing_is_left():
    """A request that only turns something down is still about that."""
    assert "印表機" in first("不要動印表機")


def test_several_topics_are_several_terms():
    """Each topic of a request is a term of its own."""
    assert first("VPN E401 又來了，另外打印機卡紙")[:1] == ["VPN"]
    assert "印表機" in first("VPN E401 又來了，另外打印機卡紙")


def test_synonyms_work_in_both_directions():
    """Every word of a group finds all the others."""
    for word in ("印表機", "打印機", "printer", "PRINTER"):
        (term,) = chosen_terms([word], TABLE)
        assert term.alternatives[0] == word
        assert {way.casefold() for way in term.alternatives} == {"印表機", "打印機", "printer"}
    assert chosen_terms(["scanner"], TABLE) == (Term(("scanner",)),)


def test_a_word_and_its_synonym_are_one_term():
    """Asking twice for the same counts once."""
    assert len(chosen_terms(["VPN", "vpn", "虛擬私人網路", "ＶＰＮ"], TABLE)) == 1


@pytest.mark.parametrize(
    "groups",
    [
        [("VPN",)],
        [()],
        ["VPN"],
        [("VPN", "vpn")],
        [("VPN", "！")],
        [("VPN", "虛擬私人網路"), ("ＶＰＮ", "tunnel")],
    ],
)
def test_a_table_that_contradicts_itself_is_refused(groups):
    """A group has two words or more, and a word one group."""
    with pytest.raises(InvalidSetting):
        Synonyms(groups)


@pytest.mark.parametrize("words", ["VPN", [""], ["  "], [None], [1]])
def test_query_terms_are_several_words(words):
    """One string, a blank word and what is no text are refused."""
    with pytest.raises(InvalidSetting):
        chosen_terms(words)


@given(texts)
def test_terms_are_bounded_and_repeatable(text: str):
    """A request has at most so many terms, the same each time (invariant 12)."""
    terms = asked_terms(text * 30, TABLE)
    assert terms == asked_terms(text * 30, TABLE)
    assert len(terms) <= MAX_TERMS
