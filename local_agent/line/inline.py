"""Turns inside the request, for platforms that stop the CPU once the response is out."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from stores.inbox import Arrival, Claim, Inbox

LEASE_BEYOND_MS: Final = 15_000
"""A lease outlives the request's deadline by this, so that it never runs out under a turn."""

LOOK_AGAIN_SECONDS: Final = 0.1
"""How often to look whether another request has ended this one's event."""


class Inline:
    """Takes the turns of a request's chats before its response."""

    def __init__(
        self,
        inbox: Inbox,
        turn: Callable[[Claim], Awaitable[None]],
        *,
        clock: Callable[[], int],
        seconds: float,
    ) -> None:
        """Prepare.

        Args:
            inbox: Where the events are.
            turn: Brings one claimed event to its end, and gives it back when it is cancelled; see
                `Turns.run`.
            clock: Milliseconds since the epoch.
            seconds: How long a request may take.
        """
        self.name = f"{os.getpid()}-{secrets.token_hex(6)}"
        self._inbox, self._turn, self._clock, self._seconds = inbox, turn, clock, seconds
        self._lease_ms = int(seconds * 1000) + LEASE_BEYOND_MS

    async def __call__(self, arrivals: Sequence[Arrival]) -> bool:
        """Work on the chats of these events until theirs are done; False if that took too long."""
        chats: dict[str, list[str]] = {}
        for arrival in arrivals:
            chats.setdefault(arrival.chat, []).append(arrival.event_id)
        try:
            async with asyncio.timeout(self._seconds):
                async with asyncio.TaskGroup() as group:
                    for chat, events in chats.items():
                        group.create_task(self._chat(chat, events), name="inline")
        except (TimeoutError, ExceptionGroup):
            return False
        return True

    async def _chat(self, chat: str, events: list[str]) -> None:
        while True:
            claims = await self._inbox.claim(
                self.name, now_ms=self._clock(), lease_ms=self._lease_ms, chat=chat
            )
            for claim in claims:
                await self._turn(claim)
            if claims:
                continue
            # Nothing to claim: done, or another request has the chat, or an event rests.
            events = [event for event in events if await self._inbox.is_open(event)]
            if not events:
                return
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
