"""Evidence packets: selection, RAMDocs, release gate, order, injection, replay.

`python -m benchmarks evidence --json --data FILE` prints one JSON document; `--only` takes some of
the parts. RAMDocs needs the file; without `--data` that part is left out.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from benchmarks.evidence.gates import measure_gate
from benchmarks.evidence.injections import measure_injection
from benchmarks.evidence.orders import measure_order
from benchmarks.evidence.ramdocs import measure_ramdocs
from benchmarks.evidence.replays import measure_replay
from benchmarks.evidence.selections import measure_selection

PARTS = ("selection", "ramdocs", "gate", "order", "injection", "replay")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON (it is the only form).")
@click.option("--out", type=click.Path(path_type=Path), help="Write the JSON there as well.")
@click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A file of the form of RAMDocs, for the part ramdocs.",
)
@click.option("--only", default="", help="Parts to run, with commas: " + ", ".join(PARTS))
@click.option("--instances", default=500, show_default=True, help="Feasible selection problems.")
@click.option("--mutations", default=5_000, show_default=True, help="Wrong answers for the gate.")
@click.option("--right", default=1_000, show_default=True, help="Right answers for the gate.")
@click.option("--generations", default=1_000, show_default=True, help="Generations to replay.")
def main(
    *,
    as_json: bool,
    out: Path | None,
    data: Path | None,
    only: str,
    instances: int,
    mutations: int,
    right: int,
    generations: int,
) -> None:
    """Measure evidence packets."""
    del as_json
    wanted = [part.strip() for part in only.split(",") if part.strip()]
    unknown = sorted(set(wanted) - set(PARTS))
    if unknown:
        raise click.BadParameter(f"There is no part {unknown[0]}.", param_hint="--only")
    if "ramdocs" in wanted and data is None:
        raise click.UsageError("The part ramdocs needs --data FILE.")
    if not wanted:
        wanted = [part for part in PARTS if part != "ramdocs" or data is not None]
    parts: dict[str, Callable[[], Any]] = {
        "selection": lambda: measure_selection(instances),
        "ramdocs": lambda: measure_ramdocs(data or Path()),
        "gate": lambda: measure_gate(mutations, right),
        "order": measure_order,
        "injection": measure_injection,
        "replay": lambda: measure_replay(generations),
    }
    found = {part: parts[part]() for part in PARTS if part in wanted}
    text = json.dumps(found, indent=2, ensure_ascii=False)
    click.echo(text)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text + "\n", encoding="utf-8")
