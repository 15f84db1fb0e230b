"""What the tests on real files share."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from stores.open import open_store
from tests.support import postgres

pytest.register_assert_rewrite("stores.conformance")

KEY = b"a signing key of these tests alone"
STORE_KEY = b"a store key of these tests alone, long enough"


class File:
    """A store's file: its URL, its bytes with everything beside it, and a bare connection."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = f"sqlite+aiosqlite:///{path}"

    def open(self, **options):
        keys = {"signing_keys": [KEY], "store_keys": [STORE_KEY]}
        return open_store(self.url, **{**keys, "synchronous": "OFF", **options})

    def bytes(self) -> bytes:
        """Return what is in the file and in every file whose name begins like it."""
        return b"".join(file.read_bytes() for file in sorted(self.path.parent.glob("store.db*")))

    def bare(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, isolation_level=None, timeout=0.1)


@pytest.fixture
def file(tmp_path):
    return File(tmp_path / "store.db")


GRANTS = f"""
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{postgres.SERVICE}') THEN
    CREATE ROLE {postgres.SERVICE} LOGIN NOSUPERUSER NOBYPASSRLS;
  END IF;
END $$;
GRANT SELECT ON store_schema TO {postgres.SERVICE};
GRANT SELECT, INSERT, UPDATE, DELETE ON
  store_people, store_journal, store_preferences, store_cards, store_vault, store_ledger,
  store_generations, store_inbox, store_chats, store_sent, store_quota, store_leavers
  TO {postgres.SERVICE};
GRANT USAGE ON SEQUENCE store_vault_slot_seq TO {postgres.SERVICE};
"""
EMPTY = (
    "TRUNCATE store_people, store_vault, store_inbox, store_chats, store_sent, store_quota, "
    "store_leavers CASCADE"
)


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL whose database is migrated, and a role that owns nothing in it."""
    with postgres.running() as started:

        async def prepare():
            async with open_store(started.url(user=postgres.OWNER)):
                pass
            await started.execute(GRANTS)

        asyncio.run(prepare())
        yield started


class Database:
    """A store on a server: what ``File`` is for SQLite."""

    def __init__(self, server) -> None:
        self.server = server
        self.url = server.url()

    def open(self, **options):
        keys = {"signing_keys": [KEY], "store_keys": [STORE_KEY]}
        return open_store(self.url, **{**keys, **options})

    async def server_value(self, query):
        """Return the one value of a query, asked by the server's owner."""
        connection = await self.server.bare()
        value = await connection.fetchval(query)
        await connection.close()
        return value


@pytest.fixture
def database(server):
    """The server's store, emptied."""
    asyncio.run(server.execute(EMPTY))
    return Database(server)
