"""The inbox: each event once, in order, by one worker at a time, and all of a turn or nothing."""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

import asyncio
from typing import Any, Final

import pytest

from stores.conformance.scenario import ANN, NOW, TEA, TTL, Suite, remember, scenario, write
from stores.errors import ConversationChanged, PreferenceChanged
from stores.inbox import (
    KEPT_MS,
    STUCK_MS,
    Append,
    Arrival,
    Claim,
    HeldPlan,
    Inbox,
    LeaseLost,
    Leaving,
    State,
)
from stores.records import Owner

LEASE: Final = 1_000
LATER: Final = NOW + LEASE
"""From then on a lease that began at ``NOW`` may be taken by anybody."""


def arrival(
    event_id: str,
    chat: str = "ann's",
    *,
    person: str | None = "ann",
    message: str | None = None,
    said_at_ms: int = NOW,
) -> Arrival:
    """Return an event as a gateway makes it."""
    return Arrival(
        event_id=event_id,
        chat=chat,
        person=person,
        message=message,
        said_at_ms=said_at_ms,
        body=f"the body of {event_id}".encode(),
    )


async def take(inbox: Inbox, worker: str = "w1", now_ms: int = NOW, **more: Any) -> Claim:
    """Claim the one event that there must be."""
    [claim] = await inbox.claim(worker, now_ms=now_ms, lease_ms=LEASE, **more)
    return claim


async def nothing(inbox: Inbox, now_ms: int = NOW) -> bool:
    """Tell whether there is nothing to claim."""
    return await inbox.claim("w0", now_ms=now_ms, lease_ms=LEASE, most=9) == []


def append(event_id: str, *, revision: int = 0, generation: int = 0, owner: Owner = ANN) -> Append:
    """Return the window of a turn."""
    return Append(
        owner=owner,
        event_id=event_id,
        window=f'["{event_id}"]',
        expected_revision=revision,
        expected_generation=generation,
        ttl_ms=TTL,
    )


async def answer(inbox: Inbox, claim: Claim, now_ms: int = NOW, **more: Any) -> None:
    """Take a claim through all of its states."""
    await inbox.settle(claim, plan=b"a plan", append=None, now_ms=now_ms)
    await inbox.sending(claim, retry_key=None, now_ms=now_ms)
    await inbox.finish(claim, State.SENT, now_ms=now_ms, **more)


class InboxSuite(Suite):
    """What an inbox does with events and with the work on them."""

    @scenario
    async def test_an_event_is_kept_once(self, store: Any) -> None:
        """The same id in one batch, concurrently, leased, finished or late: one event (9)."""
        inbox = store.inbox("town")
        assert await inbox.accept((), now_ms=NOW) == 0
        assert not await inbox.is_open("e1")
        batch = (arrival("e1"), arrival("e2"), arrival("e1"))
        new = await asyncio.gather(*(inbox.accept(batch, now_ms=NOW) for _ in range(6)))
        assert sum(new) == 2
        assert await inbox.counts() == {State.WAITING: 2}
        claim = await take(inbox)
        assert await inbox.accept(batch, now_ms=NOW) == 0
        assert await inbox.is_open("e1")
        await answer(inbox, claim)
        assert not await inbox.is_open("e1")
        assert await inbox.accept(batch, now_ms=NOW + KEPT_MS - 1) == 0
        assert await inbox.counts() == {State.SENT: 1, State.WAITING: 1}

    @scenario
    async def test_the_oldest_comes_first(self, store: Any) -> None:
        """Within a chat the channel's time decides, then the order of arrival (10)."""
        inbox = store.inbox("town")
        await inbox.accept(
            (
                arrival("z", said_at_ms=NOW - 1),
                arrival("y", said_at_ms=NOW - 3),
                arrival("x", said_at_ms=NOW - 1),
            ),
            now_ms=NOW,
        )
        await inbox.accept((arrival("b", said_at_ms=NOW - 1),), now_ms=NOW)
        await inbox.accept((arrival("a", said_at_ms=NOW - 1),), now_ms=NOW + 1)
        seen = []
        for _ in range(5):
            claim = await take(inbox, now_ms=NOW + 1)
            seen.append((claim.event_id, claim.body))
            await answer(inbox, claim, NOW + 1)
        assert seen == [(name, f"the body of {name}".encode()) for name in "yzxba"]
        assert await nothing(inbox, NOW + 1)

    @scenario
    async def test_chats_do_not_wait_for_each_other(self, store: Any) -> None:
        """One worker a chat at a time; any number of chats at once; the longest wait first (10)."""
        inbox = store.inbox("town")
        for number in range(4):
            events = (arrival(f"a{number}", f"c{number}"), arrival(f"b{number}", f"c{number}"))
            await inbox.accept(events, now_ms=NOW + number)
        first = await inbox.claim("w1", now_ms=NOW + 9, lease_ms=LEASE, most=2)
        assert {claim.event_id for claim in first} == {"a0", "a1"}
        assert (await take(inbox, "w2", NOW + 9, chat="c3")).event_id == "a3"
        assert await inbox.claim("w2", now_ms=NOW + 9, lease_ms=LEASE, chat="c0") == []
        assert (await take(inbox, "w2", NOW + 9, most=9)).event_id == "a2"
        assert await nothing(inbox, NOW + 9)
        await answer(inbox, first[0], NOW + 9)
        assert (await take(inbox, "w2", NOW + 9)).event_id == first[0].event_id.replace("a", "b")

    @scenario
    async def test_nothing_is_claimed_before_it_is_there(self, store: Any) -> None:
        """A poll that finds nothing gives nothing; an event is there from its arrival on."""
        inbox = store.inbox("town")
        assert await nothing(inbox)
        await inbox.accept((arrival("e1"),), now_ms=NOW)
        assert await nothing(inbox, NOW - 1)
        claim = await take(inbox)
        assert (claim.chat, claim.person, claim.said_at_ms) == ("ann's", "ann", NOW)
        assert (claim.state, claim.plan, claim.attempts, claim.held) == (State.WAITING, None, 0, ())

    @scenario
    async def test_journal_and_plan_are_one(self, store: Any) -> None:
        """After settling both are there, whoever takes the event up after a crash (9)."""
        inbox = store.inbox("town")
        await inbox.accept((arrival("e1"),), now_ms=NOW)
        claim = await take(inbox)
        for _ in range(2):  # an answer to the commit may get lost
            await inbox.settle(claim, plan=b"a plan", append=append("e1"), now_ms=NOW)
        seen = await store.snapshot(ANN, now_ms=NOW)
        assert (seen.generation, seen.window, seen.last_event) == (1, '["e1"]', "e1")
        assert await nothing(inbox, LATER - 1)
        again = await take(inbox, "w2", LATER)
        assert (again.state, again.plan, again.body) == (State.READY, b"a plan", claim.body)
        await answer(inbox, again, LATER)
        assert (await store.snapshot(ANN, now_ms=NOW)).generation == 1

    @scenario
    async def test_an_answer_may_leave_as_it_is_settled(self, store: Any) -> None:
        """Journal, plan and that the message leaves are one; refused, none of it is there (9)."""
        inbox = store.inbox("town")
        for retry_key in (None, "a key"):
            name = f"e{retry_key}"
            chat, owner = f"c{retry_key}", Owner(tenant="town", person=f"p{retry_key}")
            mine = append(name, owner=owner)
            leaving = Leaving(retry_key=retry_key)
            await inbox.accept((arrival(name, chat, person=owner.person),), now_ms=NOW)
            claim = await take(inbox, chat=chat)
            stale = append(name, owner=owner, revision=1)
            with pytest.raises(PreferenceChanged):
                await inbox.settle(claim, plan=b"x", append=stale, now_ms=NOW, leaving=leaving)
            assert (await inbox.counts())[State.WAITING] == 1
            await inbox.settle(claim, plan=b"a plan", append=mine, now_ms=NOW, leaving=leaving)
            assert (await store.snapshot(owner, now_ms=NOW)).generation == 1
            again = await take(inbox, "w2", LATER, chat=chat)
            found = (again.state, again.plan, again.retry_key)
            assert found == (State.SENDING, b"a plan", retry_key)
            await inbox.finish(again, State.UNKNOWN, now_ms=LATER)

    @scenario
    async def test_what_the_journal_refuses_leaves_no_plan(self, store: Any) -> None:
        """Where revision or generation moved on, neither journal nor plan is written (7, 9)."""
        inbox = store.inbox("town")
        await inbox.accept((arrival("e1"),), now_ms=NOW)
        claim = await take(inbox)
        await write(store, ANN, "another")
        with pytest.raises(ConversationChanged):
            await inbox.settle(claim, plan=b"a plan", append=append("e1"), now_ms=NOW)
        await remember(store, ANN, TEA)
        with pytest.raises(PreferenceChanged):
            await inbox.settle(claim, plan=b"a plan", append=append("e1"), now_ms=NOW)
        assert (await store.snapshot(ANN, now_ms=NOW)).window is None
        assert await inbox.counts() == {State.WAITING: 1}
        await answer(inbox, claim)  # the lease stayed: the refusal itself is said
        assert await inbox.counts() == {State.SENT: 1}

    @scenario
    async def test_a_lost_lease_leaves_no_journal(self, store: Any) -> None:
        """A worker that was slow writes neither plan nor journal once another took over (9, 10)."""
        inbox = store.inbox("town")
        await inbox.accept((arrival("e1"),), now_ms=NOW)
        slow = await take(inbox)
        taken = await take(inbox, "w2", LATER)
        assert taken.fence > slow.fence
        for call in (
            inbox.extend(slow, now_ms=LATER, lease_ms=LEASE),
            inbox.settle(slow, plan=b"slow", append=append("e1"), now_ms=LATER),
            inbox.sending(slow, retry_key=None, now_ms=LATER),
            inbox.hold(slow, b"slow", now_ms=LATER, error_code="LATE"),
            inbox.release(slow, now_ms=LATER, retry_at_ms=LATER),
            inbox.finish(slow, State.SENT, now_ms=LATER, sent=("m",)),
        ):
            with pytest.raises(LeaseLost):
                await call
        assert (await store.snapshot(ANN, now_ms=NOW)).generation == 0
        assert await inbox.counts() == {State.WAITING: 1}
        assert not await inbox.is_ours("ann's", "m")
        await inbox.settle(taken, plan=b"a plan", append=append("e1"), now_ms=LATER)

    @scenario
    async def test_the_same_worker_has_one_lease(self, store: Any) -> None:
        """A number of an earlier lease is not valid again because the worker's name is (10)."""
        inbox = store.inbox("town")
        await inbox.accept((arrival("e1"), arrival("e2")), now_ms=NOW)
        first = await take(inbox)
        await inbox.release(first, now_ms=NOW, retry_at_ms=NOW)
        second = await take(inbox)
        assert (second.event_id, second.fence) == ("e1", first.fence + 1)
        with pytest.raises(LeaseLost):
            await inbox.finish(first, State.SENT, now_ms=NOW)
        await answer(inbox, second)
        with pytest.raises(LeaseLost):
            await inbox.finish(second, State.SENT, now_ms=NOW)

    @scenario
    async def test_a_lease_can_be_kept_alive(self, store: Any) -> None:
        """An extended lease is nobody else's; one that ran out is its holder's until taken."""
        inbox = store.inbox("town")
        await inbox.accept((arrival("e1"),), now_ms=NOW)
        claim = await take(inbox)
        await inbox.extend(claim, now_ms=LATER - 1, lease_ms=LEASE)
        assert await nothing(inbox, LATER + LEASE - 2)
        await inbox.settle(claim, plan=None, append=None, now_ms=LATER + 9 * LEASE)
        again = await take(inbox, "w2", LATER + LEASE - 1)
        assert (again.event_id, again.state, again.plan) == ("e1", State.READY, None)

    @scenario
    async def test_a_crash_while_sending_is_seen(self, store: Any) -> None:
        """Whoever takes over knows that the message may have left, and with which key (9)."""
        inbox = store.inbox("town")
        await inbox.accept((arrival("e1"),), now_ms=NOW)
        claim = await take(inbox)
        await inbox.settle(claim, plan=b"a plan", append=None, now_ms=NOW)
        await inbox.sending(claim, retry_key="a key", now_ms=NOW)
        again = await take(inbox, "w2", LATER)
        assert (again.state, again.retry_key, again.plan) == (State.SENDING, "a key", b"a plan")
        await inbox.finish(again, State.UNKNOWN, now_ms=LATER, error_code="CUT")
        [letter] = await inbox.letters(State.UNKNOWN)
        assert (letter.event_id, letter.chat, letter.error_code) == ("e1", "ann's", "CUT")
        assert (letter.arrived_at_ms, letter.changed_at_ms) == (NOW, LATER)

    @scenario
    async def test_release_gives_back(self, store: Any) -> None:
        """Without an error nothing is counted; with one it waits, and the chat with it (10)."""
        inbox = store.inbox("town")
        await inbox.accept((arrival("e1"), arrival("e2")), now_ms=NOW)
        assert await inbox.release(await take(inbox), now_ms=NOW, retry_at_ms=NOW) is State.WAITING
        claim = await take(inbox, "w2")
        assert (claim.event_id, claim.attempts) == ("e1", 0)
        await inbox.release(claim, now_ms=NOW, retry_at_ms=NOW + 50, error_code="BUSY")
        await inbox.accept((arrival("e3"),), now_ms=NOW + 1)
        assert await nothing(inbox, NOW + 49)
        again = await take(inbox, now_ms=NOW + 50)
        assert (again.event_id, again.attempts) == ("e1", 1)

    @scenario
    async def test_too_many_attempts_end_among_the_dead(self, store: Any) -> None:
        """The dead keep up nobody, can be seen, and come back with what they were (9)."""
        inbox = store.inbox("town")
        await inbox.accept((arrival("e1"), arrival("e2")), now_ms=NOW)
        states = []
        for _ in range(3):
            claim = await take(inbox)
            states.append(
                await inbox.release(
                    claim, now_ms=NOW, retry_at_ms=NOW, error_code="BROKEN", most_attempts=3
                )
            )
        assert states == [State.WAITING, State.WAITING, State.DEAD]
        [letter] = await inbox.letters(State.DEAD)
        assert (letter.event_id, letter.attempts, letter.error_code) == ("e1", 3, "BROKEN")
        assert (await take(inbox)).event_id == "e2"
        assert not await inbox.requeue("e2", now_ms=NOW)
        assert not await inbox.requeue("nobody's", now_ms=NOW)
        assert await inbox.requeue("e1", now_ms=NOW)
        assert not await inbox.requeue("e1", now_ms=NOW)
        again = await take(inbox, "w2", LATER)
        assert (again.event_id, again.body, again.attempts) == ("e1", b"the body of e1", 0)

    @scenario
    async def test_a_lease_that_ran_out_counts(self, store: Any) -> None:
        """An event at which workers die is told apart from one that nobody tried."""
        inbox = store.inbox("town")
        await inbox.accept((arrival("e1"),), now_ms=NOW)
        attempts = [(await take(inbox, now_ms=NOW + turn * LEASE)).attempts for turn in range(3)]
        assert attempts == [0, 1, 2]
        claim = await take(inbox, now_ms=NOW + 3 * LEASE)
        later = NOW + 3 * LEASE
        await inbox.release(claim, now_ms=later, retry_at_ms=later, error_code="X")
        assert (await take(inbox, now_ms=later)).attempts == 4

    @scenario
    async def test_leases_that_ran_out_count_for_their_event(self, store: Any) -> None:
        """An older event that comes late does not die of what workers died of before it came."""
        inbox = store.inbox("town")
        await inbox.accept((arrival("e1"),), now_ms=NOW)
        for turn in range(3):
            await take(inbox, now_ms=NOW + turn * LEASE)
        await inbox.accept((arrival("older", said_at_ms=NOW - 1),), now_ms=NOW)
        claims = [await take(inbox, now_ms=NOW + turn * LEASE) for turn in (3, 4)]
        assert [(one.event_id, one.attempts) for one in claims] == [("older", 0), ("older", 1)]

    @scenario
    async def test_what_was_not_sent_is_ready_again(self, store: Any) -> None:
        """Released while sending, only a kept plan with a retry key stays so (9)."""
        inbox = store.inbox("town")
        for number, (plan, key, state) in enumerate(
            (
                (b"a plan", "a key", State.SENDING),
                (b"a plan", None, State.READY),
                (None, "a key", State.READY),
            )
        ):
            chat = f"c{number}"
            await inbox.accept((arrival(f"e{number}", chat),), now_ms=NOW)
            claim = await take(inbox, chat=chat)
            await inbox.settle(claim, plan=plan, append=None, now_ms=NOW)
            await inbox.sending(claim, retry_key=key, now_ms=NOW)
            assert await inbox.release(claim, now_ms=NOW, retry_at_ms=NOW) is state
            again = await take(inbox, chat=chat)
            kept = key if state is State.SENDING else None
            assert (again.state, again.plan, again.retry_key) == (state, plan, kept)
            await inbox.release(again, now_ms=NOW, retry_at_ms=NOW, error_code="X", most_attempts=1)
            assert await inbox.requeue(f"e{number}", now_ms=NOW)
            back = State.WAITING if plan is None else state
            assert (await take(inbox, chat=chat)).state is back

    @scenario
    async def test_a_held_answer_goes_with_the_next_reply(self, store: Any) -> None:
        """Answers that could not be pushed wait for their chat's next event, in order (9)."""
        inbox = store.inbox("town")
        for number in (1, 2):
            event = arrival(f"e{number}", said_at_ms=NOW + number)
            await inbox.accept((event, arrival(f"o{number}", "other")), now_ms=NOW)
            claim = await take(inbox, chat="ann's")
            await inbox.hold(claim, b"plan %d" % number, now_ms=NOW, error_code="QUOTA")
        assert await inbox.counts() == {State.HELD: 2, State.WAITING: 2}
        assert await inbox.claim("w1", now_ms=NOW, lease_ms=LEASE, chat="ann's") == []
        await inbox.accept((arrival("e3", said_at_ms=NOW + 3),), now_ms=NOW)
        claim = await take(inbox, chat="ann's")
        assert claim.held == (
            HeldPlan(event_id="e1", plan=b"plan 1"),
            HeldPlan(event_id="e2", plan=b"plan 2"),
        )
        assert (await take(inbox)).held == ()
        await answer(inbox, claim)
        assert (await inbox.counts())[State.HELD] == 2
        await inbox.accept((arrival("e4"),), now_ms=NOW)
        claim = await take(inbox, chat="ann's")
        assert len(claim.held) == 2
        await answer(inbox, claim, with_held=("e1",))
        assert (await inbox.counts())[State.HELD] == 1
        await inbox.accept((arrival("e5"),), now_ms=NOW)
        claim = await take(inbox, chat="ann's")
        assert [held.event_id for held in claim.held] == ["e2"]
        await answer(inbox, claim, with_held=("e1", "e2", "o1", "nobody's"))
        assert await inbox.counts() == {State.SENT: 5, State.WAITING: 2}
        assert await nothing(inbox)

    @scenario
    async def test_a_held_answer_ends_as_what_it_went_with(self, store: Any) -> None:
        """With an unknown reply it is unknown, and what is never sent is not among the sent."""
        inbox = store.inbox("town")
        for number in range(3):
            await inbox.accept((arrival(f"e{number}"),), now_ms=NOW)
            claim = await take(inbox)
            await inbox.hold(claim, b"a plan", now_ms=NOW, error_code="QUOTA")
        await inbox.accept((arrival("last"),), now_ms=NOW)
        claim = await take(inbox)
        await inbox.sending(claim, retry_key=None, now_ms=NOW)
        ends = {"with_held": ("e0",), "dropped": ("e1", "nobody's")}
        await inbox.finish(claim, State.UNKNOWN, now_ms=NOW, **ends)
        assert await inbox.counts() == {State.UNKNOWN: 2, State.REFUSED: 1, State.HELD: 1}
        assert [one.event_id for one in await inbox.letters(State.REFUSED)] == ["e1"]

    @scenario
    async def test_old_events_are_dropped(self, store: Any) -> None:
        """Finished ones after their time, stuck ones after theirs, what is open never."""
        inbox = store.inbox("town")
        await inbox.accept(tuple(arrival(name, name) for name in "abcd"), now_ms=NOW)
        await answer(inbox, await take(inbox, chat="a"), sent=("m",))
        await inbox.hold(await take(inbox, chat="b"), b"plan", now_ms=NOW, error_code="QUOTA")
        await inbox.release(
            await take(inbox, chat="c"),
            now_ms=NOW,
            retry_at_ms=NOW,
            error_code="X",
            most_attempts=1,
        )
        assert await inbox.purge(now_ms=NOW + KEPT_MS - 1) == 0
        assert await inbox.is_ours("a", "m")
        assert await inbox.purge(now_ms=NOW + KEPT_MS) == 1
        assert not await inbox.is_ours("a", "m")
        assert await inbox.purge(now_ms=NOW + STUCK_MS - 1) == 0
        assert await inbox.purge(now_ms=NOW + STUCK_MS) == 2
        assert await inbox.purge(now_ms=NOW + STUCK_MS) == 0
        assert await inbox.counts() == {State.WAITING: 1}

    @scenario
    async def test_a_chat_that_comes_again_repeats_no_number(self, store: Any) -> None:
        """The holder of a lease from before a purge can write nothing after it (10)."""
        inbox = store.inbox("town")
        await inbox.accept((arrival("e1"),), now_ms=NOW)
        old = await take(inbox)
        await answer(inbox, old)
        later = NOW + KEPT_MS
        assert await inbox.purge(now_ms=later) == 1
        await inbox.accept((arrival("e1"),), now_ms=later)
        new = await take(inbox, now_ms=later)
        assert new.fence > old.fence
        with pytest.raises(LeaseLost):
            await inbox.finish(old, State.SENT, now_ms=later)
        await answer(inbox, new, later)

    @scenario
    async def test_many_workers_share_the_work(self, store: Any) -> None:
        """Workers at once: no event twice, each chat in its order, nothing left (9, 10)."""
        inbox = store.inbox("town")
        chats, each = 12, 3
        for number in range(each):
            events = tuple(
                arrival(f"{chat}-{number}", f"c{chat}", said_at_ms=NOW + number)
                for chat in range(chats)
            )
            await inbox.accept(events, now_ms=NOW)
        done: list[tuple[str, str]] = []
        at_work: set[str] = set()

        async def work(worker: str) -> None:
            misses = 0
            while len(done) < chats * each:
                claims = await inbox.claim(worker, now_ms=NOW, lease_ms=LEASE, most=2)
                misses = 0 if claims else misses + 1
                assert misses < 10_000, "the work is not getting done"
                for claim in claims:
                    assert claim.chat not in at_work
                    at_work.add(claim.chat)
                for claim in claims:
                    await inbox.settle(claim, plan=b"a plan", append=None, now_ms=NOW)
                    done.append((claim.chat, claim.event_id))
                    at_work.remove(claim.chat)
                    await inbox.finish(claim, State.SENT, now_ms=NOW)

        await asyncio.gather(*(work(f"w{number}") for number in range(4)))
        assert sorted(done) == sorted(
            (f"c{chat}", f"{chat}-{number}") for chat in range(chats) for number in range(each)
        )
        for chat in range(chats):
            mine = [event for name, event in done if name == f"c{chat}"]
            assert mine == [f"{chat}-{number}" for number in range(each)]
        assert await inbox.counts() == {State.SENT: chats * each}
