"""Nobody reaches what is another person's, not even by changing rows in the database."""

import itertools
import random

import pytest

from stores.errors import StoreUnavailable
from stores.records import CardStatus, ConsentResult, Outcome, Owner, Preferences, Proposal
from stores.sealing import KeyRing
from tests.integration.stores.conftest import STORE_KEY

NOW = 1_000_000
ANN = Owner(tenant="town", person="ann")
BEN = Owner(tenant="town", person="ben")
CAT = Owner(tenant="city", person="ann")
PEOPLE = (ANN, BEN, CAT)


def proposal(owner):
    return Proposal(key="drink", purpose="to choose", value=f"of {owner.tenant} {owner.person}")


async def cards_of_all(store):
    return {owner: await store.propose(owner, proposal(owner), now_ms=NOW) for owner in PEOPLE}


def same_but(column):
    """Return SQL that gives two people's cards each other's content of one column."""
    return (
        f"UPDATE store_cards SET {column} = (SELECT other.{column} FROM store_cards other "  # noqa: S608 - names of columns, from this file
        "WHERE (other.tenant, other.person) IN (VALUES ('town', 'ann'), ('town', 'ben')) "
        "AND other.person <> store_cards.person) WHERE tenant = 'town'"
    )


@pytest.mark.parametrize(
    "column",
    ["purpose", "value_tag", "slot", "expires_at_ms", "key", "scope", "value_expires_at_ms"],
)
async def test_swapped_columns_prove_nothing(file, column):
    """A card whose row was given another card's content cannot be applied (11)."""
    async with file.open() as store:
        first = await store.propose(ANN, proposal(ANN), now_ms=NOW)
        other = Proposal(
            key="food",
            purpose="to cook",
            value="of somebody else",
            scope="their group",
            expires_at_ms=NOW * 2,
        )
        await store.propose(BEN, other, now_ms=NOW + 1)
        bare = file.bare()
        assert bare.execute(same_but(column)).rowcount == 2
        bare.close()
        if column == "slot":
            with pytest.raises(StoreUnavailable) as caught:
                await store.approve(ANN, first.token, now_ms=NOW)
            assert caught.value.numbers["reason"] == "damaged"
        else:
            result = await store.approve(ANN, first.token, now_ms=NOW)
            assert result == ConsentResult(outcome=Outcome.INVALID, revision=0)
        assert (await store.preferences(ANN, now_ms=NOW)).values == {}


async def test_swapped_owners_prove_nothing(file):
    """A row that was moved to another person is invalid in their hands, and in its owner's (11)."""
    async with file.open() as store:
        cards = await cards_of_all(store)
        bare = file.bare()
        bare.execute("PRAGMA foreign_keys = OFF")
        bare.execute("UPDATE store_cards SET person = 'x' WHERE tenant = 'town' AND person = 'ann'")
        bare.execute(
            "UPDATE store_cards SET person = 'ann' WHERE tenant = 'town' AND person = 'ben'"
        )
        bare.execute("UPDATE store_cards SET person = 'ben' WHERE tenant = 'town' AND person = 'x'")
        bare.close()
        for owner, card in itertools.product((ANN, BEN), (cards[ANN], cards[BEN])):
            result = await store.approve(owner, card.token, now_ms=NOW)
            assert result == ConsentResult(outcome=Outcome.INVALID, revision=0)


async def test_a_card_made_pending_again_is_stale(file):
    """Setting a used card back to pending does not make it usable: the revision has moved (7)."""
    async with file.open() as store:
        card = await store.propose(ANN, proposal(ANN), now_ms=NOW)
        await store.approve(ANN, card.token, now_ms=NOW)
        await store.forget(ANN, None, now_ms=NOW)
        bare = file.bare()
        bare.execute("UPDATE store_cards SET status = ?", (CardStatus.PENDING.value,))
        bare.close()
        result = await store.approve(ANN, card.token, now_ms=NOW)
        assert result.outcome is Outcome.STALE


async def test_a_swapped_preference_is_not_shown(file):
    """A preference that points at another person's value is damage, not a value (11)."""
    async with file.open() as store:
        for owner, card in (await cards_of_all(store)).items():
            await store.approve(owner, card.token, now_ms=NOW)
        bare = file.bare()
        slots = dict(
            bare.execute("SELECT person || tenant, slot FROM store_preferences").fetchall()
        )
        bare.execute(
            "UPDATE store_preferences SET slot = ? WHERE person = 'ben'", (slots["anntown"],)
        )
        bare.close()
        with pytest.raises(StoreUnavailable) as caught:
            await store.preferences(BEN, now_ms=NOW)
        assert caught.value.numbers["reason"] == "damaged"
        await store.forget(BEN, None, now_ms=NOW)
        kept = await store.preferences(ANN, now_ms=NOW)
        assert kept.values["drink"].value == proposal(ANN).value


@pytest.mark.parametrize("change", ["another value", "no slot"])
async def test_a_value_that_was_changed_proves_nothing(file, change):
    """A card saves the value it was made for, or nothing (7)."""
    async with file.open() as store:
        card = await store.propose(ANN, proposal(ANN), now_ms=NOW)
        bare = file.bare()
        if change == "another value":
            # The attacker has the ring key, too, and seals a value of their own for this person.
            ring = KeyRing([STORE_KEY])
            [wrapped] = [
                body
                for (body,) in bare.execute(
                    "SELECT v.body FROM store_vault v JOIN store_people p ON p.key_slot = v.slot"
                )
            ]
            body = ring.seal(ring.unwrap(ANN, wrapped), ANN, "drink", b"s" * 16, "coffee")
            bare.execute(
                "UPDATE store_vault SET body = ? WHERE slot = (SELECT slot FROM store_cards)",
                (body,),
            )
        else:
            bare.execute("UPDATE store_cards SET slot = NULL")
        bare.close()
        result = await store.approve(ANN, card.token, now_ms=NOW)
        assert result == ConsentResult(outcome=Outcome.INVALID, revision=0)
        assert await store.preferences(ANN, now_ms=NOW) == Preferences()


async def test_random_attacks_do_not_succeed(file):
    """No foreign, cut, mixed or re-signed token changes anybody or tells them apart (11)."""
    chance = random.Random(7)
    async with file.open() as store, file.open(signing_keys=[b"o" * 32]) as forger:
        cards = await cards_of_all(store)
        forged = await cards_of_all(forger)
        tokens = [card.token for card in (*cards.values(), *forged.values())]
        stranger = Owner(tenant="town", person="nobody")
        for _ in range(1_500):
            owner = chance.choice((*PEOPLE, stranger))
            one, other = chance.choice(tokens), chance.choice(tokens)
            cut = chance.randrange(len(one))
            attack = chance.choice(
                (
                    one,
                    one[:cut],
                    one[:cut] + other[cut:],
                    one[:cut] + chance.choice("AZaz09-_.") + one[cut + 1 :],
                    ".".join((*one.split(".")[:2], other.split(".")[2])),
                    one + chance.choice("AZ.="),
                )
            )
            if owner in cards and attack == cards[owner].token:
                continue
            press = chance.choice((store.approve, store.cancel))
            result = await press(owner, attack, now_ms=NOW)
            assert result == ConsentResult(outcome=Outcome.INVALID, revision=0)
        for owner in (*PEOPLE, stranger):
            assert await store.preferences(owner, now_ms=NOW) == Preferences()
        for owner, card in cards.items():
            result = await store.approve(owner, card.token, now_ms=NOW)
            assert result.outcome is Outcome.SAVED
            kept = await store.preferences(owner, now_ms=NOW)
            assert kept.values["drink"].value == proposal(owner).value
