"""Lets one turn of a person through at a time, and those of different people in parallel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turnstile:
    """One lock a person, kept only while somebody holds it or waits (invariant 10).

    For one process. Between processes the worker's leases do the same.
    """

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._queued: dict[str, int] = {}

    @asynccontextmanager
    async def one_at_a_time(self, person: str | None) -> AsyncIterator[None]:
        """Wait for this person's turn; nobody's messages wait for nobody."""
        if person is None:
            yield
            return
        lock = self._locks.setdefault(person, asyncio.Lock())
        self._queued[person] = self._queued.get(person, 0) + 1
        try:
            async with lock:
                yield
        finally:
            self._queued[person] -= 1
            if not self._queued[person]:
                del self._queued[person], self._locks[person]
