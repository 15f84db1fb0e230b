"""Owners: nobody reaches what is not theirs."""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

import asyncio

import pytest

from stores.conformance.scenario import (
    ANN,
    ANN_ELSEWHERE,
    BEN,
    COFFEE,
    NOW,
    OTHER_KEY,
    SIGNING_KEY,
    TEA,
    Suite,
    everything,
    remember,
    scenario,
    write,
)
from stores.errors import (
    SigningKeyMissing,
)
from stores.ports import ContextStore
from stores.records import (
    ConsentResult,
    Outcome,
    Owner,
    Preferences,
    Snapshot,
)


class OwnerSuite(Suite):
    """What a store does with the cards and ids of others."""

    @scenario
    async def test_people_do_not_meet(self, store: ContextStore) -> None:
        """What one person does shows nowhere else, whatever ids have in common (11)."""
        others = (
            BEN,
            ANN_ELSEWHERE,
            Owner(tenant="townann", person="ann"),
            Owner(tenant="town", person="ANN"),
            Owner(tenant="town", person="ann "),
            Owner(tenant="town", person="ann%"),
        )
        await remember(store, ANN, TEA)
        await write(store, ANN)
        for other in others:
            assert await everything(store, other) == (Snapshot(), Preferences())
            await store.forget(other, None, now_ms=NOW)
        seen, kept = await everything(store, ANN)
        assert (seen.window, kept.values["drink"].value) == ("{}", "tea")

    @scenario
    async def test_a_foreign_card_is_invalid(self, store: ContextStore) -> None:
        """A card in another hand does nothing and tells nothing, before and after its use (11)."""
        card = await store.propose(ANN, TEA, now_ms=NOW)
        for _ in range(2):
            for other in (BEN, ANN_ELSEWHERE):
                for press in (store.approve, store.cancel):
                    result = await press(other, card.token, now_ms=NOW)
                    assert result == ConsentResult(outcome=Outcome.INVALID, revision=0)
                assert await everything(store, other) == (Snapshot(), Preferences())
            await store.approve(ANN, card.token, now_ms=NOW)

    @scenario
    async def test_a_broken_token_is_invalid(self, store: ContextStore) -> None:
        """A token that was cut, changed or made up is invalid and changes nothing (11)."""
        card = await store.propose(ANN, TEA, now_ms=NOW)
        other = await store.propose(ANN, COFFEE, now_ms=NOW)
        token = card.token
        _, card_id, mac = token.split(".")
        made_up = [token[:cut] for cut in range(len(token))]
        made_up += [token[:at] + "~" + token[at + 1 :] for at in range(len(token))]
        made_up += [f"c1.{card_id}.{other.token.split('.')[2]}", f"c1.{other.card_id}.{mac}"]
        made_up += [token + "x", token.upper(), f" {token}", "花" * 60, "x" * 5_000, "\ud800", "\0"]
        for bad in made_up:
            result = await store.approve(ANN, bad, now_ms=NOW)
            assert result == ConsentResult(outcome=Outcome.INVALID, revision=0)
        assert (await store.approve(ANN, token, now_ms=NOW)).outcome is Outcome.SAVED

    def test_keys_rotate(self, store_url: str) -> None:
        """A card signed by a key that is still listed is good; one by an unlisted key is not."""

        async def tell() -> None:
            async with self.open(store_url, (OTHER_KEY,)) as store:
                old = await store.propose(ANN, TEA, now_ms=NOW)
            async with self.open(store_url, (SIGNING_KEY,)) as store:
                result = await store.approve(ANN, old.token, now_ms=NOW)
                assert result.outcome is Outcome.INVALID
            async with self.open(store_url, (SIGNING_KEY, OTHER_KEY)) as store:
                result = await store.approve(ANN, old.token, now_ms=NOW)
                assert result.outcome is Outcome.SAVED
                new = await store.propose(ANN, COFFEE, now_ms=NOW)
            async with self.open(store_url, (OTHER_KEY,)) as store:
                result = await store.approve(ANN, new.token, now_ms=NOW)
                assert result.outcome is Outcome.INVALID

        asyncio.run(tell())

    def test_without_a_key_there_are_no_cards(self, store_url: str) -> None:
        """A store without signing keys keeps windows and forgets, and refuses cards by a code."""

        async def tell() -> None:
            async with self.open(store_url, ()) as store:
                await write(store, ANN)
                for call in (
                    store.propose(ANN, TEA, now_ms=NOW),
                    store.approve(ANN, "c1.a.b", now_ms=NOW),
                    store.cancel(ANN, "c1.a.b", now_ms=NOW),
                ):
                    with pytest.raises(SigningKeyMissing) as caught:
                        await call
                    assert caught.value.error_code == "SIGNING_KEY_MISSING"
                assert (await store.forget(ANN, None, now_ms=NOW)).complete

        asyncio.run(tell())
