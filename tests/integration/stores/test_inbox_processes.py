"""Several processes work on one inbox at once, and some are killed."""

import asyncio
import json
import signal
import subprocess
import sys

import pytest

from stores.inbox import Arrival, State
from stores.open import open_store
from stores.records import Owner
from tests.integration.stores.conftest import KEY, STORE_KEY

NOW = 1_000_000
LEASE = 1_000
LIMIT_SECONDS = 120

WORKER = """
import asyncio, json, sys, time
from stores.inbox import Append, State
from stores.open import open_store
from stores.records import Owner

url, name, now = sys.argv[1], sys.argv[2], int(sys.argv[3])

def told(*what):
    print(json.dumps([time.monotonic_ns(), *what]), flush=True)

async def turn(store, inbox, claim):
    if claim.state is State.WAITING:
        owner = Owner(tenant="town", person=claim.person)
        seen = await store.snapshot(owner, now_ms=now)
        append = Append(owner=owner, event_id=claim.event_id, window="{}", ttl_ms=900_000,
            expected_revision=seen.revision, expected_generation=seen.generation)
        await inbox.settle(claim, plan=b"plan", append=append, now_ms=now)
    told("ready", claim.chat, claim.event_id)
    await inbox.finish(claim, State.SENT, now_ms=now)
    told("done", claim.chat, claim.event_id)

async def main():
    store = open_store(url, signing_keys=[KEY], store_keys=[STORE_KEY], synchronous="OFF")
    async with store:
        inbox = store.inbox("town")
        sys.stdin.readline()
        while await inbox.counts() != {State.SENT: TOTAL}:
            claims = await inbox.claim(name, now_ms=now, lease_ms=LEASE, most=3)
            if not claims and SINGLE:
                break
            for claim in claims:
                await turn(store, inbox, claim)

asyncio.run(main())
"""


def begin(url, name, *, total, now=NOW, single=False):
    """Start a worker, which waits for a line before it works."""
    program = WORKER
    for word, value in (
        ("STORE_KEY", STORE_KEY), ("KEY", KEY), ("TOTAL", total), ("LEASE", LEASE),
        ("SINGLE", single),
    ):  # fmt: skip
        program = program.replace(word, repr(value))
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program, url, name, str(now)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def fill(url, chats, each):
    """Give each chat its events, a person a chat."""

    async def accept():
        async with open_store(url, store_keys=[STORE_KEY], synchronous="OFF") as store:
            for number in range(each):
                arrivals = tuple(
                    Arrival(
                        event_id=f"{chat}-{number}",
                        chat=f"c{chat}",
                        person=f"p{chat}",
                        said_at_ms=number,
                        body=b"a body",
                    )
                    for chat in range(chats)
                )
                assert await store.inbox("town").accept(arrivals, now_ms=NOW) == chats

    asyncio.run(accept())


def look(url, chats):
    """Return the counts of the inbox, and each person's generation and last event."""

    async def read():
        async with open_store(url, store_keys=[STORE_KEY], synchronous="OFF") as store:
            people = [
                await store.snapshot(Owner(tenant="town", person=f"p{chat}"), now_ms=NOW)
                for chat in range(chats)
            ]
            counts = await store.inbox("town").counts()
            return counts, [(seen.generation, seen.last_event) for seen in people]

    return asyncio.run(read())


@pytest.fixture(params=["sqlite", "postgres"])
def url(request):
    if request.param == "sqlite":
        return request.getfixturevalue("file").url
    return request.getfixturevalue("database").url


def test_two_processes_share_the_work(url):
    """No event is worked on twice, and each chat's in its order, over two processes (9, 10)."""
    chats, each = 12, 4
    fill(url, chats, each)
    workers = [begin(url, name, total=chats * each) for name in ("a", "b")]
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    lines = []
    for worker in workers:
        out, _ = worker.communicate(timeout=LIMIT_SECONDS)
        assert worker.returncode == 0
        lines += [json.loads(line) for line in out.splitlines()]
    done = [(chat, event) for _, what, chat, event in sorted(lines) if what == "ready"]
    assert len(done) == len(set(done)) == chats * each
    for chat in range(chats):
        assert [event for name, event in done if name == f"c{chat}"] == [
            f"{chat}-{number}" for number in range(each)
        ]
    counts, people = look(url, chats)
    assert counts == {State.SENT: chats * each}
    assert people == [(each, f"{chat}-{each - 1}") for chat in range(chats)]


def test_killed_workers_lose_and_double_nothing(url):
    """After kill -9 at any point the next worker goes on: each turn is in the journal once (9)."""
    chats, each = 6, 4
    fill(url, chats, each)
    now = NOW
    for number, lines in enumerate((1, 2, 5, 6)):
        worker = begin(url, f"w{number}", total=chats * each, now=now)
        worker.stdin.write("go\n")
        worker.stdin.flush()
        for _ in range(lines):
            assert worker.stdout.readline()
        worker.send_signal(signal.SIGKILL)
        worker.wait(LIMIT_SECONDS)
        worker.stdin.close()
        worker.stdout.close()
        now += LEASE  # what it had leased is anybody's from then on
    last = begin(url, "last", total=chats * each, now=now, single=True)
    last.communicate("go\n", timeout=LIMIT_SECONDS)
    assert last.returncode == 0
    counts, people = look(url, chats)
    assert counts == {State.SENT: chats * each}
    assert people == [(each, f"{chat}-{each - 1}") for chat in range(chats)]
