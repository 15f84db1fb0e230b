"""People by the million, loaded by SQL: a row, a window, a value and its key each, all noise.

They lie in a database of their own for each number, beside the one that the URL names, so that
sizes can take turns while something is measured; it is removed afterwards.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import click

from stores.open import open_store
from stores.personal import PersonalStore

SIGNING_KEY: Final = b"a signing key of this measurement alone"
STORE_KEY: Final = b"a store key of this measurement, long enough"
TENANT: Final = "bench"
WINDOW: Final = '{"projections": [["places", {"area": "north"}], ["events", {}]], "ledger": {}}'
FAR_MS: Final = 9_000_000_000_000
"""When the windows of those who are only stored run out."""


def opened(url: str, synchronous: str) -> PersonalStore:
    """Return the store under measurement."""
    return open_store(
        url,
        signing_keys=[SIGNING_KEY],
        store_keys=[STORE_KEY],
        synchronous="OFF" if synchronous == "OFF" else "FULL",
    )


class Place(Protocol):
    """Where the people of one number are stored."""

    url: str

    async def prepare(self, people: int) -> None:
        """Make the database and load that many people."""

    async def remove(self) -> None:
        """Take the database away again."""


def place(url: str, people: int, role: str | None = None) -> Place:
    """Return the place for this many people, beside the URL's own."""
    if url.startswith("sqlite"):
        return _File(url, people)
    if url.startswith("postgresql"):
        return _Database(url, people, role)
    return _Namespace(url, people)


class _File:
    def __init__(self, url: str, people: int) -> None:
        scheme, _, path = url.partition(":///")
        self._path = Path(path).with_suffix(f".{people}.db")
        self.url = f"{scheme}:///{self._path}"

    async def prepare(self, people: int) -> None:
        await self.remove()
        async with opened(self.url, "OFF"):
            pass
        # In a process of its own, whose memory is gone with it: this one's is measured.
        filling = multiprocessing.get_context("spawn").Process(
            target=_fill, args=(self._path, people)
        )
        filling.start()
        await asyncio.to_thread(filling.join)
        if filling.exitcode:
            raise ChildProcessError("The people could not be loaded.")

    async def remove(self) -> None:
        _unlink(self._path)


class _Database:
    def __init__(self, url: str, people: int, role: str | None) -> None:
        self._role = role
        parts = urlsplit(url)
        self._name = f"{parts.path.strip('/') or 'postgres'}_bench_{people}"
        self._admin = urlunsplit(parts._replace(scheme="postgresql"))
        self._dsn = urlunsplit(parts._replace(scheme="postgresql", path=f"/{self._name}"))
        self.url = urlunsplit(parts._replace(path=f"/{self._name}"))

    async def prepare(self, people: int) -> None:
        await self.remove()
        await self._ask(self._admin, f'CREATE DATABASE "{self._name}"')
        async with opened(self.url, "OFF"):
            pass
        noise = "decode(repeat(md5(i::text), 16), 'hex')"
        tag = "decode(md5(i::text) || md5(i::text), 'hex')"
        load = [
            _load(statement, "lpad(to_hex(i::int), 8, '0')", noise, tag)
            + f" FROM generate_series(1, {people}) AS n(i)"
            for statement in _LOAD
        ]
        await self._ask(
            self._dsn,
            "SET synchronous_commit = off",
            "SET maintenance_work_mem = '256MB'",
            "DROP INDEX store_vault_owner",  # made anew in one go below
            *load,
            "CREATE INDEX store_vault_owner ON store_vault (owner)",
            "SELECT setval('store_vault_slot_seq', (SELECT max(slot) FROM store_vault))",
            "VACUUM ANALYZE",
        )
        if self._role is not None:
            await self._ask(self._dsn, *_serving(self._name, self._role))

    async def remove(self) -> None:
        await self._ask(self._admin, f'DROP DATABASE IF EXISTS "{self._name}"')

    async def _ask(self, dsn: str, *statements: str) -> None:
        connection = await asyncpg.connect(dsn)
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()


class _Namespace:
    """No SQL there: people are appended one by one, so their number has to stay small."""

    def __init__(self, url: str, people: int) -> None:
        self.url = f"{url}-{people}"

    async def prepare(self, people: int) -> None:
        from stores.records import Owner  # noqa: PLC0415 - only needed here

        async with opened(self.url, "OFF") as store:
            for number in range(people):
                owner = Owner(tenant=TENANT, person=f"{number:08x}")
                with suppress(OSError):
                    await store.clear(owner, now_ms=1)
        click.echo(f"{people} people are in {self.url} and stay there", err=True)

    async def remove(self) -> None:
        return None


def _serving(database: str, role: str) -> list[str]:
    """Return what lets every later connection to a database be a role that owns nothing."""
    return [
        f"""DO $$ BEGIN CREATE ROLE "{role}" NOBYPASSRLS;
        EXCEPTION WHEN duplicate_object THEN NULL; END $$""",
        f'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "{role}"',
        f'GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO "{role}"',
        f"ALTER ROLE CURRENT_USER IN DATABASE \"{database}\" SET role = '{role}'",
    ]


def _fill(path: Path, people: int) -> None:
    bare = sqlite3.connect(path, isolation_level=None)
    bare.execute("PRAGMA synchronous = OFF")
    bare.execute("PRAGMA cache_size = -2000000")  # of kB: an index in random order fits
    bare.execute("BEGIN")
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
    for statement in _LOAD:
        text = _load(statement, "printf('%08x', i)", "randomblob(256)", "randomblob(32)")
        bare.execute(f"{numbers} {text} FROM n", (people,))
    bare.execute("COMMIT")
    bare.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    bare.close()


def _unlink(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def _load(statement: str, name: str, noise: str, tag: str) -> str:
    """Return a statement in a database's own words."""
    return statement.replace("{name}", name).replace("{noise}", noise).replace("{tag}", tag)


_LOAD: Final = (
    f"""INSERT INTO store_people (tenant, person, revision, key_slot, key_revision, ring_id)
    SELECT '{TENANT}', {{name}}, 1, 2 * i, 0, 'aaaaaaaaaaaaaaaa'""",
    f"""INSERT INTO store_journal
    (tenant, person, revision, generation, expires_at_ms, last_event, "window")
    SELECT '{TENANT}', {{name}}, 1, 2, {FAR_MS}, 'e', '{WINDOW}'""",
    f"""INSERT INTO store_preferences
    (tenant, person, key, purpose, granted_at_ms, revision, slot, scope)
    SELECT '{TENANT}', {{name}}, 'drink', 'to choose', 1, 1, 2 * i + 1, 'private'""",
    "INSERT INTO store_vault (slot, owner, vacant, body) SELECT 2 * i, {tag}, 0, {noise}",
    "INSERT INTO store_vault (slot, owner, vacant, body) SELECT 2 * i + 1, {tag}, 0, {noise}",
)
