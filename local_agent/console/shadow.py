"""The same conversation without the layer: what all history would have cost, turn by turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from callbacks.adk.keeper import epoch_ms
from local_agent.console.recorder import Turn
from local_agent.demo.ways import RawHistory
from local_agent.settings import Settings


class Shadow:
    """Repeats answered messages through ADK as it comes, in their order, and measures them."""

    def __init__(self, changed: Callable[[], None]) -> None:
        """Start with an empty conversation.

        Args:
            changed: Called after each measurement.
        """
        self._changed = changed
        self._waiting: asyncio.Queue[Turn] = asyncio.Queue()
        self._taken: set[str] = set()

    def take(self, turn: Turn) -> None:
        """Measure a turn's message as well; each event once."""
        if turn.event_id not in self._taken:
            self._taken.add(turn.event_id)
            self._waiting.put_nowait(turn)

    @asynccontextmanager
    async def over(self, settings: Settings) -> AsyncIterator[None]:
        """Measure while open."""
        raw = RawHistory(settings, epoch_ms)
        measuring = asyncio.create_task(self._measure(raw), name="shadow")
        try:
            yield
        finally:
            measuring.cancel()
            with suppress(asyncio.CancelledError):
                await measuring
            await raw.close()

    async def _measure(self, raw: RawHistory) -> None:
        while True:
            turn = await self._waiting.get()
            turn.raw_bytes = (await raw.say(turn.said)).size
            self._changed()
