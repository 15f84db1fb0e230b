"""A thread that runs functions one after the other, for awaiters in any event loop.

SQLite connections belong to one thread. Unlike an executor's, these futures cost one wake-up each
way, and a worker belongs to no event loop: several may use it, one after the other or at once.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from stores.errors import StoreUnavailable

T = TypeVar("T")
_Job = tuple[asyncio.AbstractEventLoop | None, "asyncio.Future[Any] | None", Callable[[], Any]]
_Jobs = SimpleQueue[_Job | None]


class Worker:
    """One thread and its queue. The thread starts with the first job and ends with ``stop``."""

    def __init__(self, name: str) -> None:
        """Name the thread, as it is listed in a stack dump."""
        self._name = name
        self._jobs: _Jobs = SimpleQueue()
        self._thread: Thread | None = None
        self._process = os.getpid()
        self._stopped = False

    async def run(self, work: Callable[[], T]) -> T:
        """Run ``work`` on the thread, after everything handed in before, and return its result.

        A caller cancelled before the work began takes it back; once begun it runs to its end.

        Raises:
            StoreUnavailable: If the worker was stopped, or this process was forked from its own.
        """
        if self._stopped:
            raise StoreUnavailable("The store was closed.", reason="closed")
        if self._process != os.getpid():
            raise StoreUnavailable(
                "The store was opened before this process was forked; open it anew.",
                reason="forked",
            )
        if self._thread is None:
            self._thread = Thread(target=_serve, args=(self._jobs,), name=self._name, daemon=True)
            self._thread.start()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._jobs.put((loop, future, work))
        return await future

    async def close(self, last: Callable[[], None]) -> None:
        """Stop, and wait without blocking the event loop until ``last`` has run."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()

        def finish() -> None:
            try:
                last()
            finally:
                _tell(loop, future, None, None)

        thread = self.stop(finish)
        if thread is not None:
            await future
            thread.join()

    def stop(self, last: Callable[[], None]) -> Thread | None:
        """Refuse further work, run ``last`` after what is queued, and let the thread end.

        Safe to call from a finalizer: it waits for nothing. Returns the thread, to be joined.
        """
        if self._stopped or self._thread is None or self._process != os.getpid():
            self._stopped = True
            return None
        self._stopped = True
        self._jobs.put((None, None, last))
        self._jobs.put(None)
        return self._thread


def _serve(jobs: _Jobs) -> None:
    """Work through the queue; a function of the queue alone, so that an unused Worker can go."""
    while (job := jobs.get()) is not None:
        loop, future, work = job
        if loop is None or future is None:
            work()
        elif not future.cancelled():
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001 - who waits must hear of it, or waits forever
                _tell(loop, future, None, error)
            else:
                _tell(loop, future, result, None)
        # Nothing of a finished job, such as a value in its arguments, is held while waiting.
        job = loop = future = work = result = None  # type: ignore[assignment]  # let go on purpose


def _tell(
    loop: asyncio.AbstractEventLoop,
    future: asyncio.Future[Any],
    result: object,
    error: BaseException | None,
) -> None:
    def deliver() -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    with suppress(RuntimeError):  # the loop is closed: nobody waits any more
        loop.call_soon_threadsafe(deliver)
