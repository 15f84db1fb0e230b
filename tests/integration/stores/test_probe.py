"""A look at a store finds what is wrong, and leaves everything as it was."""

import time

import pytest
from google.cloud.firestore import AsyncClient

from stores.errors import SchemaTooNew, StoreUnavailable
from stores.open import open_store
from stores.probe import probe
from stores.sql.migrate import HEAD
from tests.support import firestore

NOW = 1_790_000_000_000


async def test_nothing_is_made_of_a_file_that_is_not_there(file):
    """Where there is no file, none is made, and no version is claimed."""
    found = await probe(file.url, now_ms=NOW)
    assert (found.version, found.known, found.wrote, found.current) == (None, HEAD, None, False)
    assert list(file.path.parent.iterdir()) == []


async def test_a_file_is_written_and_is_as_before(file):
    """What was written is rolled back: every row that was there is, and no other."""
    async with file.open():
        pass
    with file.bare() as bare:
        before = list(bare.iterdump())
    found = await probe(file.url, now_ms=NOW)
    assert (found.backend, found.version, found.wrote) == ("sqlite", HEAD, True)
    with file.bare() as bare:
        assert list(bare.iterdump()) == before


async def test_an_old_file_is_not_migrated(file):
    """A schema that is not this program's is told and left alone."""
    async with file.open():
        pass
    with file.bare() as bare:
        bare.execute("UPDATE store_schema SET version_num = '0001'")
    found = await probe(file.url, now_ms=NOW)
    assert (found.version, found.wrote, found.current) == ("0001", None, False)
    with file.bare() as bare:
        assert bare.execute("SELECT version_num FROM store_schema").fetchall() == [("0001",)]


async def test_a_newer_file_is_told(file):
    """A version that this program does not know is an error of its own."""
    async with file.open():
        pass
    with file.bare() as bare:
        bare.execute("UPDATE store_schema SET version_num = '9999'")
    with pytest.raises(SchemaTooNew):
        await probe(file.url, now_ms=NOW)


async def test_a_locked_file_is_told(file):
    """A file that somebody else holds is unavailable, with the reason as data."""
    async with file.open():
        pass
    bare = file.bare()
    bare.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable) as caught:
        await probe(file.url, now_ms=NOW, busy_timeout_ms=1)
    assert caught.value.numbers["reason"] == "locked"
    bare.close()


@pytest.mark.parametrize(
    ("content", "reason"), [(b"no database at all, but a text of some length", "not_a_database")]
)
async def test_a_file_that_is_none_is_told(file, content, reason):
    """What is no database is told so."""
    file.path.write_bytes(content)
    with pytest.raises(StoreUnavailable) as caught:
        await probe(file.url, now_ms=NOW)
    assert caught.value.numbers["reason"] == reason


async def test_a_missing_folder_is_told(tmp_path):
    """A folder that is not there is told, not made."""
    with pytest.raises(StoreUnavailable) as caught:
        await probe(f"sqlite+aiosqlite:///{tmp_path}/none/store.db", now_ms=NOW)
    assert caught.value.numbers["reason"] == "missing_folder"


async def test_a_server_is_written_to_by_a_role_that_owns_nothing(database):
    """Under row-level security the probe writes, reads, rolls back, and tells the server's time."""
    found = await probe(database.url, now_ms=NOW)
    assert (found.backend, found.version, found.wrote) == ("postgresql", HEAD, True)
    assert found.clock_ms is not None
    # One machine, one clock: a minute is no statement about speed.
    assert abs(found.clock_ms - time.time_ns() // 1_000_000) < 60_000
    bare = await database.server.bare()
    assert await bare.fetchval("SELECT count(*) FROM store_people") == 0
    await bare.close()


async def test_a_server_that_is_not_there_is_told():
    """A port where nobody listens is unreachable, and the URL's password is not repeated."""
    url = "postgresql+asyncpg://user:hunter2@127.0.0.1:1/none"
    with pytest.raises(StoreUnavailable) as caught:
        await probe(url, now_ms=NOW)
    assert caught.value.numbers["reason"] == "unreachable"
    assert "hunter2" not in f"{caught.value!r} {caught.value}"
    assert caught.value.__context__ is None


@pytest.fixture(scope="module")
def emulator():
    """The emulator's host and port; skips by name where there is no emulator."""
    if firestore.jar() is None:
        pytest.skip(firestore.MISSING)
    with firestore.emulator() as host:
        yield host


async def test_firestore_is_written_to_and_is_as_before(emulator, monkeypatch):
    """A namespace without anything stays so; one that is in use keeps its documents alone."""
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", emulator)
    url = "firestore://probes/one"
    found = await probe(url, now_ms=NOW)
    assert (found.backend, found.version, found.wrote) == ("firestore", None, True)
    assert found.clock_ms is not None
    async with open_store(url):
        pass
    found = await probe(url, now_ms=NOW)
    assert found.current
    client = AsyncClient(project="probes")
    left = [one async for one in client.document("stores", "one").collections()]
    assert left == []
    client.close()
