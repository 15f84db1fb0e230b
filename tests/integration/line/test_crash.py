"""`kill -9` of gateway and workers under load: every message once, or visibly unknown.

Goes by counts, not by seconds. LINE_CRASH_MESSAGES makes it longer (`make soak`), and prints what
it came to.
"""

import asyncio
import json
import os
import sys
from dataclasses import asdict, replace

from benchmarks.line import crashing
from benchmarks.line.crashing import FOLLOW_UP, TOWNS, Schedule
from stores.open import open_store
from stores.records import Owner
from tests.support import postgres

LONG = int(os.environ.get("LINE_CRASH_MESSAGES", "0"))


def say(line: str) -> None:
    if LONG:
        sys.stderr.write(f"{line}\n")


def follow(url, folder, *, messages: int, workers: int):
    """Run the schedule, and hold to it what both sides tell."""
    schedule = Schedule(
        url,
        folder,
        messages=LONG or messages,
        kill_every=60,
        workers=workers,
        limit_seconds=max(900.0, LONG),
        say=say,
    )
    found = asyncio.run(schedule.run())
    say(json.dumps({"store": url.partition("+")[0], **asdict(found)}))
    assert found.faults == []
    assert found.answered + found.unknown == found.messages == schedule.messages
    assert found.unknown_delivered <= found.unknown <= found.kills * 9
    assert found.kills >= 3
    assert found.redeliveries >= 1
    logs = b"".join(path.read_bytes() for path in folder.glob("*.log"))
    for private in (*(f"{town}有什麼吃的？" for town in TOWNS), FOLLOW_UP):
        assert private.encode() not in logs


def test_nothing_is_lost_or_said_twice_on_sqlite(tmp_path):
    """A gateway and a worker on one file, killed at random: once, or unknown (invariant 9)."""
    follow(f"sqlite+aiosqlite:///{tmp_path / 'line.db'}", tmp_path, messages=180, workers=1)


def test_nothing_is_lost_or_said_twice_on_postgresql(tmp_path):
    """A gateway and two workers on a server, killed at random: once, or unknown (invariant 9)."""
    with postgres.running() as server:
        url = server.url(user=postgres.OWNER)

        async def prepare():
            async with open_store(url):
                pass

        asyncio.run(prepare())
        follow(url, tmp_path, messages=180, workers=2)


def test_the_judge_sees_what_went_wrong(tmp_path, monkeypatch):
    """An answer said twice, lost, swapped or not in the journal is a fault: the check can fail."""
    judge, journal = crashing._Run._judge, crashing._Run._judge_journal
    seen: dict[str, list[str]] = {}

    async def judged(run, inbox):
        await judge(run, inbox)
        assert run.found.faults == []
        chat, said = max(run.peer.chats.items(), key=lambda item: len(item[1]))
        for name, tampered in {
            "twice": [*said, replace(said[-1], request=-1)],
            "lost": said[1:],
            "order": said[::-1],
            "nobody's": [*said, replace(said[-1], reply_token="another")],
        }.items():
            run.peer.chats[chat] = tampered
            await judge(run, inbox)
            seen[name], run.found.faults = run.found.faults, []
        run.peer.chats[chat] = said

    async def forgotten(run, store):
        owner = Owner(tenant="local", person=run.names.person(run.plan[-1].chat))
        await store.clear(owner, now_ms=0)
        await journal(run, store)
        seen["journal"], run.found.faults = run.found.faults, []

    monkeypatch.setattr(crashing._Run, "_judge", judged)
    monkeypatch.setattr(crashing._Run, "_judge_journal", forgotten)
    url = f"sqlite+aiosqlite:///{tmp_path / 'line.db'}"
    asyncio.run(Schedule(url, tmp_path, messages=24, kill_every=1_000, chats=4).run())
    assert set(seen) == {"twice", "lost", "order", "nobody's", "journal"}
    assert all(seen.values()), seen
