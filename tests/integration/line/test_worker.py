"""Turns from claim to answer: in order, once, given back, given up, cut off and taken back."""

import asyncio

from local_agent.line import turns
from local_agent.line.peer import Trouble
from local_agent.line.peer_events import line_id, redelivered
from stores.errors import StoreUnavailable
from stores.inbox import LeaseLost, State
from stores.records import Owner
from tests.support.line import until
from tests.support.line_worker import (
    ANN,
    BEN,
    counts,
    line_of,
    worker_of,
    working,
)


async def test_chats_in_parallel_and_a_chat_in_order(app, peer, gate):
    """Two chats are worked on together; a chat's second turn waits for its first (invariant 10)."""
    first, second = (peer.events.text(text, user=ANN) for text in ("花壇有什麼吃的？", "鹿港呢？"))
    other = peer.events.text("彰化有什麼吃的？", user=BEN)
    await peer.post(app.url, first, second, other)
    await until(lambda: len(gate.entered) == 2, "both chats have a turn")
    assert set(gate.entered) == {"花壇有什麼吃的？", "彰化有什麼吃的？"}
    gate.opened.set()
    await app.line.worker.drain()
    assert await counts(app) == {State.SENT: 3}
    tokens = [one.reply_token for one in peer.chats[ANN]]
    assert tokens == [first["replyToken"], second["replyToken"]]
    assert len(peer.chats[BEN]) == 1


async def test_an_event_is_answered_once(app, peer):
    """Redelivered before, while and after its turn, an event has one answer (invariant 9, L05)."""
    event = peer.events.text("花壇有什麼吃的？", user=ANN)
    await asyncio.gather(*(peer.post(app.url, event, redelivered(event)) for _ in range(8)))
    await app.line.worker.drain()
    await peer.post(app.url, redelivered(event))
    await app.line.worker.drain()
    assert len(peer.chats[ANN]) == 1
    assert await counts(app) == {State.SENT: 1}


async def test_the_journal_is_what_the_answers_say(app, peer):
    """The next turn knows the town of the last one: the window was written with the answer."""
    for text in ("花壇有什麼吃的？", "剛才那個鄉鎮有活動嗎？"):
        await peer.post(app.url, peer.events.text(text, user=ANN))
        await app.line.worker.drain()
    assert "花壇" in str(peer.said(ANN)[1])
    owner = Owner(tenant="local", person=app.line.gateway.names.person(ANN))
    seen = await app.line.store.snapshot(owner, now_ms=0)
    assert seen.generation == 2


async def test_stopping_lets_turns_end(tmp_path, peer, clock, gate):
    """A worker that is stopped finishes what it is at, and claims nothing more."""
    async with line_of(tmp_path, peer, clock, processing="elsewhere") as app:
        worker = worker_of(app, clock, at_once=1)
        await worker.start()
        await peer.post(app.url, peer.events.text("花壇有什麼吃的？", user=ANN))
        await peer.post(app.url, peer.events.text("花壇有什麼吃的？", user=BEN))
        worker.wake()
        await until(lambda: len(gate.entered) == 1, "a turn runs")
        stopping = asyncio.create_task(worker.stop(grace_seconds=60))
        await until(lambda: not worker.ready, "it is stopping")
        gate.opened.set()
        await stopping
        assert await counts(app) == {State.SENT: 1, State.WAITING: 1}


async def test_stopping_gives_back_what_does_not_end(idle, peer, clock, gate):
    """A turn that does not end in time is given back at once, and not as a failure."""
    worker = worker_of(idle, clock)
    await worker.start()
    await peer.post(idle.url, peer.events.text("花壇有什麼吃的？", user=ANN))
    worker.wake()
    await until(lambda: len(gate.entered) == 1, "a turn runs")
    await worker.stop(grace_seconds=0)
    assert await counts(idle) == {State.WAITING: 1}
    (letter,) = await idle.line.inbox.letters(State.WAITING)
    assert (letter.attempts, letter.error_code) == (0, None)
    gate.opened.set()
    async with working(worker_of(idle, clock)) as other:
        await other.drain()
    assert len(peer.chats[ANN]) == 1


async def test_stopping_while_an_answer_leaves(idle, peer, clock):
    """An answer that is cut off on its way is unknown, and is not sent again by anybody (L07)."""
    peer.trouble(Trouble.STALL_AFTER)
    worker = worker_of(idle, clock)
    await worker.start()
    await peer.post(idle.url, peer.events.text("花壇有什麼吃的？", user=ANN))
    worker.wake()
    await until(lambda: len(peer.said(ANN)) == 1, "LINE has the answer")
    await worker.stop(grace_seconds=0)
    assert await counts(idle) == {State.UNKNOWN: 1}
    async with working(worker_of(idle, clock)) as other:
        await other.drain()
    assert len(peer.said(ANN)) == 1


async def test_a_lost_lease_says_nothing(idle, peer, clock, gate):
    """A worker that was taken for dead writes and sends nothing, and its turn is stopped."""
    late = worker_of(idle, clock, lease_ms=1_000_000)
    await late.start()
    await peer.post(idle.url, peer.events.text("花壇有什麼吃的？", user=ANN))
    late.wake()
    await until(lambda: len(gate.entered) == 1, "the first worker has it")
    clock.ahead += 1_000_001  # it is not heard of for as long as its lease
    async with working(worker_of(idle, clock)) as other:
        other.wake()
        await until(lambda: len(gate.entered) == 2, "the second worker has it")
        gate.opened.set()
        await other.drain()
        await until(lambda: not late._running, "the first one is done with it")
    await late.stop()
    assert len(peer.chats[ANN]) == 1
    assert await counts(idle) == {State.SENT: 1}


async def test_a_lease_is_extended_while_a_turn_lasts(idle, peer, clock, gate):
    """A worker that lives keeps its chat, however long its turn takes beside its lease."""
    extended = 0
    extend = idle.line.inbox.extend

    async def counting(claim, *, now_ms, lease_ms):
        nonlocal extended
        await extend(claim, now_ms=now_ms, lease_ms=lease_ms)
        extended += 1

    idle.line.inbox.extend = counting
    async with working(worker_of(idle, clock, lease_ms=3_000)) as worker:
        await peer.post(idle.url, peer.events.text("花壇有什麼吃的？", user=ANN))
        worker.wake()
        await until(lambda: extended >= 2, "its lease is extended")
        gate.opened.set()
        await worker.drain()
    assert await counts(idle) == {State.SENT: 1}
    assert gate.entered == ["花壇有什麼吃的？"]


async def test_a_turn_is_stopped_when_its_lease_is_lost(idle, peer, clock, gate):
    """The heartbeat stops a turn whose chat somebody else has: it costs nothing more."""

    async def lost(claim, *, now_ms, lease_ms):
        raise LeaseLost

    idle.line.inbox.extend = lost
    async with working(worker_of(idle, clock, lease_ms=30)) as worker:
        await peer.post(idle.url, peer.events.text("花壇有什麼吃的？", user=ANN))
        worker.wake()
        await until(lambda: len(gate.entered) >= 2, "it is stopped, and begun anew")
        assert len(worker._running) <= 1
    assert peer.said(ANN) == []


async def test_a_long_turn_shows_that_it_is_at_work(app, peer, gate, monkeypatch):
    """Only a turn that takes its time shows LINE's loading animation."""
    monkeypatch.setattr(turns, "LOADING_AFTER_SECONDS", 0.0)
    await peer.post(app.url, peer.events.text("花壇有什麼吃的？", user=ANN))
    await until(lambda: peer.loading == [ANN], "the animation is shown")
    gate.opened.set()
    await app.line.worker.drain()
    assert await counts(app) == {State.SENT: 1}


async def test_places_are_filled_together(idle, peer, clock):
    """Under load the store is not asked for work after each turn, but for several at once."""
    claimed = []
    claim = idle.line.inbox.claim

    async def counted(*arguments, **options):
        found = await claim(*arguments, **options)
        claimed.append(len(found))
        return found

    idle.line.inbox.claim = counted
    for number in range(40):
        await peer.post(
            idle.url, peer.events.text("花壇有什麼吃的？", user=line_id("user", number))
        )
    # With a wait so long that only turns' ends can have woken it.
    patient = worker_of(idle, clock, idle_seconds=(60.0, 60.0))
    async with working(patient) as worker:
        await until(lambda: sum(claimed) == 40 and not worker._running, "all are done")
    busy = [many for many in claimed if many]
    assert len(busy) <= 20  # one by one they would be 33
    assert await counts(idle) == {State.SENT: 40}


async def test_a_dispatcher_outlives_a_store_that_is_down(idle, peer, clock):
    """A worker that cannot claim says so, and works on once it can."""
    claim, failures = idle.line.inbox.claim, [StoreUnavailable(reason="lost"), RuntimeError("x")]

    async def sometimes(*arguments, **options):
        if failures:
            raise failures.pop()
        return await claim(*arguments, **options)

    idle.line.inbox.claim = sometimes
    async with working(worker_of(idle, clock)) as worker:
        await peer.post(idle.url, peer.events.text("花壇有什麼吃的？", user=ANN))
        await worker.drain()
        assert worker.ready
    assert len(peer.said(ANN)) == 1
