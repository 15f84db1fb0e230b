"""Once, whatever is cut off, comes late or is taken back out of order (invariant 9)."""

from collections import Counter
from contextlib import asynccontextmanager

import pytest

from callbacks.adk.keeper import epoch_ms
from local_agent.line import conversation
from local_agent.line.answer import said
from local_agent.line.building import build_line
from local_agent.line.peer import Trouble
from local_agent.line.peer_events import line_id, redelivered
from local_agent.line.worker import Worker
from stores.inbox import State
from stores.records import Owner
from tests.support.line import line_settings, peer_of, served, sqlite_url, until

ANN, BEN = line_id("user", 1), line_id("user", 2)
HOUR_MS = 3_600_000
TOO_LATE_MS = 55_000
"""After that a reply token is not used any more."""


class Clock:
    """A clock that is moved by hand."""

    ahead = 0

    def __call__(self) -> int:
        return epoch_ms() + self.ahead


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
async def peer(clock):
    async with peer_of(clock=clock) as started:
        yield started


@pytest.fixture
async def app(tmp_path, peer, clock):
    """A gateway whose events nobody works on, unless a test makes a worker."""
    settings = line_settings(sqlite_url(tmp_path), peer.url, processing="elsewhere")
    async with served(build_line(settings, clock=clock)) as found:
        yield found


@asynccontextmanager
async def working(app, clock):
    worker = Worker(app.line.inbox, app.line.turns.run, clock=clock)
    await worker.start()
    try:
        yield worker
    finally:
        await worker.stop(grace_seconds=0)


async def work(app, clock) -> None:
    """Do what there is to do."""
    async with working(app, clock) as worker:
        await worker.drain()


async def cut_off(app, clock, peer, *, messages: int) -> None:
    """Work until LINE has so many messages, and stop there, before LINE has answered."""
    async with working(app, clock) as worker:
        worker.wake()
        await until(lambda: len(peer.said(ANN)) >= messages, "LINE has the answer")


def heads(peer) -> list[str]:
    """Of each message in the chat what it is about."""
    return [
        str(message.get("text") or message["altText"]).partition("：")[0]
        for message in peer.said(ANN)
    ]


async def hold_an_answer(app, clock, peer) -> None:
    peer.quota = 0
    await peer.post(app.url, peer.events.text("花壇有什麼吃的？", user=ANN))
    clock.ahead += TOO_LATE_MS
    await work(app, clock)
    assert await app.line.inbox.counts() == {State.HELD: 1}


async def test_a_held_answer_that_may_be_out_is_not_sent_again(app, clock, peer):
    """A reply that was cut off had taken a held answer along: that is not held any more (9)."""
    await hold_an_answer(app, clock, peer)
    peer.trouble(Trouble.STALL_AFTER)
    await peer.post(app.url, peer.events.text("鹿港有什麼吃的？", user=ANN))
    await cut_off(app, clock, peer, messages=3)
    assert State.HELD not in await app.line.inbox.counts()
    await peer.post(app.url, peer.events.text("員林有什麼吃的？", user=ANN))
    await work(app, clock)
    assert [head[:2] for head in heads(peer)] == ["這是", "花壇", "鹿港", "員林"]


@pytest.mark.parametrize("forgetting", [None, ANN, BEN])
async def test_a_held_answer_depends_on_whom_it_answers(app, clock, peer, forgetting):
    """In a group it goes with anybody's reply, under the consent of whom it answers alone (7)."""
    group = line_id("group", 3)

    async def ask(user: str | None) -> None:
        event = peer.events.text("@LOCAL 花壇有什麼吃的？", user=user, group=group)
        mention = {"index": 0, "length": 6, "type": "user", "isSelf": True}
        event["message"]["mention"] = {"mentionees": [mention]}
        await peer.post(app.url, event)

    peer.quota = 0
    await ask(ANN)
    clock.ahead += TOO_LATE_MS
    await work(app, clock)
    if forgetting is not None:
        name = app.line.gateway.names.group_person(group, forgetting)
        owner = Owner(tenant="local", person=name)
        await app.line.store.forget(owner, None, now_ms=clock())
    await ask(None)
    await work(app, clock)
    # Two answers, and a word before the one that was held.
    said, ended = (1, State.REFUSED) if forgetting == ANN else (3, State.SENT)
    assert await app.line.inbox.counts() == Counter([ended, State.SENT])
    assert len(peer.said(group)) == said


async def test_a_push_takes_nothing_along(app, clock, peer):
    """A push that was cut off leaves held what it had not sent; the next reply brings it (9)."""
    await hold_an_answer(app, clock, peer)
    peer.quota = None
    peer.trouble(Trouble.STALL_AFTER, on="push")
    await peer.post(app.url, peer.events.text("鹿港有什麼吃的？", user=ANN))
    clock.ahead += TOO_LATE_MS
    await cut_off(app, clock, peer, messages=1)
    await peer.post(app.url, peer.events.text("員林有什麼吃的？", user=ANN))
    await work(app, clock)
    assert [head[:2] for head in heads(peer)] == ["鹿港", "這是", "花壇", "員林"]


async def test_a_held_answer_of_five_messages_finds_room(app, clock, peer, monkeypatch):
    """What is held leaves room for the answer that it goes with, however long it was (L06)."""
    long = said("One sentence. " * 2_000)
    assert len(long.messages) == 5
    monkeypatch.setattr(conversation, "plan_of", lambda reply, *, asked="": long)
    await hold_an_answer(app, clock, peer)
    monkeypatch.undo()
    await peer.post(app.url, peer.events.text("鹿港有什麼吃的？", user=ANN))
    await work(app, clock)
    assert len(peer.said(ANN)) == 5
    assert heads(peer)[-1].startswith("鹿港")
    assert await app.line.inbox.counts() == {State.SENT: 2}


async def test_a_key_that_line_may_have_forgotten_is_not_used(app, clock, peer):
    """A push that was cut off is not sent under its key a day later: LINE knows it no more (9)."""
    await peer.post(app.url, peer.events.text("花壇有什麼吃的？", user=ANN))
    clock.ahead += TOO_LATE_MS
    peer.trouble(Trouble.STALL_AFTER, on="push")
    await cut_off(app, clock, peer, messages=1)
    assert await app.line.inbox.counts() == {State.SENDING: 1}
    clock.ahead += 25 * HOUR_MS
    await work(app, clock)
    assert len(peer.said(ANN)) == 1
    assert await app.line.inbox.counts() == {State.UNKNOWN: 1}


async def test_a_personal_push_that_may_be_out_is_not_made_anew(app, clock, peer):
    """Perhaps out, then turned away as too many: a personal answer is unknown, not another (9)."""
    await peer.post(app.url, peer.events.text("記住我吃素", user=ANN))
    clock.ahead += TOO_LATE_MS
    peer.trouble(Trouble.ERROR_AFTER, Trouble.RATE_LIMITED, on="push")
    await work(app, clock)
    assert len(peer.said(ANN)) == 1
    assert await app.line.inbox.counts() == {State.UNKNOWN: 1}


@pytest.mark.parametrize("done", [True, False])
async def test_what_was_unsent_before_it_came_is_not_answered(app, clock, peer, done):
    """A message that comes after it was taken back gets no answer and leaves no window (L11)."""
    event = peer.events.text("花壇有什麼吃的？", user=ANN)
    await peer.post(app.url, peer.events.unsend(event["message"]["id"], user=ANN))
    if done:
        await work(app, clock)
    await peer.post(app.url, redelivered(event))
    await work(app, clock)
    assert peer.said(ANN) == []
    assert await app.line.inbox.counts() == {State.SILENT: 2}
    owner = Owner(tenant="local", person=app.line.gateway.names.person(ANN))
    assert (await app.line.store.snapshot(owner, now_ms=clock())).window is None
    await peer.post(app.url, peer.events.text("花壇有什麼吃的？", user=ANN))
    await work(app, clock)
    assert len(peer.said(ANN)) == 1


@pytest.mark.parametrize("unreadable", ["body", "key"])
async def test_what_may_be_out_is_never_among_the_dead(app, clock, peer, tmp_path, unreadable):
    """An answer cut off on its way, of an event that cannot be read now, is unknown (9).

    Among the dead an operator could give it back, and it would be sent a second time.
    """
    event = peer.events.text("花壇有什麼吃的？", user=ANN)
    await peer.post(app.url, event)
    (claim,) = await app.line.inbox.claim("w", now_ms=clock(), lease_ms=1_000)
    await app.line.inbox.settle(claim, plan=b"of another version", append=None, now_ms=clock())
    await app.line.inbox.sending(claim, retry_key=None, now_ms=clock())
    clock.ahead += 1_000
    keys = {} if unreadable == "body" else {"store_keys": "another key of a store that is long"}
    settings = line_settings(sqlite_url(tmp_path), peer.url, processing="elsewhere", **keys)
    async with served(build_line(settings, clock=clock)) as other:
        await work(other, clock)
    assert await app.line.inbox.counts() == {State.UNKNOWN: 1}
    assert not await app.line.inbox.requeue(event["webhookEventId"], now_ms=clock())


async def test_a_turn_that_is_stopped_after_its_end_raises_nothing(app, clock, peer, monkeypatch):
    """A store that fails once an ending is written, and a turn that is told so: no more harm."""
    finish = app.line.inbox.finish

    async def written_and_lost(*arguments, **options):
        await finish(*arguments, **options)
        raise RuntimeError

    monkeypatch.setattr(app.line.inbox, "finish", written_and_lost)
    await peer.post(app.url, peer.events.text("花壇有什麼吃的？", user=ANN))
    (claim,) = await app.line.inbox.claim("w", now_ms=clock(), lease_ms=60_000)
    await app.line.turns.run(claim)
    assert await app.line.inbox.counts() == {State.SENT: 1}
