"""What is wrong with a file gets a sentence and a code, and loses nothing."""

import asyncio
import json
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import cast

import pytest

from stores.errors import SchemaTooNew, StoreUnavailable
from stores.open import open_store
from stores.records import Owner, Proposal
from stores.sql import migrate
from stores.sql.leftovers import Leftovers
from stores.sql.sqlite import SqliteEngine
from tests.integration.stores.conftest import File

NOW = 1_000_000
ANN = Owner(tenant="town", person="U7-ann")
TEA = Proposal(key="drink", purpose="to choose", value="a secret of hers")


async def fill(file):
    async with file.open() as store:
        card = await store.propose(ANN, TEA, now_ms=NOW)
        await store.approve(ANN, card.token, now_ms=NOW)
        await store.append(
            ANN,
            event_id="e",
            window="{}",
            expected_revision=1,
            expected_generation=1,
            now_ms=NOW,
        )


async def intact(file):
    async with file.open() as store:
        kept = await store.preferences(ANN, now_ms=NOW)
        seen = await store.snapshot(ANN, now_ms=NOW)
    return kept.values["drink"].value == TEA.value and (seen.window, seen.generation) == ("{}", 2)


def calls(store):
    """One call of every method."""
    return {
        "snapshot": lambda: store.snapshot(ANN, now_ms=NOW),
        "preferences": lambda: store.preferences(ANN, now_ms=NOW),
        "append": lambda: store.append(
            ANN,
            event_id="e2",
            window="[]",
            expected_revision=1,
            expected_generation=2,
            now_ms=NOW,
        ),
        "clear": lambda: store.clear(ANN, now_ms=NOW),
        "propose": lambda: store.propose(ANN, TEA, now_ms=NOW),
        "approve": lambda: store.approve(ANN, "c1.a.b", now_ms=NOW),
        "cancel": lambda: store.cancel(ANN, "c1.a.b", now_ms=NOW),
        "forget": lambda: store.forget(ANN, None, now_ms=NOW),
    }


async def refused(call, kind=StoreUnavailable):
    """Return the reason a call is refused for; the error says nothing of what is stored."""
    with pytest.raises(kind) as caught:
        await call()
    error = caught.value
    shown = f"{error} {error!r} {error.numbers} {error.__cause__} {error.__context__}"
    assert "a secret" not in shown
    assert ANN.person not in shown
    assert error.__cause__ is None
    assert str(error).count(".") == 1
    return error.numbers.get("reason")


async def test_a_locked_file(file):
    """While another process holds the lock, writes are refused by a code, and reads go on."""
    await fill(file)
    other = file.bare()
    other.execute("BEGIN IMMEDIATE")
    async with file.open(busy_timeout_ms=20) as store:
        for name, call in calls(store).items():
            if name in ("snapshot", "preferences"):
                await call()
            else:
                assert await refused(call) == "locked"
        other.execute("ROLLBACK")
        assert await store.clear(ANN, now_ms=NOW) == 3
    other.close()


async def test_a_file_locked_at_the_first_start(file):
    """A first start beside a lock is refused, and the same store works when the lock is gone."""
    other = file.bare()
    other.execute("CREATE TABLE theirs (id)")
    other.execute("BEGIN EXCLUSIVE")
    store = file.open(busy_timeout_ms=20)
    assert await refused(store.start) == "locked"
    other.execute("COMMIT")
    other.close()
    assert await store.clear(ANN, now_ms=NOW) == 1
    await store.close()


@pytest.mark.parametrize("content", [b"no database, but long enough to be one " * 40, b"short"])
async def test_a_file_that_is_no_database(file, content):
    """Any other file is refused and left as it is, byte for byte."""
    file.path.write_bytes(content)
    store = file.open()
    for call in calls(store).values():
        assert await refused(call) == "not_a_database"
    await store.close()
    assert file.path.read_bytes() == content
    file.path.unlink()
    await fill(file)
    assert await intact(file)


async def test_a_newer_schema(file):
    """A database of a newer version is refused with a code of its own, and not changed."""
    await fill(file)
    bare = file.bare()
    bare.execute("UPDATE store_schema SET version_num = '9999'")
    bare.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    bare.close()
    before = file.path.read_bytes()
    store = file.open()
    for call in calls(store).values():
        await refused(call, SchemaTooNew)
    await store.close()
    assert file.path.read_bytes() == before
    bare = file.bare()
    bare.execute("UPDATE store_schema SET version_num = ?", (migrate.HEAD,))
    bare.close()
    assert await intact(file)


async def test_a_missing_folder(tmp_path):
    """A file in a folder that does not exist is refused; the folder is not made up."""
    store = open_store(f"sqlite+aiosqlite:///{tmp_path}/none/store.db", signing_keys=[b"k" * 32])
    for call in calls(store).values():
        assert await refused(call) == "missing_folder"
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "none").mkdir()
    assert await store.clear(ANN, now_ms=NOW) == 1
    await store.close()


async def test_a_folder_in_place_of_the_file(file):
    """A path that is a folder cannot be opened, and the error says so."""
    file.path.mkdir()
    store = file.open()
    assert await refused(store.start) == "cannot_open"
    await store.close()


READ_ONLY = """
import asyncio, json, os, sys
from stores.errors import StoreError
from stores.open import open_store
from stores.records import Owner

if os.getuid() == 0:  # root may write anything: become somebody who may not
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)

async def use():
    store = open_store(sys.argv[1])
    try:
        await store.clear(Owner(tenant="town", person="U7-ann"), now_ms=1_000_000)
    except StoreError as error:
        print(json.dumps([error.error_code, error.numbers["reason"], str(error)]))
    await store.close()

asyncio.run(use())
"""


@pytest.mark.parametrize("folder_mode", [0o777, 0o555])
def test_a_read_only_file(folder_mode):
    """A file that may only be read is refused for writing, and everything in it stays."""
    with tempfile.TemporaryDirectory() as folder:
        file = File(Path(folder) / "store.db")
        asyncio.run(fill(file))
        before = file.path.read_bytes()
        file.path.chmod(0o444)
        file.path.parent.chmod(folder_mode)
        ran = subprocess.run(
            [sys.executable, "-c", READ_ONLY, file.url], capture_output=True, text=True, check=True
        )
        assert json.loads(ran.stdout) == [
            "STORE_UNAVAILABLE",
            "read_only",
            "The store's file cannot be written.",
        ]
        file.path.parent.chmod(0o755)
        file.path.chmod(0o644)
        assert file.path.read_bytes() == before
        for beside in file.path.parent.glob("store.db-*"):
            beside.unlink()  # they belong to the other user
        assert asyncio.run(intact(file))


async def test_a_full_disk(file):
    """When no page can be added, the write is refused and undone, and the store goes on."""
    await fill(file)
    async with file.open() as store:
        engine = store._engine

        def limit(pages):
            engine._writing.driver.execute(f"PRAGMA max_page_count = {pages}")

        await engine._writer.run(lambda: limit(1))  # never below what the file has already
        window = "w" * 16_000
        reasons = set()
        for number in range(3):
            owner = Owner(tenant="town", person=f"p{number}")
            reasons.add(
                await refused(
                    lambda owner=owner: store.append(
                        owner,
                        event_id="e",
                        window=window,
                        expected_revision=0,
                        expected_generation=0,
                        now_ms=NOW,
                    )
                )
            )
        assert reasons == {"full"}
        await engine._writer.run(lambda: limit(2**30))
        assert await store.clear(Owner(tenant="town", person="p0"), now_ms=NOW) == 1
    assert await intact(file)


async def test_a_damaged_page(file):
    """A page that makes no sense is refused by a code; what it held is not made up."""
    await fill(file)
    bare = file.bare()
    size = bare.execute("PRAGMA page_size").fetchone()[0]
    page = bare.execute(
        "SELECT rootpage FROM sqlite_master WHERE name = 'store_people'"
    ).fetchone()[0]
    bare.close()
    content = file.path.read_bytes()
    file.path.write_bytes(content[: (page - 1) * size] + b"\xff" * size + content[page * size :])
    async with file.open() as store:
        assert await refused(lambda: store.preferences(ANN, now_ms=NOW)) == "damaged"
        assert await refused(lambda: store.clear(ANN, now_ms=NOW)) == "damaged"
    file.path.write_bytes(content)
    assert await intact(file)


async def test_a_table_that_is_gone(file):
    """A database without our tables, but with our version, fails by a code and nothing else."""
    await fill(file)
    bare = file.bare()
    bare.execute("DROP TABLE store_journal")
    bare.close()
    async with file.open() as store:
        assert await refused(lambda: store.snapshot(ANN, now_ms=NOW)) == "failed"
        assert (await store.preferences(ANN, now_ms=NOW)).values["drink"].value == TEA.value


async def test_a_migration_that_fails_leaves_nothing(file, monkeypatch):
    """A migration and the record of it are one: after a failure the file is as it was."""
    upgrade = migrate.upgrade

    def half(connection, ring):
        upgrade(connection, ring)
        connection.exec_driver_sql("SELECT nonsense")

    monkeypatch.setattr(migrate, "upgrade", half)
    store = file.open()
    assert await refused(store.start) == "failed"
    bare = file.bare()
    assert bare.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    bare.close()
    monkeypatch.undo()
    assert await store.clear(ANN, now_ms=NOW) == 1
    await store.close()


async def test_a_cancelled_caller_leaves_no_transaction(file):
    """Whoever gives up in the middle leaves the write done or undone, and the next one runs."""
    async with file.open() as store:
        for number in range(30):
            task = asyncio.create_task(store.clear(ANN, now_ms=NOW))
            await asyncio.sleep(0 if number % 2 else 0.0002)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        seen = await store.snapshot(ANN, now_ms=NOW)
        assert await store.clear(ANN, now_ms=NOW) == seen.generation + 1


async def test_logging_shows_no_value(file, caplog):
    """With every logger at its loudest, no value, id or window is in a log record (6)."""
    caplog.set_level(0)
    await fill(file)
    async with file.open() as store:
        await store.forget(ANN, None, now_ms=NOW)
    assert "a secret" not in caplog.text
    assert ANN.person not in caplog.text


async def test_a_start_that_fails_lets_go(file):
    """Where ``async with`` cannot open the store, it is closed again."""
    file.path.mkdir()
    store = file.open()
    with pytest.raises(StoreUnavailable):
        async with store:
            pass
    assert await refused(lambda: store.preferences(ANN, now_ms=NOW)) == "closed"


async def test_a_checkpoint_that_fails_is_tried_again(file):
    """A WAL that could not be emptied is no failure of the write before it, and is told."""

    class Full:
        def execute(self, statement):
            if "checkpoint" in statement:
                raise sqlite3.OperationalError
            return self

    engine = SqliteEngine(file.path, synchronous="OFF")
    assert engine._empty_wal(cast("sqlite3.Connection", Full()), wait=False) == 1
    assert engine._wal_pending


async def test_files_that_cannot_be_read_are_not_claimed(tmp_path):
    """What could not be searched is left out of the result instead of counted as zero (13)."""
    (tmp_path / "store.db").mkdir()
    assert Leftovers(tmp_path / "store.db").of([b"x"]) is None


async def test_closing_waits_without_blocking(file):
    """While a store waits for a lock to close, the event loop goes on."""
    await fill(file)
    other = file.bare()
    other.execute("BEGIN IMMEDIATE")
    async with file.open(busy_timeout_ms=300) as store:
        write = asyncio.create_task(store.clear(ANN, now_ms=NOW))
        await asyncio.sleep(0.05)
        close = asyncio.create_task(store.close())
        ticks = 0
        while not close.done():
            await asyncio.sleep(0.01)
            ticks += 1
        assert ticks > 2
        assert await refused(lambda: write) == "locked"
    other.close()
