"""One process with a few clients, who share a store as they do in a service."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.consistency.client import Acts, Board, Client, Habits
from benchmarks.consistency.history import Log
from benchmarks.consistency.planted import BUGS
from stores.errors import StoreUnavailable
from stores.open import open_store
from stores.personal import PersonalStore

SIGNING_KEY = b"a signing key of this measurement alone"
STARTS = 20
"""How often a start is tried."""

STORE_KEY = b"a store key of this measurement, long enough"


@dataclass(frozen=True)
class Job:
    """What a process is to do.

    Attributes:
        folder: Where histories and the board of cards are.
        emulator: Host and port of a Firestore emulator, if that is the store.
    """

    url: str
    folder: str
    name: str
    seed: int
    clients: int
    habits: Habits = field(default_factory=Habits)
    bug: str | None = None
    emulator: str | None = None


def main(job: Job) -> None:
    """Run the clients until SIGTERM comes, or a kill, or the parent is gone."""
    if job.emulator is not None:
        os.environ["FIRESTORE_EMULATOR_HOST"] = job.emulator
    ending = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ending.set())
    parent = os.getppid()
    asyncio.run(work(job, lambda: not ending.is_set() and os.getppid() == parent))


async def work(job: Job, going: Callable[[], bool]) -> None:
    """Run the clients in this event loop while ``going()`` is true."""
    undo = BUGS[job.bug]() if job.bug is not None else None
    folder = Path(job.folder)
    log = Log(folder / f"{job.name}.log")
    store = open_store(
        job.url, signing_keys=[SIGNING_KEY], store_keys=[STORE_KEY], synchronous="OFF"
    )
    try:
        await _start(store)
        board, acts = Board(folder / "cards"), Acts(folder / "acts")
        clients = [
            Client(
                f"{job.name}{number}",
                seed=job.seed * 100 + number,
                store=store,
                log=log,
                board=board,
                acts=acts,
                habits=job.habits,
            )
            for number in range(job.clients)
        ]
        await asyncio.gather(*(client.run(going) for client in clients))
    finally:
        await store.close()
        if undo is not None:
            undo()


async def _start(store: PersonalStore) -> None:
    """Open the store; a connection may be cut off here as anywhere."""
    for _ in range(STARTS):
        with suppress(StoreUnavailable):
            await store.start()
            return
    await store.start()
