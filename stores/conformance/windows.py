"""Windows: written once, in order, for a while."""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

import asyncio

import pytest

from stores.checks import WINDOW_MAX_BYTES
from stores.conformance.scenario import (
    ANN,
    NOW,
    TTL,
    Suite,
    everything,
    scenario,
    write,
)
from stores.errors import (
    ConversationChanged,
    InvalidInput,
)
from stores.ports import ContextStore
from stores.records import (
    Preferences,
    Snapshot,
)


class WindowSuite(Suite):
    """What a store does with the window of a conversation."""

    @scenario
    async def test_a_new_person_starts_at_zero(self, store: ContextStore) -> None:
        """Somebody who was never seen has revision 0, generation 0 and nothing remembered."""
        assert await everything(store, ANN) == (Snapshot(), Preferences())

    @scenario
    async def test_a_window_is_read_as_written(self, store: ContextStore) -> None:
        """What is appended is what the next snapshot shows, character by character."""
        window = '{"area": "花壇鄉 \U0001f375", "quote": "\'\\""}'
        assert await write(store, ANN, window=window) == 1
        assert await store.snapshot(ANN, now_ms=NOW) == Snapshot(
            generation=1, window=window, last_event="e1"
        )

    @scenario
    async def test_the_same_event_is_written_once(self, store: ContextStore) -> None:
        """An append repeated for its event returns the same generation and changes nothing (9)."""
        again = {"expected_revision": 0, "expected_generation": 0}
        for late in (0, 10, TTL * 2):
            assert (
                await store.append(
                    ANN, event_id="e1", window=f"[{late}]", now_ms=NOW + late, **again
                )
                == 1
            )
        assert (await store.snapshot(ANN, now_ms=NOW + TTL - 1)).window == "[0]"
        assert (await store.snapshot(ANN, now_ms=NOW + TTL)).window is None

    @scenario
    async def test_only_one_of_two_events_wins(self, store: ContextStore) -> None:
        """Of appends on the same generation one is written, the others are told so."""

        async def race(number: int) -> int | str:
            try:
                return await store.append(
                    ANN,
                    event_id=f"e{number}",
                    window=f"[{number}]",
                    expected_revision=0,
                    expected_generation=0,
                    now_ms=NOW,
                )
            except ConversationChanged as error:
                return error.error_code

        results = await asyncio.gather(*(race(number) for number in range(8)))
        assert sorted(map(str, results)) == ["1"] + ["CONVERSATION_CHANGED"] * 7
        seen = await store.snapshot(ANN, now_ms=NOW)
        assert (seen.generation, seen.window) == (1, f"[{results.index(1)}]")

    @scenario
    async def test_an_event_two_generations_back_is_late(self, store: ContextStore) -> None:
        """A repeated event is recognised only as the last one; later ones may build on it."""
        await write(store, ANN, "e1")
        await write(store, ANN, "e2")
        with pytest.raises(ConversationChanged) as caught:
            await store.append(
                ANN,
                event_id="e1",
                window="[]",
                expected_revision=0,
                expected_generation=0,
                now_ms=NOW,
            )
        assert caught.value.numbers == {"expected": 0, "found": 2}

    @scenario
    async def test_expiry_slides_with_each_write(self, store: ContextStore) -> None:
        """A window lives its time to live from the last write, and not one millisecond more."""
        await write(store, ANN, "e1", "[1]", NOW)
        await write(store, ANN, "e2", "[2]", NOW + TTL - 1)
        assert (await store.snapshot(ANN, now_ms=NOW + 2 * TTL - 2)).window == "[2]"
        gone = await store.snapshot(ANN, now_ms=NOW + 2 * TTL - 1)
        assert gone == Snapshot(generation=2, last_event="e2")

    @scenario
    async def test_clear_drops_the_window(self, store: ContextStore) -> None:
        """After clear there is no window, and a turn that began before cannot write one."""
        assert await store.clear(ANN, now_ms=NOW) == 1
        await write(store, ANN)
        assert await store.clear(ANN, now_ms=NOW) == 3
        assert await store.snapshot(ANN, now_ms=NOW) == Snapshot(generation=3)
        with pytest.raises(ConversationChanged):
            await store.append(
                ANN,
                event_id="e1",
                window="[]",
                expected_revision=0,
                expected_generation=1,
                now_ms=NOW,
            )

    @scenario
    async def test_a_window_of_the_largest_size_is_kept(self, store: ContextStore) -> None:
        """The limit of a window counts bytes, and the limit itself is allowed."""
        window = "花" * (WINDOW_MAX_BYTES // 3) + "x" * (WINDOW_MAX_BYTES % 3)
        await write(store, ANN, window=window)
        assert (await store.snapshot(ANN, now_ms=NOW)).window == window
        with pytest.raises(InvalidInput) as caught:
            await write(store, ANN, "e2", window + "x")
        assert caught.value.numbers["bytes"] == WINDOW_MAX_BYTES + 1
