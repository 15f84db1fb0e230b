"""Turns from claim to answer: in order, once, given back, given up, cut off and taken back."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from local_agent.line import turns
from local_agent.line.answer import said
from local_agent.line.building import build_line
from local_agent.line.peer import Trouble
from local_agent.line.peer_events import line_id, redelivered
from local_agent.line.worker import Worker
from local_agent.service import LocalService
from local_agent.templates import refusal
from stores.errors import ConversationChanged, StoreUnavailable
from stores.inbox import LeaseLost, State
from stores.records import Owner, Proposal
from tests.support.line import line_settings, peer_of, served, sqlite_url, until

ANN, BEN = line_id("user", 1), line_id("user", 2)
DAY_MS = 24 * 3_600_000


class Clock:
    """A clock that is moved by hand; it starts now, so that peer and tokens agree with it."""

    def __init__(self) -> None:
        self.ahead = 0

    def __call__(self) -> int:
        from callbacks.adk.keeper import epoch_ms

        return epoch_ms() + self.ahead


class Gate:
    """Holds turns up where the model would be asked, until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened = asyncio.Event()
        self.entered: list[str] = []
        answer = LocalService.answer

        async def gated(service, person, message, **options):
            if person is not None:  # warming up is nobody's
                self.entered.append(message)
                await self.opened.wait()
            return await answer(service, person, message, **options)

        monkeypatch.setattr(LocalService, "answer", gated)


@pytest.fixture
def gate(monkeypatch):
    return Gate(monkeypatch)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
async def peer(clock):
    async with peer_of(clock=clock) as started:
        yield started


@asynccontextmanager
async def line_of(tmp_path, peer, clock, **overrides):
    """LOCAL on LINE with a worker, on a file; a second one on the same file is another process."""
    settings = line_settings(sqlite_url(tmp_path), peer.url, **overrides)
    async with served(build_line(settings, clock=clock)) as app:
        yield app


@pytest.fixture
async def app(tmp_path, peer, clock):
    async with line_of(tmp_path, peer, clock) as found:
        yield found


@pytest.fixture
async def idle(tmp_path, peer, clock):
    """A gateway whose events nobody works on, unless a test makes a worker."""
    async with line_of(tmp_path, peer, clock, processing="elsewhere") as found:
        yield found


def worker_of(app, clock, **options) -> Worker:
    return Worker(app.line.inbox, app.line.turns.run, clock=clock, **options)


@asynccontextmanager
async def working(worker):
    await worker.start()
    try:
        yield worker
    finally:
        await worker.stop()


async def counts(app):
    return await app.line.inbox.counts()


def texts(peer, chat) -> str:
    """Everything in a chat, as one text."""
    return "".join(str(message) for message in peer.said(chat))


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
        await until(lambda: len(gate.entered) >= 1, "a turn runs")
        await until(lambda: not worker._running, "it is stopped")
    assert peer.said(ANN) == []


async def test_what_was_unsent_is_not_answered(app, peer, gate):
    """A message taken back while its turn runs gets no answer and leaves no window (L11)."""
    event = peer.events.text("花壇有什麼吃的？", user=ANN)
    await peer.post(app.url, event)
    await until(lambda: len(gate.entered) == 1, "its turn runs")
    await peer.post(app.url, peer.events.unsend(event["message"]["id"], user=ANN))
    gate.opened.set()
    await app.line.worker.drain()
    assert peer.said(ANN) == []
    assert await counts(app) == {State.SILENT: 2}
    owner = Owner(tenant="local", person=app.line.gateway.names.person(ANN))
    assert (await app.line.store.snapshot(owner, now_ms=0)).window is None


async def test_a_turn_has_a_deadline(tmp_path, peer, clock, gate):
    """A turn that takes longer than LOCAL_TURN_SECONDS is answered with a sentence (L03)."""
    async with line_of(tmp_path, peer, clock, turn_seconds=1) as app:
        await peer.post(app.url, peer.events.text("花壇有什麼吃的？", user=ANN))
        await app.line.worker.drain()
        assert refusal("MODEL_FAILED") in texts(peer, ANN)
        assert await counts(app) == {State.SENT: 1}


async def test_a_long_turn_shows_that_it_is_at_work(app, peer, gate, monkeypatch):
    """Only a turn that takes its time shows LINE's loading animation."""
    monkeypatch.setattr(turns, "LOADING_AFTER_SECONDS", 0.0)
    await peer.post(app.url, peer.events.text("花壇有什麼吃的？", user=ANN))
    await until(lambda: peer.loading == [ANN], "the animation is shown")
    gate.opened.set()
    await app.line.worker.drain()
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


async def test_a_changed_consent_holds_an_answer_back(app, peer, gate):
    """An answer made under an older consent is not sent: a sentence says so (invariant 7)."""
    person = Owner(tenant="local", person=app.line.gateway.names.person(ANN))
    await peer.post(app.url, peer.events.text("花壇有什麼吃的？", user=ANN))
    await until(lambda: len(gate.entered) == 1, "its turn runs")
    settle = app.line.inbox.settle

    async def forget_first(claim, **options):
        app.line.inbox.settle = settle
        await app.line.store.forget(person, None, now_ms=app.line.gateway.clock())
        await settle(claim, **options)

    app.line.inbox.settle = forget_first
    gate.opened.set()
    await app.line.worker.drain()
    assert refusal("PREFERENCE_CHANGED") in texts(peer, ANN)
    assert len(peer.said(ANN)) == 1


async def test_an_answer_that_waited_is_looked_at_again(idle, peer, clock):
    """An answer left by a worker that died is not sent under a newer consent (invariant 7)."""
    store, inbox = idle.line.store, idle.line.inbox
    owner = Owner(tenant="local", person=idle.line.gateway.names.person(ANN))
    await peer.post(idle.url, peer.events.text("花壇有什麼吃的？", user=ANN))
    (claim,) = await inbox.claim("dead", now_ms=clock(), lease_ms=1_000)
    seen = await store.snapshot(owner, now_ms=clock())
    plan = said("舊的答案").model_copy(update={"revision": seen.revision})
    kept = plan.model_dump_json().encode()
    await inbox.settle(claim, plan=kept, append=None, now_ms=clock())
    await store.forget(owner, None, now_ms=clock())
    clock.ahead += 1_000
    async with working(worker_of(idle, clock)) as worker:
        await worker.drain()
    assert "舊的答案" not in texts(peer, ANN)
    assert refusal("PREFERENCE_CHANGED") in texts(peer, ANN)


async def test_nothing_lies_between_the_last_look_and_the_answer(app, peer, monkeypatch):
    """The transaction that looks at the revision says that the answer leaves; then it does (7)."""
    calls = []

    def told(of, name):
        call = getattr(of, name)

        async def and_told(*arguments, **options):
            calls.append(name)
            return await call(*arguments, **options)

        monkeypatch.setattr(of, name, and_told)

    told(app.line.inbox, "settle")
    told(app.line.inbox, "sending")
    told(app.line.store, "snapshot")
    told(app.line.client, "reply")
    await peer.post(app.url, peer.events.text("花壇有什麼吃的？", user=ANN))
    await app.line.worker.drain()
    assert calls[-2:] == ["settle", "reply"]
    assert calls.count("settle") == 1


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


async def test_a_journal_that_moved_on_refuses_the_answer(app, peer):
    """Where the window cannot be written its answer is not given, and a sentence says so."""
    settle = app.line.inbox.settle

    async def moved(claim, *, append, **options):
        if append is not None:
            raise ConversationChanged
        await settle(claim, append=append, **options)

    app.line.inbox.settle = moved
    await peer.post(app.url, peer.events.text("花壇有什麼吃的？", user=ANN))
    await app.line.worker.drain()
    assert refusal("CONVERSATION_CHANGED") in texts(peer, ANN)
    assert len(peer.said(ANN)) == 1


async def test_who_left_is_erased_after_the_days(app, peer, clock):
    """Unfollowing erases a person once the days are over; coming back before takes that back."""
    store, names = app.line.store, app.line.gateway.names
    ann, ben = (Owner(tenant="local", person=names.person(user)) for user in (ANN, BEN))
    for owner, user in ((ann, ANN), (ben, BEN)):
        wish = Proposal(key="dietary_type", purpose="to choose", value="vegan")
        card = await store.propose(owner, wish, now_ms=clock())
        await store.approve(owner, card.token, now_ms=clock())
        await peer.post(app.url, peer.events.unfollow(user=user))
        await app.line.worker.drain()
    await peer.post(app.url, peer.events.follow(user=BEN, unblocked=True))
    await app.line.worker.drain()
    sweep = app.line.worker._sweep
    clock.ahead += 29 * DAY_MS
    await sweep()
    assert (await store.inspect(ann, now_ms=clock())).values
    clock.ahead += 1 * DAY_MS
    await sweep()
    erased, kept = [await store.inspect(owner, now_ms=clock()) for owner in (ann, ben)]
    assert not erased.values
    assert not erased.events
    assert kept.values
    assert await app.line.inbox.leavers(now_ms=clock()) == []


async def test_an_event_of_another_version_is_dead(idle, peer, clock):
    """A body that this version cannot read is kept for an operator instead of tried for ever."""
    from stores.inbox import Arrival

    arrival = Arrival(event_id="old", chat="c", said_at_ms=0, body=b'{"another": "form"}')
    await idle.line.inbox.accept((arrival,), now_ms=clock())
    async with working(worker_of(idle, clock)) as worker:
        await worker.drain()
    (letter,) = await idle.line.inbox.letters(State.DEAD)
    assert letter.error_code == "EVENT_UNREADABLE"


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
