"""Several processes work on one file at once."""

import asyncio
import json
import signal
import subprocess
import sys
import time

from stores.records import Owner, Proposal
from stores.sql import migrate
from tests.integration.stores.conftest import KEY, STORE_KEY

NOW = 1_000_000
ANN = Owner(tenant="town", person="ann")

PRELUDE = """
import asyncio, json, pathlib, sys, time
from stores.errors import StoreError
from stores.open import open_store
from stores.records import Owner, Proposal

ANN = Owner(tenant="town", person="ann")
NOW = 1_000_000
url, name, start = sys.argv[1], sys.argv[2], float(sys.argv[3])
store = open_store(url, signing_keys=[KEY], store_keys=[KEY * 2], synchronous="OFF")
time.sleep(max(0, start - time.time()))

async def append(number):
    while True:
        seen = await store.snapshot(ANN, now_ms=NOW)
        try:
            return await store.append(
                ANN, event_id=f"{name}-{number}", window=json.dumps([name, number]),
                expected_revision=seen.revision, expected_generation=seen.generation, now_ms=NOW)
        except StoreError as error:
            if error.error_code != "CONVERSATION_CHANGED":
                raise
""".replace("KEY * 2", repr(STORE_KEY)).replace("KEY", repr(KEY))


def together(url, body, names):
    """Run a program in several processes that begin together; return what each printed."""
    start = str(time.time() + 1.5)
    running = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", PRELUDE + body, url, name, start],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    ended = [process.communicate(timeout=60) for process in running]
    assert [
        (process.returncode, err) for process, (_, err) in zip(running, ended, strict=True)
    ] == [(0, "")] * len(running)
    return [json.loads(out) for out, _ in ended]


FIRST_START = """
async def main():
    async with store:
        print(json.dumps(await append(0)))
asyncio.run(main())
"""


def test_first_starts_race(file):
    """Processes that find no database make it once, together, and all of them work."""
    generations = together(file.url, FIRST_START, ["a", "b", "c"])
    assert sorted(generations) == [1, 2, 3]
    bare = file.bare()
    assert bare.execute("SELECT * FROM store_schema").fetchall() == [(migrate.HEAD,)]
    bare.close()


WRITERS = """
async def main():
    async with store:
        print(json.dumps([await append(number) for number in range(40)]))
asyncio.run(main())
"""


def test_writers_take_turns(file):
    """Two processes writing one window never overwrite each other unseen (9, 10)."""
    first, second = together(file.url, WRITERS, ["a", "b"])
    assert sorted(first + second) == list(range(1, 81))


APPROVERS = """
async def main():
    async with store:
        path = pathlib.Path(url.removeprefix("sqlite+aiosqlite:///") + ".tokens")
        tokens = path.read_text().split()
        pressed = [await store.approve(ANN, token, now_ms=NOW) for token in tokens]
        print(json.dumps([result.outcome for result in pressed]))
asyncio.run(main())
"""


def test_one_card_in_two_processes(file):
    """A card pressed in two processes at once is applied in one (9)."""

    async def propose():
        async with file.open() as store:
            proposal = Proposal(key="drink", purpose="to choose", value="tea")
            return [(await store.propose(ANN, proposal, now_ms=NOW)).token for _ in range(10)]

    tokens = asyncio.run(propose())
    (file.path.parent / "store.db.tokens").write_text(" ".join(tokens))
    outcomes = together(file.url, APPROVERS, ["a", "b"])
    flat = [outcome for one in outcomes for outcome in one]
    assert flat.count("saved") == 1
    assert set(flat) <= {"saved", "already_applied", "stale"}
    assert (flat.count("already_applied"), flat.count("stale")) == (1, 18)


FORGETTERS = """
async def main():
    async with store:
        seen = []
        for number in range(25):
            if name == "a":
                card = await store.propose(
                    ANN, Proposal(key="drink", purpose="p", value=f"secret-{number}"), now_ms=NOW)
                await store.approve(ANN, card.token, now_ms=NOW)
            else:
                result = await store.forget(ANN, None, now_ms=NOW)
                kept = await store.preferences(ANN, now_ms=NOW)
                seen.append([result.revision, kept.revision, len(kept.values)])
        print(json.dumps(seen))
asyncio.run(main())
"""


def test_forgetting_holds_in_every_process(file):
    """Right after forget no process shows the value, unless consent was given anew (7, 8)."""
    _, seen = together(file.url, FORGETTERS, ["a", "b"])
    for forgotten_at, read_at, values in seen:
        assert read_at >= forgotten_at
        assert values == 0 or read_at > forgotten_at

    async def end():
        async with file.open() as store:
            return await store.forget(ANN, None, now_ms=NOW)

    assert asyncio.run(end()).complete
    assert b"secret-" not in file.bytes()


ENDLESS = """
async def main():
    async with store:
        print("go", flush=True)
        number = 0
        while True:
            number += 1
            await append(number)
asyncio.run(main())
"""


def test_a_killed_process_loses_nothing(file):
    """After kill -9 in the middle of writing, the next process goes on from a whole state."""
    generation = 0
    for round_ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + ENDLESS, file.url, f"r{round_}", "0"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "go\n"
        time.sleep(0.15)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()

        async def look():
            async with file.open() as store:
                return await store.snapshot(ANN, now_ms=NOW)

        seen = asyncio.run(look())
        assert seen.generation > generation
        generation = seen.generation
        name, number = json.loads(seen.window)
        assert seen.last_event == f"{name}-{number}"
    bare = file.bare()
    assert bare.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    bare.close()
