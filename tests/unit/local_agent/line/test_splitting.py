"""Cutting texts into messages: nothing lost, nothing too long, nothing torn apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent.line.peer_checks import utf16_units
from local_agent.line.splitting import TEXT_UNITS, shorten, split, units

SMILE, FAMILY, FLAG = "😀", "👨‍👩‍👧", "🇹🇼"
MARKED = "e\u0301"

pieces = st.sampled_from(
    [
        "字",
        "。",
        "，",
        "\n",
        "\n\n",
        "a",
        " ",
        SMILE,
        FAMILY,
        FLAG,
        MARKED,
        "\u0301",
        "』",
        "\ud83e",
    ]
)
texts = st.one_of(st.text(), st.lists(pieces).map("".join))


@given(texts, st.integers(min_value=2, max_value=40))
def test_nothing_is_lost_and_nothing_is_too_long(text: str, limit: int) -> None:
    """Invariant 12: the parts joined are the text, each has 1 to `limit` UTF-16 units."""
    parts = split(text, limit)
    assert "".join(parts) == text
    assert all(1 <= units(part) <= limit for part in parts)
    assert split(text, limit) == parts


@given(texts)
def test_lengths_are_counted_as_line_does(text: str) -> None:
    """A code point outside the basic plane counts twice, in our count and in the peer's."""
    assert units(text) == utf16_units(text)


@given(st.lists(st.sampled_from([FAMILY, FLAG, MARKED, "字", "👍🏽"]), min_size=1), st.data())
def test_drawn_characters_stay_whole(characters: list[str], data: st.DataObject) -> None:
    """A family, a flag, an accented letter is never torn between two messages."""
    limit = data.draw(st.integers(min_value=max(map(units, characters)), max_value=30))
    rest = list(characters)
    for part in split("".join(characters), limit):
        whole = ""
        while whole != part:
            assert rest, "a part ends inside a character"
            whole += rest.pop(0)
            assert len(whole) <= len(part)
    assert not rest


@pytest.mark.parametrize("whole", ["\r\n", "\u1112\u1161\u11ab", "👍🏽", "🇹🇼", "e\u0301\u0302"])
def test_no_cut_falls_into_a_pair(whole: str) -> None:
    """A line end, a syllable of pieces, a toned hand: a cut at its middle moves before it."""
    before = "字" * (8 - units(whole) + 1)
    assert split(f"{before}{whole}字字", 8) == [before, f"{whole}字字"]


def test_flags_in_a_row_are_cut_between_flags() -> None:
    """Halves pair from the left, so no person sees another country's flag."""
    assert split(FLAG * 5, 10) == [FLAG * 2, FLAG * 2, FLAG]


@given(texts, st.integers(min_value=2, max_value=40))
def test_a_shortened_text_fits(text: str, limit: int) -> None:
    """It is the text itself where that fits, else a beginning of it and a mark."""
    short = shorten(text, limit)
    assert units(short) <= limit
    assert short == text if units(text) <= limit else text.startswith(short.removesuffix("…"))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("短。", ["短。"]),
        ("一二三。四五六七八九", ["一二三。", "四五六七八九"]),
        ("一二三四。」五六七八", ["一二三四。」", "五六七八"]),
        ("一二三。\n\n四五。六七八九", ["一二三。\n\n", "四五。六七八九"]),
        ("一二三四，五六七八九十", ["一二三四，", "五六七八九十"]),
        ("一二三四五六七八九十", ["一二三四五六七八", "九十"]),
        ("It is 3.14 so yes ok", ["It is ", "3.14 so ", "yes ok"]),
        ("一。二三四五六七八九", ["一。二三四五六七", "八九"]),
    ],
)
def test_a_part_ends_where_a_reader_pauses(text: str, parts: list[str]) -> None:
    """Paragraph, then sentence, then clause, then anywhere; a part is at least half full."""
    assert split(text, 8) == parts


def test_a_long_answer_is_cut_at_sentences() -> None:
    """12,000 characters become three messages, each of which ends with a sentence."""
    text = "這一家店在花壇鄉中山路，提供素食和便當。" * 600
    parts = split(text)
    assert len(parts) == 3
    assert all(part.endswith("。") and units(part) <= TEXT_UNITS for part in parts)


def test_a_pile_of_marks_longer_than_a_message_is_cut_all_the_same() -> None:
    """The limit holds even where a single drawn character is longer than it."""
    text = "e" + "\u0301" * 12_000
    parts = split(text)
    assert "".join(parts) == text
    assert max(map(units, parts)) <= TEXT_UNITS
