"""The inbox and days: so many turns of one, and who is to be erased after some."""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

import asyncio
from typing import Any

from stores.conformance.inbox import arrival
from stores.conformance.scenario import (
    ANN,
    ANN_ELSEWHERE,
    BEN,
    NOW,
    TEA,
    Suite,
    remember,
    scenario,
)
from stores.inbox import COUNTED_EVENTS, KEPT_MS, State
from stores.records import Owner


class InboxDaysSuite(Suite):
    """What an inbox does about a person's turns of a day, and about those who leave."""

    @scenario
    async def test_a_person_has_so_many_turns_a_day(self, store: Any) -> None:
        """Of turns spent at once no more than allowed are given, for each person and day (9)."""
        inbox = store.inbox("town")
        given = await asyncio.gather(
            *(
                inbox.spend("ann", event_id=f"e{number}", day="2026-01-01", most=3)
                for number in range(6)
            )
        )
        assert sorted(given) == [False] * 3 + [True] * 3
        assert await inbox.spend("ben", event_id="b1", day="2026-01-01", most=3)
        assert await inbox.spend("ann", event_id="f1", day="2026-01-02", most=3)
        assert await inbox.spend("ann", event_id="f2", day="2026-01-02", most=2)
        assert not await inbox.spend("ann", event_id="f3", day="2026-01-02", most=2)
        assert not await inbox.spend("cat", event_id="c1", day="2026-01-02", most=0)

    @scenario
    async def test_an_event_takes_one_turn(self, store: Any) -> None:
        """Tried again, beside other chats' events and after midnight, it takes none (9)."""
        inbox = store.inbox("town")
        first, second = "2026-01-01", "2026-01-02"
        same = [inbox.spend("ann", event_id="e1", day=first, most=2) for _ in range(4)]
        assert await asyncio.gather(*same) == [True] * 4
        assert await inbox.spend("ann", event_id="e2", day=first, most=2)
        for event_id, given in (("e1", True), ("e2", True), ("e3", False)):
            assert await inbox.spend("ann", event_id=event_id, day=first, most=2) is given
        # It was turned down, so it is not among those that took one.
        assert not await inbox.spend("ann", event_id="e3", day=first, most=2)
        assert await inbox.spend("ann", event_id="e2", day=second, most=1)
        assert await inbox.spend("ann", event_id="e4", day=second, most=1)
        assert not await inbox.spend("ann", event_id="e5", day=second, most=1)
        assert await inbox.spend("ben", event_id="e1", day=second, most=1)
        assert not await inbox.spend("ben", event_id="e6", day=second, most=1)

    @scenario
    async def test_so_many_events_are_known_to_have_taken_a_turn(self, store: Any) -> None:
        """What is kept of them is bounded; beyond it an event is counted once more, no worse."""
        inbox = store.inbox("town")
        told = {"day": "2026-01-01", "most": COUNTED_EVENTS + 2}
        for number in range(COUNTED_EVENTS + 1):
            assert await inbox.spend("ann", event_id=f"e{number}", **told)
        for number in range(1, COUNTED_EVENTS + 1):
            assert await inbox.spend("ann", event_id=f"e{number}", **told)
        assert await inbox.spend("ann", event_id="e0", **told)
        assert not await inbox.spend("ann", event_id="more", **told)

    @scenario
    async def test_who_left_is_due_some_day(self, store: Any) -> None:
        """A person who left is due from the day that was named, unless they came back."""
        inbox = store.inbox("town")
        await inbox.leave("ann", said_at_ms=NOW, due_at_ms=NOW + 10)
        await inbox.leave("ben", said_at_ms=NOW, due_at_ms=NOW + 5)
        await inbox.leave("cat", said_at_ms=NOW, due_at_ms=NOW)
        await inbox.leave("cat", said_at_ms=NOW + 1, due_at_ms=NOW + 20)
        assert await inbox.leavers(now_ms=NOW + 4) == []
        assert await inbox.leavers(now_ms=NOW + 10) == [BEN, ANN]
        assert await inbox.leavers(now_ms=NOW + 10, most=1) == [BEN]
        await inbox.stay("ben", said_at_ms=NOW + 1)
        await inbox.stay("nobody", said_at_ms=NOW)
        assert await inbox.leavers(now_ms=NOW + 10) == [ANN]
        assert await inbox.leavers(now_ms=NOW + 20) == [ANN, Owner(tenant="town", person="cat")]

    @scenario
    async def test_the_later_word_holds(self, store: Any) -> None:
        """Leaving and coming back, told late or twice, end as they were said (8, 9)."""
        inbox = store.inbox("town")
        for stay_first in (False, True):
            for said_at_ms, due in ((NOW, False), (NOW + 1, False), (NOW + 2, True)):
                await inbox.leave("ann", said_at_ms=NOW - 9, due_at_ms=NOW)
                left = inbox.leave("ann", said_at_ms=said_at_ms, due_at_ms=NOW)
                came = inbox.stay("ann", said_at_ms=NOW + 1)
                for call in (came, left) if stay_first else (left, came):
                    await call
                await inbox.leave("ann", said_at_ms=NOW - 9, due_at_ms=NOW)
                assert await inbox.leavers(now_ms=NOW) == ([ANN] if due else [])
                await store.erase(ANN, now_ms=NOW)
                assert await inbox.leavers(now_ms=NOW) == []
        # A redelivery comes as long as ids are kept; then who stayed is no news any more.
        await inbox.stay("ann", said_at_ms=NOW + 1)
        await inbox.leave("ben", said_at_ms=NOW, due_at_ms=NOW)
        await inbox.purge(now_ms=NOW + KEPT_MS)
        await inbox.leave("ann", said_at_ms=NOW, due_at_ms=NOW)
        assert await inbox.leavers(now_ms=NOW) == [BEN]
        await inbox.purge(now_ms=NOW + KEPT_MS + 1)
        await inbox.leave("ann", said_at_ms=NOW, due_at_ms=NOW)
        assert set(await inbox.leavers(now_ms=NOW)) == {ANN, BEN}

    @scenario
    async def test_only_who_is_due_is_erased_for_leaving(self, store: Any) -> None:
        """Whoever came back, or has time left, loses nothing; an operator erases anybody (8)."""
        inbox = store.inbox("town")
        await remember(store, ANN, TEA)
        # More than one commit erases, where commits are bounded.
        events = tuple(arrival(f"e{number}", f"c{number}") for number in range(151))
        await inbox.accept(events, now_ms=NOW)
        assert await store.erase_leaver(ANN, now_ms=NOW) is None
        await inbox.leave("ann", said_at_ms=NOW, due_at_ms=NOW + 5)
        assert await store.erase_leaver(ANN, now_ms=NOW + 4) is None
        assert await inbox.leavers(now_ms=NOW + 5) == [ANN]
        await inbox.stay("ann", said_at_ms=NOW + 1)
        assert await store.erase_leaver(ANN, now_ms=NOW + 5) is None
        assert await inbox.counts() == {State.WAITING: 151}
        held = await store.inspect(ANN, now_ms=NOW + 5)
        assert (set(held.values), held.open_events) == ({"drink"}, 151)
        await inbox.leave("ann", said_at_ms=NOW + 2, due_at_ms=NOW + 5)
        assert await store.erase_leaver(ANN_ELSEWHERE, now_ms=NOW + 5) is None
        erased = await store.erase_leaver(ANN, now_ms=NOW + 5)
        assert erased.complete
        assert (await store.inspect(ANN, now_ms=NOW + 5)).values == {}
        assert await inbox.counts() == {State.SILENT: 151}
        assert await inbox.leavers(now_ms=NOW + 5) == []
        assert await store.erase_leaver(ANN, now_ms=NOW + 5) is None
        await remember(store, BEN, TEA)
        await inbox.stay("ben", said_at_ms=NOW)
        assert (await store.erase(BEN, now_ms=NOW + 5)).complete
        assert (await store.inspect(BEN, now_ms=NOW + 5)).values == {}

    @scenario
    async def test_coming_back_and_erasing_at_once_are_one_after_the_other(
        self, store: Any
    ) -> None:
        """Erased whole before they came back, or not at all; they are due no more (8)."""
        inbox = store.inbox("town")
        for number in range(8):
            person = f"p{number}"
            owner = Owner(tenant="town", person=person)
            await remember(store, owner, TEA)
            await inbox.accept((arrival(f"e{number}", f"c{number}", person=person),), now_ms=NOW)
            await inbox.leave(person, said_at_ms=NOW, due_at_ms=NOW)
            came = inbox.stay(person, said_at_ms=NOW + 1)
            gone = store.erase_leaver(owner, now_ms=NOW + 1)
            calls = (came, gone) if number % 2 else (gone, came)
            result = (await asyncio.gather(*calls))[number % 2]
            held = await store.inspect(owner, now_ms=NOW + 1)
            kept = (len(held.values), held.open_events)
            assert kept == ((1, 1) if result is None else (0, 0))
        assert await inbox.leavers(now_ms=NOW + 1) == []
