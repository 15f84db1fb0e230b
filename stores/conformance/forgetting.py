"""Forgetting: what is gone, and what is not."""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

from stores.conformance.scenario import (
    ANN,
    BEN,
    COFFEE,
    NEAR,
    NO_DRINK,
    NOW,
    TEA,
    Suite,
    remember,
    scenario,
    write,
)
from stores.ports import ContextStore
from stores.records import (
    Outcome,
    Preferences,
    Snapshot,
)


class ForgettingSuite(Suite):
    """What a store does when it is told to forget."""

    @scenario
    async def test_forgetting_leaves_no_value(self, store: ContextStore) -> None:
        """After forget nothing is left on any surface, and the store says so after reading (8)."""
        old = await remember(store, ANN, TEA)
        waiting = await store.propose(ANN, COFFEE, now_ms=NOW)
        await write(store, ANN)
        result = await store.forget(ANN, "drink", now_ms=NOW)
        assert (result.outcome, result.revision, result.complete) == (Outcome.FORGOTTEN, 2, True)
        assert {check.surface for check in result.verified} >= {"preferences", "cards", "journal"}
        assert (await store.preferences(ANN, now_ms=NOW)) == Preferences(revision=2)
        assert (await store.snapshot(ANN, now_ms=NOW)).window is None
        for card in (old, waiting):
            pressed = await store.approve(ANN, card.token, now_ms=NOW)
            assert (pressed.outcome, pressed.revision) == (Outcome.STALE, 2)

    @scenario
    async def test_forgetting_one_key_keeps_the_others(self, store: ContextStore) -> None:
        """Only what was asked for is forgotten; the card of another key stays applied."""
        drink = await remember(store, ANN, TEA)
        near = await remember(store, ANN, NEAR)
        await store.forget(ANN, "drink", now_ms=NOW)
        assert set((await store.preferences(ANN, now_ms=NOW)).values) == {"distance"}
        assert (await store.approve(ANN, drink.token, now_ms=NOW)).outcome is Outcome.STALE
        assert (await store.approve(ANN, near.token, now_ms=NOW)).outcome is Outcome.ALREADY_APPLIED
        result = await store.forget(ANN, None, now_ms=NOW)
        assert (result.revision, result.complete) == (4, True)
        assert await store.preferences(ANN, now_ms=NOW) == Preferences(revision=4)

    @scenario
    async def test_a_card_can_forget(self, store: ContextStore) -> None:
        """A card to forget does what forget does, once."""
        saved = await remember(store, ANN, TEA)
        card = await store.propose(ANN, NO_DRINK, now_ms=NOW)
        result = await store.approve(ANN, card.token, now_ms=NOW)
        assert (result.outcome, result.revision) == (Outcome.FORGOTTEN, 2)
        assert all(check.gone for check in result.verified)
        assert (await store.preferences(ANN, now_ms=NOW)) == Preferences(revision=2)
        assert (await store.approve(ANN, card.token, now_ms=NOW)).outcome is Outcome.ALREADY_APPLIED
        assert (await store.approve(ANN, saved.token, now_ms=NOW)).outcome is Outcome.STALE

    @scenario
    async def test_forgetting_nothing_still_counts(self, store: ContextStore) -> None:
        """Somebody with nothing stored can ask as well; whatever was on its way is void (7)."""
        result = await store.forget(BEN, None, now_ms=NOW)
        assert (result.revision, result.complete) == (1, True)
        assert await store.snapshot(BEN, now_ms=NOW) == Snapshot(revision=1, generation=1)

    @scenario
    async def test_what_was_forgotten_can_be_consented_to_anew(self, store: ContextStore) -> None:
        """A tombstone stops what is old; a new card of the person's own makes it so again."""
        await remember(store, ANN, TEA)
        await store.forget(ANN, None, now_ms=NOW)
        await remember(store, ANN, COFFEE)
        kept = await store.preferences(ANN, now_ms=NOW)
        assert (kept.revision, kept.values["drink"].value) == (3, "coffee")
