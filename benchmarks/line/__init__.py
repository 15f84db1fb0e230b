"""What LOCAL costs on LINE: acknowledgement, turns, many chats, two workers, per store.

`python -m benchmarks line --json` runs LOCAL's own processes (`serve`, `work`) on loopback with the
offline model, on SQLite and on a PostgreSQL that it starts with its defaults, if one is installed.
Load and LINE are processes of their own, and import this package: so it imports nothing of LOCAL.
Nothing reaches Google's or LINE's servers.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import secrets
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from benchmarks.line.measuring import Size


@click.command()
@click.option("--stores", default="sqlite,postgresql", show_default=True, help="Which of them.")
@click.option("--rate", default=100, show_default=True, help="Events a second, acknowledged.")
@click.option("--seconds", default=10, show_default=True, help="For how long.")
@click.option("--chats", default=1_000, show_default=True, help="How many chats wait.")
@click.option("--messages", default=5, show_default=True, help="How many messages each wrote.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--out", type=click.Path(path_type=Path), help="Write JSON to this file as well.")
def main(
    *,
    stores: str,
    rate: int,
    seconds: int,
    chats: int,
    messages: int,
    as_json: bool,
    out: Path | None,
) -> None:
    """Measure acknowledgement, turns, many chats and two workers."""
    from benchmarks.line.database import postgres  # noqa: PLC0415 - see the module's docstring
    from benchmarks.line.measuring import Size, remove  # noqa: PLC0415 - as above
    from local_agent import logs  # noqa: PLC0415 - as above

    logs.set_up("ERROR")
    wanted = stores.split(",")
    if not set(wanted) <= {"sqlite", "postgresql"}:
        raise click.UsageError("--stores takes sqlite, postgresql, or both with a comma.")
    size = Size(rate, seconds, chats, messages)
    folder = Path(tempfile.mkdtemp(prefix="line-bench-"))
    try:
        runs = [asyncio.run(_sqlite(size, folder))] if "sqlite" in wanted else []
        if "postgresql" in wanted:
            with postgres() as url:
                if url is None:
                    click.echo("PostgreSQL is not installed; it was left out.", err=True)
                else:
                    runs.append(asyncio.run(_postgresql(size, folder, url)))
    finally:
        remove(folder)
    report: dict[str, Any] = {
        "benchmark": "line",
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "rate": rate,
        "seconds": seconds,
        "chats": chats,
        "messages": messages,
        "runs": runs,
    }
    text = json.dumps(report, indent=2)
    if out is not None:
        out.write_text(text + "\n", encoding="utf-8")
    if as_json:
        click.echo(text)
        return
    for run in runs:
        for name, value in run.items():
            click.echo(f"{name:<30}{value!s:>12}")
        click.echo()


async def _sqlite(size: Size, folder: Path) -> dict[str, Any]:
    from benchmarks.line.measuring import Bench, sqlite_in  # noqa: PLC0415 - as above

    return await Bench("sqlite", sqlite_in(folder), folder, size, _say).run()


async def _postgresql(size: Size, folder: Path, url: str) -> dict[str, Any]:
    from benchmarks.line.database import emptied  # noqa: PLC0415 - as above
    from benchmarks.line.measuring import Bench  # noqa: PLC0415 - as above

    async def fresh() -> str:
        return await emptied(url, f"line_{secrets.token_hex(4)}")

    return await Bench("postgresql", fresh, folder, size, _say).run()


def _say(line: str) -> None:
    click.echo(line, err=True)
