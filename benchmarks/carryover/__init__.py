"""What of a long conversation reaches the next tool call, by how many bytes of history.

Protocol. A file holds dialogues with, for each exchange, what was said, the values it settled
(``given``), the tool call it made and its rows. Each exchange goes through a real ADK Runner with
one persistent session a dialogue and the plugin as an application would install it
(``noting=True``, projectors by ``project_fields`` over the tools' own parameters, max_turns 2), a
real SQLite journal and the real renderer. A perfect reader stands in for the model:

- it notes ``given`` through ``note_context`` after the call, as far as the declaration has slots;
- it calls ``call``, and fills an argument only if this exchange gives it, the newest message
  contains it, or its request says it; from the block only what the block says, read back from the
  block's text, and compared value for value (the very value, or the slot's one form of it). An
  argument that it cannot fill is left out of the call, and so of what is kept;
- of raw strategies, every value that an exchange gave counts while its raw text is in the request.

A *carried* argument is a public one that this exchange does not give and that the newest message
does not contain. ``wrong_values`` is the share of them for which the request shows another value
as that slot's newest (of a slot with topics, the call's topic's; another topic's if that is all).

Bytes are what the history adds to the first request of an exchange: UTF-8 bytes of its JSON,
wrappers and the acknowledgement included; the first exchange of a dialogue counts with zero. Raw
strategies are counted without the calls and results that a real session also holds, which favours
them. ``adk_last_2`` is ``ContextFilterPlugin(2)`` as it runs: the newest message is one of the two.
``adk_last_3`` therefore holds two past exchanges. ``langchain_trim`` gets, exchange by exchange,
the bytes that the window took.

The schema comes from the schema file alone: closed slots get its vocabulary, ``name`` becomes
``Slot.name`` (80 characters; public addresses admitted, since the file says which slots are
private), a slot of several services a value in each. No vocabulary comes from dialogues.
"""

from __future__ import annotations

import asyncio
import json
import logging
import multiprocessing
import os
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import click

from benchmarks.carryover.dialogues import Dialogue, read_dialogues
from benchmarks.carryover.finding import finder_figures
from benchmarks.carryover.play import STRATEGIES, Play
from benchmarks.carryover.tally import Tally

LONG = 200
"""Exchanges of the long dialogue."""


def long_dialogue(dialogues: list[Dialogue], length: int) -> Dialogue:
    """Return one long dialogue: exchanges of the commonest services, one after another."""
    sizes: Counter[tuple[str, ...]] = Counter()
    for dialogue in dialogues:
        sizes[dialogue.services] += len(dialogue.exchanges)
    services = sizes.most_common(1)[0][0]
    exchanges = [exchange for d in dialogues if d.services == services for exchange in d.exchanges]
    times = length // len(exchanges) + 1
    return Dialogue("long", services, (exchanges * times)[:length])


def flatness(sizes: list[int]) -> dict[str, Any]:
    """Return how the block's bytes of a long dialogue develop."""

    def mean(some: list[int]) -> float:
        return round(sum(some) / len(some), 1) if some else 0.0

    return {
        "exchanges": len(sizes),
        "mean_bytes_11_to_50": mean(sizes[10:50]),
        "mean_bytes_51_to_100": mean(sizes[50:100]),
        "mean_bytes_101_to_150": mean(sizes[100:150]),
        "mean_bytes_151_to_200": mean(sizes[150:]),
        "max_bytes_11_to_50": max(sizes[10:50], default=0),
        "max_bytes_51_to_200": max(sizes[50:], default=0),
    }


def play_all(dialogues: Sequence[Dialogue], specs: Mapping[str, Any]) -> dict[str, Tally]:
    """Play dialogues in this process, and say how far it is."""
    logging.disable(logging.WARNING)

    async def all_of_them(folder: Path) -> dict[str, Tally]:
        play = Play(specs, folder)
        for number, dialogue in enumerate(dialogues, start=1):
            await play.dialogue(dialogue)
            if number % 50 == 0:
                click.echo(f"{number} of {len(dialogues)} dialogues", err=True)
        await play.close()
        return dict(play.tallies)

    with tempfile.TemporaryDirectory(prefix="local-agent-bench-") as folder:
        return asyncio.run(all_of_them(Path(folder)))


def play_long(dialogue: Dialogue, specs: Mapping[str, Any]) -> list[int]:
    """Play one dialogue and return the bytes of its blocks."""

    async def one(folder: Path) -> list[int]:
        play = Play(specs, folder)
        sizes = await play.dialogue(dialogue, only_window=True)
        await play.close()
        return sizes

    with tempfile.TemporaryDirectory(prefix="local-agent-bench-") as folder:
        return asyncio.run(one(Path(folder)))


def run(data: Path, schema: Path, *, limit: int, long: int, jobs: int) -> dict[str, Any]:
    """Play a file.

    Args:
        data: The dialogues.
        schema: Their schema.
        limit: How many dialogues; 0 for all.
        long: How many exchanges the long dialogue has.
        jobs: Processes that share the work; dialogues have nothing to do with each other.
    """
    specs = json.loads(schema.read_text(encoding="utf-8"))
    dialogues = list(read_dialogues(data))
    dialogues = dialogues[:limit] if limit else dialogues
    # Dialogues of the same services share an agent.
    ordered = sorted(dialogues, key=lambda dialogue: dialogue.services)
    size = -(-len(ordered) // jobs)
    shares = [ordered[at : at + size] for at in range(0, len(ordered), size)]
    tallies = {name: Tally() for name in STRATEGIES}
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=spawn) as pool:
        for played in pool.map(play_all, shares, [specs] * len(shares)):
            for name, tally in played.items():
                tallies[name].add(tally)
    flat = flatness(play_long(long_dialogue(dialogues, long), specs))
    strategies = {name: tally.as_json() for name, tally in tallies.items()}
    window, full = strategies["window_ledger"], strategies["full_raw"]
    return {
        "dialogues": len(dialogues),
        "exchanges": sum(len(dialogue.exchanges) for dialogue in dialogues),
        "carried_arguments": tallies["full_raw"].carried,
        "through": "Runner, ContextBudgetPlugin, SQLite journal, renderer",
        "unit": "utf8_bytes",
        "strategies": strategies,
        "against_full_raw": {
            "carryover_recall": _ratio(window["carryover_recall"], full["carryover_recall"]),
            "mean_bytes": _ratio(window["mean_bytes"], full["mean_bytes"]),
            "mean_bytes_late": _ratio(window["mean_bytes_late"], full["mean_bytes_late"]),
        },
        "long_dialogue": flat,
        "finder": finder_figures([e.user for d in dialogues for e in d.exchanges]),
    }


def _ratio(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--schema", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--limit", default=0, help="So many dialogues; 0 for all.")
@click.option("--long", default=LONG, help="Exchanges of the long dialogue.")
@click.option("--jobs", default=min(os.cpu_count() or 1, 4), help="Processes.")
@click.option("--json", is_flag=True, expose_value=False, help="JSON, the only form there is.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the JSON to a file as well.")
def main(*, data: Path, schema: Path, limit: int, long: int, jobs: int, out: Path | None) -> None:
    """Play dialogues through the plugin and compare what each strategy carries."""
    logging.disable(logging.WARNING)
    figures = json.dumps(
        run(data, schema, limit=limit, long=long, jobs=jobs), ensure_ascii=False, indent=2
    )
    if out is not None:
        out.write_text(figures + "\n", encoding="utf-8")
    click.echo(figures)
