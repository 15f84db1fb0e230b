"""Can a card or a row of one person do anything for another? Random tries, on the real store.

`python -m benchmarks attacks --json` makes 100,000 tries at a new SQLite file, or at databases of
their own beside the PostgreSQL one that --url names: foreign cards, cards of another tenant,
replays, cut and spliced tokens, tokens signed with an old or a wrong key, and rows that somebody
with the database in their hands swapped, changed or brought back. Exit status 1 if one did
anything, told anything, or was refused without a code.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path

import click

from benchmarks.attacks.tries import Report, attack
from benchmarks.line.database import dropped, emptied


async def _attacked(url: str | None, folder: Path, tries: int, seed: int) -> Report:
    names = ("attacked", "attackers_own")
    if url is None:
        urls = [f"sqlite+aiosqlite:///{folder / name}.db" for name in names]
    else:
        urls = [await emptied(url, f"bench_{name}") for name in names]
    try:
        return await attack(
            *urls, tries=tries, seed=seed, say=lambda line: click.echo(line, err=True)
        )
    finally:
        if url is not None:
            for name in names:
                await dropped(url, f"bench_{name}")


@click.command()
@click.option("--url", help="PostgreSQL, as open_store reads it; a new SQLite file without.")
@click.option("--tries", default=100_000, show_default=True, help="How many.")
@click.option("--seed", default=1, show_default=True, help="Of the tries.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--out", type=click.Path(path_type=Path), help="Write JSON to this file as well.")
def main(*, url: str | None, tries: int, seed: int, as_json: bool, out: Path | None) -> None:
    """Attack people of a new store, and say what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(_attacked(url, Path(folder), tries, seed))
    told = {"store": (url or "sqlite").split("+")[0], "seed": seed, **report.as_dict()}
    text = json.dumps(told, ensure_ascii=False, indent=2)
    if out is not None:
        out.write_text(text + "\n", encoding="utf-8")
    if as_json:
        click.echo(text)
    else:
        for name, value in told.items():
            click.echo(f"{name:<14} {value}")
    sys.exit(0 if report.held and report.tries >= tries else 1)
