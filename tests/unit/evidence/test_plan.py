"""Plans are made by rules; a model proposes, the catalogue decides."""

import pytest
from pydantic import ValidationError

from callbacks.evidence.assembly import assemble
from callbacks.evidence.contract import CHANNELS, ChannelLimit, TaskContract
from callbacks.evidence.errors import ContractMismatch, EvidenceError
from callbacks.evidence.plan import Claim, affected, diff, make_plan, propose
from tests.unit.evidence.procurement import CATALOGUE, CONTRACT, PLAN, inputs, measure


def test_another_contract_stops():
    """A contract whose hash is not the approved one stops with CONTRACT_MISMATCH."""
    changed = CONTRACT.model_copy(update={"rules": CONTRACT.rules + " "})
    with pytest.raises(ContractMismatch) as refusal:
        changed.require(CONTRACT.digest())
    assert refusal.value.error_code == "CONTRACT_MISMATCH"
    with pytest.raises(ContractMismatch):
        assemble(inputs(contract=changed), measure=measure)


def test_limits_add_up_to_the_input_budget():
    """Nine channels, 25,000 together: the window without output and safety."""
    assert CONTRACT.input_limit == 25_000 == sum(one.limit for one in CONTRACT.channels)
    assert len(CONTRACT.channels) == 9
    assert CONTRACT.limit("contract") == 2_100
    more = tuple(ChannelLimit(name=name, limit=2_779) for name in CHANNELS)
    for channels in (more, CONTRACT.channels[:-1], CONTRACT.channels[::-1]):
        with pytest.raises(ValidationError):
            TaskContract.model_validate({**dict(CONTRACT), "channels": channels})


def test_a_plan_holds_what_is_asked_required_and_presupposed():
    """Asking for approval plans its claims and no others; what nobody asks for is not loaded."""
    plan = make_plan(CONTRACT, "other", ("sourcing",), CATALOGUE)
    assert plan.claims == ()
    plan = make_plan(CONTRACT, "purchase_advice", (), CATALOGUE)
    assert [claim.id for claim in plan.claims] == ["C1", "C2"]
    assert [claim.id for claim in PLAN.claims] == ["C1", "C2", "C3", "C4"]
    with pytest.raises(EvidenceError):
        make_plan(CONTRACT, "purchase_advice", (), CATALOGUE[2:])
    with pytest.raises(EvidenceError):
        make_plan(CONTRACT, "other", ("approval",), CATALOGUE[1:])


def test_a_claim_neither_asked_nor_needed_is_refused_and_recorded():
    """The catalogue decides what a proposal is; the refusal stands in the plan."""
    invented = Claim.from_data({"id": "C9", "kind": "payment", "accepts": ["mail"]})
    softer = CATALOGUE[1].model_copy(update={"accepts": ("mail",)})
    after = propose(PLAN, [invented, softer, CATALOGUE[4], CATALOGUE[0]], CATALOGUE)
    assert after.claims == PLAN.claims
    assert [(one.claim, one.reason) for one in after.refused] == [
        ("C9", "not_in_catalogue"),
        ("C2", "not_the_catalogues"),
        ("C5", "neither_asked_nor_prerequisite"),
    ]
    assert after.revision == 2
    assert propose(PLAN, [CATALOGUE[0]], CATALOGUE) is PLAN


def test_a_proposal_that_was_asked_for_is_taken():
    """What the person asked for may be proposed, and the difference is kept."""
    small = make_plan(CONTRACT, "purchase_advice", ("approval",), CATALOGUE)
    small = small.model_copy(update={"asks": ("approval", "history")})
    after = propose(small, [CATALOGUE[4]], CATALOGUE)
    changes = diff(small, after)
    assert (changes.added, changes.removed, changes.changed) == (("C5",), (), ())
    assert (changes.before, changes.after) == (1, 2)


def test_a_changed_fact_reaches_the_claims_that_depend_on_it():
    """Direct dependents and the claims that need them are built again; others are not."""
    assert affected(PLAN, ["amount"]) == ("C2", "C3", "C4")
    assert affected(PLAN, ["framework"]) == ("C1", "C2", "C3")
    assert affected(PLAN, ["language"]) == ()


def test_a_claim_that_quotes_decides_nothing():
    """Text nobody vouches for may be quoted, never decide a conclusion."""
    with pytest.raises(EvidenceError):
        Claim.from_data({"id": "Q", "kind": "q", "accepts": ["mail"], "quotes": True})
