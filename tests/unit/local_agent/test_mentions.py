"""Finding words and denials in a message."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent.mentions import Lexicon, Said, Word, normalize

FRUIT = Lexicon(
    (
        Word("蘋果", "apple", not_before=("電腦",)),
        Word("蘋果派", "pie"),
        Word("梨", "pear", not_after=("鳳",)),
    )
)


def test_the_longest_word_wins():
    """A longer word hides the shorter one inside it."""
    assert [mention.value for mention in FRUIT.find("蘋果派和蘋果")] == ["pie", "apple"]


@pytest.mark.parametrize("text", ["蘋果電腦", "鳳梨"])
def test_neighbours_make_another_word(text):
    """A word beside one of its excluded neighbours is not found."""
    assert FRUIT.find(text) == ()
    assert FRUIT.said(text) == Said(None, frozenset())


def test_full_width_and_capitals_are_folded():
    """Words are found in any width and case."""
    lexicon = Lexicon([Word("Tea", "tea")])
    assert lexicon.exact(" \uff34\uff25\uff21 ") == "tea"
    assert lexicon.find("一杯 TEA")[0].value == "tea"


def test_a_spelling_is_listed_once():
    """Two values for one spelling are a mistake of the author."""
    with pytest.raises(ValueError, match="once"):
        Lexicon([Word("梨", "a"), Word("梨", "b")])


@pytest.mark.parametrize(
    ("text", "value", "denied"),
    [
        ("要蘋果", "apple", set()),
        ("不要蘋果", None, {"apple"}),
        ("不要蘋果，要梨", "pear", {"apple"}),
        ("要不要蘋果", "apple", set()),
        ("有沒有蘋果", "apple", set()),
        ("不是不要蘋果", "apple", set()),
        ("特別要蘋果", "apple", set()),
        ("別的蘋果", "apple", set()),
        ("蘋果以外", None, {"apple"}),
        ("蘋果不要了。", None, {"apple"}),
        ("蘋果不要太大", "apple", set()),
        ("沒關係，蘋果", "apple", set()),
        ("蘋果，不對，梨", "pear", set()),
        ("蘋果跟梨", "apple", set()),
        ("不要蘋果，還是蘋果好了", "apple", set()),
    ],
)
def test_what_is_meant_and_what_is_denied(text, value, denied):
    """A negation reaches the word it stands beside; questions and double negations deny nothing."""
    assert FRUIT.said(text) == Said(value, frozenset(denied))


@given(st.text(alphabet="不要是的沒有別蘋果派梨，", max_size=40))
def test_what_is_meant_is_not_denied(text):
    """No value is meant and denied at once, and what is meant stands in the text."""
    said = FRUIT.said(text)
    assert said.value not in said.denied
    values = {mention.value for mention in FRUIT.find(text)}
    assert values >= said.denied
    assert said.value is None or said.value in values


@given(st.text(max_size=60))
def test_offsets_refer_to_the_folded_text(text):
    """Each mention's range is the spelling itself in the folded text."""
    for mention in FRUIT.find(text):
        assert FRUIT.exact(normalize(text)[mention.start : mention.end]) == mention.value


def test_a_hostile_message_costs_little():
    """A message made to be slow is read in well under a second."""
    text = "不" * 600 + "梨不" * 300
    started = time.perf_counter()
    FRUIT.said(text)
    assert time.perf_counter() - started < 1
