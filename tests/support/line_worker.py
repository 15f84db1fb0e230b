"""What tests of a worker on LINE share: a clock moved by hand, a gate, workers to start."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from local_agent.line.building import build_line
from local_agent.line.peer_events import line_id
from local_agent.line.worker import Worker
from local_agent.service import LocalService
from tests.support.line import line_settings, served, sqlite_url

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


@asynccontextmanager
async def line_of(tmp_path, peer, clock, **overrides):
    """LOCAL on LINE with a worker, on a file; a second one on the same file is another process."""
    settings = line_settings(sqlite_url(tmp_path), peer.url, **overrides)
    async with served(build_line(settings, clock=clock)) as app:
        yield app


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
