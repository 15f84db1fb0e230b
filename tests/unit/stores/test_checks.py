"""Checks of single arguments, and the list of codes."""

import inspect
import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores import checks, errors
from stores.errors import InvalidInput, StoreError


@given(st.one_of(st.none(), st.booleans(), st.floats(), st.binary(), st.text(), st.integers()))
def test_a_check_returns_what_it_was_given_or_refuses(value):
    """A check never changes a value: it is good as it is, or refused."""
    for check in (
        lambda: checks.identifier(value, "f"),
        lambda: checks.whole(value, "f"),
        lambda: checks.window_text(value),
    ):
        with suppress(InvalidInput):
            assert check() is value


@pytest.mark.parametrize("text", ["a\0b", "\ud800", 1, None, b"x"])
def test_text_no_backend_can_keep_is_no_text(text):
    """NUL, lone surrogates and anything that is no string are refused before a driver sees them."""
    assert not checks.is_text(text)


def classes():
    return [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, StoreError)
    ]


def test_every_error_has_a_code_of_its_own():
    """Codes are capitals with underscores, and no two conditions share one."""
    codes = [kind.error_code for kind in classes()]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"[A-Z]+(_[A-Z]+)+", code) for code in codes)


def test_every_error_is_one_sentence():
    """The sentence of an error ends with a full stop and holds no place for content."""
    for kind in classes():
        error = kind(count=1)
        assert str(error).endswith(".")
        assert "{" not in str(error)
        assert error.numbers == {"count": 1}
