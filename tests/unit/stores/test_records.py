"""Records are frozen and closed, and say nothing about what was wrong with a value."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from stores.checks import VALUE_MAX_BYTES
from stores.errors import InvalidInput
from stores.records import (
    CardAction,
    ConsentResult,
    ForgetResult,
    Outcome,
    Owner,
    Preferences,
    Proposal,
    Remembered,
    Snapshot,
    SurfaceCheck,
)

SECRET = "a value nobody may read"


@pytest.mark.parametrize(
    ("tenant", "person"),
    [
        ("", "p"),
        ("t", ""),
        (" ", "p"),
        ("t", "\n\u3000"),
        ("t" * 129, "p"),
        ("t", "p" * 257),
        ("t", "a\0b"),
        ("t", "\ud800"),
        (1, "p"),
        ("t", None),
        (b"t", "p"),
        ("t", True),
    ],
)
def test_an_owner_without_an_id_is_refused(tenant, person):
    """Nobody without an id, or with one that no backend can keep, is an owner (invariant 11)."""
    with pytest.raises(InvalidInput) as caught:
        Owner(tenant=tenant, person=person)
    assert caught.value.numbers["field"] in {"tenant", "person"}


def test_an_owner_of_full_length_is_an_owner():
    """The limits themselves are allowed, in characters of any script."""
    owner = Owner(tenant="花" * 128, person="\U0001f375" * 256)
    assert owner == Owner(tenant=owner.tenant, person=owner.person)
    assert len({owner, owner.model_copy()}) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"value": None},
        {"value": ""},
        {"value": " "},
        {"value": "v" * (VALUE_MAX_BYTES + 1)},
        {"value": "花" * (VALUE_MAX_BYTES // 3 + 1)},
        {"value": 1},
        {"value": SECRET + "\0"},
        {"value": SECRET, "action": "forget"},
        {"value": SECRET, "action": "sell"},
        {"value": SECRET, "key": ""},
        {"value": SECRET, "key": "k" * 65},
        {"value": SECRET, "key": "generation:7"},
        {"value": SECRET, "purpose": " "},
        {"value": SECRET, "purpose": "p" * 301},
        {"value": SECRET, SECRET: 1},
    ],
)
def test_a_wrong_proposal_is_refused_without_its_value(fields):
    """A refused record names its field and shows nothing of what it was given."""
    with pytest.raises(InvalidInput) as caught:
        Proposal(**{"key": "k", "purpose": "p", **fields})
    error = caught.value
    assert SECRET not in f"{error} {error!r} {error.numbers} {error.__context__} {error.__cause__}"
    assert error.error_code == "INVALID_STORE_INPUT"


def test_a_value_is_not_shown():
    """The repr of what holds a value does not hold it."""
    remembered = Remembered(value=SECRET, purpose="p", granted_at_ms=1)
    held = [
        remembered,
        Preferences(revision=1, values={"k": remembered}),
        Proposal(key="k", purpose="p", value=SECRET),
    ]
    assert SECRET not in f"{held} {held[1]}"


@pytest.mark.parametrize(
    ("record", "field", "value"),
    [
        (Snapshot(), "revision", 1),
        (Preferences(), "values", {}),
        (Owner(tenant="t", person="p"), "tenant", "other"),
    ],
)
def test_a_record_is_frozen(record, field, value):
    """Nothing of a record can be set."""
    with pytest.raises(ValidationError):
        setattr(record, field, value)


def test_preferences_are_frozen_all_through():
    """The mapping of values can be neither changed nor reached through what it was made of."""
    one = Remembered(value="v", purpose="p", granted_at_ms=1)
    given_values = {"k": one}
    kept = Preferences(revision=1, values=given_values)
    given_values.clear()
    with pytest.raises(TypeError):
        kept.values["k"] = one  # type: ignore[index]  # that this fails is the test
    assert dict(kept.values) == {"k": one}


@given(
    revision=st.integers(0, 2**53 - 1),
    values=st.dictionaries(
        st.text(min_size=1, max_size=5),
        st.builds(
            Remembered,
            value=st.sampled_from(["a", "花", "\U0001f375"]),
            purpose=st.just("p"),
            granted_at_ms=st.integers(0, 10),
        ),
        max_size=3,
    ),
)
def test_records_round_trip(revision, values):
    """What is written as JSON is read back as the same record (invariant 12)."""
    kept = Preferences(revision=revision, values=values)
    text = kept.model_dump_json()
    assert Preferences.model_validate_json(text) == kept
    assert Preferences.model_validate_json(text).model_dump_json() == text
    assert json.loads(text) == kept.model_dump()


@pytest.mark.parametrize("number", [-1, True, 1.0, "1", None, 2**53])
def test_a_count_is_a_whole_number(number):
    """Counts are integers that every backend keeps exactly; a bool is none."""
    with pytest.raises(InvalidInput):
        Snapshot(revision=number)


def test_forgetting_is_complete_only_if_nothing_is_left():
    """One surface with something left makes it incomplete."""
    clean = SurfaceCheck(surface="a", remaining=0)
    dirty = SurfaceCheck(surface="b", remaining=1)
    assert ForgetResult(revision=1, verified=(clean,)).complete
    assert not ForgetResult(revision=1, verified=(clean, dirty)).complete


def test_words_are_enough_for_enums():
    """Actions and outcomes may be given by their words, as they come out of JSON."""
    proposal = {"key": "k", "purpose": "p", "action": "forget"}
    assert Proposal.model_validate(proposal).action is CardAction.FORGET
    result = {"outcome": "saved", "revision": 1}
    assert ConsentResult.model_validate(result).outcome is Outcome.SAVED
