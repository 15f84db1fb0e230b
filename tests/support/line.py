"""LOCAL on LINE for tests: the real application under uvicorn, and the loopback peer as LINE."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from local_agent.line.app import application
from local_agent.line.building import Line, build_line
from local_agent.line.peer import LinePeer
from local_agent.line.peer_events import signature_of
from local_agent.settings import Settings, load_settings

SECRET, TOKEN = "secret-of-a-channel", "token-of-a-channel"
WAIT_SECONDS = 60.0
"""Longest wait for anything; nothing takes a hundredth of it on a slow machine."""


def line_settings(url: str, peer_url: str = "http://127.0.0.1:9", **overrides: Any) -> Settings:
    """Settings of a channel whose keys are the tests' own."""
    given = {
        "database_url": url,
        "line_channel_secret": SECRET,
        "line_channel_token": TOKEN,
        "line_api_host": peer_url,
        "pseudonym_key": "a pseudonym key of the tests alone",
        "consent_keys": "a consent key of the tests that is long",
        "store_keys": "a store key of the tests that is long too",
        **overrides,
    }
    return load_settings(given)


def sqlite_url(folder: Path) -> str:
    """A store's file in a folder."""
    return f"sqlite+aiosqlite:///{folder / 'line.db'}"


async def until(true: Callable[[], bool | Awaitable[bool]], what: str) -> None:
    """Wait until something is true, with a limit."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            found = true()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.01)
    raise AssertionError(what)


@dataclass
class Answer:
    """What a server answered, read off the socket."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class Running:
    """The application under uvicorn.

    Attributes:
        url: The webhook's.
    """

    line: Line
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/callback"

    async def post(
        self, body: bytes, *, headers: dict[str, bytes] | None = None, sign: bool = True
    ) -> Answer:
        """Post bytes to the webhook, signed unless told."""
        given = {"x-line-signature": signature_of(SECRET, body).encode()} if sign else {}
        return await self.request("POST", "/callback", body, {**given, **(headers or {})})

    async def request(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, bytes] | None = None
    ) -> Answer:
        """Make one request over a connection of its own, byte for byte as said."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(
                head(method, path, {"content-length": b"%d" % len(body), **(headers or {})})
            )
            writer.write(body)
            return await asyncio.wait_for(read_answer(reader), WAIT_SECONDS)
        finally:
            writer.close()


def head(method: str, path: str, headers: dict[str, bytes]) -> bytes:
    """The head of a request; a header's bytes may be any."""
    lines = [f"{method} {path} HTTP/1.1".encode(), b"host: localhost", b"connection: close"]
    lines += [name.encode() + b": " + value for name, value in headers.items()]
    return b"\r\n".join(lines) + b"\r\n\r\n"


async def read_answer(reader: asyncio.StreamReader) -> Answer:
    """Read one answer."""
    raw = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in raw[1:] if line)
    length = int(headers.get("content-length", "0"))
    return Answer(int(raw[0].split(" ")[1]), headers, await reader.readexactly(length))


@asynccontextmanager
async def running(settings: Settings, **options: Any) -> AsyncIterator[Running]:
    """Serve the application on a free loopback port; `options` go to `build_line`."""
    async with served(build_line(settings, **options)) as found:
        yield found


@asynccontextmanager
async def served(line: Line) -> AsyncIterator[Running]:
    """Serve a wired LOCAL on a free loopback port."""
    config = uvicorn.Config(
        application(line), port=0, log_config=None, access_log=False, lifespan="on"
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server._serve())  # without its signal handlers
    try:
        await until(lambda: server.started or task.done(), "the server starts")
        if task.done():
            await task
        yield Running(line, server.servers[0].sockets[0].getsockname()[1])
    finally:
        server.should_exit = True
        await task


def peer_of(**options: Any) -> LinePeer:
    """LINE, with the channel of the tests."""
    return LinePeer(channel_secret=SECRET, channel_token=TOKEN, **options)
