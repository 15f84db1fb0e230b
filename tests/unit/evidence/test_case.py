"""A case is the replay of its events; nothing vague, foreign or made up replaces what is known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callbacks.evidence.case import CaseState, changed_fields
from callbacks.evidence.errors import CaseMismatch, EvidenceError
from callbacks.evidence.money import Money
from tests.unit.evidence.procurement import CASE, FIELDS, event, money

WORD = {"kind": "word", "word": "yes"}


def fact_of(state):
    fact = state.fact("amount")
    assert fact is not None
    return fact


def test_a_correction_supersedes_and_keeps_the_old_value():
    """86 萬 becomes 92 萬: the old value is marked, with the event that ended it."""
    after = CASE.apply([event(3, "amount", money(920_000), action="correct")])
    fact = fact_of(after)
    assert isinstance(fact.value, Money)
    assert (fact.value.low, fact.revision) == (92_000_000, 2)
    past = [one for one in after.facts if one.superseded_by]
    assert [(one.field, one.superseded_by) for one in past] == [("amount", 3)]
    assert changed_fields(CASE, after) == ("amount",)
    assert changed_fields(CASE, CASE) == ()


def test_confirming_keeps_the_value_and_withdrawing_ends_it():
    """Confirmation makes a revision of the same value; withdrawal leaves none."""
    sure = CASE.apply([event(3, "amount", None, action="confirm", confidence="confirmed")])
    assert "amount" in sure.known()
    assert "amount" not in CASE.known()
    gone = sure.apply([event(4, "amount", None, action="withdraw")])
    assert gone.fact("amount") is None
    assert fact_of(gone.apply([event(5, "amount", money(1), action="set")])).revision == 3


VAGUE = {"kind": "money", "low": 1, "high": 2, "currency": "CNY"}


@pytest.mark.parametrize(
    "bad",
    [
        event(4, "amount", money(1), action="correct"),
        event(3, "color", WORD),
        event(3, "amount", WORD, action="correct"),
        event(3, "amount", money(1)),
        event(3, "framework", WORD, action="correct"),
        event(3, "framework", {"kind": "word", "word": "maybe"}),
        event(3, "framework", None),
        event(3, "framework", WORD, trust="untrusted"),
        event(3, "framework", WORD, trust="prepared"),
        event(3, "framework", WORD, confidence="verified"),
        event(3, "framework", WORD, role="model", confidence="confirmed"),
        event(3, "amount", VAGUE, action="correct"),
        event(3, "hotel", {"kind": "word", "word": "H-117"}, action="correct"),
        event(3, "amount", money(2), action="confirm"),
    ],
)
def test_events_that_may_not_be(bad):
    """Order, kinds, words, entitlement and exactness are checked; the refusal quotes nothing."""
    with pytest.raises(CaseMismatch) as refusal:
        CASE.apply([bad])
    assert refusal.value.error_code == "CASE_STATE_MISMATCH"
    assert refusal.value.numbers == {"seq": bad.seq}


def test_a_model_does_not_change_what_people_confirmed():
    """A confirmed value is beyond a model; a vague one may stand once somebody confirms it."""
    sure = CASE.apply([event(3, "amount", None, action="confirm", confidence="confirmed")])
    with pytest.raises(CaseMismatch):
        sure.apply([event(4, "amount", money(1), action="correct", role="model")])
    vague = CASE.apply([event(3, "amount", VAGUE, action="correct", confidence="confirmed")])
    value = fact_of(vague).value
    assert isinstance(value, Money)
    assert not value.exact


def test_free_text_is_no_value():
    """A sentence of somebody's has no place in a case (4)."""
    with pytest.raises(EvidenceError):
        event(3, "framework", {"kind": "literally", "words": "we did it last year"})


@given(st.lists(st.sampled_from(["set", "correct", "confirm", "withdraw"]), max_size=12))
def test_the_state_is_the_replay_of_its_events(actions):
    """Any run of events, applied one by one, at once or read back: the same state (12)."""
    state = CaseState(fields=FIELDS)
    for action in actions:
        value = money(len(state.events) + 1) if action in {"set", "correct"} else None
        try:
            state = state.apply([event(len(state.events) + 1, "amount", value, action=action)])
        except CaseMismatch:
            continue
    state.check()
    assert CaseState(fields=FIELDS).apply(state.events) == state
    assert CaseState.from_json(state.canonical()) == state


def test_a_state_that_is_not_its_replay_stops():
    """A stored projection that differs from the replay is not used."""
    forged = CASE.model_copy(update={"facts": CASE.facts[:1]})
    with pytest.raises(CaseMismatch):
        forged.check()
