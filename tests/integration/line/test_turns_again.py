"""Turns that fail: rested and tried again, given up, and never answered twice for it."""

from local_agent.line import turns, words
from local_agent.line.peer import Trouble
from local_agent.service import LocalService
from local_agent.templates import refusal
from stores.errors import StoreUnavailable
from stores.inbox import State
from tests.support.line import until
from tests.support.line_worker import ANN, BEN, counts, line_of, texts, worker_of, working


async def test_a_turn_has_a_deadline(tmp_path, peer, clock, gate):
    """A turn that takes longer than LOCAL_TURN_SECONDS is answered with a sentence (L03)."""
    async with line_of(tmp_path, peer, clock, turn_seconds=1) as app:
        await peer.post(app.url, peer.events.text("花壇有什麼吃的？", user=ANN))
        await app.line.worker.drain()
        assert refusal("MODEL_FAILED") in texts(peer, ANN)
        assert await counts(app) == {State.SENT: 1}


async def test_failures_rest_and_then_lie_among_the_dead(app, peer, clock, monkeypatch):
    """A turn that fails is tried again after growing rests, and after five failures is dead."""

    async def down(*_, **__):
        raise StoreUnavailable(reason="unreachable")

    monkeypatch.setattr(type(app.line.turns.conversation), "respond", down)
    await peer.post(app.url, peer.events.text("花壇有什麼吃的？", user=ANN))
    for attempts in range(1, turns.MOST_ATTEMPTS):
        await app.line.worker.drain()
        (letter,) = await app.line.inbox.letters(State.WAITING)
        assert (letter.attempts, letter.error_code) == (attempts, "STORE_UNAVAILABLE")
        clock.ahead += turns.BACKOFF_MS[attempts - 1]
    await app.line.worker.drain()
    (letter,) = await app.line.inbox.letters(State.DEAD)
    assert letter.error_code == "STORE_UNAVAILABLE"
    assert peer.said(ANN) == []
    monkeypatch.undo()
    assert await app.line.inbox.requeue(letter.event_id, now_ms=clock())
    await app.line.worker.drain()
    assert len(peer.said(ANN)) == 1


async def test_a_turn_that_is_tried_again_is_counted_once(tmp_path, peer, clock, monkeypatch):
    """A failure or a crash in a turn takes none of the person's other turns of the day (9)."""
    answer, failures = LocalService.answer, [StoreUnavailable(reason="lost")] * 3

    async def failing(service, person, message, **options):
        if person is not None and failures:
            raise failures.pop()
        return await answer(service, person, message, **options)

    monkeypatch.setattr(LocalService, "answer", failing)
    async with line_of(tmp_path, peer, clock, daily_turns=2) as app:
        for _ in range(2):
            await peer.post(app.url, peer.events.text("花壇有什麼吃的？", user=ANN))
        for rest in (*turns.BACKOFF_MS[:3], 0):
            await app.line.worker.drain()
            clock.ahead += rest
        assert await counts(app) == {State.SENT: 2}
    assert len(peer.said(ANN)) == 2
    assert words.DAILY_LIMIT.partition("\n")[0] not in texts(peer, ANN)


async def test_a_bug_in_a_turn_stops_no_other(app, peer, monkeypatch, caplog):
    """What fails unforeseen is tried again, its text is not logged, and others are answered."""
    respond = type(app.line.turns.conversation).respond

    async def sometimes(conversation, incoming):
        if incoming.user_id == ANN:
            raise RuntimeError(incoming.text)
        return await respond(conversation, incoming)

    monkeypatch.setattr(type(app.line.turns.conversation), "respond", sometimes)
    await peer.post(app.url, peer.events.text("我的秘密", user=ANN))
    await peer.post(app.url, peer.events.text("花壇有什麼吃的？", user=BEN))
    await app.line.worker.drain()
    assert await counts(app) == {State.SENT: 1, State.WAITING: 1}
    assert "error_type=RuntimeError" in caplog.text
    assert "我的秘密" not in caplog.text


async def test_an_ending_that_cannot_be_written_is_no_second_answer(idle, peer, clock, monkeypatch):
    """A store that fails after the answer left leaves the event to be found unknown (L07)."""
    monkeypatch.setattr(turns, "ASK_AGAIN_SECONDS", (0.0,))
    finish = idle.line.inbox.finish

    async def down(*_, **__):
        raise StoreUnavailable(reason="lost")

    idle.line.inbox.finish = down
    await peer.post(idle.url, peer.events.text("花壇有什麼吃的？", user=ANN))
    async with working(worker_of(idle, clock)) as worker:
        await worker.drain()
    assert await counts(idle) == {State.SENDING: 1}
    idle.line.inbox.finish = finish
    clock.ahead += 30_001
    async with working(worker_of(idle, clock)) as worker:
        await worker.drain()
    assert await counts(idle) == {State.UNKNOWN: 1}
    assert len(peer.said(ANN)) == 1


async def test_a_store_that_fails_for_a_moment_is_told_again(app, peer, monkeypatch):
    """An ending that could not be written at first is written a moment later."""
    monkeypatch.setattr(turns, "ASK_AGAIN_SECONDS", (0.0,))
    finish, failures = app.line.inbox.finish, [StoreUnavailable(reason="locked")]

    async def once(*arguments, **options):
        if failures:
            raise failures.pop()
        await finish(*arguments, **options)

    app.line.inbox.finish = once
    await peer.post(app.url, peer.events.text("花壇有什麼吃的？", user=ANN))
    await app.line.worker.drain()
    assert await counts(app) == {State.SENT: 1}


async def test_a_push_that_was_cut_off_is_resolved_by_its_key(idle, peer, clock):
    """A push whose worker died is sent again under its key, and LINE takes it once (L07)."""
    await peer.post(idle.url, peer.events.text("花壇有什麼吃的？", user=ANN))
    clock.ahead += 55_000  # too late for the reply token
    peer.trouble(Trouble.STALL_AFTER, on="push")
    worker = worker_of(idle, clock)
    await worker.start()
    worker.wake()
    await until(lambda: len(peer.said(ANN)) == 1, "LINE has the push")
    await worker.stop(grace_seconds=0)
    assert await counts(idle) == {State.SENDING: 1}
    async with working(worker_of(idle, clock)) as other:
        await other.drain()
    assert await counts(idle) == {State.SENT: 1}
    assert len(peer.said(ANN)) == 1
    assert [status for _, status in peer.requests][-1] == 409


async def test_an_event_of_another_version_is_dead(idle, peer, clock):
    """A body that this version cannot read is kept for an operator instead of tried for ever."""
    from stores.inbox import Arrival

    arrival = Arrival(event_id="old", chat="c", said_at_ms=0, body=b'{"another": "form"}')
    await idle.line.inbox.accept((arrival,), now_ms=clock())
    async with working(worker_of(idle, clock)) as worker:
        await worker.drain()
    (letter,) = await idle.line.inbox.letters(State.DEAD)
    assert letter.error_code == "EVENT_UNREADABLE"


async def test_an_event_that_ends_its_workers_is_dead(idle, peer, clock):
    """An event whose workers are lost five times in a row is left to an operator."""
    await peer.post(idle.url, peer.events.text("花壇有什麼吃的？", user=ANN))
    for number in range(turns.MOST_ATTEMPTS):
        (claim,) = await idle.line.inbox.claim(f"w{number}", now_ms=clock(), lease_ms=1_000)
        assert claim.attempts == number
        clock.ahead += 1_001
    async with working(worker_of(idle, clock)) as worker:
        await worker.drain()
    (letter,) = await idle.line.inbox.letters(State.DEAD)
    assert letter.error_code == "WORKER_LOST"
    assert peer.said(ANN) == []
