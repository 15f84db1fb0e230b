"""Runs LOCAL's own processes on one store, and measures them from outside."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.line.load import Orders, event_id_of, post_elsewhere, token_of
from benchmarks.line.processes import Process, environment
from benchmarks.line.sink import Sink
from local_agent.bootstrap import build
from local_agent.demo.setting import demo_settings
from local_agent.line.delivery import retry_key_of
from local_agent.offline_model import OfflineModel
from local_agent.service import LocalService

DRAIN_SECONDS = 1_800.0
"""Longest wait for the workers to have answered everything."""


@dataclass(frozen=True)
class Size:
    """How much to measure.

    Attributes:
        rate: Events a second while acknowledgements are timed.
        seconds: For how long.
        chats: How many chats wait for the workers.
        messages: How many messages each of them wrote.
    """

    rate: int = 100
    seconds: int = 10
    chats: int = 1_000
    messages: int = 5


@dataclass
class Tally:
    """What became of events, told by the sink."""

    events: int = 0
    once: int = 0
    twice: int = 0
    lost: int = 0
    out_of_order: int = 0

    def add(self, orders: Orders, answers: list[tuple[str, float]]) -> None:
        """Look for each event's answers, by its reply token or its push's key."""
        number_of: dict[str, int] = {}
        for number in range(orders.events):
            number_of[token_of(orders, number)] = number
            number_of[retry_key_of(event_id_of(orders, number))] = number
        mine = [number_of[name] for name, _ in answers if name in number_of]
        times = Counter(mine)
        self.events += orders.events
        self.once += sum(many == 1 for many in times.values())
        self.twice += sum(many > 1 for many in times.values())
        self.lost += orders.events - len(times)
        last: dict[int, int] = {}
        for number in mine:
            chat = number % orders.chats
            self.out_of_order += number < last.get(chat, -1)
            last[chat] = number


@dataclass(frozen=True)
class Drained:
    """How fast workers answered, after all of them were ready."""

    turns_per_second: float
    cpu_ms: float


@dataclass
class Bench:
    """One store under measurement.

    Attributes:
        store: Its name in the results.
        fresh: Makes an empty store and returns its URL.
        folder: For logs.
    """

    store: str
    fresh: Callable[[], Any]
    folder: Path
    size: Size
    say: Callable[[str], None]
    tally: Tally = field(default_factory=Tally)

    async def run(self) -> dict[str, Any]:
        """Measure everything, and return the row of the results."""
        model_ms = await model_cpu_ms()
        idle, draining = await self._acknowledgements()
        one = await self._many_chats(1)
        two = await self._many_chats(2)
        return {
            "store": self.store,
            "ack_p50_ms": round(median(draining), 2),
            "ack_p50_idle_ms": round(median(idle), 2),
            "ack_p99_idle_ms": round(percentile(idle, 0.99), 2),
            "ack_p99_ms": round(percentile(draining, 0.99), 2),
            "ack_max_ms": round(max(draining), 2),
            "turn_cpu_ms": round(one.cpu_ms - model_ms, 2),
            "model_cpu_ms": round(model_ms, 3),
            "turns_per_second": round(one.turns_per_second, 1),
            "turns_per_second_two_workers": round(two.turns_per_second, 1),
            "events": self.tally.events,
            "answered_once": self.tally.once,
            "answered_twice": self.tally.twice,
            "lost": self.tally.lost,
            "out_of_order": self.tally.out_of_order,
            "two_workers_speedup": round(two.turns_per_second / one.turns_per_second, 2),
        }

    async def _acknowledgements(self) -> tuple[list[float], list[float]]:
        """Time 200s: first with a worker that polls and finds nothing, then while one drains."""
        sink, url = await Sink.started(), await self.fresh()
        env = environment(url, sink.url, self.folder)
        gateway = Process("gateway", env, self.folder, f"{self.store}-gateway")
        # A worker of another tenant looks for work as often, and none of this is its.
        nobody = {**env, "LOCAL_TENANT": "nobody"}
        idle = Process("worker", nobody, self.folder, f"{self.store}-idle")
        worker = Process("worker", env, self.folder, f"{self.store}-worker")
        many = self.size.rate * self.size.seconds
        try:
            gateway.start()
            await gateway.ready()
            idle.start()
            await idle.ready()
            first = self._orders(gateway, many, many)
            quiet = await post_elsewhere(first)
            self.say(f"{self.store}: acknowledged beside an idle worker")
            idle.stop()
            worker.start()
            await worker.ready()
            second = self._orders(gateway, many, many)
            busy = await post_elsewhere(second)
            answered = await sink.count()
            if answered >= 2 * many:
                self.say(f"{self.store}: the worker was done before the load was")
            self.say(f"{self.store}: acknowledged while a worker drained ({answered} answers)")
            await self._drained(sink, 2 * many)
            answers = await sink.answers()
            self.tally.add(first, answers)
            self.tally.add(second, answers)
        finally:
            for process in (worker, idle, gateway):
                process.stop()
            await sink.stop()
        return quiet, busy

    async def _many_chats(self, workers: int) -> Drained:
        """Let many chats wait, then start workers and time them once all are ready."""
        sink, url = await Sink.started(), await self.fresh()
        env = environment(url, sink.url, self.folder)
        gateway = Process("gateway", env, self.folder, f"{self.store}-gateway")
        processes = [
            Process("worker", env, self.folder, f"{self.store}-worker{number}")
            for number in range(workers)
        ]
        try:
            gateway.start()
            await gateway.ready()
            orders = self._orders(gateway, self.size.chats * self.size.messages, self.size.chats)
            orders = Orders(**{**vars(orders), "rate": 0})
            await post_elsewhere(orders)
            gateway.stop()
            for process in processes:
                process.start()
            await asyncio.gather(*(process.ready() for process in processes))
            ready = time.time()
            cpu = sum(process.cpu_seconds() for process in processes)
            before = await sink.count()
            await self._drained(sink, orders.events)
            cpu = sum(process.cpu_seconds() for process in processes) - cpu
            answers = await sink.answers()
            self.tally.add(orders, answers)
        finally:
            for process in (*processes, gateway):
                process.stop()
            await sink.stop()
        timed = orders.events - before
        took = max(at for _, at in answers) - ready
        self.say(f"{self.store}: {workers} worker(s) answered {timed} in {took:.1f} s")
        return Drained(timed / took, cpu / timed * 1000)

    def _orders(self, gateway: Process, events: int, chats: int) -> Orders:
        return Orders(gateway.port, self.size.rate, events, chats, secrets.token_hex(4))

    async def _drained(self, sink: Sink, many: int) -> None:
        """Wait until so many answers have come, and a moment for ones too many."""
        async with asyncio.timeout(DRAIN_SECONDS):
            await sink.has(many)
        await asyncio.sleep(1.0)


def percentile(values: list[float], part: float) -> float:
    """Return the value that this part of all is not above."""
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


async def model_cpu_ms(turns: int = 60) -> float:
    """Return the processor milliseconds that the offline rules themselves take in a turn."""
    spent = 0.0
    generate = OfflineModel.generate_content_async

    async def timed(self: OfflineModel, *arguments: Any, **options: Any) -> Any:
        nonlocal spent
        answers = generate(self, *arguments, **options)
        while True:
            started = time.thread_time()
            try:
                answer = await anext(answers)
            except StopAsyncIteration:
                return
            finally:
                spent += time.thread_time() - started
            yield answer

    service = LocalService(lambda sink: build(demo_settings(None), on_report=sink))
    try:
        await service.answer(None, "花壇有什麼吃的？")
        OfflineModel.generate_content_async = timed  # type: ignore[method-assign]  # timed here
        for _ in range(turns):
            await service.answer(None, "花壇有什麼吃的？")
    finally:
        OfflineModel.generate_content_async = generate  # type: ignore[method-assign]  # put back
        await service.close()
    return spent / turns * 1000


def sqlite_in(folder: Path) -> Callable[[], Any]:
    """Return what makes an empty file in a folder."""

    async def fresh() -> str:
        place = folder / secrets.token_hex(4)
        place.mkdir()
        return f"sqlite+aiosqlite:///{place / 'line.db'}"

    return fresh


def remove(folder: Path) -> None:
    """Remove a folder of databases and logs."""
    shutil.rmtree(folder, ignore_errors=True)
