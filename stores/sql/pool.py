"""A few connections to a server, handed out one at a time; they belong to one event loop.

Not asyncpg's pool: that one asks the server to reset a session after each use, a round trip that
nothing here needs, as every setting ends with its transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncpg import Connection


class Pool:
    """Connections of one event loop, the last used first."""

    def __init__(self, connect: Callable[[], Awaitable[Connection[Any]]], size: int) -> None:
        """Open nothing yet.

        Args:
            connect: Opens a connection.
            size: The most there are at a time; whoever comes then waits.
        """
        self.loop = asyncio.get_running_loop()
        self.starting = asyncio.Lock()
        self._connect = connect
        self._free = asyncio.Semaphore(size)
        self._idle: list[Connection[Any]] = []
        self._used: set[Connection[Any]] = set()

    async def take(self) -> Connection[Any]:
        """Return a connection, which ``give`` takes back."""
        await self._free.acquire()
        try:
            while self._idle:
                connection = self._idle.pop()
                if not connection.is_closed():
                    break
            else:
                connection = await self._connect()
        except BaseException:  # cancelled too: the place in the pool is given back
            self._free.release()
            raise
        self._used.add(connection)
        return connection

    def give(self, connection: Connection[Any], *, usable: bool) -> None:
        """Take a connection back; one in an unknown state is closed without a word."""
        self._used.discard(connection)
        if usable and not connection.is_closed():
            self._idle.append(connection)
        else:
            _drop(connection)
        self._free.release()

    async def close(self) -> None:
        """Close what is idle in good order and cut off what is in use."""
        while self._idle:
            connection = self._idle.pop()
            with suppress(OSError, TimeoutError):
                await connection.close(timeout=5)
        self.cut()

    def cut(self) -> None:
        """Let go of every connection at once, without talking to the server."""
        for connection in (*self._idle, *self._used):
            _drop(connection)
        self._idle.clear()


def _drop(connection: Connection[Any]) -> None:
    with suppress(RuntimeError):  # its event loop is closed: nothing can be told the server
        connection.terminate()
