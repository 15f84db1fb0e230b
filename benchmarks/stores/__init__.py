"""What the store's calls cost with 10 to a million people stored, beside the bare driver.

`python -m benchmarks stores --url URL --json` makes a database for each number of people beside the
one that the URL names, loads them by SQL, and lets sizes take turns, so that what else the machine
does hits all of them alike. 64 clients are 64 tasks of this process, each with a person of its own.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import click

from benchmarks.stores.measuring import measure


@click.command()
@click.option(
    "--url", required=True, help="SQLite, PostgreSQL or Firestore, as open_store reads it."
)
@click.option("--people", default="10,10000,1000000", show_default=True, help="How many stored.")
@click.option("--rounds", default=12, show_default=True, help="Of all sizes, one after another.")
@click.option(
    "--synchronous",
    type=click.Choice(["FULL", "OFF"]),
    default="FULL",
    show_default=True,
    help="Whether a commit waits for the disk, for store and bare driver alike.",
)
@click.option(
    "--role",
    help="PostgreSQL: measure as this role, which is made if there is none. Row-level security "
    "holds it, as it holds a service; the URL's user owns the tables.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--out", type=click.Path(path_type=Path), help="Write JSON to this file as well.")
def main(
    *,
    url: str,
    people: str,
    rounds: int,
    synchronous: str,
    role: str | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Measure snapshot, append, approve and forget at 1 and 64 clients."""
    try:
        sizes = sorted({int(part) for part in people.split(",")})
    except ValueError:
        raise click.UsageError("--people takes whole numbers with commas between them.") from None
    report = asyncio.run(
        measure(
            url,
            sizes,
            rounds=rounds,
            synchronous=synchronous,
            role=role,
            say=lambda line: click.echo(line, err=True),
        )
    )
    text = json.dumps(report, indent=2)
    if out is not None:
        out.write_text(text + "\n", encoding="utf-8")
    if as_json:
        click.echo(text)
        return
    for row in report["rows"]:
        click.echo("  ".join(f"{value!s:>9}" for value in row.values()))
    click.echo(f"bare_driver_ratio {report['bare_driver_ratio']}")
    sys.exit(0)
