"""Life: bad input, restarts, and any order of calls."""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from stores.conformance.scenario import (
    ANN,
    ANN_ELSEWHERE,
    BEN,
    COFFEE,
    NEAR,
    NO_DRINK,
    NOW,
    TEA,
    TTL,
    Suite,
    everything,
    remember,
    scenario,
    write,
)
from stores.consent import CARD_TTL_MS
from stores.errors import (
    InvalidInput,
    PreferenceChanged,
    StoreError,
    StoreUnavailable,
)
from stores.personal import PersonalStore
from stores.ports import ContextStore
from stores.records import (
    PRIVATE,
    Owner,
    Preferences,
    Proposal,
    Snapshot,
)
from stores.reference import Reference


class LifeSuite(Suite):
    """What a store does with bad input, over restarts, and in any order of calls."""

    @scenario
    async def test_bad_arguments_are_refused(self, store: PersonalStore) -> None:
        """A wrong type, a blank or something endless is refused by a code and changes nothing."""
        await write(store, ANN)
        before = await everything(store, ANN)
        good: dict[str, Any] = {
            "event_id": "e2",
            "window": "{}",
            "expected_revision": 0,
            "expected_generation": 1,
            "now_ms": NOW,
            "ttl_ms": 1,
        }
        bad_values: dict[str, tuple[Any, ...]] = {
            "event_id": ("", " ", "x" * 257, None, 1, b"e", "a\0b", "\udc00"),
            "window": ("", None, b"{}", {}, "a\0b", "\ud800"),
            "expected_revision": (-1, True, 1.0, "0", None, 2**53),
            "expected_generation": (-1, False, 0.5, "1", None),
            "now_ms": (-1, True, 1.5, "now", None, 2**63),
            "ttl_ms": (0, -1, True, 0.1, None),
        }
        for name, values in bad_values.items():
            for value in values:
                with pytest.raises(InvalidInput) as caught:
                    await store.append(ANN, **{**good, name: value})
                assert caught.value.numbers["field"] == name
        nobody: Any
        for nobody in (None, "ann", ("town", "ann"), {"tenant": "town", "person": "ann"}):
            for call in (
                store.snapshot(nobody, now_ms=NOW),
                store.preferences(nobody, now_ms=NOW),
                store.append(nobody, **good),
                store.clear(nobody, now_ms=NOW),
                store.propose(nobody, TEA, now_ms=NOW),
                store.approve(nobody, "t", now_ms=NOW),
                store.cancel(nobody, "t", now_ms=NOW),
                store.forget(nobody, None, now_ms=NOW),
                store.inspect(nobody, now_ms=NOW),
                store.erase(nobody, now_ms=NOW),
            ):
                with pytest.raises(InvalidInput):
                    await call
        anything: Any
        for anything in (True, 1.5, "now", None, -1):
            for call in (
                store.snapshot(ANN, now_ms=anything),
                store.clear(ANN, now_ms=anything),
                store.propose(ANN, TEA, now_ms=anything),
                store.approve(ANN, "t", now_ms=anything),
                store.forget(ANN, None, now_ms=anything),
                store.preferences(ANN, now_ms=anything),
                store.inspect(ANN, now_ms=anything),
                store.erase(ANN, now_ms=anything),
                store.sweep("town", now_ms=anything),
            ):
                with pytest.raises(InvalidInput):
                    await call
        for anything in (1, b"token", None):
            with pytest.raises(InvalidInput):
                await store.approve(ANN, anything, now_ms=NOW)
        for anything in ("", " ", 1, "x" * 129, None):
            for another in (
                store.preferences(ANN, now_ms=NOW, chat=anything),
                store.propose(ANN, TEA, now_ms=NOW, channel=anything),
                store.forget(ANN, None, now_ms=NOW, channel=anything),
                store.erase(ANN, now_ms=NOW, channel=anything),
                store.sweep(anything, now_ms=NOW),
                store.rotate_keys(anything),
            ):
                with pytest.raises(InvalidInput):
                    await another
        for anything in (1, None, "no"):
            with pytest.raises(InvalidInput):
                await store.erase(ANN, now_ms=NOW, keep_ledger=anything)
        for anything in ("", " ", 1, "k" * 65):
            with pytest.raises(InvalidInput):
                await store.forget(ANN, anything, now_ms=NOW)
        with pytest.raises(InvalidInput):
            await store.propose(ANN, anything, now_ms=NOW)
        for anything in (True, -1, "0"):
            with pytest.raises(InvalidInput):
                await store.propose(ANN, TEA, now_ms=NOW, expected_revision=anything)
        assert await everything(store, ANN) == before

    def test_it_is_all_there_after_a_restart(self, store_url: str) -> None:
        """What was committed is there when the store is opened again, in another event loop."""

        async def before() -> tuple[Snapshot, Preferences]:
            async with self.open(store_url) as store:
                await remember(store, ANN, TEA)
                await write(store, ANN)
                return await everything(store, ANN)

        async def after() -> tuple[Snapshot, Preferences]:
            async with self.open(store_url) as store:
                return await everything(store, ANN)

        assert asyncio.run(before()) == asyncio.run(after())

    @scenario
    async def test_a_closed_store_refuses(self, store: ContextStore) -> None:
        """Closing twice is allowed; work after it is refused by a code."""
        await store.close()
        await store.close()
        with pytest.raises(StoreUnavailable) as caught:
            await store.snapshot(ANN, now_ms=NOW)
        assert caught.value.numbers["reason"] == "closed"

    @pytest.mark.parametrize("seed", range(5))
    def test_it_follows_the_reference(self, store_url: str, seed: int) -> None:
        """Any order of calls shows what the sequential model shows (7, 8, 9, 11)."""

        async def tell() -> None:
            async with self.open(store_url) as store:
                await _follow(store, random.Random(seed), calls=150)  # noqa: S311 - cases, no secrets

        asyncio.run(tell())


_KINDS = (
    *("turn", "turn", "late", "propose", "propose", "approve", "approve"),
    *("cancel", "forget", "sweep", "erase"),
)
_CHATS = (PRIVATE, "the club")


def _proposal(chance: random.Random, now: int) -> Proposal:
    changes: dict[str, Any] = {}
    proposal = chance.choice((TEA, COFFEE, NEAR, NO_DRINK))
    if proposal.value is not None:
        changes["expires_at_ms"] = chance.choice((None, now + 1, now + 500, now + CARD_TTL_MS + 1))
        changes["scope"] = chance.choice(_CHATS)
    changes["said_at_ms"] = chance.choice((None, now, now - 1_000))
    return proposal.model_copy(update=changes)


async def _follow(store: PersonalStore, chance: random.Random, calls: int) -> None:
    model, now = Reference(), NOW
    owners = (ANN, BEN, ANN_ELSEWHERE)
    tokens: list[str] = []
    seen: dict[Owner, Snapshot] = {owner: Snapshot() for owner in owners}
    for number in range(calls):
        owner = chance.choice(owners)
        now += chance.choice((0, 1, 1_000, CARD_TTL_MS, TTL) if chance.random() < 0.2 else (1,))
        kind = chance.choice(_KINDS)
        if kind == "propose":
            proposal = _proposal(chance, now)
            if model.refuses(owner, proposal):
                with pytest.raises(PreferenceChanged):
                    await store.propose(owner, proposal, now_ms=now)
            else:
                card = await store.propose(owner, proposal, now_ms=now)
                model.shown(owner, proposal, card)
                tokens.append(card.token)
        elif kind in ("approve", "cancel") and tokens:
            token, approve = chance.choice(tokens[-6:]), kind == "approve"
            press = store.approve if approve else store.cancel
            result = await press(owner, token, now_ms=now)
            assert result.outcome is model.press(owner, token, approve=approve, now_ms=now)
        elif kind == "forget":
            key = chance.choice(("drink", "distance", None))
            forgotten = await store.forget(owner, key, now_ms=now)
            expected_revision = model.forget(owner, key, now_ms=now)
            assert (forgotten.revision, forgotten.complete) == (expected_revision, True)
        elif kind == "erase":
            erased = await store.erase(owner, now_ms=now)
            assert (erased.revision, erased.complete) == (model.erase(owner, now_ms=now), True)
        elif kind == "sweep":
            await store.sweep(owner.tenant, now_ms=now)
        elif kind in ("turn", "late"):
            await _turn(store, model, owner, seen, number=number, now=now, late=kind == "late")
        for one in owners:
            assert await store.snapshot(one, now_ms=now) == model.snapshot(one, now_ms=now)
            for chat in _CHATS:
                kept = await store.preferences(one, now_ms=now, chat=chat)
                assert kept == model.preferences(one, now_ms=now, chat=chat)


async def _turn(
    store: PersonalStore,
    model: Reference,
    owner: Owner,
    seen: dict[Owner, Snapshot],
    *,
    number: int,
    now: int,
    late: bool,
) -> None:
    """End a turn that began now, or one that began at some time before."""
    if not late:
        seen[owner] = await store.snapshot(owner, now_ms=now)
    wanted: dict[str, Any] = {
        "event_id": f"e{number - number % 3}",
        "window": f"[{number}]",
        "expected_revision": seen[owner].revision,
        "expected_generation": seen[owner].generation,
        "now_ms": now,
    }
    try:
        expected: int | type[StoreError] = model.append(owner, **wanted)
    except StoreError as error:
        expected = type(error)
    if isinstance(expected, int):
        assert await store.append(owner, **wanted) == expected
    else:
        with pytest.raises(expected):
            await store.append(owner, **wanted)
