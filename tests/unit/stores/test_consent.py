"""The rules of consent, as pure functions."""

import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stores import consent
from stores.consent import CARD_TTL_MS, CardRow
from stores.errors import InvalidInput, SigningKeyMissing
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
            "value_expires_at_ms",
            "scope",
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
        new = words if isinstance(getattr(row, field), str) else st.integers(0, 10**6)
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


@given(moments, st.integers(-(10**6), 10**7))
def test_a_card_ends_with_its_value(now_ms, life):
    """A card lives its time, but not past the end of its value; an end in the past is refused."""
    end = max(now_ms + life, 0)
    proposal = PROPOSAL.model_copy(update={"expires_at_ms": end})
    if end <= now_ms:
        with pytest.raises(InvalidInput) as caught:
            made(proposal=proposal, now_ms=now_ms)
        assert caught.value.numbers["field"] == "expires_at_ms"
        return
    row, card = made(proposal=proposal, now_ms=now_ms)
    assert card.expires_at_ms == row.expires_at_ms == min(now_ms + CARD_TTL_MS, end)
    assert card.value_expires_at_ms == row.value_expires_at_ms == end


@given(st.one_of(st.none(), moments), st.one_of(st.none(), moments))
def test_a_tombstone_stops_what_is_not_newer(said_at_ms, forgotten_at_ms):
    """Words said up to the moment of "forget" are old; without a time they are of now (8)."""
    proposal = PROPOSAL.model_copy(update={"said_at_ms": said_at_ms})
    known = said_at_ms is not None and forgotten_at_ms is not None
    old = consent.older_than(proposal, forgotten_at_ms)
    assert old == (known and said_at_ms <= forgotten_at_ms)


def test_many_thousand_attacks_prove_nothing():
    """Of 100,000 foreign, cut, mixed and re-signed tokens none proves a row (11)."""
    chance = random.Random(11)
    people = [Owner(tenant=tenant, person=person) for tenant in "tu" for person in "ab"]
    hands = [made(owner, number=number) for number, owner in enumerate(people)]
    old = [made(owner, number=number, keys=(OTHER,)) for number, owner in enumerate(people)]
    tokens = [card.token for _, card in (*hands, *old)]
    for _ in range(100_000):
        row, card = chance.choice(hands)
        one, other, cut = chance.choice(tokens), chance.choice(tokens), chance.randrange(60)
        attack = chance.choice(
            (
                one,
                one[:cut],
                one[:cut] + other[cut:],
                one[:cut] + chance.choice("AZaz09-_.") + one[cut + 1 :],
                ".".join((*one.split(".")[:2], other.split(".")[2])),
            )
        )
        if attack != card.token:
            assert consent.verify(row, attack, [KEY]) is None


@pytest.mark.parametrize(
    ("status", "revision", "now_ms", "action", "comes_to"),
    [
        (CardStatus.APPROVED, 4, 10**9, CardAction.REMEMBER, Outcome.ALREADY_APPLIED),
        (CardStatus.CANCELLED, 4, 10**9, CardAction.REMEMBER, Outcome.CANCELLED),
        (CardStatus.STALE, 3, 1_000, CardAction.REMEMBER, Outcome.STALE),
        (CardStatus.PENDING, 4, 1_000, CardAction.REMEMBER, Outcome.STALE),
        (CardStatus.EXPIRED, 3, 1_000, CardAction.REMEMBER, Outcome.EXPIRED),
        (CardStatus.PENDING, 3, 1_000 + CARD_TTL_MS, CardAction.REMEMBER, Outcome.EXPIRED),
        (CardStatus.PENDING, 3, 999 + CARD_TTL_MS, CardAction.REMEMBER, Outcome.SAVED),
        (CardStatus.PENDING, 3, 1_000, CardAction.FORGET, Outcome.FORGOTTEN),
    ],
)
def test_each_rule_in_its_place(status, revision, now_ms, action, comes_to):
    """What a press comes to, rule by rule, in their order."""
    row = made()[0].model_copy(update={"status": status, "action": action})
    assert consent.decide(row, revision, now_ms) is comes_to


def test_no_row_is_invalid():
    """A token that proves nothing comes to nothing."""
    assert consent.decide(None, 3, 1_000) is Outcome.INVALID
