"""Keeping: ends and groups of what is remembered, the ledger, inspection, erasure, ring keys."""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

import asyncio
from typing import Final

import pytest

from stores.conformance.scenario import (
    ANN,
    ANN_ELSEWHERE,
    BEN,
    COFFEE,
    NEAR,
    NO_DRINK,
    NOW,
    OTHER_STORE_KEY,
    SIGNING_KEY,
    STORE_KEY,
    TEA,
    TTL,
    Suite,
    remember,
    scenario,
    write,
)
from stores.consent import CARD_TTL_MS
from stores.errors import InvalidInput, PreferenceChanged, StoreKeyMissing
from stores.ledger import Inspection, KeyRotation, LedgerKind
from stores.personal import PersonalStore
from stores.records import PRIVATE, Outcome, Preferences, Proposal, Snapshot

MONTH: Final = 30 * 24 * 3_600_000
TO_THE_END_OF_THE_MONTH: Final = Proposal(
    key="drink", purpose="to choose a cafe", value="tea", expires_at_ms=NOW + MONTH
)
FOR_THE_CLUB: Final = Proposal(
    key="drink", purpose="to choose a cafe", value="tea", scope="the club"
)


async def kinds(store: PersonalStore, now_ms: int = NOW) -> list[str]:
    """Return the kinds of Ann's ledger, oldest first."""
    return [event.kind.value for event in (await store.inspect(ANN, now_ms=now_ms)).events]


class KeepingSuite(Suite):
    """What a store does with what it keeps, over time and when asked about it."""

    @scenario
    async def test_a_value_ends_when_it_was_agreed_to(self, store: PersonalStore) -> None:
        """The last millisecond still counts; after it the value is as if forgotten (8)."""
        await remember(store, ANN, TO_THE_END_OF_THE_MONTH)
        await remember(store, ANN, NEAR)
        kept = await store.preferences(ANN, now_ms=NOW + MONTH - 1)
        assert (kept.values["drink"].value, kept.values["drink"].expires_at_ms) == (
            "tea",
            NOW + MONTH,
        )
        for _ in range(2):
            later = await store.preferences(ANN, now_ms=NOW + MONTH)
            assert (later.revision, set(later.values)) == (2, {"distance"})
            await store.sweep(ANN.tenant, now_ms=NOW + MONTH)
        assert (await kinds(store))[-1] == "expired"
        result = await store.forget(ANN, None, now_ms=NOW + MONTH)
        assert (result.revision, result.complete) == (3, True)

    @scenario
    async def test_a_card_does_not_outlive_its_value(self, store: PersonalStore) -> None:
        """A card cannot be pressed past the end of what it would remember."""
        soon = TEA.model_copy(update={"expires_at_ms": NOW + 1_000})
        card = await store.propose(ANN, soon, now_ms=NOW)
        assert (card.expires_at_ms, card.value_expires_at_ms) == (NOW + 1_000, NOW + 1_000)
        result = await store.approve(ANN, card.token, now_ms=NOW + 1_000)
        assert result.outcome is Outcome.EXPIRED
        with pytest.raises(InvalidInput) as caught:
            await store.propose(ANN, soon, now_ms=NOW + 1_000)
        assert caught.value.numbers["field"] == "expires_at_ms"

    @scenario
    async def test_what_ran_out_is_taken_away_for_good(self, store: PersonalStore) -> None:
        """A sweep takes away cards, values and windows of people who never come back (8)."""
        await remember(store, ANN, TO_THE_END_OF_THE_MONTH)
        await store.propose(ANN, COFFEE, now_ms=NOW)
        await write(store, ANN)
        await store.propose(BEN, TEA, now_ms=NOW)
        await write(store, ANN_ELSEWHERE)
        assert await store.sweep(ANN.tenant, now_ms=NOW) == 0
        assert await store.sweep(ANN.tenant, now_ms=NOW + MONTH) == 2
        assert await store.sweep(ANN.tenant, now_ms=NOW + MONTH) == 0
        held = await store.inspect(ANN, now_ms=NOW)
        assert (held.values, held.window, held.open_cards) == ({}, None, 0)
        assert await kinds(store) == ["proposed", "granted", "proposed", "expired", "expired"]
        assert (await store.snapshot(ANN_ELSEWHERE, now_ms=NOW)).window == "{}"

    @scenario
    async def test_a_sweep_changes_nothing_to_be_seen(self, store: PersonalStore) -> None:
        """What ran out was gone already: revision, generation and other values stay (7)."""
        await remember(store, ANN, TO_THE_END_OF_THE_MONTH)
        await remember(store, ANN, NEAR)
        later = NOW + MONTH
        await write(store, ANN, now_ms=later)
        before = await store.snapshot(ANN, now_ms=later), await store.preferences(ANN, now_ms=later)
        await store.sweep(ANN.tenant, now_ms=later)
        after = await store.snapshot(ANN, now_ms=later), await store.preferences(ANN, now_ms=later)
        assert before == after

    @scenario
    async def test_a_group_sees_what_it_was_allowed(self, store: PersonalStore) -> None:
        """A private value is in no group; a group's is there and in its person's own chat (11)."""
        await remember(store, ANN, NEAR)
        await remember(store, ANN, FOR_THE_CLUB)

        async def seen(chat: str) -> set[str]:
            return set((await store.preferences(ANN, now_ms=NOW, chat=chat)).values)

        assert await seen(PRIVATE) == {"drink", "distance"}
        assert await seen("the club") == {"drink"}
        assert await seen("another club") == await seen("THE CLUB") == set()
        assert (await store.preferences(ANN, now_ms=NOW, chat="another club")).revision == 2
        await remember(store, ANN, TEA)
        assert await seen("the club") == set()

    @scenario
    async def test_words_older_than_forget_teach_nothing(self, store: PersonalStore) -> None:
        """A tombstone stops what was said before it, of any key; what is said after is new (8)."""
        await remember(store, ANN, TEA)
        await store.forget(ANN, "drink", now_ms=NOW + 10)
        for proposal, said_at_ms in ((TEA, NOW), (NEAR, NOW + 10), (NO_DRINK, NOW + 10)):
            old = proposal.model_copy(update={"said_at_ms": said_at_ms})
            with pytest.raises(PreferenceChanged):
                await store.propose(ANN, old, now_ms=NOW + 20)
        assert (await store.inspect(ANN, now_ms=NOW + 20)).open_cards == 0
        new = TEA.model_copy(update={"said_at_ms": NOW + 11})
        await remember(store, ANN, new, now_ms=NOW + 20)
        assert set((await store.preferences(ANN, now_ms=NOW + 20)).values) == {"drink"}
        await store.forget(ANN, None, now_ms=NOW)
        with pytest.raises(PreferenceChanged):  # a clock that went back moves no tombstone
            await store.propose(
                ANN, TEA.model_copy(update={"said_at_ms": NOW + 5}), now_ms=NOW + 20
            )

    @scenario
    async def test_the_ledger_tells_what_happened(self, store: PersonalStore) -> None:
        """Each act of consent is one line, in order, with purpose, channel, policy and time."""
        saved = await store.propose(ANN, FOR_THE_CLUB, now_ms=NOW, channel="line")
        await store.approve(ANN, saved.token, now_ms=NOW + 1, channel="line")
        await store.approve(ANN, saved.token, now_ms=NOW + 2)
        await remember(store, ANN, COFFEE, now_ms=NOW + 3)
        turned_down = await store.propose(ANN, NEAR, now_ms=NOW + 4)
        await store.cancel(ANN, turned_down.token, now_ms=NOW + 5)
        late = await store.propose(ANN, NEAR, now_ms=NOW + 6)
        await store.approve(ANN, late.token, now_ms=NOW + 6 + CARD_TTL_MS)
        undo = await store.propose(ANN, NO_DRINK, now_ms=NOW + 7)
        await store.approve(ANN, undo.token, now_ms=NOW + 8)
        await store.forget(ANN, None, now_ms=NOW + 9, channel="console")
        events = (await store.inspect(ANN, now_ms=NOW)).events
        assert [event.number for event in events] == list(range(1, len(events) + 1))
        told = [
            (event.kind.value, event.key, event.at_ms - NOW, event.revision) for event in events
        ]
        assert told == [
            ("proposed", "drink", 0, 0),
            ("granted", "drink", 1, 1),
            ("proposed", "drink", 3, 1),
            ("changed", "drink", 3, 2),
            ("proposed", "distance", 4, 2),
            ("cancelled", "distance", 5, 3),
            ("proposed", "distance", 6, 3),
            ("expired", "distance", 6 + CARD_TTL_MS, 3),
            ("proposed", "drink", 7, 3),
            ("forgotten", "drink", 8, 4),
            ("forgotten", None, 9, 5),
        ]
        granted, last = events[1], events[-1]
        assert (granted.purpose, granted.scope, granted.channel, granted.card_id) == (
            TEA.purpose,
            "the club",
            "line",
            saved.card_id,
        )
        assert (last.channel, last.card_id, last.purpose) == ("console", None, "")
        assert {event.policy for event in events} == {granted.policy} != {""}
        assert not {"tea", "coffee", "near"} & set("".join(map(str, events)).split("'"))

    @scenario
    async def test_inspection_shows_all_there_is(self, store: PersonalStore) -> None:
        """What is held of a person is told whole, and nothing of anybody else (11)."""
        for _ in range(2):  # to look leaves nothing behind
            nobody = await store.inspect(ANN, now_ms=NOW)
            assert nobody == Inspection(owner=ANN)
            assert nobody.is_empty
        await remember(store, ANN, FOR_THE_CLUB)
        await remember(store, BEN, NEAR)
        await store.propose(ANN, COFFEE, now_ms=NOW)
        await write(store, ANN)
        held = await store.inspect(ANN, now_ms=NOW)
        assert (held.revision, held.generation, held.forgotten_at_ms) == (1, 2, None)
        assert (held.known, held.is_empty) == (True, False)
        assert {key: (one.value, one.scope) for key, one in held.values.items()} == {
            "drink": ("tea", "the club")
        }
        assert (held.open_cards, held.window, held.window_expires_at_ms) == (1, "{}", NOW + TTL)
        assert [event.kind for event in held.events] == [
            LedgerKind.PROPOSED,
            LedgerKind.GRANTED,
            LedgerKind.PROPOSED,
        ]

    @scenario
    async def test_erasing_leaves_a_tombstone_alone(self, store: PersonalStore) -> None:
        """After erasure nothing of a person is left but what stops a slow writer (7, 8)."""
        old = await remember(store, ANN, TEA)
        await remember(store, BEN, NEAR)
        waiting = await store.propose(ANN, COFFEE, now_ms=NOW)
        await write(store, ANN)
        seen = await store.snapshot(ANN, now_ms=NOW)
        result = await store.erase(ANN, now_ms=NOW + 5)
        assert (result.outcome, result.revision, result.complete) == (Outcome.FORGOTTEN, 2, True)
        assert {check.surface for check in result.verified} >= {
            *("preferences", "cards", "journal", "ledger")
        }
        left = await store.inspect(ANN, now_ms=NOW + 5)
        assert left == Inspection(
            owner=ANN,
            known=True,
            revision=2,
            generation=seen.generation + 1,
            forgotten_at_ms=NOW + 5,
        )
        assert left.is_empty
        with pytest.raises(PreferenceChanged):
            await store.append(
                ANN,
                event_id="slow",
                window="[]",
                expected_revision=seen.revision,
                expected_generation=seen.generation,
                now_ms=NOW + 5,
            )
        for card in (old, waiting):
            pressed = await store.approve(ANN, card.token, now_ms=NOW + 5)
            assert pressed.outcome is Outcome.INVALID
        assert set((await store.preferences(BEN, now_ms=NOW)).values) == {"distance"}
        again = await store.erase(ANN, now_ms=NOW + 6)
        assert (again.revision, again.complete) == (3, True)

    @scenario
    async def test_a_policy_may_keep_the_ledger(self, store: PersonalStore) -> None:
        """Where consent has to be accounted for, the ledger outlives the person's data."""
        await remember(store, ANN, TEA)
        result = await store.erase(ANN, now_ms=NOW, keep_ledger=True)
        assert result.complete
        assert "ledger" not in {check.surface for check in result.verified}
        assert await kinds(store) == ["proposed", "granted", "forgotten"]

    @scenario
    async def test_erasing_nobody_still_counts(self, store: PersonalStore) -> None:
        """Somebody of whom nothing is stored can ask as well; what was on its way is void (7)."""
        assert (await store.erase(BEN, now_ms=NOW)).complete
        assert await store.snapshot(BEN, now_ms=NOW) == Snapshot(revision=1, generation=1)

    def test_ring_keys_rotate(self, store_url: str) -> None:
        """After a rotation the old ring key can go; without one, nothing it wrapped opens (8)."""

        async def tell() -> None:
            async with self.open(store_url, store_keys=(STORE_KEY,)) as store:
                await remember(store, ANN, TEA)
                await remember(store, BEN, NEAR)
            async with self.open(store_url, store_keys=(OTHER_STORE_KEY,)) as store:
                with pytest.raises(StoreKeyMissing):
                    await store.preferences(ANN, now_ms=NOW)
                assert await store.rotate_keys(ANN.tenant) == KeyRotation(lost=2)
                assert (await store.forget(BEN, None, now_ms=NOW)).complete
            both = (OTHER_STORE_KEY, STORE_KEY)
            async with self.open(store_url, store_keys=both) as store:
                assert await store.rotate_keys("nobody's town") == KeyRotation()
                assert await store.rotate_keys(ANN.tenant) == KeyRotation(rewrapped=1)
                assert await store.rotate_keys(ANN.tenant) == KeyRotation(current=1)
                await remember(store, ANN, NEAR)
            async with self.open(store_url, store_keys=(OTHER_STORE_KEY,)) as store:
                kept = await store.preferences(ANN, now_ms=NOW)
                assert {key: one.value for key, one in kept.values.items()} == {
                    "drink": "tea",
                    "distance": "near",
                }
            async with self.open(store_url, store_keys=(STORE_KEY,)) as store:
                with pytest.raises(StoreKeyMissing):
                    await store.preferences(ANN, now_ms=NOW)

        asyncio.run(tell())

    def test_without_a_ring_nothing_is_remembered(self, store_url: str) -> None:
        """Values are never kept unsealed: without a ring they are refused, the rest works (8)."""

        async def tell() -> None:
            async with self.open(store_url, (SIGNING_KEY,), ()) as store:
                with pytest.raises(StoreKeyMissing) as caught:
                    await store.propose(ANN, TEA, now_ms=NOW)
                assert caught.value.error_code == "STORE_KEY_MISSING"
                await write(store, ANN)
                undo = await store.propose(ANN, NO_DRINK, now_ms=NOW)
                pressed = await store.approve(ANN, undo.token, now_ms=NOW)
                assert pressed.outcome is Outcome.FORGOTTEN
                assert await store.preferences(ANN, now_ms=NOW) == Preferences(revision=1)
                assert (await store.forget(ANN, None, now_ms=NOW)).complete

        asyncio.run(tell())
