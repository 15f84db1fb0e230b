"""Eight clients on three processes see one order of events, or the checker says so.

HISTORY_OPERATIONS makes the schedules longer (`make soak`: 20,000 on a file and on PostgreSQL, a
fortieth of it on the Firestore emulator); what each came to is then printed as JSON.
"""

import asyncio
import json
import os
import sys
from dataclasses import replace

import pytest

from benchmarks.consistency.client import Habits
from benchmarks.consistency.planted import BUGS
from benchmarks.consistency.schedule import run, run_here
from benchmarks.consistency.worker import Job
from stores.open import open_store
from tests.support import firestore, postgres

LONG = int(os.environ.get("HISTORY_OPERATIONS", "0"))


@pytest.fixture
def sqlite_job(tmp_path):
    return Job(f"sqlite+aiosqlite:///{tmp_path}/store.db", str(tmp_path), "w", 7, 8)


def follow(job, operations, **pace):
    """Run the schedule, and hold what the clients saw against the model."""
    ran = asyncio.run(run(job, operations=operations, seed=11, say=_say, **pace))
    if LONG:
        _say(json.dumps({"store": job.url.partition(":")[0], **ran.as_dict()}))
    assert (ran.verdict.violations, ran.verdict.undecided, ran.left_over) == ([], [], 0)
    assert ran.operations >= operations
    assert ran.kills + ran.dropped >= 1
    return ran


def _say(line):
    if LONG:
        sys.stderr.write(f"{line}\n")


def test_a_file_keeps_one_order(sqlite_job):
    """Three processes on one file, killed now and then: linearizable for each person (7, 8, 9)."""
    assert follow(sqlite_job, LONG or 1_500, kill_every=300).kills >= 1


def test_a_server_keeps_one_order(tmp_path):
    """The same on PostgreSQL, with connections that are cut off as well (7, 8, 9)."""
    with postgres.running() as server:
        url = server.url(user=postgres.OWNER)

        async def prepare():
            async with open_store(url):
                pass

        asyncio.run(prepare())
        job = Job(url, str(tmp_path), "w", 7, 8)
        follow(job, LONG or 600, kill_every=250, drop_every=50)


def test_firestore_keeps_one_order(tmp_path, monkeypatch):
    """The same on Firestore's emulator, in smaller numbers (7, 8, 9)."""
    if firestore.jar() is None:
        pytest.skip(firestore.MISSING)
    with firestore.emulator() as host:
        monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", host)
        habits = Habits(people=4, group_acts=100)
        job = Job("firestore://history/h", str(tmp_path), "w", 7, 8, habits, emulator=host)
        follow(job, max(LONG // 40, 40), kill_every=40, drop_every=12)


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(sqlite_job, bug):
    """A check taken out shows: the one after a tool, of the generation, of a card's use."""
    for number in range(1, 5):  # chance decides who meets whom; the history goes on
        job = replace(sqlite_job, name=f"w{number}", habits=Habits(people=2), seed=number, bug=bug)
        verdict = asyncio.run(run_here(job, operations=600 * number))
        if verdict.violations:
            return
    pytest.fail(f"{bug} was not found in {verdict.calls} calls")


def test_without_a_bug_nothing_is_found(sqlite_job):
    """The same clients in one process with every check in place: no violation."""
    verdict = asyncio.run(run_here(sqlite_job, operations=1_000))
    assert (verdict.violations, verdict.undecided) == ([], [])
