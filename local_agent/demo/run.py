"""The demo from its first line to its last file."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from local_agent.demo import evidence, script, words
from local_agent.demo.drills import consent, refuse
from local_agent.demo.findings import WAYS, Findings, history_bytes, report, requests_by_file
from local_agent.demo.page import page
from local_agent.demo.setting import DATABASE, LOG, demo_settings
from local_agent.demo.ways import Bounded, RawHistory, TurnSeen, Way
from local_agent.demo.witness import network_attempts
from local_agent.logs import also_to

logger = logging.getLogger(__name__)

Say = Callable[[str], object]


class OutputExists(Exception):
    """The folder for the report is there already; nothing in it was touched.

    Attributes:
        error_code: `OUTPUT_EXISTS`.
        numbers: Empty.
    """

    error_code = "OUTPUT_EXISTS"

    def __init__(self) -> None:
        """Say what to do instead."""
        super().__init__("The output folder exists already; name a new one.")
        self.numbers: dict[str, int | str] = {}


def run_demo(out: Path, *, say: Say) -> bool:
    """Run everything and write the report.

    Args:
        out: A folder that does not exist yet; its parents are made.
        say: Gets each line of progress.

    Returns:
        Whether every check held.

    Raises:
        OutputExists: The folder, a file or a dangling link of that name is there.
        OSError: The folder cannot be made or written.
        DrillFailed: A step gave nothing for the next one; what was written is not complete.
    """
    if out.exists() or out.is_symlink():
        raise OutputExists
    started = time.perf_counter()
    (out / "live").mkdir(parents=True)
    say(words.TITLE)
    with (
        (out / "live" / LOG).open("w", encoding="utf-8") as log,
        also_to(log, "INFO"),  # as a deployment logs; searched for the forgotten value later
        network_attempts() as network,
    ):
        logger.info("event=demo_started ways=%d", len(WAYS))
        found = asyncio.run(_everything(out, say))
    found = replace(found, network_attempts=network.attempts, seconds=time.perf_counter() - started)
    return _write(out, found, say)


async def _everything(out: Path, say: Say) -> Findings:
    live = out / "live"
    clock = script.demo_clock()
    settings = demo_settings(live / DATABASE)
    production = Bounded(settings, clock)
    ways: dict[str, Way] = {
        "raw_history": RawHistory(demo_settings(None), script.demo_clock()),
        "projected_history": Bounded(
            demo_settings(None, max_turns=script.ALL_TURNS), script.demo_clock()
        ),
        "budgeted": production,
    }
    try:
        turns = await _five_turns(ways, say)
        stranger = await production.say(script.TURNS[-1], "demo-stranger")
        say(words.stranger(stranger.tool or ""))
        refused = await refuse(live / DATABASE, clock)
        say(words.refused(refused.code or "", refused.model_calls))
        consented = await consent(production, live, out / "copies")
        for line in words.consented(
            consented.before, consented.after, consented.old_card or "", len(consented.found_after)
        ):
            say(line)
    finally:
        for way in ways.values():
            await way.close()
    return Findings(
        turns=turns,
        stranger=stranger,
        refused=refused,
        consent=consented,
        value_in_live=evidence.files_with(consented.forms, live),
        value_in_copies=evidence.files_with(consented.forms, out / "copies"),
        clear_in_copies=evidence.files_with([script.VALUE.encode()], out / "copies"),
        budget=settings.budget_limit,
        network_attempts=0,
        seconds=0.0,
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


async def _five_turns(ways: dict[str, Way], say: Say) -> dict[str, list[TurnSeen]]:
    turns: dict[str, list[TurnSeen]] = {way: [] for way in ways}
    for number, message in enumerate(script.TURNS, start=1):
        for name, way in ways.items():
            turns[name].append(await way.say(message))
        say(words.turn(number, message, {name: turns[name][-1].size for name in ways}))
    return turns


def _write(out: Path, found: Findings, say: Say) -> bool:
    for name, request in requests_by_file(found).items():
        path = out / "requests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(request.canonical())  # to the byte what was measured
    written: dict[str, Any] = report(found)
    evidence.write_json(out / "report.json", written)
    (out / "report.html").write_text(page(written), encoding="utf-8")
    evidence.write_manifest(out)
    for line in words.table(written["turns"]):
        say(line)
    say(words.block(history_bytes(found.last)))
    for check in written["checks"]:
        if not check["ok"]:
            say(words.broken(check["name"]))
    say(words.verdict(len(written["checks"]), passed=written["passed"]))
    say(words.where(out))
    return bool(written["passed"])
