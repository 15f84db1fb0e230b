"""Named values are immutable and always in the same order."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callbacks.context.errors import UnsupportedContext
from callbacks.context.values import Values
from tests.unit.context.worlds import hostile_text, names


def test_values_do_not_change():
    """A value that was admitted cannot be replaced behind the schema's back."""
    given_values = {"area": "花壇鄉"}
    values = Values(given_values)
    given_values["area"] = "彰化市"
    assert values == {"area": "花壇鄉"}
    assert len(values) == 1
    with pytest.raises(AttributeError):
        values._values = {}
    with pytest.raises(AttributeError):
        del values._values
    with pytest.raises(TypeError):
        values["area"] = "彰化市"  # type: ignore[index]  # that it cannot is what is tested


@given(st.dictionaries(names, hostile_text, max_size=6), st.randoms())
def test_the_order_they_are_given_in_says_nothing(values, random):
    """Equal values are equal, hash alike and iterate alike, however they were given (12)."""
    shuffled = list(values.items())
    random.shuffle(shuffled)
    one, two = Values(values), Values(dict(shuffled))
    assert one == two == values
    assert hash(one) == hash(two)
    assert list(one.items()) == list(two.items()) == sorted(values.items())
    assert repr(one) == repr(two)


def test_values_travel():
    """Values survive copying and pickling as what they are."""
    values = Values({"area": "花壇鄉"})
    for other in (copy.deepcopy(values), pickle.loads(pickle.dumps(values))):  # noqa: S301 - our own bytes
        assert type(other) is Values
        assert other == values


@pytest.mark.parametrize(
    "bad", ["", " ", " a", "a\n", "e\u0301", "\ud800", "x" * 129, 5, None, b"a", True]
)
def test_a_value_is_canonical_text(bad):
    """Whatever is not canonical, writable, bounded text is refused."""
    with pytest.raises(UnsupportedContext):
        Values({"area": bad})
    with pytest.raises(UnsupportedContext):
        Values({bad: "x"})
