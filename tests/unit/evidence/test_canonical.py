"""The same data gives the same bytes, and nothing ambiguous becomes bytes at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callbacks.evidence.canonical import canonical, digest, read, text_digest
from callbacks.evidence.errors import EvidenceError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
KEYS = st.text(st.characters(max_codepoint=127), max_size=8)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(PLAIN)
def test_reading_is_the_inverse_of_writing(value):
    """Canonical bytes read back as the data, and write as the same bytes again (12)."""
    assert read(canonical(value)) == value
    assert canonical(read(canonical(value))) == canonical(value)


@given(st.dictionaries(KEYS, st.integers(), min_size=2, max_size=6), st.randoms())
def test_the_order_of_keys_is_no_part_of_the_data(value, source):
    """Mappings that are equal have equal hashes, whatever the order they were made in (12)."""
    pairs = list(value.items())
    source.shuffle(pairs)
    assert digest(dict(pairs)) == digest(value)


@pytest.mark.parametrize(
    "value", [1.0, -0.0, float("nan"), {1, 2}, b"x", "\ud800", {"é": 1}, {1: 2}, object()]
)
def test_what_has_more_than_one_form_is_refused(value):
    """Floats, sets, bytes, lone surrogates and keys outside ASCII never become evidence."""
    with pytest.raises(EvidenceError):
        canonical([value])


@pytest.mark.parametrize(
    "data",
    [b'{"a":1,"a":2}', b"1.0", b"1e400", b"NaN", b"[", b"\xff", b'"\\ud800"', b"[" * 100_000],
)
def test_ambiguous_bytes_are_not_read(data):
    """Repeated keys, floats, NaN and broken text are refused without quoting them."""
    with pytest.raises(EvidenceError) as refusal:
        read(data)
    assert refusal.value.__cause__ is None


def test_text_is_hashed_as_it_is_written():
    """Normal forms serve comparison; the hash is of the raw UTF-8 bytes."""
    assert text_digest("é") != text_digest("e\u0301")
    assert text_digest("㎏") != text_digest("kg")
    with pytest.raises(EvidenceError):
        text_digest("\udc80")
