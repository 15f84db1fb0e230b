"""Migrations make the tables the statements are written for, and cost nothing when done."""

import asyncio
import sqlite3
import subprocess
import sys

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from stores.open import open_store
from stores.records import Owner
from stores.sql import migrate
from stores.sql.tables import VERSION_TABLE, metadata


def make(path):
    async def start():
        async with open_store(f"sqlite+aiosqlite:///{path}", synchronous="OFF"):
            pass

    asyncio.run(start())


def test_the_known_revisions_are_the_scripts():
    """The list a database's version is compared with is the chain of the scripts."""
    script = ScriptDirectory(str(migrate.SCRIPTS))
    assert script.get_current_head() == migrate.HEAD
    chain = [revision.revision for revision in script.walk_revisions()]
    assert tuple(reversed(chain)) == migrate.REVISIONS


def test_migrations_make_the_tables(tmp_path):
    """A migrated database has the tables and columns of the metadata, and no others."""
    make(tmp_path / "store.db")
    engine = create_engine(f"sqlite:///{tmp_path}/store.db")
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_migrations_make_the_same_sql(tmp_path):
    """Keys, indexes and their conditions are those of the metadata, word by word."""
    make(tmp_path / "migrated.db")
    engine = create_engine(f"sqlite:///{tmp_path}/created.db")
    metadata.create_all(engine)
    engine.dispose()

    def schema(path):
        connection = sqlite3.connect(path)
        rows = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE name LIKE 'store_%' AND name <> ?",
            (VERSION_TABLE,),
        ).fetchall()
        connection.close()
        plain = str.maketrans("", "", '"() \n\t')
        return {
            name: sql.replace("store_cards.", "")
            .replace("store_vault.", "")
            .replace("store_journal.", "")
            .translate(plain)
            for name, sql in rows
        }

    migrated, created = schema(tmp_path / "migrated.db"), schema(tmp_path / "created.db")
    assert migrated == created


def test_the_version_is_read_from_its_table():
    """The one statement of a start reads the table that migrations write."""
    assert migrate.READ_VERSION.endswith(f" {VERSION_TABLE}")


def test_a_current_database_does_not_load_alembic(tmp_path):
    """Alembic is imported to migrate, not to open what is current."""
    make(tmp_path / "store.db")
    program = (
        "import asyncio, sys\n"
        "from stores.open import open_store\n"
        "from stores.records import Owner\n"
        "async def use():\n"
        "    async with open_store(sys.argv[1]) as store:\n"
        "        await store.snapshot(Owner(tenant='t', person='p'), now_ms=1)\n"
        "asyncio.run(use())\n"
        "costly = ('alembic', 'mako', 'greenlet', 'aiosqlite')\n"
        "print([name for name in costly if name in sys.modules])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, f"sqlite+aiosqlite:///{tmp_path}/store.db"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "[]\n"


def test_other_tables_in_the_file_stay(tmp_path):
    """A file that holds somebody else's tables, alembic's among them, keeps them as they are."""
    path = tmp_path / "shared.db"
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE alembic_version (version_num TEXT); CREATE TABLE sessions (id TEXT);"
        "INSERT INTO alembic_version VALUES ('theirs'); INSERT INTO sessions VALUES ('s');"
    )
    connection.close()
    make(path)
    make(path)
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT * FROM alembic_version, sessions").fetchall() == [
        ("theirs", "s")
    ]
    assert connection.execute("SELECT * FROM store_schema").fetchall() == [(migrate.HEAD,)]
    connection.close()


async def test_memory_needs_no_file(tmp_path, monkeypatch):
    """A database in memory is migrated as well, and leaves nothing in the folder."""
    monkeypatch.chdir(tmp_path)
    async with open_store("sqlite+aiosqlite://") as store:
        assert await store.clear(Owner(tenant="t", person="p"), now_ms=1) == 1
    assert list(tmp_path.iterdir()) == []
