"""Text from outside is data between boundaries that it cannot make."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.evidence.injections import PAYLOADS, measure_injection
from callbacks.evidence.errors import EvidenceError
from callbacks.evidence.fence import boundary, data, escape, own, own_line, read_lines, unescape

ANYTHING = st.text(max_size=60) | st.sampled_from(sorted(PAYLOADS.values()))


@given(ANYTHING)
def test_every_text_survives_its_escape(text):
    """What is written out reads back as it was, and stands on one visible line (12)."""
    shown = escape(text)
    assert unescape(shown) == text
    assert len(shown.splitlines()) <= 1
    assert all(ord(one) >= 32 for one in shown)


@given(ANYTHING)
def test_no_text_makes_a_line_of_another_kind(text):
    """Whatever text says, its lines are data, and the data read back as the text (16)."""
    lines = data(text, "t")
    assert all(len(line.splitlines()) == 1 for line in lines)
    read = read_lines("\n".join(lines))
    assert {line.kind for line in read} == {"data"}
    assert "\n".join(unescape(line.text[2:]) for line in read) == text
    assert read_lines(own_line(text)) == (("own", text),)


@pytest.mark.parametrize("text", ["\\", "\\u", "\\uzz;", "\\x41;", "a\\u41"])
def test_half_an_escape_is_refused(text):
    """Only what the escape writes is read."""
    with pytest.raises(EvidenceError):
        unescape(text)


@pytest.mark.parametrize("word", ["é", "a]b", "a[b", "a\nb"])
def test_boundaries_are_visible_ascii(word):
    """A boundary cannot hold what would end it or hide in it."""
    with pytest.raises(EvidenceError):
        boundary("data", word)


def test_a_line_of_no_kind_is_refused():
    """A packet's text holds three kinds of lines and nothing else."""
    with pytest.raises(EvidenceError):
        read_lines("plain")
    assert own("a\nb") == ["- a", "- b"]


def test_hostile_texts_reach_nothing():
    """Instructions, plan, tool arguments, case and next turn stay what they were."""
    found = measure_injection()
    assert found["reached_total"] == 0
    assert found["data_kept_readable"] == 1.0
