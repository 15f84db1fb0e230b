"""The rules of consent, as pure functions."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stores import consent
from stores.consent import CARD_TTL_MS, CardRow
from stores.errors import SigningKeyMissing
from stores.records import CardAction, CardStatus, Outcome, Owner, Proposal

KEY, OTHER = b"k" * 32, b"o" * 32
OWNER = Owner(tenant="town", person="ann")
PROPOSAL = Proposal(key="drink", purpose="to choose", value="tea")

words = st.text(
    st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12
).filter(str.strip)
owners = st.builds(Owner, tenant=words, person=words)
proposals = st.one_of(
    st.builds(Proposal, key=words, purpose=words, value=words),
    st.builds(Proposal, key=words, purpose=words, action=st.just(CardAction.FORGET)),
)
moments = st.integers(0, 10**13)


def made(owner=OWNER, proposal=PROPOSAL, *, revision=3, now_ms=1_000, keys=(KEY,), number=1):
    return consent.make_card(
        owner,
        proposal,
        revision=revision,
        now_ms=now_ms,
        card_id=bytes([number]) * 16,
        salt=b"s" * 16,
        keys=keys,
    )


@given(owners, proposals, st.integers(0, 2**40), moments)
def test_a_card_proves_its_row(owner, proposal, revision, now_ms):
    """The token of a card verifies its own row, and the same inputs make the same card (12)."""
    row, card = made(owner, proposal, revision=revision, now_ms=now_ms)
    assert (row, card) == made(owner, proposal, revision=revision, now_ms=now_ms)
    assert consent.verify(row, card.token, [OTHER, KEY]) == KEY
    assert consent.card_id_of(card.token) == row.card_id == card.card_id
    assert len(card.token) <= 200
    assert card.expires_at_ms == now_ms + CARD_TTL_MS
    assert consent.value_belongs(row, KEY, b"s" * 16, proposal.value)


@given(
    st.data(),
    st.sampled_from(
        [
            "tenant",
            "person",
            "card_id",
            "key",
            "purpose",
            "revision",
            "expires_at_ms",
            "value_tag",
            "action",
        ]
    ),
)
def test_a_changed_row_proves_nothing(data, field):
    """A row of another person, revision, value, purpose, time or action fails its token (7, 11)."""
    row, card = made()
    if field in ("tenant", "person"):
        other = row.owner.model_copy(update={field: data.draw(words)})
        changed = row.model_copy(update={"owner": other})
    elif field == "action":
        changed = row.model_copy(update={"action": CardAction.FORGET})
    else:
        new = st.integers(0, 10**6) if isinstance(getattr(row, field), int) else words
        changed = row.model_copy(update={field: data.draw(new)})
    assume(changed != row)
    assert consent.verify(changed, card.token, [KEY]) is None


@given(words, words, words, words)
def test_fields_do_not_run_into_each_other(a, b, c, d):
    """Two owners whose ids read the same when joined have different signatures (11)."""
    assume((a, b) != (c, d))
    first, _ = made(Owner(tenant=a, person=b))
    second, _ = made(Owner(tenant=c, person=d))
    assert consent.sign(KEY, first) != consent.sign(KEY, second)


def test_joined_ids_stay_apart():
    """The boundary between tenant and person is signed as well (11)."""
    tokens = {
        consent.sign(KEY, made(Owner(tenant=tenant, person=person))[0])
        for tenant, person in [("ab", "c"), ("a", "bc"), ("abc", "c")]
    }
    assert len(tokens) == 3


@given(st.binary(min_size=16, max_size=64))
def test_another_key_proves_nothing(key):
    """A card signed again with a key that is not listed is invalid."""
    assume(key != KEY)
    row, _ = made()
    assert consent.verify(row, consent.sign(key, row), [KEY]) is None
    assert consent.verify(row, consent.sign(KEY, row), []) is None


@given(st.text(max_size=90))
def test_any_text_is_a_token_or_none(text):
    """Whatever comes in as a token is told apart without an error, and proves no row."""
    row, card = made()
    assume(text != card.token)
    consent.card_id_of(text)
    assert consent.verify(row, text, [KEY]) is None


@pytest.mark.parametrize(
    "text", ["", "c2", "c2.", "c2.id", "c2.id.", "c2..mac", "c1.id.mac", "c2.花.mac"]
)
def test_what_is_no_token_names_no_card(text):
    """A token has a version, an id and a signature, in ASCII."""
    assert consent.card_id_of(text) is None


@given(words, words)
def test_a_tag_binds_one_value(value, other):
    """The tag fits the value it was made for, and without the salt it fits nothing."""
    assume(value != other)
    row, _ = made(proposal=Proposal(key="k", purpose="p", value=value))
    assert not consent.value_belongs(row, KEY, b"s" * 16, other)
    assert not consent.value_belongs(row, KEY, b"t" * 16, value)
    assert not consent.value_belongs(row, OTHER, b"s" * 16, value)
    assert not consent.value_belongs(row, KEY, b"s" * 16, None)


def test_no_key_makes_no_card():
    """Without a signing key there are no cards."""
    with pytest.raises(SigningKeyMissing):
        made(keys=())


def test_the_newest_key_signs():
    """Of several keys the first signs, so that the others can be retired."""
    row, card = made(keys=(OTHER, KEY))
    assert consent.verify(row, card.token, [OTHER]) == OTHER
    assert consent.verify(row, card.token, [KEY]) is None


def decided(row: CardRow | None, revision: int, now_ms: int) -> Outcome:
    """The order of the rules, written down as a list instead of as returns."""
    if row is None:
        return Outcome.INVALID
    rules = [
        (row.status is CardStatus.APPROVED, Outcome.ALREADY_APPLIED),
        (row.status is CardStatus.CANCELLED, Outcome.CANCELLED),
        (row.status is CardStatus.STALE or row.revision != revision, Outcome.STALE),
        (row.status is CardStatus.EXPIRED or row.expires_at_ms <= now_ms, Outcome.EXPIRED),
        (row.action is CardAction.REMEMBER, Outcome.SAVED),
        (row.action is CardAction.FORGET, Outcome.FORGOTTEN),
    ]
    return next(outcome for applies, outcome in rules if applies)


@given(
    st.sampled_from(CardStatus),
    st.sampled_from(CardAction),
    st.integers(0, 2),
    st.integers(0, 2),
    st.integers(-2, 2),
)
def test_the_first_rule_that_fits_decides(status, action, made_under, revision, late):
    """Invalid, already applied, cancelled, stale, expired, then the card's own action (7, 9)."""
    row, _ = made(revision=made_under)
    row = row.model_copy(update={"status": status, "action": action})
    now_ms = row.expires_at_ms + late
    assert consent.decide(row, revision, now_ms) is decided(row, revision, now_ms)
    if revision != made_under:
        outcome = consent.decide(row, revision, now_ms)
        assert outcome not in (Outcome.SAVED, Outcome.FORGOTTEN)


def test_nothing_proven_is_invalid():
    """No row, no card."""
    assert consent.decide(None, 0, 0) is Outcome.INVALID


def test_expiry_is_exclusive():
    """A card can be pressed until the millisecond before it expires."""
    row, _ = made(revision=0)
    assert consent.decide(row, 0, row.expires_at_ms - 1) is Outcome.SAVED
    assert consent.decide(row, 0, row.expires_at_ms) is Outcome.EXPIRED
