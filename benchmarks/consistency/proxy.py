"""A TCP proxy that hangs up now and then, in the middle of whatever is going on."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress


class Proxy:
    """Passes bytes on between clients and one server until ``drop`` cuts a connection off."""

    def __init__(self, host: str, port: int, chance: random.Random) -> None:
        """Stand in front of this server."""
        self._host, self._port, self._chance = host, port, chance
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.dropped = 0

    async def start(self) -> int:
        """Listen on a free port of loopback, and return it."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def drop(self) -> None:
        """Cut one connection off."""
        if self._open:
            self.dropped += 1
            self._chance.choice(sorted(self._open, key=id)).transport.abort()

    async def close(self) -> None:
        """Stop listening, and cut everything off."""
        if self._server is not None:
            self._server.close()
        for writer in tuple(self._open):
            writer.transport.abort()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            up, down = await asyncio.open_connection(self._host, self._port)
        except OSError:
            writer.transport.abort()
            return
        self._open.add(writer)
        both = [
            asyncio.create_task(_pass_on(reader, down)),
            asyncio.create_task(_pass_on(up, writer)),
        ]
        self._tasks.update(both)
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        self._open.discard(writer)
        for one in (writer, down):
            one.transport.abort()
        await asyncio.wait(both)
        self._tasks.difference_update(both)


async def _pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await source.read(65_536):
            sink.write(piece)
            await sink.drain()
