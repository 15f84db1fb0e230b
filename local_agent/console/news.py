"""A number that grows with every change, and a way to wait until it does."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class News:
    """Wakes everybody who waits whenever something changed. For one event loop."""

    def __init__(self) -> None:
        self.version = 1
        self._changed = asyncio.Event()
        self._closed = False

    def tell(self) -> None:
        """Something changed."""
        self.version += 1
        self._changed.set()
        self._changed = asyncio.Event()

    def close(self) -> None:
        """Let everybody go, and let nobody wait any more."""
        self._closed = True
        self.tell()

    async def after(self, version: int, seconds: float) -> None:
        """Return once there is a newer version than this one, or the time is up."""
        if self._closed or self.version > version:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), seconds)
