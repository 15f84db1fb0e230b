"""What goes wrong with a server gets a sentence and a code, loses nothing, and passes."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy.ext.asyncio import create_async_engine

from stores.errors import SchemaTooNew, StoreUnavailable
from stores.open import open_store
from stores.records import Owner
from stores.sql import migrate
from stores.sql.tables import VERSION_TABLE, metadata
from tests.integration.stores.test_failures import ANN, NOW, TEA, calls, fill, intact, refused
from tests.support.postgres import OWNER, SERVICE

OTHER = "CREATE DATABASE other"
NO_OTHER = "DROP DATABASE IF EXISTS other WITH (FORCE)"
BACKENDS = "FROM pg_stat_activity WHERE application_name = 'local-agent'"


@pytest.fixture
def other(server):
    """The URL of a database with nothing in it, for the one who owns it."""
    asyncio.run(server.execute(NO_OTHER))
    asyncio.run(server.execute(OTHER))
    yield server.url("other", OWNER)
    asyncio.run(server.execute(NO_OTHER))


def open_as_owner(url, **options):
    return open_store(url, signing_keys=[b"k" * 32], store_keys=[b"s" * 32], **options)


async def until(database, query):
    """Ask the server until it counts something."""
    for _ in range(500):
        if await database.server_value(query):
            return
        await asyncio.sleep(0.02)
    raise TimeoutError(query)


async def test_many_machines_start_at_once(other):
    """Of machines that find no schema one makes it, the others wait, and all of them work."""
    stores = [open_as_owner(other) for _ in range(6)]
    try:
        generations = await asyncio.gather(*(store.clear(ANN, now_ms=NOW) for store in stores))
        assert sorted(generations) == [1, 2, 3, 4, 5, 6]
    finally:
        for store in stores:
            await store.close()


async def test_many_who_are_the_first_for_somebody(other):
    """Of writers who find nobody there yet, each builds on the one before; none is lost (10)."""
    stores = [open_as_owner(other) for _ in range(6)]
    try:
        await stores[0].start()
        for number in range(60):
            new = Owner(tenant="town", person=f"new-{number}")
            generations = await asyncio.gather(*(store.clear(new, now_ms=NOW) for store in stores))
            assert sorted(generations) == [1, 2, 3, 4, 5, 6]
    finally:
        for store in stores:
            await store.close()


async def test_migrations_make_the_tables(other):
    """A migrated server has the tables and columns of the metadata, and no others."""
    async with open_as_owner(other):
        pass
    engine = create_async_engine(other)
    async with engine.connect() as connection:

        def compare(sync):
            context = MigrationContext.configure(sync, opts={"version_table": VERSION_TABLE})
            return compare_metadata(context, metadata)

        assert await connection.run_sync(compare) == []
    await engine.dispose()


async def test_a_migration_that_fails_leaves_nothing(other, server, monkeypatch):
    """A migration and the record of it are one: after a failure the database is as it was."""
    upgrade = migrate.upgrade

    def half(connection, ring):
        upgrade(connection, ring)
        connection.exec_driver_sql("SELECT nonsense")

    monkeypatch.setattr(migrate, "upgrade", half)
    store = open_as_owner(other)
    assert await refused(store.start) == "failed"
    bare = await server.bare("other")
    tables = "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'store_%'"
    assert await bare.fetchval(tables) == 0
    await bare.close()
    monkeypatch.undo()
    assert await store.clear(ANN, now_ms=NOW) == 1
    await store.close()


async def test_a_newer_schema(database):
    """A database of a newer version is refused with a code of its own, and not changed."""
    await fill(database)
    set_version = "UPDATE store_schema SET version_num = '{}'"
    await database.server.execute(set_version.format("9999"))
    store = database.open()
    for call in calls(store).values():
        await refused(call, SchemaTooNew)
    await store.close()
    await database.server.execute(set_version.format(migrate.HEAD))
    assert await intact(database)


@pytest.mark.parametrize(
    ("path", "user", "reason"),
    [
        ("postgres", "stranger", "not_admitted"),
        ("nowhere", SERVICE, "cannot_open"),
        ("other", SERVICE, "not_allowed"),
    ],
)
async def test_who_may_not_is_told(other, server, path, user, reason):
    """A user, a database or a right that is not there is told apart, without its name."""
    store = open_store(server.url(path, user))
    assert await refused(store.start) == reason
    await store.close()


async def test_a_server_that_is_away(database):
    """While the server is down calls are refused by a code; once it is back, the store works."""
    await fill(database)
    async with database.open() as store:
        await store.snapshot(ANN, now_ms=NOW)
        database.server.stop()
        try:
            for call in calls(store).values():
                assert await refused(call) == "unreachable"
        finally:
            database.server.start()
        assert (await store.preferences(ANN, now_ms=NOW)).values["drink"].value == TEA.value
    assert await intact(database)


async def test_an_idle_connection_that_was_cut(database):
    """A connection that died while nobody used it is replaced without a word."""
    async with database.open(connections=1) as store:
        for _ in range(3):
            await store.clear(ANN, now_ms=NOW)
            await database.server.execute(f"SELECT pg_terminate_backend(pid) {BACKENDS}")
        assert (await store.snapshot(ANN, now_ms=NOW)).generation == 3


async def test_a_connection_cut_in_the_middle(database):
    """A transaction that was cut off before its commit is run again, once."""
    async with database.open() as store:
        await store.clear(ANN, now_ms=NOW)
        bare = await database.server.bare()
        holding = bare.transaction()
        await holding.start()
        await bare.execute("SELECT FROM store_people FOR UPDATE")
        waiting = asyncio.create_task(store.clear(ANN, now_ms=NOW))
        cut = f"SELECT count(pg_terminate_backend(pid)) {BACKENDS} AND wait_event_type = 'Lock'"
        await until(database, cut)
        await holding.rollback()
        await bare.close()
        assert await waiting == 2
        assert (await store.snapshot(ANN, now_ms=NOW)).generation == 2


SLOW_COMMIT = """
CREATE FUNCTION slow_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_sleep(20); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER slow_commit AFTER UPDATE ON store_journal
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow_commit();
"""


async def test_a_connection_cut_while_committing(database):
    """A commit without an answer is not claimed and not run again; the same event can be tried."""
    await fill(database)
    await database.server.execute(SLOW_COMMIT)
    try:
        async with database.open() as store:
            append = calls(store)["append"]
            committing = asyncio.create_task(append())
            cut = f"SELECT count(pg_terminate_backend(pid)) {BACKENDS} AND wait_event = 'PgSleep'"
            await until(database, cut)
            assert await refused(lambda: committing) == "lost"
            assert (await store.snapshot(ANN, now_ms=NOW)).generation == 2
            await database.server.execute("DROP FUNCTION slow_commit CASCADE")
            assert await append() == 3
            assert await append() == 3
    finally:
        await database.server.execute("DROP FUNCTION IF EXISTS slow_commit CASCADE")


async def test_somebody_elses_lock(database):
    """While somebody else holds a person's row, writes are refused by a code, and reads go on."""
    await fill(database)
    bare = await database.server.bare()
    holding = bare.transaction()
    await holding.start()
    await bare.execute("SELECT FROM store_people FOR UPDATE")
    async with database.open(busy_timeout_ms=20) as store:
        for name, call in calls(store).items():
            if name in ("snapshot", "preferences"):
                await call()
            else:
                assert await refused(call) == "locked"
        other = Owner(tenant="town", person="somebody else")
        assert await store.clear(other, now_ms=NOW) == 1
    await holding.rollback()
    await bare.close()
    assert await intact(database)


async def test_a_server_that_only_reads(database):
    """A server that may not be written, like a replica, is told apart, and reads go on."""
    await fill(database)
    read_only = "ALTER ROLE {} {}"
    await database.server.execute(
        read_only.format(SERVICE, "SET default_transaction_read_only = on")
    )
    try:
        async with database.open() as store:
            await store.snapshot(ANN, now_ms=NOW)
            assert await refused(calls(store)["append"]) == "read_only"
    finally:
        await database.server.execute(read_only.format(SERVICE, "RESET ALL"))
    assert await intact(database)


FULL = """
CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON store_journal
  FOR EACH ROW EXECUTE FUNCTION full_disk();
"""


async def test_a_full_disk_as_the_server_tells_it(database):
    """A write that finds no room is refused and undone, and the store goes on."""
    await fill(database)
    await database.server.execute(FULL)
    async with database.open() as store:
        assert await refused(calls(store)["append"]) == "full"
        assert await refused(calls(store)["forget"]) == "full"
        await database.server.execute("DROP FUNCTION full_disk CASCADE")
        assert await store.clear(Owner(tenant="town", person="p"), now_ms=NOW) == 1
    assert await intact(database)


async def test_a_damaged_page(database):
    """A page that makes no sense is refused by a code; what it held is not made up."""
    await fill(database)
    await database.server.execute("CHECKPOINT")
    name = await database.server_value("SELECT pg_relation_filepath('store_people')")
    file = Path(database.server.data) / str(name)
    database.server.stop(signal.SIGINT)
    content = file.read_bytes()
    file.write_bytes(content[:100] + b"\xff" * 100 + content[200:])
    database.server.start()
    async with database.open() as store:
        assert await refused(lambda: store.preferences(ANN, now_ms=NOW)) == "damaged"
        assert await refused(lambda: store.clear(ANN, now_ms=NOW)) == "damaged"
    database.server.stop(signal.SIGINT)
    file.write_bytes(content)
    database.server.start()
    assert await intact(database)


async def test_a_cancelled_caller_leaves_no_transaction(database):
    """Whoever gives up in the middle leaves the write done or undone, and the next one runs."""
    async with database.open(connections=2) as store:
        await store.clear(ANN, now_ms=NOW)
        for number in range(20):
            task = asyncio.create_task(store.clear(ANN, now_ms=NOW))
            await asyncio.sleep(number / 4_000)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        seen = await store.snapshot(ANN, now_ms=NOW)
        assert await store.clear(ANN, now_ms=NOW) == seen.generation + 1


async def test_a_proposal_and_a_forget_at_once(database):
    """Whatever order they take, no value from before a forget waits in a card after it (7, 8)."""
    async with database.open() as store:
        for number in range(25):
            proposal = TEA.model_copy(update={"value": f"secret {number}"})
            await asyncio.gather(
                store.propose(ANN, proposal, now_ms=NOW),
                store.forget(ANN, None, now_ms=NOW),
                store.propose(ANN, proposal, now_ms=NOW),
            )
            bare = await database.server.bare()
            left = await bare.fetchval(
                "SELECT count(*) FROM store_cards c JOIN store_people USING (tenant, person) "
                "WHERE c.slot IS NOT NULL AND c.revision < store_people.revision"
            )
            await bare.close()
            assert left == 0
        assert (await store.forget(ANN, None, now_ms=NOW)).complete


async def test_a_snapshot_is_one_message(database):
    """Reading takes one round trip, whose it is included (15)."""
    await fill(database)
    async with database.open() as store:
        await store.snapshot(ANN, now_ms=NOW)
        for read in (calls(store)["snapshot"], calls(store)["preferences"]):
            before = len(database.server.log.read_text("utf-8").split("execute "))
            await read()
            text = database.server.log.read_text("utf-8")
            assert len(text.split("execute ")) - before == 1
            assert "BEGIN" not in text.rsplit("execute ", 1)[1]


def test_a_store_belongs_to_one_event_loop(database):
    """Connections cannot be shared by event loops, so another one is told to open its own."""
    store, loop = database.open(), asyncio.new_event_loop()
    assert loop.run_until_complete(store.clear(ANN, now_ms=NOW)) == 1
    assert asyncio.run(refused(lambda: store.clear(ANN, now_ms=NOW))) == "other_loop"
    assert loop.run_until_complete(store.clear(ANN, now_ms=NOW)) == 2
    loop.run_until_complete(store.close())
    loop.close()


async def test_no_file_of_the_server_ever_holds_a_value(database):
    """In tables, log and write-ahead log a value is sealed from the first moment on (6, 8)."""
    async with database.open() as store:
        card = await store.propose(ANN, TEA, now_ms=NOW)
        await store.approve(ANN, card.token, now_ms=NOW)
        await store.forget(ANN, None, now_ms=NOW)
    await database.server.execute("CHECKPOINT")
    found = {str(TEA.value): 0, "secret of the log": 0}
    await database.server.execute("CREATE TABLE control AS SELECT 'secret of the log' AS it")
    await database.server.execute("CHECKPOINT; DROP TABLE control")
    for file in database.server.folder.rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            for text in found:
                found[text] += text.encode() in content
    assert found[str(TEA.value)] == 0
    assert (
        found["secret of the log"] >= 2
    )  # the search is not blind: the write-ahead log and the log


async def test_without_the_driver_a_sentence_says_so(monkeypatch):
    """Where the extra is not installed, the error names it."""
    monkeypatch.delitem(sys.modules, "stores.sql.postgres", raising=False)
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    with pytest.raises(StoreUnavailable, match=r"pip install '.\[postgres\]'"):
        open_store("postgresql+asyncpg://nobody@127.0.0.1/none")
