"""Is what many clients see always one order of events, whatever is killed or cut off meanwhile?

`python -m benchmarks consistency --json` runs random schedules of eight clients on three processes
against a store, with `kill -9`, dropped connections and clocks that jump, and checks the recorded
history of each person against a small sequential model. Exit status 1 if it does not fit.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path

import click

from benchmarks.consistency.client import Habits
from benchmarks.consistency.schedule import run
from benchmarks.consistency.worker import Job


@click.command()
@click.option("--url", default=None, help="The store; a new SQLite file by default.")
@click.option("--operations", default=20_000, show_default=True, help="How many at least.")
@click.option("--seed", default=1, show_default=True, help="Of the schedules.")
@click.option("--people", default=4, show_default=True, help="Busy with how many at a time.")
@click.option("--emulator", default=None, help="Host and port of a Firestore emulator.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--out", type=click.Path(path_type=Path), help="Write JSON to this file as well.")
def main(
    *,
    url: str | None,
    operations: int,
    seed: int,
    people: int,
    emulator: str | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Run clients that are killed and cut off, and check what they saw."""
    with tempfile.TemporaryDirectory() as folder:
        url = url or f"sqlite+aiosqlite:///{folder}/store.db"
        slow = url.startswith("firestore")
        habits = Habits(people=people, group_acts=100 if slow else 600)
        job = Job(url, folder, "", seed, 0, habits, emulator=emulator)
        ran = asyncio.run(
            run(
                job,
                operations=operations,
                seed=seed,
                kill_every=40 if slow else 300,
                drop_every=12 if slow else 60,
                say=lambda line: click.echo(line, err=True),
            )
        )
    told = {"store": url.partition(":")[0], "seed": seed, **ran.as_dict()}
    text = json.dumps(told, ensure_ascii=False, indent=2)
    if out is not None:
        out.write_text(text + "\n", encoding="utf-8")
    if as_json:
        click.echo(text)
    else:
        for name, value in told.items():
            click.echo(f"{name:<22} {value}")
    sound = not (ran.verdict.violations or ran.verdict.undecided or ran.left_over)
    sys.exit(0 if sound and ran.operations >= operations else 1)
