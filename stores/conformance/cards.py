"""Cards: what pressing them comes to."""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

import asyncio

import pytest

from stores.checks import VALUE_MAX_BYTES
from stores.conformance.scenario import (
    ANN,
    COFFEE,
    NEAR,
    NOW,
    TEA,
    Suite,
    everything,
    remember,
    scenario,
    write,
)
from stores.consent import CARD_TTL_MS
from stores.errors import (
    PreferenceChanged,
)
from stores.ports import ContextStore
from stores.records import (
    CardAction,
    Outcome,
    Snapshot,
)


class CardSuite(Suite):
    """What a store does with proposals and presses."""

    @scenario
    async def test_a_proposal_remembers_nothing(self, store: ContextStore) -> None:
        """A card is only an offer: revision, window and preferences stay as they were."""
        await write(store, ANN)
        before = await everything(store, ANN)
        card = await store.propose(ANN, TEA, now_ms=NOW)
        assert await everything(store, ANN) == before
        assert (card.action, card.key, card.purpose) == (TEA.action, TEA.key, TEA.purpose)
        assert (card.revision, card.expires_at_ms) == (0, NOW + CARD_TTL_MS)

    @scenario
    async def test_a_token_is_short_and_silent(self, store: ContextStore) -> None:
        """A token fits a button, and neither it nor the card shows the value."""
        value = "v" * VALUE_MAX_BYTES
        proposal = TEA.model_copy(update={"value": value})
        card = await store.propose(ANN, proposal, now_ms=NOW)
        assert len(card.token) <= 200
        assert "v" * 12 not in card.model_dump_json() + repr(card) + repr(proposal)

    @scenario
    async def test_approving_remembers_once(self, store: ContextStore) -> None:
        """The first press saves under a new revision, every further one has been applied."""
        await write(store, ANN)
        card = await store.propose(ANN, TEA, now_ms=NOW)
        first = await store.approve(ANN, card.token, now_ms=NOW + 5)
        assert (first.outcome, first.revision) == (Outcome.SAVED, 1)
        assert (first.key, first.action) == ("drink", CardAction.REMEMBER)
        kept = await store.preferences(ANN, now_ms=NOW)
        assert kept.revision == 1
        assert {
            key: (one.value, one.purpose, one.granted_at_ms) for key, one in kept.values.items()
        } == {"drink": ("tea", TEA.purpose, NOW + 5)}
        for press in (store.approve, store.cancel):
            again = await press(ANN, card.token, now_ms=NOW + CARD_TTL_MS * 2)
            assert (again.outcome, again.revision) == (Outcome.ALREADY_APPLIED, 1)
        assert await store.snapshot(ANN, now_ms=NOW) == Snapshot(revision=1, generation=2)

    @scenario
    async def test_one_card_pressed_at_once_saves_once(self, store: ContextStore) -> None:
        """Of presses at the same time one saves; the revision moves by one (9)."""
        card = await store.propose(ANN, TEA, now_ms=NOW)
        results = await asyncio.gather(
            *(store.approve(ANN, card.token, now_ms=NOW) for _ in range(6))
        )
        assert sorted(result.outcome.value for result in results) == ["already_applied"] * 5 + [
            "saved"
        ]
        assert {result.revision for result in results} == {1}

    @scenario
    async def test_a_new_value_replaces_the_old_one(self, store: ContextStore) -> None:
        """One key has one value: the last one consented to."""
        await remember(store, ANN, TEA)
        await remember(store, ANN, NEAR)
        await remember(store, ANN, COFFEE)
        kept = await store.preferences(ANN, now_ms=NOW)
        assert {key: one.value for key, one in kept.values.items()} == {
            "drink": "coffee",
            "distance": "near",
        }
        assert kept.revision == 3

    @scenario
    async def test_any_change_makes_older_cards_stale(self, store: ContextStore) -> None:
        """A card made under an older revision is stale after a save, a cancel or a forget (7)."""

        async def save() -> None:
            await remember(store, ANN, NEAR)

        async def cancel() -> None:
            card = await store.propose(ANN, NEAR, now_ms=NOW)
            await store.cancel(ANN, card.token, now_ms=NOW)

        async def forget() -> None:
            await store.forget(ANN, "something else", now_ms=NOW)

        for change in (save, cancel, forget):
            old = await store.propose(ANN, TEA, now_ms=NOW)
            await change()
            for press in (store.approve, store.cancel):
                result = await press(ANN, old.token, now_ms=NOW + CARD_TTL_MS)
                assert result.outcome is Outcome.STALE
        assert "drink" not in (await store.preferences(ANN, now_ms=NOW)).values

    @scenario
    async def test_any_change_stops_a_turn_that_began_before(self, store: ContextStore) -> None:
        """A window seen before a change of consent is gone, and one written on it refused (7)."""
        for change in ("save", "cancel", "forget"):
            await write(store, ANN, f"before {change}")
            seen = await store.snapshot(ANN, now_ms=NOW)
            card = await store.propose(ANN, TEA, now_ms=NOW)
            if change == "save":
                await store.approve(ANN, card.token, now_ms=NOW)
            elif change == "cancel":
                await store.cancel(ANN, card.token, now_ms=NOW)
            else:
                await store.forget(ANN, None, now_ms=NOW)
            with pytest.raises(PreferenceChanged) as caught:
                await store.append(
                    ANN,
                    event_id=f"slow {change}",
                    window="[]",
                    expected_revision=seen.revision,
                    expected_generation=seen.generation,
                    now_ms=NOW,
                )
            assert caught.value.numbers == {
                "expected": seen.revision,
                "found": seen.revision + 1,
            }
            assert (await store.snapshot(ANN, now_ms=NOW)).window is None

    @scenario
    async def test_cancelling_ends_a_card(self, store: ContextStore) -> None:
        """A cancelled card stays cancelled, moves the revision once, and saves nothing."""
        card = await store.propose(ANN, TEA, now_ms=NOW)
        for press in (store.cancel, store.cancel, store.approve):
            result = await press(ANN, card.token, now_ms=NOW)
            assert (result.outcome, result.revision) == (Outcome.CANCELLED, 1)
        assert (await store.preferences(ANN, now_ms=NOW)).values == {}

    @scenario
    async def test_a_card_runs_out(self, store: ContextStore) -> None:
        """The last millisecond still counts; after it the card is expired, for good."""
        card = await store.propose(ANN, TEA, now_ms=NOW)
        for moment in (card.expires_at_ms, card.expires_at_ms + 1, NOW):
            result = await store.approve(ANN, card.token, now_ms=moment)
            assert (result.outcome, result.revision) == (Outcome.EXPIRED, 0)
        last = await store.propose(ANN, TEA, now_ms=NOW)
        result = await store.approve(ANN, last.token, now_ms=last.expires_at_ms - 1)
        assert result.outcome is Outcome.SAVED

    @scenario
    async def test_a_proposal_may_expect_a_revision(self, store: ContextStore) -> None:
        """A proposal that comes out of an older turn makes no card (7)."""
        await remember(store, ANN, NEAR)
        with pytest.raises(PreferenceChanged):
            await store.propose(ANN, TEA, now_ms=NOW, expected_revision=0)
        card = await store.propose(ANN, TEA, now_ms=NOW, expected_revision=1)
        assert card.revision == 1
