"""Rounds over sizes, clients and calls."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

from benchmarks.stores.bare import Bare, BarePostgres, BareSqlite
from benchmarks.stores.people import TENANT, WINDOW, Place, opened, place
from stores.personal import PersonalStore
from stores.pseudonym import pseudonym
from stores.records import Owner, Proposal
from stores.sql.sqlite import SqliteSession

CLIENTS: Final = (1, 64)
CALLS: Final = {1: 24, 64: 2}
"""How often a client makes each call in a round."""

TURNS: Final = 60
"""Turns of the comparison with the bare driver, a round."""

WARM_UP_ROUNDS: Final = 2
OPERATIONS: Final = ("snapshot", "append", "approve", "forget")
_SECRET: Final = b"of this measurement, long enough"
_TEA: Final = Proposal(key="drink", purpose="to choose a cafe", value="tea")

Key = tuple[int, int, str]
Say = Callable[[str], None]


@dataclass
class _Taken:
    """What was measured so far."""

    ms: dict[Key, list[float]] = field(default_factory=lambda: defaultdict(list))
    wall: dict[Key, float] = field(default_factory=lambda: defaultdict(float))
    ratios: list[float] = field(default_factory=list)
    rss_mb: list[float] = field(default_factory=list)


async def measure(
    url: str,
    sizes: Sequence[int],
    *,
    rounds: int,
    synchronous: str,
    role: str | None = None,
    say: Say,
) -> dict[str, Any]:
    """Return the report.

    Args:
        url: As ``open_store`` reads it.
        sizes: How many people are stored.
        rounds: How often every size has its turn.
        synchronous: ``FULL`` or ``OFF``.
        role: Whom PostgreSQL is asked as; None is the URL's user.
        say: Is told how far it is.
    """
    places = {people: place(url, people, role) for people in sizes}
    taken = _Taken()
    try:
        for people, where in places.items():
            began = time.monotonic()
            await where.prepare(people)
            say(f"{people} people loaded in {time.monotonic() - began:.0f} s")
        trips = await _rounds(places, taken, rounds=rounds, synchronous=synchronous, say=say)
    finally:
        for where in places.values():
            await where.remove()
    return {
        "url": without_secrets(url),
        "synchronous": synchronous,
        "role": role,
        "rows": [
            _row(people, clients, operation, taken)
            for people in sizes
            for clients in CLIENTS
            for operation in OPERATIONS
        ],
        "bare_driver_ratio": round(median(taken.ratios), 3) if taken.ratios else None,
        "snapshot_statements": trips,
        "rss_mb": {"first": taken.rss_mb[0], "last": taken.rss_mb[-1], "most": max(taken.rss_mb)},
    }


def without_secrets(url: str) -> str:
    """Return a URL without user and password."""
    return re.sub(r"//[^/@]*@", "//", url)


async def _rounds(
    places: dict[int, Place], taken: _Taken, *, rounds: int, synchronous: str, say: Say
) -> int | None:
    async with AsyncExitStack() as stack:
        bench = {}
        for people, where in places.items():
            store = await stack.enter_async_context(opened(where.url, synchronous))
            bench[people] = _Bench(people, store)
            await bench[people].prepare()
        largest = max(places)
        bare = await _bare(places[largest].url, bench[largest], synchronous)
        if bare is not None:
            stack.push_async_callback(bare.close)
        trips = await bench[largest].statements_of_a_snapshot()
        for number in range(rounds + WARM_UP_ROUNDS):
            into = taken if number >= WARM_UP_ROUNDS else _Taken()
            order = list(bench.values())
            for clients in CLIENTS:
                for _ in range(CALLS[clients]):
                    order.append(order.pop(0))  # sizes take turns call by call, and in being first
                    for one in order:
                        await one.take(clients, into)
            if bare is not None:
                into.ratios.append(await _compare(bench[largest], bare, first=number % 2 == 0))
            into.rss_mb.append(_rss_mb())
            say(f"round {number + 1} of {rounds + WARM_UP_ROUNDS}, {_rss_mb()} MB")
        return trips


class _Bench:
    """A store with this many people in it, and 64 more who are its clients."""

    def __init__(self, people: int, store: PersonalStore) -> None:
        self._people, self.store, self._events = people, store, 0
        names = (pseudonym(_SECRET, TENANT, "bench", f"{number}") for number in range(max(CLIENTS)))
        self.owners = [Owner(tenant=TENANT, person=name) for name in names]

    async def prepare(self) -> None:
        """Let the clients' people have a row and a window."""
        for owner in self.owners:
            await self.turn(owner)

    async def turn(self, owner: Owner) -> None:
        """Read a snapshot and append to it."""
        self._events += 1
        now = time.time_ns() // 1_000_000
        seen = await self.store.snapshot(owner, now_ms=now)
        await self.store.append(
            owner, event_id=f"e{self._events}", window=WINDOW, expected_revision=seen.revision,
            expected_generation=seen.generation, now_ms=now,
        )  # fmt: skip

    async def take(self, clients: int, taken: _Taken) -> None:
        """Let that many clients make each call once, all of them at the same time."""
        now = time.time_ns() // 1_000_000
        owners = self.owners[:clients]
        seen = {owner: await self.store.snapshot(owner, now_ms=now) for owner in owners}

        def write(owner: Owner) -> Awaitable[Any]:
            self._events += 1
            return self.store.append(
                owner, event_id=f"e{self._events}", window=WINDOW, now_ms=now,
                expected_revision=seen[owner].revision,
                expected_generation=seen[owner].generation,
            )  # fmt: skip

        await self._all(
            "snapshot", owners, lambda owner: self.store.snapshot(owner, now_ms=now), taken
        )
        await self._all("append", owners, write, taken)
        cards = {owner: await self.store.propose(owner, _TEA, now_ms=now) for owner in owners}
        await self._all(
            "approve",
            owners,
            lambda owner: self.store.approve(owner, cards[owner].token, now_ms=now),
            taken,
        )
        await self._all(
            "forget", owners, lambda owner: self.store.forget(owner, "drink", now_ms=now), taken
        )

    async def statements_of_a_snapshot(self) -> int | None:
        """Return how many statements a snapshot sends; None where there are none to count."""
        with _counted() as count:
            await self.store.snapshot(self.owners[0], now_ms=1)
        return len(count) or None

    async def _all(
        self,
        operation: str,
        owners: Sequence[Owner],
        call: Callable[[Owner], Awaitable[Any]],
        taken: _Taken,
    ) -> None:
        key = (self._people, len(owners), operation)

        async def one(owner: Owner) -> None:
            began = time.perf_counter()
            await call(owner)
            taken.ms[key].append((time.perf_counter() - began) * 1000)

        began = time.perf_counter()
        if len(owners) == 1:
            await one(owners[0])  # without a task: there is nobody to share the loop with
        else:
            await asyncio.gather(*(one(owner) for owner in owners))
        taken.wall[key] += time.perf_counter() - began


async def _compare(bench: _Bench, bare: Bare, *, first: bool) -> float:
    """Return the store's turns a second as a share of the bare driver's, taken back to back."""
    seconds = {}
    for ours in (first, not first):
        began = time.perf_counter()
        for number in range(TURNS):
            if ours:
                await bench.turn(bench.owners[0])
            else:
                await bare.turn(f"b{number}", time.time_ns() // 1_000_000)
        seconds[ours] = time.perf_counter() - began
    return seconds[False] / seconds[True]


async def _bare(url: str, bench: _Bench, synchronous: str) -> Bare | None:
    person = bench.owners[1].person
    if url.startswith("sqlite"):
        return await BareSqlite.open(url, person, synchronous=synchronous)
    if url.startswith("postgresql"):
        return await BarePostgres.open(url, person, synchronous=synchronous)
    return None


@contextmanager
def _counted() -> Iterator[list[str]]:
    """Count what is sent to SQLite or PostgreSQL while open."""
    import asyncpg  # noqa: PLC0415 - its Connection is patched here only

    count: list[str] = []
    places = [
        (SqliteSession, "rows"),
        (asyncpg.Connection, "fetch"),
        (asyncpg.Connection, "execute"),
    ]
    before = [(owner, name, getattr(owner, name)) for owner, name in places]

    def counting(method: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            count.append(method.__name__)
            return method(*arguments, **named)

        return counted

    for owner, name, method in before:
        setattr(owner, name, counting(method))
    try:
        yield count
    finally:
        for owner, name, method in before:
            setattr(owner, name, method)


def _row(people: int, clients: int, operation: str, taken: _Taken) -> dict[str, Any]:
    key = (people, clients, operation)
    times = taken.ms[key]
    return {
        "people": people,
        "clients": clients,
        "operation": operation,
        "median_ms": round(median(times), 3),
        "p99_ms": round(quantiles(times, n=100)[-1], 3),
        "per_second": round(len(times) / taken.wall[key], 1),
    }


def _rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)
