"""A process's worker: one dispatcher claims chats, and works on several of them at a time."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from stores.errors import StoreError
from stores.inbox import Claim, Inbox, LeaseLost

logger = logging.getLogger("local_agent.line")

LEASE_MS: Final = 30_000
"""How long a chat stays leased to a worker that is not heard of: after a crash, people wait so
long. A worker that lives extends its leases three times in that time."""

IDLE_SECONDS: Final = (0.05, 2.0)
"""How long to wait before looking again: after there was work, and after a long quiet. A gateway
in the same process wakes its worker at once; the waits are for other processes and for retries."""

SWEEP_SECONDS: Final = 60.0
"""How often to look for people to erase and for what is kept no longer."""

GRACE_SECONDS: Final = 8.0
"""How long a stopping worker lets its turns end before it gives them back; platforms such as Cloud
Run end a process ten seconds after they asked it to stop."""


class Worker:
    """Takes turns until it is stopped. Chats are worked on in parallel, a chat's turns in order."""

    def __init__(
        self,
        inbox: Inbox,
        turn: Callable[[Claim], Awaitable[None]],
        *,
        clock: Callable[[], int],
        at_once: int = 8,
        lease_ms: int = LEASE_MS,
        idle_seconds: tuple[float, float] = IDLE_SECONDS,
        warm_up: Callable[[], Awaitable[None]] | None = None,
        sweep: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Make a worker that does nothing yet.

        Args:
            inbox: Where events wait.
            turn: Brings one claimed event to its end, and gives it back when it is cancelled; see
                `Turns.run`.
            clock: Milliseconds since the epoch.
            at_once: The most chats to work on at a time.
            lease_ms: How long a lease lasts unless it is extended.
            idle_seconds: The shortest and the longest wait where nothing was found.
            warm_up: Done before the first claim.
            sweep: Done now and then beside the turns.
        """
        self.name = f"{os.getpid()}-{secrets.token_hex(6)}"
        self._inbox, self._turn, self._clock = inbox, turn, clock
        self._at_once, self._lease_ms, self._idle = at_once, lease_ms, idle_seconds
        self._warm_up, self._sweep = warm_up, sweep
        self._running: dict[asyncio.Future[None], Claim] = {}
        self._gathering: asyncio.TimerHandle | None = None
        self._woken, self._quiet = asyncio.Event(), asyncio.Event()
        self._stopping = False
        self._tasks: list[asyncio.Task[None]] = []
        self._warm = False

    @property
    def ready(self) -> bool:
        """Whether it is warm and looks for work."""
        return self._warm and not self._stopping and not any(t.done() for t in self._tasks)

    async def start(self) -> None:
        """Warm up, then look for work until `stop`."""
        if self._warm_up is not None:
            await self._warm_up()
        self._warm = True
        self._tasks = [
            asyncio.create_task(self._dispatch(), name="dispatcher"),
            asyncio.create_task(self._heartbeat(), name="heartbeat"),
        ]
        if self._sweep is not None:
            self._tasks.append(asyncio.create_task(self._sweep_on(self._sweep), name="sweep"))
        logger.info("event=worker_started at_once=<%d>", self._at_once)

    def wake(self) -> None:
        """Tell that there may be work, from the worker's own loop."""
        self._quiet.clear()
        self._woken.set()

    async def drain(self) -> None:
        """Wait until nothing is left that could be worked on now; retries may still rest."""
        self.wake()
        waiting = asyncio.create_task(self._quiet.wait())
        dispatcher = self._tasks[0]
        await asyncio.wait({waiting, dispatcher}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()

    async def stop(self, *, grace_seconds: float = GRACE_SECONDS) -> None:
        """Claim nothing more, let turns end, and give back what did not end in time."""
        self._stopping = True
        self._woken.set()
        deadline = asyncio.get_running_loop().time() + grace_seconds
        dispatcher = self._tasks[:1]
        if dispatcher:  # first, so that what it is about to claim is among the running
            await asyncio.wait(dispatcher, timeout=grace_seconds)
        left = max(0.0, deadline - asyncio.get_running_loop().time())
        if self._running:
            await asyncio.wait(set(self._running), timeout=left)
        unfinished = dict(self._running)
        for task in (*self._tasks, *unfinished):
            task.cancel()
        await asyncio.gather(*self._tasks, *unfinished, return_exceptions=True)
        logger.info("event=worker_stopped cut_off=<%d>", len(unfinished))

    async def _dispatch(self) -> None:
        least, most = self._idle
        idle = least
        while not self._stopping:
            self._woken.clear()
            if self._gathering is not None:
                self._gathering.cancel()
                self._gathering = None
            free = self._at_once - len(self._running)
            claims = await self._claim(free) if free else []
            for claim in claims or ():
                self._begin(claim)
            if claims:
                idle = least
            elif claims is not None and not self._running and not self._woken.is_set():
                self._quiet.set()
            # With every place taken only a turn's end matters, and that wakes.
            full = len(self._running) >= self._at_once
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), None if full else idle)
            idle = least if self._woken.is_set() else min(idle * 2, most)

    async def _claim(self, free: int) -> list[Claim] | None:
        try:
            return await self._inbox.claim(
                self.name, now_ms=self._clock(), lease_ms=self._lease_ms, most=free
            )
        except StoreError as error:
            logger.warning("event=claim_failed error_code=%s", error.error_code)
        except Exception as error:  # noqa: BLE001 - the dispatcher outlives whatever a store raises
            logger.error("event=claim_failed error_type=%s", type(error).__name__)  # noqa: TRY400 - it may quote an event
        return None

    def _begin(self, claim: Claim) -> None:
        self._quiet.clear()
        task = asyncio.ensure_future(self._turn(claim))
        self._running[task] = claim
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Future[None]) -> None:
        self._running.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("event=turn_raised error_type=%s", type(error).__name__)
        if len(self._running) <= self._at_once // 2:
            self._woken.set()
        elif self._gathering is None:
            # One look at the store for several places: under load it costs as much as a turn's own.
            self._gathering = asyncio.get_running_loop().call_later(self._idle[0], self._woken.set)

    async def _heartbeat(self) -> None:
        """Extend the leases of turns that take long; a turn whose lease is lost is stopped."""
        stopped: set[asyncio.Future[None]] = set()
        while True:
            seen = set(self._running) - stopped
            await asyncio.sleep(self._lease_ms / 3_000)
            stopped &= set(self._running)
            for task in seen & set(self._running):
                try:
                    await self._inbox.extend(
                        self._running[task], now_ms=self._clock(), lease_ms=self._lease_ms
                    )
                except (LeaseLost, KeyError):  # lost, or ended while its neighbour was extended
                    task.cancel()  # once: it cleans up, and its place is free when it has ended
                    stopped.add(task)
                except Exception as error:  # noqa: BLE001 - it is tried again; the lease guards the chat
                    logger.warning("event=extend_failed error_type=%s", type(error).__name__)

    async def _sweep_on(self, sweep: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await sweep()
            except Exception as error:  # noqa: BLE001 - it is tried again in a minute
                logger.warning("event=sweep_failed error_type=%s", type(error).__name__)
            await asyncio.sleep(SWEEP_SECONDS)
