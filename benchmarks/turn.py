"""What a turn costs after 10 to 5,000 past turns, beside ADK's default Runner."""

from __future__ import annotations

import asyncio
import gc
import json
import platform
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import click

from benchmarks.adk_default import AdkDefault
from benchmarks.timing import Stopwatch, plugin_timed, store_timed
from callbacks.adk.outgoing import OnRequest
from callbacks.context.window import ContextWindow
from local_agent.bootstrap import build
from local_agent.context import SCHEMA
from local_agent.demo.setting import demo_settings
from local_agent.logs import set_up
from local_agent.service import LocalService
from local_agent.table import aligned
from stores.open import open_store
from stores.ports import ContextStore
from stores.records import Owner

SIZES = (10, 100, 1_000, 5_000)
PERSON = "bench"
MESSAGE = "花壇有什麼吃的？"
_KEY = b"only for the benchmark, 32 bytes"
ADK_EVERY = 4
"""ADK's turn is taken in every fourth round, the first one included: it takes seconds."""

_WARM_UP = 3
"""Turns taken before anything is measured: first ones import and connect."""


@dataclass
class Measured:
    """What was measured of one size, a number a round."""

    turn_ms: list[float] = field(default_factory=list)
    own_ms: list[float] = field(default_factory=list)
    own_outside_store_ms: list[float] = field(default_factory=list)
    turn_cpu_ms: list[float] = field(default_factory=list)
    own_outside_store_cpu_ms: list[float] = field(default_factory=list)
    adk_default_ms: list[float] = field(default_factory=list)
    request_bytes: list[int] = field(default_factory=list)


class LocalWithPast:
    """A person with a past on LOCAL's production path, the store's file beside the others."""

    def __init__(self, folder: Path, past_turns: int, plugin: Stopwatch) -> None:
        """Build LOCAL; called while the plugin is timed."""
        self.past_turns = past_turns
        self.measured = Measured()
        self._plugin, self._store_watch = plugin, Stopwatch()
        self._settings = demo_settings(folder / f"local-{past_turns}.db")
        self._store = store_timed(
            open_store(
                self._settings.database_url.get_secret_value(),
                signing_keys=[_KEY],
                store_keys=[_KEY],
                synchronous="OFF",
            ),
            self._store_watch,
            plugin,
        )
        self._bytes = 0
        self._service = LocalService(
            lambda sink: build(
                self._settings, store=self._store, on_report=sink, on_request=self._heard()
            )
        )

    async def prepare(self) -> None:
        """Make the past through the journal: every past turn is one append of the real window."""
        await make_past(self._store, Owner(tenant="demo", person=PERSON), self.past_turns)
        for _ in range(_WARM_UP):
            await self._service.answer(PERSON, MESSAGE)

    async def turn(self) -> None:
        """Take one turn and note what it cost."""
        self._plugin.take()
        self._store_watch.take()
        started, cpu = time.perf_counter(), time.process_time()
        reply = await self._service.answer(PERSON, MESSAGE)
        whole = (time.perf_counter() - started) * 1000
        whole_cpu = (time.process_time() - cpu) * 1000
        (own, own_cpu), (stored, stored_cpu) = self._plugin.take(), self._store_watch.take()
        if reply.error_code is not None or reply.report is None or not reply.report.recorded:
            raise click.ClickException(f"A turn failed: {reply.error_code or 'not recorded'}.")
        self.measured.turn_ms.append(whole)
        self.measured.own_ms.append(own)
        self.measured.own_outside_store_ms.append(own - stored)
        self.measured.turn_cpu_ms.append(whole_cpu)
        self.measured.own_outside_store_cpu_ms.append(own_cpu - stored_cpu)
        self.measured.request_bytes.append(self._bytes)

    async def close(self) -> None:
        """Close service and store."""
        await self._service.close()

    def _heard(self) -> OnRequest:
        def hear(request: Any, _: Any) -> None:
            self._bytes = request.size

        return hear


async def make_past(store: ContextStore, owner: Owner, turns: int) -> None:
    """Append a window a past turn, as LOCAL does at a turn's end; topics alternate."""
    now = time.time_ns() // 1_000_000
    snapshot = await store.snapshot(owner, now_ms=now)
    window, generation = ContextWindow(), snapshot.generation
    for number in range(turns):
        topic, slots = (("places", {"area": "花壇鄉"}), ("help", {}))[number % 2]
        window = window.append(SCHEMA.project(topic, slots), SCHEMA)
        generation = await store.append(
            owner,
            event_id=f"past-{number}",
            window=window.to_json(SCHEMA),
            expected_revision=snapshot.revision,
            expected_generation=generation,
            now_ms=now,
            ttl_ms=86_400_000,
        )


async def measure(sizes: Sequence[int], rounds: int, folder: Path) -> list[dict[str, Any]]:
    """Measure every size in turn, round after round, so that noise hits all alike.

    Args:
        sizes: Past turns of LOCAL, and past events of ADK's session.
        rounds: Turns measured of each size.
        folder: Where databases go.

    Returns:
        A row a size; times are medians in milliseconds.
    """
    plugin = Stopwatch()
    with plugin_timed(plugin):
        locals_ = [LocalWithPast(folder, size, plugin) for size in sizes]
        adks = [AdkDefault(demo_settings(None), folder, size, MESSAGE) for size in sizes]
        for local, adk in zip(locals_, adks, strict=True):
            click.echo(f"preparing {local.past_turns:,} past turns", err=True)
            await local.prepare()
            await adk.prepare()
            await adk.turn()
        first_bytes = [adk.request_bytes for adk in adks]
        for number in range(1, rounds + 1):
            for local, adk in zip(locals_, adks, strict=True):
                await local.turn()
                if number % ADK_EVERY == 1:
                    started = time.perf_counter()
                    await adk.turn()
                    local.measured.adk_default_ms.append((time.perf_counter() - started) * 1000)
                    gc.collect()  # what ADK's turn left is not to be cleared in LOCAL's next one
            if number % 10 == 0 or number == rounds:
                click.echo(f"round {number} of {rounds}", err=True)
        for local, adk in zip(locals_, adks, strict=True):
            await local.close()
            await adk.close()
    return [
        _row(local, adk, size) for local, adk, size in zip(locals_, adks, first_bytes, strict=True)
    ]


def _row(local: LocalWithPast, adk: AdkDefault, adk_bytes: int) -> dict[str, Any]:
    found = local.measured
    return {
        "past_turns": local.past_turns,
        "turn_ms": round(median(found.turn_ms), 3),
        "own_ms": round(median(found.own_ms), 3),
        "own_outside_store_ms": round(median(found.own_outside_store_ms), 3),
        "adk_default_ms": round(median(found.adk_default_ms), 3),
        "request_bytes": int(median(found.request_bytes)),
        "adk_default_bytes": adk_bytes,
        "adk_default_past_events": adk.past_events,
        "turn_cpu_ms": round(median(found.turn_cpu_ms), 3),
        "own_outside_store_cpu_ms": round(median(found.own_outside_store_cpu_ms), 3),
    }


def run(sizes: Sequence[int], rounds: int) -> dict[str, Any]:
    """Measure in a folder that is thrown away, and say on what."""
    set_up("ERROR")
    with tempfile.TemporaryDirectory(prefix="local-agent-bench-") as folder:
        rows = asyncio.run(measure(sizes, rounds, Path(folder)))
    return {
        "rows": rows,
        "rounds": rounds,
        "unit": {
            "ms": "median milliseconds on the wall",
            "cpu_ms": "median milliseconds of processor time",
            "bytes": "utf8_bytes of canonical JSON",
        },
        "python": platform.python_version(),
    }


def _sizes(_: click.Context, __: click.Parameter, given: str) -> tuple[int, ...]:
    try:
        sizes = tuple(sorted({int(part) for part in given.split(",")}))
    except ValueError:
        raise click.BadParameter("whole numbers separated by commas, such as 10,100") from None
    if sizes[0] < 0:
        raise click.BadParameter("past turns cannot be fewer than none")
    return sizes


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Also write JSON here."
)
@click.option(
    "--turns",
    callback=_sizes,
    default=",".join(map(str, SIZES)),
    show_default=True,
    help="Numbers of past turns.",
)
@click.option("--rounds", type=click.IntRange(1), default=60, show_default=True)
def main(*, as_json: bool, out: Path | None, turns: tuple[int, ...], rounds: int) -> None:
    """Measure a turn of LOCAL after many past turns, beside ADK's default Runner."""
    found = run(turns, rounds)
    text = json.dumps(found, indent=2)
    if out is not None:
        out.write_text(text + "\n", encoding="utf-8")
    if as_json:
        click.echo(text)
        return
    rows = [[f"{value:,}" for value in row.values()] for row in found["rows"]]
    head = list(found["rows"][0])
    for line in aligned([head, *rows], numbers=range(len(head))):
        click.echo(line)
