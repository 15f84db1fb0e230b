"""Three processes on one store, killed, cut off and started anew until enough has happened."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from benchmarks.consistency import worker
from benchmarks.consistency.checker import Call, Verdict, check
from benchmarks.consistency.history import read
from benchmarks.consistency.proxy import Proxy
from benchmarks.consistency.worker import Job

CLIENTS: Final = (3, 3, 2)
"""Eight clients on three processes."""

COUNTED_EVERY: Final = 0.05
"""Seconds between looks at how far they are."""

GRACE_SECONDS: Final = 20.0


@dataclass
class Run:
    """What was done and what came of it."""

    operations: int
    kills: int
    dropped: int
    seconds: float
    left_over: int
    verdict: Verdict

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "operations": self.operations,
            "people": self.verdict.people,
            "unanswered": self.verdict.unanswered,
            "kills": self.kills,
            "dropped_connections": self.dropped,
            "seconds": round(self.seconds, 1),
            "left_after_forget": self.left_over,
            "violations": self.verdict.violations,
            "undecided": self.verdict.undecided,
        }


async def run(
    job: Job,
    *,
    operations: int,
    seed: int,
    kill_every: int | None = 300,
    drop_every: int | None = 60,
    limit_seconds: float = 1_800.0,
    say: Callable[[str], None] = lambda _: None,
) -> Run:
    """Let the clients work, and check what they saw.

    Args:
        job: The store and the habits; names, seeds and numbers of clients are set here.
        operations: How many calls are to be answered.
        seed: Of the schedules; threads and processes still run as they like.
        kill_every: After about how many operations a process is killed; None for never. Counted,
            not timed: a faster machine is not killed more seldom.
        drop_every: The same for connections, where the store is a server.
        limit_seconds: When to stop in any case.
        say: Is told how far it is.
    """
    chance = random.Random(seed)  # noqa: S311 - a schedule, no secret
    proxy, job = await _behind_a_proxy(job, chance) if drop_every else (None, job)
    crew = _Crew(job, seed)
    began = time.monotonic()
    next_kill, next_drop = kill_every or 0, drop_every or 0
    answered = _Answered(Path(job.folder))
    done = 0
    try:
        while done < operations and time.monotonic() - began < limit_seconds:
            await asyncio.sleep(COUNTED_EVERY)
            now_done = answered.count()
            if kill_every is not None and now_done > next_kill:
                crew.kill(chance)
                next_kill = now_done + round(chance.uniform(0.5, 1.5) * kill_every)
            if proxy is not None and drop_every is not None and now_done > next_drop:
                proxy.drop()
                next_drop = now_done + round(chance.uniform(0.5, 1.5) * drop_every)
            crew.keep_alive()
            if now_done // 1_000 > done // 1_000:
                say(f"{now_done} operations after {time.monotonic() - began:.0f} s")
            done = now_done
    finally:
        await crew.end()
        if proxy is not None:
            await proxy.close()
    calls, left_over = _history(job.folder)
    seconds = time.monotonic() - began
    say(f"checking {len(calls)} calls")
    return Run(
        operations=answered.count(),
        kills=crew.kills,
        dropped=proxy.dropped if proxy is not None else 0,
        seconds=seconds,
        left_over=left_over,
        verdict=check(calls),
    )


async def run_here(job: Job, *, operations: int) -> Verdict:
    """Let eight clients work in this process, without kills: for planted bugs."""
    answered = _Answered(Path(job.folder))
    await worker.work(job, lambda: answered.count() < operations)
    return check(_history(job.folder)[0])


class _Crew:
    """The three processes."""

    def __init__(self, job: Job, seed: int) -> None:
        self._job, self._seed = job, seed
        self._context = multiprocessing.get_context("forkserver")
        # The fork server hears of its children's ends by SIGCHLD alone, and whoever started this
        # program may have blocked that; nothing would ever be seen to end.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        # What takes seconds to import is imported once; each process is forked from there.
        self._context.set_forkserver_preload([worker.__name__])
        self._born = 0
        self.kills = 0
        self._running = [self._start(clients) for clients in CLIENTS]

    def _start(self, clients: int) -> tuple[BaseProcess, int]:
        self._born += 1
        job = replace(
            self._job,
            name=f"w{self._born}",
            seed=self._seed * 1_000 + self._born,
            clients=clients,
        )
        process = self._context.Process(target=worker.main, args=(job,), daemon=True)
        process.start()
        return process, clients

    def kill(self, chance: random.Random) -> None:
        """Kill one process where it stands."""
        process, _ = chance.choice(self._running)
        if process.pid is not None and process.is_alive():
            os.kill(process.pid, signal.SIGKILL)
            self.kills += 1

    def keep_alive(self) -> None:
        """Start anew who was killed.

        Raises:
            ChildProcessError: One of them ended by itself, which none should.
        """
        for number, (process, clients) in enumerate(self._running):
            if process.exitcode is None:
                continue
            if process.exitcode != -signal.SIGKILL:
                raise ChildProcessError("A client's process failed; see its traceback above.")
            process.close()
            self._running[number] = self._start(clients)

    async def end(self) -> None:
        """Let everybody finish what they are doing."""
        for process, _ in self._running:
            process.terminate()
        deadline = time.monotonic() + GRACE_SECONDS
        for process, _ in self._running:
            # In a thread: the proxy has to go on while they finish.
            await asyncio.to_thread(process.join, max(deadline - time.monotonic(), 0))
            if process.exitcode is None:
                process.kill()
                await asyncio.to_thread(process.join, GRACE_SECONDS)


async def _behind_a_proxy(job: Job, chance: random.Random) -> tuple[Proxy | None, Job]:
    """Put a proxy before a server; a file has no connections to drop."""
    if job.emulator is not None:
        host, _, port = job.emulator.partition(":")
        proxy = Proxy(host, int(port), chance)
        return proxy, replace(job, emulator=f"127.0.0.1:{await proxy.start()}")
    if not job.url.startswith("postgresql"):
        return None, job
    parts = urlsplit(job.url)
    proxy = Proxy(parts.hostname or "127.0.0.1", parts.port or 5432, chance)
    who = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    place = f"{who}127.0.0.1:{await proxy.start()}"
    return proxy, replace(job, url=urlunsplit(parts._replace(netloc=place)))


def _history(folder: str) -> tuple[list[Call], int]:
    return read(sorted(Path(folder).glob("*.log")))


class _Answered:
    """Counts answers in the logs, reading only what is new."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}
        self._count = 0

    def count(self) -> int:
        for path in self._folder.glob("*.log"):
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                new = file.read()
            whole = new[: new.rfind(b"\n") + 1]
            self._read[path] = self._read.get(path, 0) + len(whole)
            self._count += whole.count(b'"answer"')
        return self._count
