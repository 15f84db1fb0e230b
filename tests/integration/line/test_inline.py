"""LOCAL_PROCESSING=inline: turns inside the request, and redelivery for what did not end."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from local_agent.line.building import build_line
from local_agent.line.peer_events import body_of, line_id, redelivered
from local_agent.service import LocalService
from stores.errors import StoreUnavailable
from stores.inbox import State
from tests.support.line import line_settings, peer_of, served, sqlite_url, until

ANN, BEN = line_id("user", 1), line_id("user", 2)


@pytest.fixture
async def peer():
    async with peer_of() as started:
        yield started


@asynccontextmanager
async def inline(tmp_path, peer, **overrides):
    settings = line_settings(sqlite_url(tmp_path), peer.url, processing="inline", **overrides)
    async with served(build_line(settings)) as app:
        yield app


@pytest.fixture
def gate(monkeypatch):
    """Holds turns up where the model would be asked, until it is opened."""
    opened = asyncio.Event()
    answer = LocalService.answer

    async def gated(service, person, message, **options):
        await opened.wait()
        return await answer(service, person, message, **options)

    monkeypatch.setattr(LocalService, "answer", gated)
    return opened


async def test_the_answer_is_out_before_the_200(tmp_path, peer):
    """When LINE is told 200, every event of the request is done, each chat's in order."""
    async with inline(tmp_path, peer) as app:
        assert app.line.worker is None
        events = [peer.events.text("花壇有什麼吃的？", user=user) for user in (ANN, BEN, ANN)]
        assert await peer.post(app.url, *events) == 200
        assert await app.line.inbox.counts() == {State.SENT: 3}
        assert [one.reply_token for one in peer.chats[ANN]] == [
            events[0]["replyToken"],
            events[2]["replyToken"],
        ]


async def test_what_did_not_end_is_left_to_redelivery(tmp_path, peer, gate):
    """A turn beyond the deadline is given back, with 503; brought again, it is answered once."""
    async with inline(tmp_path, peer, inline_seconds=1) as app:
        event = peer.events.text("花壇有什麼吃的？", user=ANN)
        answer = await app.post(body_of(peer.bot, [event]))
        assert answer.status == 503
        assert b"TURN_NOT_FINISHED" in answer.body
        assert int(answer.headers["retry-after"]) > 0
        assert await app.line.inbox.counts() == {State.WAITING: 1}
        (letter,) = await app.line.inbox.letters(State.WAITING)
        assert letter.attempts == 0
        gate.set()
        assert await peer.post(app.url, redelivered(event)) == 200
        assert await peer.post(app.url, redelivered(event)) == 200
        assert len(peer.said(ANN)) == 1


async def test_two_requests_of_one_chat(tmp_path, peer, gate):
    """A request whose chat another one works on waits for its event to be done (invariant 10)."""
    async with inline(tmp_path, peer) as app:
        events = [peer.events.text("花壇有什麼吃的？", user=ANN) for _ in range(4)]
        posts = [asyncio.create_task(peer.post(app.url, event)) for event in events]

        async def all_in() -> bool:
            return sum((await app.line.inbox.counts()).values()) == 4

        await until(all_in, "all are stored")
        gate.set()
        assert await asyncio.gather(*posts) == [200] * 4
        assert len(peer.chats[ANN]) == 4


async def test_a_store_that_fails_in_a_turn_is_503(tmp_path, peer, monkeypatch):
    """What fails inside the request is for LINE to bring again."""
    async with inline(tmp_path, peer) as app:

        async def down(*_, **__):
            raise StoreUnavailable(reason="lost")

        monkeypatch.setattr(app.line.inbox, "claim", down)
        event = peer.events.text("花壇有什麼吃的？", user=ANN)
        assert await peer.post(app.url, event) == 503
        monkeypatch.undo()
        assert await peer.post(app.url, redelivered(event)) == 200
        assert len(peer.said(ANN)) == 1
