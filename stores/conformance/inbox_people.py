"""The inbox and people: what is taken back, erased, bounded, sealed, and nobody else's."""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stores.conformance.inbox import LATER, LEASE, answer, append, arrival, nothing, take
from stores.conformance.scenario import (
    ANN,
    ANN_ELSEWHERE,
    BEN,
    NOW,
    OTHER_STORE_KEY,
    STORE_KEY,
    Suite,
    scenario,
    write,
)
from stores.errors import InvalidInput, StoreKeyMissing
from stores.inbox import BODY_MAX_BYTES, Arrival, LeaseLost, State
from stores.ledger import KeyRotation


class InboxPeopleSuite(Suite):
    """What an inbox does with what people take back, and with whose it is."""

    @scenario
    async def test_unsent_before_its_turn(self, store: Any) -> None:
        """An unsent message is answered by nobody, a worker who is at it included (8)."""
        inbox = store.inbox("town")
        for number in range(3):
            event = arrival(f"e{number}", message=f"m{number}", said_at_ms=NOW + number)
            await inbox.accept((event,), now_ms=NOW)
        claim = await take(inbox)
        for number in (0, 1):
            dropped = await inbox.unsend(f"m{number}", now_ms=NOW)
            assert dropped == Arrival(
                event_id=f"e{number}",
                chat="ann's",
                person="ann",
                message=f"m{number}",
                said_at_ms=NOW + number,
                body=b"",
            )
        assert await inbox.counts() == {State.SILENT: 2, State.WAITING: 1}
        for call in (
            inbox.settle(claim, plan=b"a plan", append=append("e0"), now_ms=NOW),
            inbox.extend(claim, now_ms=NOW, lease_ms=LEASE),
            inbox.finish(claim, State.SENT, now_ms=NOW, sent=("m",)),
            inbox.release(claim, now_ms=NOW, retry_at_ms=NOW),
        ):
            with pytest.raises(LeaseLost):
                await call
        assert (await store.snapshot(ANN, now_ms=NOW)).generation == 0
        assert (await take(inbox)).event_id == "e2"
        assert await inbox.unsend("m1", now_ms=NOW) is not None  # once more, and no harm
        assert await nothing(inbox)
        assert await inbox.unsend("never seen", now_ms=NOW) is None
        assert await inbox.has_message("m1")
        assert not await inbox.has_message("never seen")
        assert not await store.inbox("another").has_message("m1")

    @scenario
    async def test_unsent_after_its_turn(self, store: Any) -> None:
        """What came of an unsent message goes too, in one transaction: the window (8)."""
        inbox = store.inbox("town")
        await inbox.accept((arrival("e1", message="m1"), arrival("e2", message="m2")), now_ms=NOW)
        claim = await take(inbox)
        await inbox.settle(claim, plan=b"a plan", append=append("e1"), now_ms=NOW)
        await inbox.sending(claim, retry_key=None, now_ms=NOW)
        await inbox.finish(claim, State.SENT, now_ms=NOW)
        assert (await store.snapshot(ANN, now_ms=NOW)).window is not None
        assert (await inbox.unsend("m1", now_ms=NOW)).event_id == "e1"
        seen = await store.snapshot(ANN, now_ms=NOW)
        assert (seen.window, seen.generation) == (None, 2)
        claim = await take(inbox)
        await inbox.settle(claim, plan=b"a plan", append=append("e2", generation=2), now_ms=NOW)
        await inbox.sending(claim, retry_key=None, now_ms=NOW)
        assert (await inbox.unsend("m2", now_ms=NOW)).event_id == "e2"
        assert (await store.snapshot(ANN, now_ms=NOW)).window is None
        # The message may be leaving: its end frees the chat, and it stays silent.
        await inbox.accept((arrival("e3"),), now_ms=NOW)
        assert await nothing(inbox)
        await inbox.finish(claim, State.SENT, now_ms=NOW, sent=("answer",))
        assert await inbox.counts() == {State.SENT: 1, State.SILENT: 1, State.WAITING: 1}
        assert await inbox.is_ours("ann's", "answer")
        assert (await take(inbox)).event_id == "e3"

    @scenario
    async def test_unsent_among_the_stuck(self, store: Any) -> None:
        """Dead events and held answers are silent once their message was unsent (8)."""
        inbox = store.inbox("town")
        await inbox.accept((arrival("e1", "c1", message="m1"),), now_ms=NOW)
        await inbox.accept((arrival("e2", "c2", message="m2"),), now_ms=NOW)
        await inbox.hold(await take(inbox, chat="c1"), b"plan", now_ms=NOW, error_code="QUOTA")
        await inbox.release(
            await take(inbox), now_ms=NOW, retry_at_ms=NOW, error_code="X", most_attempts=1
        )
        for message in ("m1", "m2"):
            assert await inbox.unsend(message, now_ms=NOW) is not None
        assert await inbox.counts() == {State.SILENT: 2}
        assert not await inbox.requeue("e2", now_ms=NOW)
        await inbox.accept((arrival("e3", "c1"),), now_ms=NOW)
        assert (await take(inbox)).held == ()

    @scenario
    async def test_a_chat_that_waits_goes_on_after_an_unsend(self, store: Any) -> None:
        """What an unsent message made wait does not wait for it any more (10)."""
        inbox = store.inbox("town")
        await inbox.accept((arrival("e1", message="m1"), arrival("e2")), now_ms=NOW)
        claim = await take(inbox)
        await inbox.release(claim, now_ms=NOW, retry_at_ms=NOW + 900, error_code="BUSY")
        await inbox.unsend("m1", now_ms=NOW + 1)
        claim = await take(inbox, now_ms=NOW + 1)
        assert (claim.event_id, claim.attempts) == ("e2", 0)

    @scenario
    async def test_erased_means_gone(self, store: Any) -> None:
        """A person's text, plans, quota and sent messages go with them, and it is told (8)."""
        inbox = store.inbox("town")
        bens = arrival("b1", "ben's", person="ben")
        mine = tuple(arrival(f"e{number}", f"c{number}", message=f"m{number}") for number in (1, 2))
        group = (
            arrival("g1", "club", said_at_ms=NOW),
            arrival("g2", "club", person="ben", said_at_ms=NOW + 1),
        )
        await inbox.accept((*mine, *group, bens), now_ms=NOW)
        await inbox.hold(await take(inbox, chat="c1"), b"plan", now_ms=NOW, error_code="QUOTA")
        await answer(inbox, await take(inbox, chat="c2"), sent=("m",))
        at_it = await take(inbox, chat="club")
        await inbox.spend("ann", event_id="e1", day="2026-01-01", most=1)
        await inbox.leave("ann", said_at_ms=NOW, due_at_ms=NOW)
        assert (await store.inspect(ANN, now_ms=NOW)).open_events == 2
        result = await store.erase(ANN, now_ms=NOW + 5)
        assert result.complete
        assert "inbox" in {check.surface for check in result.verified}
        assert (await store.inspect(ANN, now_ms=NOW + 5)).open_events == 0
        assert (await store.inspect(BEN, now_ms=NOW + 5)).open_events == 2
        assert await inbox.counts() == {State.SENT: 1, State.SILENT: 2, State.WAITING: 2}
        assert not await inbox.is_ours("c2", "m")
        assert await inbox.leavers(now_ms=NOW + 5) == []
        assert await inbox.spend("ann", event_id="e2", day="2026-01-01", most=1)
        assert await inbox.unsend("m1", now_ms=NOW + 5) is None
        # Nothing comes back: not by redelivery, nor by the worker who was at it.
        assert await inbox.accept((*mine, *group), now_ms=NOW + 5) == 0
        with pytest.raises(LeaseLost):
            await inbox.settle(at_it, plan=b"a plan", append=None, now_ms=NOW + 5)
        claims = await inbox.claim("w1", now_ms=NOW + 5, lease_ms=LEASE, most=9)
        assert {claim.event_id for claim in claims} == {"g2", "b1"}

    @scenario
    async def test_what_the_inbox_holds_is_held(self, store: Any) -> None:
        """Of somebody without preferences an event, a sent id, a quota, a leaving is held (8)."""
        inbox = store.inbox("town")
        assert (await store.inspect(ANN, now_ms=NOW)).is_empty
        await inbox.leave("ann", said_at_ms=NOW, due_at_ms=NOW)
        await inbox.spend("ann", event_id="e1", day="2026-01-01", most=1)
        held = await store.inspect(ANN, now_ms=NOW)
        assert (held.in_inbox, held.open_events, held.is_empty) == (2, 0, False)
        await inbox.accept((arrival("e1", "c1", message="m1"),), now_ms=NOW)
        await answer(inbox, await take(inbox, chat="c1"), sent=("m",))
        held = await store.inspect(ANN, now_ms=NOW)
        assert (held.in_inbox, held.open_events, held.is_empty) == (4, 0, False)
        assert (await store.erase(ANN, now_ms=NOW + 5)).complete
        held = await store.inspect(ANN, now_ms=NOW + 5)
        assert (held.in_inbox, held.is_empty) == (0, True)

    @scenario
    async def test_erasing_reads_back_what_it_left(self, store: Any) -> None:
        """Somebody who writes after their erasure is somebody new, not a remainder (8)."""
        inbox = store.inbox("town")
        await inbox.accept((arrival("e1"),), now_ms=NOW)
        assert (await store.erase(ANN, now_ms=NOW + 5)).complete
        await inbox.accept((arrival("e2"),), now_ms=NOW + 6)
        assert (await store.inspect(ANN, now_ms=NOW + 6)).open_events == 1
        assert (await take(inbox, now_ms=NOW + 6)).event_id == "e2"

    @scenario
    async def test_tenants_share_nothing(self, store: Any) -> None:
        """Events, chats, messages, quotas and leavers of another tenant do not exist (11)."""
        town, city = store.inbox("town"), store.inbox("city")
        assert (town.tenant, city.tenant) == ("town", "city")
        for inbox in (town, city):
            assert await inbox.accept((arrival("e1", message="m1"),), now_ms=NOW) == 1
            assert await inbox.spend("ann", event_id="e1", day="2026-01-01", most=1)
            await inbox.leave("ann", said_at_ms=NOW, due_at_ms=NOW)
        claim = await take(town)
        await answer(town, claim, sent=("m",))
        assert not await city.is_ours("ann's", "m")
        assert await city.counts() == {State.WAITING: 1}
        assert await city.letters(State.SENT) == []
        with pytest.raises(LeaseLost):
            await city.finish(claim, State.SENT, now_ms=NOW)
        other = append("e1", owner=ANN_ELSEWHERE)
        with pytest.raises(InvalidInput):
            await town.settle(claim, plan=None, append=other, now_ms=NOW)
        await write(store, ANN_ELSEWHERE)
        await town.unsend("m1", now_ms=NOW)
        assert (await store.snapshot(ANN_ELSEWHERE, now_ms=NOW)).window is not None
        assert await city.counts() == {State.WAITING: 1}
        assert (await store.erase(ANN, now_ms=NOW + 1)).complete
        assert await city.leavers(now_ms=NOW) == [ANN_ELSEWHERE]
        assert (await store.inspect(ANN_ELSEWHERE, now_ms=NOW)).open_events == 1
        assert not await city.spend("ann", event_id="e2", day="2026-01-01", most=1)
        assert (await take(city)).event_id == "e1"

    def test_without_a_ring_nothing_is_kept(self, store_url: str) -> None:
        """Messages are never kept unsealed: without a store key they are refused by a code (4)."""

        async def tell() -> None:
            async with self.open(store_url, store_keys=()) as store:
                inbox = store.inbox("town")
                with pytest.raises(StoreKeyMissing) as caught:
                    await inbox.accept((arrival("e1"),), now_ms=NOW)
                assert caught.value.error_code == "STORE_KEY_MISSING"
                with pytest.raises(StoreKeyMissing):
                    await inbox.claim("w1", now_ms=NOW, lease_ms=LEASE)
                assert await inbox.counts() == {}

        asyncio.run(tell())

    def test_what_no_key_opens_keeps_nobody_up(self, store_url: str) -> None:
        """An event sealed by a key that is gone is among the dead, until the key is back (8)."""

        async def tell() -> None:
            async with self.open(store_url) as store:
                await store.inbox("town").accept((arrival("e1"), arrival("e2")), now_ms=NOW)
            async with self.open(store_url, store_keys=(OTHER_STORE_KEY,)) as store:
                inbox = store.inbox("town")
                assert await inbox.claim("w1", now_ms=NOW, lease_ms=LEASE) == []
                assert await inbox.counts() == {State.DEAD: 1, State.WAITING: 1}
                [letter] = await inbox.letters(State.DEAD)
                assert (letter.event_id, letter.error_code) == ("e1", "STORE_KEY_MISSING")
                assert await store.rotate_keys("town") == KeyRotation(lost=2)
            both = (OTHER_STORE_KEY, STORE_KEY)
            async with self.open(store_url, store_keys=both) as store:
                assert await store.inbox("town").requeue("e1", now_ms=NOW)
                assert await store.rotate_keys("town") == KeyRotation(rewrapped=2)
                assert await store.rotate_keys("town") == KeyRotation(current=2)
            async with self.open(store_url, store_keys=(OTHER_STORE_KEY,)) as store:
                claim = await take(store.inbox("town"), now_ms=LATER)
                assert (claim.event_id, claim.body) == ("e1", b"the body of e1")

        asyncio.run(tell())

    def test_what_may_be_out_and_cannot_be_opened_is_unknown(self, store_url: str) -> None:
        """Whose answer was leaving is not among the dead: nobody can have it sent again (9)."""

        async def tell() -> None:
            async with self.open(store_url) as store:
                inbox = store.inbox("town")
                await inbox.accept((arrival("held"), arrival("e1")), now_ms=NOW)
                claim = await take(inbox)
                await inbox.hold(claim, b"a plan", now_ms=NOW, error_code="LINE_QUOTA_USED_UP")
                claim = await take(inbox)
                await inbox.settle(claim, plan=b"a plan", append=None, now_ms=NOW)
                await inbox.sending(claim, retry_key=None, now_ms=NOW)
            async with self.open(store_url, store_keys=(OTHER_STORE_KEY,)) as store:
                inbox = store.inbox("town")
                assert await inbox.claim("w2", now_ms=LATER, lease_ms=LEASE) == []
                codes = {
                    letter.event_id: letter.error_code
                    for letter in await inbox.letters(State.UNKNOWN)
                }
                # What was held may have gone along.
                assert codes == {"e1": "STORE_KEY_MISSING", "held": "LINE_QUOTA_USED_UP"}
                assert not await inbox.requeue("e1", now_ms=LATER)

        asyncio.run(tell())

    @scenario
    async def test_what_is_leaving_keeps_its_chat(self, store: Any) -> None:
        """Unsent while its answer leaves: a heartbeat is told, and the next one waits (10)."""
        inbox = store.inbox("town")
        await inbox.accept((arrival("e1", message="m1"), arrival("e2")), now_ms=NOW)
        claim = await take(inbox)
        await inbox.sending(claim, retry_key=None, now_ms=NOW)
        await inbox.unsend("m1", now_ms=NOW)
        with pytest.raises(LeaseLost):
            await inbox.extend(claim, now_ms=NOW, lease_ms=LEASE)
        assert await nothing(inbox)
        await inbox.finish(claim, State.SENT, now_ms=NOW)
        assert (await take(inbox)).event_id == "e2"

    @scenario
    async def test_a_chat_without_work_keeps_nobody_up(self, store: Any) -> None:
        """Workers that died at unsent messages leave chats that are due; others go on (10)."""
        inbox = store.inbox("town")
        for number in range(3):
            event = arrival(f"e{number}", f"chat {number}", message=f"m{number}")
            await inbox.accept((event,), now_ms=NOW)
            claim = await take(inbox, chat=f"chat {number}")
            await inbox.sending(claim, retry_key=None, now_ms=NOW)
            await inbox.unsend(f"m{number}", now_ms=NOW)
        await inbox.accept((arrival("late", "another"),), now_ms=LATER)
        found = [await inbox.claim("w2", now_ms=LATER, lease_ms=LEASE) for _ in range(4)]
        assert [claim.event_id for claims in found for claim in claims] == ["late"]

    def test_it_is_all_there_after_a_restart(self, store_url: str) -> None:
        """What was accepted is there when the store is opened again, as it was left (9)."""

        async def before() -> None:
            async with self.open(store_url) as store:
                inbox = store.inbox("town")
                await inbox.accept((arrival("e1"), arrival("e2")), now_ms=NOW)
                claim = await take(inbox)
                await inbox.settle(claim, plan=b"a plan", append=append("e1"), now_ms=NOW)

        async def after() -> None:
            async with self.open(store_url) as store:
                inbox = store.inbox("town")
                assert await inbox.accept((arrival("e1"),), now_ms=NOW) == 0
                assert await nothing(inbox)
                claim = await take(inbox, "w2", LATER)
                assert (claim.event_id, claim.plan) == ("e1", b"a plan")

        asyncio.run(before())
        asyncio.run(after())

    @scenario
    async def test_bad_arguments_are_refused(self, store: Any) -> None:
        """A wrong type, a blank or something endless is refused by a code and changes nothing."""
        inbox = store.inbox("town")
        await inbox.accept((arrival("e1"),), now_ms=NOW)
        claim = await take(inbox)
        lease = {"now_ms": NOW, "lease_ms": LEASE}
        settled = {"plan": None, "append": None, "now_ms": NOW}
        no: Any
        for no in (None, "", " ", 1, b"b", "x" * 300):
            with pytest.raises(InvalidInput):
                store.inbox(no)
            for call in (
                inbox.claim(no, **lease),
                inbox.unsend(no, now_ms=NOW),
                inbox.is_ours(no, "m"),
                inbox.is_ours("c", no),
                inbox.spend(no, event_id="e1", day="2026-01-01", most=1),
                inbox.spend("ann", event_id=no, day="2026-01-01", most=1),
                inbox.spend("ann", event_id="e1", day=no, most=1),
                inbox.leave(no, said_at_ms=NOW, due_at_ms=NOW),
                inbox.stay(no, said_at_ms=NOW),
                inbox.requeue(no, now_ms=NOW),
                inbox.letters(no),
                inbox.accept((no,), now_ms=NOW),
                inbox.accept(no, now_ms=NOW),
                inbox.extend(no, **lease),
                inbox.settle(no, **settled),
                inbox.finish(claim, no, now_ms=NOW),
                inbox.finish(claim, State.SENT, now_ms=NOW, sent=(no,)),
                inbox.hold(claim, b"", now_ms=NOW, error_code=no),
            ):
                with pytest.raises(InvalidInput):
                    await call
        for no in (-1, 1.5, True, None, "1", 2**53):
            for call in (
                inbox.accept((), now_ms=no),
                inbox.claim("w", now_ms=no, lease_ms=1),
                inbox.claim("w", now_ms=NOW, lease_ms=no),
                inbox.claim("w", **lease, most=no),
                inbox.extend(claim, now_ms=NOW, lease_ms=no),
                inbox.settle(claim, **{**settled, "now_ms": no}),
                inbox.sending(claim, retry_key=None, now_ms=no),
                inbox.finish(claim, State.SENT, now_ms=no),
                inbox.release(claim, now_ms=NOW, retry_at_ms=no),
                inbox.release(claim, now_ms=NOW, retry_at_ms=NOW, most_attempts=no),
                inbox.unsend("m", now_ms=no),
                inbox.spend("ann", event_id="e1", day="2026-01-01", most=no),
                inbox.leave("ann", said_at_ms=NOW, due_at_ms=no),
                inbox.leave("ann", said_at_ms=no, due_at_ms=NOW),
                inbox.stay("ann", said_at_ms=no),
                inbox.leavers(now_ms=no),
                inbox.letters(State.DEAD, most=no),
                inbox.purge(now_ms=no),
            ):
                with pytest.raises(InvalidInput):
                    await call
        for no in (State.WAITING, State.READY, State.HELD, State.DEAD):
            with pytest.raises(InvalidInput):
                await inbox.finish(claim, no, now_ms=NOW)
        for no in ("text", 1, bytes(BODY_MAX_BYTES + 1)):
            with pytest.raises(InvalidInput):
                await inbox.settle(claim, plan=no, append=None, now_ms=NOW)
        with pytest.raises(InvalidInput):
            arrival("e2").model_validate({"body": bytes(BODY_MAX_BYTES + 1)})
        assert await inbox.counts() == {State.WAITING: 1}

    @scenario
    async def test_the_largest_body_is_kept(self, store: Any) -> None:
        """A body and a plan of the largest size come back byte for byte, zeros at the end too."""
        inbox = store.inbox("town")
        big = bytes(range(256)) * (BODY_MAX_BYTES // 256 - 1) + bytes(256)
        await inbox.accept((arrival("e1").model_copy(update={"body": big}),), now_ms=NOW)
        claim = await take(inbox)
        assert claim.body == big
        await inbox.settle(claim, plan=big, append=None, now_ms=NOW)
        again = await take(inbox, "w2", LATER)
        assert (again.body, again.plan) == (big, big)
