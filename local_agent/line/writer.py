"""One writer for everything that arrives: requests of the same moment share a transaction.

Measured: a transaction a request stalls SQLite at 200 events a second; a shared one does not.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from stores.errors import StoreError, StoreUnavailable
from stores.inbox import ACCEPTED_AT_ONCE, Arrival, Inbox

logger = logging.getLogger("local_agent.line")

MOST_IN_ONE: Final = 256
"""From how many events on a transaction takes no further request."""

MOST_WAITING: Final = 10_000
"""Most events that may wait for the writer; more are turned away, for LINE to bring again."""


@dataclass(frozen=True)
class _Waiting:
    arrivals: tuple[Arrival, ...]
    done: asyncio.Future[None]


class Writer:
    """Stores arrivals, several requests at a time."""

    def __init__(
        self, inbox: Inbox, *, clock: Callable[[], int], timeout_seconds: float = 10.0
    ) -> None:
        """Write into an inbox.

        Args:
            inbox: Keeps each event once.
            clock: Milliseconds since the epoch.
            timeout_seconds: Longest wait of a request for the store.
        """
        self._inbox, self._clock, self._timeout = inbox, clock, timeout_seconds
        self._waiting: list[_Waiting] = []
        self._events = 0
        self._writing: asyncio.Task[None] | None = None

    async def store(self, arrivals: Sequence[Arrival]) -> None:
        """Return once the arrivals are in the store, now or from before.

        Raises:
            StoreError: They may not be; nothing may be acknowledged.
        """
        if not arrivals:
            return
        if self._events + len(arrivals) > MOST_WAITING:
            raise StoreUnavailable(reason="busy")
        waiting = _Waiting(tuple(arrivals), asyncio.get_running_loop().create_future())
        waiting.done.add_done_callback(_heard)
        self._waiting.append(waiting)
        self._events += len(arrivals)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_all(), name="inbox-writer")
        try:
            # Shielded: what one request waits for, its neighbours in the transaction wait for too.
            await asyncio.wait_for(asyncio.shield(waiting.done), self._timeout)
        except TimeoutError:
            raise StoreUnavailable(reason="timeout") from None

    async def close(self) -> None:
        """Wait until everything given so far is written or refused."""
        if self._writing is not None:
            await asyncio.shield(self._writing)

    async def _write_all(self) -> None:
        try:
            while self._waiting:
                batch = self._take()
                await self._write(batch)
                self._events -= sum(len(one.arrivals) for one in batch)
        finally:
            self._writing = None

    def _take(self) -> list[_Waiting]:
        """Take the requests that waited longest; at least one, however many events it has."""
        size = 0
        for number, one in enumerate(self._waiting):
            size += len(one.arrivals)
            if number and size > MOST_IN_ONE:
                break
        else:
            number = len(self._waiting)
        batch, self._waiting = self._waiting[:number], self._waiting[number:]
        return batch

    async def _write(self, batch: list[_Waiting]) -> None:
        failure: StoreError | None = None
        try:
            every = tuple(arrival for one in batch for arrival in one.arrivals)
            for at in range(0, len(every), ACCEPTED_AT_ONCE):
                part = every[at : at + ACCEPTED_AT_ONCE]
                await self._inbox.accept(part, now_ms=self._clock())
        except StoreError as error:
            failure = error
        except Exception as error:  # noqa: BLE001 - whatever it was, nothing may be acknowledged
            logger.error("event=inbox_write_failed error_type=%s", type(error).__name__)  # noqa: TRY400 - it may quote an event
            failure = StoreUnavailable(reason="internal")
        if failure is not None and len(batch) > 1 and not isinstance(failure, StoreUnavailable):
            for one in batch:  # one of them is at fault; its neighbours are not
                await self._write([one])
            return
        for one in batch:
            if one.done.done():
                continue
            if failure is None:
                one.done.set_result(None)
            else:
                one.done.set_exception(failure)


def _heard(done: asyncio.Future[None]) -> None:
    """Take note of a failure, whether or not a request still waits for it."""
    if not done.cancelled():
        done.exception()
