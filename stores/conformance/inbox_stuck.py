"""The inbox and what did not go well: given back, dead, held, and dropped in the end."""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

from typing import Any

from stores.conformance.inbox import LATER, LEASE, answer, arrival, nothing, take
from stores.conformance.scenario import NOW, Suite, scenario
from stores.inbox import KEPT_MS, STUCK_MS, HeldPlan, State


class InboxStuckSuite(Suite):
    """What an inbox does with work that failed and answers that could not leave."""

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
            HeldPlan(event_id="e1", person="ann", plan=b"plan 1"),
            HeldPlan(event_id="e2", person="ann", plan=b"plan 2"),
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
