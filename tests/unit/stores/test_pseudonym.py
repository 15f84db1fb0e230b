"""Pseudonyms name a person to one tenant, and lead back to nobody."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.errors import InvalidInput
from stores.pseudonym import pseudonym
from stores.records import Owner

SECRET = b"a secret of this deployment"
ids = st.text("ab:/", min_size=1, max_size=4)


@given(st.tuples(ids, ids, ids), st.tuples(ids, ids, ids))
def test_everybody_has_one_of_their_own(first, second):
    """The same person always gets the same name, and nobody else ever gets it (11, 12)."""
    assert (pseudonym(SECRET, *first) == pseudonym(SECRET, *second)) == (first == second)


def test_it_can_be_an_owner_and_shows_no_id():
    """A pseudonym has a fixed form that fits an owner, whatever the id looks like."""
    made = pseudonym(SECRET, "town", "line", "U" + "f" * 32)
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", made)
    assert Owner(tenant="town", person=made).person == made


def test_it_stays_as_it_is():
    """The names of people who are stored already must not change with a release."""
    assert pseudonym(SECRET, "town", "line", "U1") == "EFFhYrz0CaB1l-g_S_gWy3mt8hv0BJDltfJf-bCyArM"


def test_another_secret_makes_strangers():
    """Without the secret nobody can work a name out (11)."""
    assert pseudonym(SECRET, "town", "line", "U1") != pseudonym(SECRET + b"!", "town", "line", "U1")


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("secret", (b"short", "town", "line", "U1")),
        ("secret", ("a secret that is no bytes", "town", "line", "U1")),
        ("tenant", (SECRET, " ", "line", "U1")),
        ("channel", (SECRET, "town", "", "U1")),
        ("user_id", (SECRET, "town", "line", "")),
        ("user_id", (SECRET, "town", "line", None)),
    ],
)
def test_nobody_has_no_pseudonym(field, arguments):
    """A missing id is refused: people without one must not share a row (11)."""
    wrong: Any = arguments
    with pytest.raises(InvalidInput) as caught:
        pseudonym(*wrong)
    assert caught.value.numbers["field"] == field
