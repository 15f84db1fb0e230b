"""The same turn by hand over the bare driver: what the store's own code is held against.

The statements are those that the store sends, written out; there is nothing between them and the
driver. Windows are read and written for a person of this loop's own.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import aiosqlite
import asyncpg

from benchmarks.stores.people import TENANT, WINDOW
from stores.records import Owner
from stores.sql.vault import tag_of

SNAPSHOT: Final = (
    "SELECT p.revision, j.generation, j.revision AS written_under, j.expires_at_ms, "
    'j."window", j.last_event FROM store_people AS p '
    "LEFT JOIN store_journal AS j ON j.tenant = p.tenant AND j.person = p.person "
    "WHERE p.tenant = {0} AND p.person = {1}"
)
PERSON: Final = (
    "SELECT p.revision, p.forgotten_at_ms, p.key_slot, j.generation, j.last_event "
    "FROM store_people AS p "
    "LEFT JOIN store_journal AS j ON j.tenant = p.tenant AND j.person = p.person "
    "WHERE p.tenant = {0} AND p.person = {1}"
)
WRITE: Final = (
    "UPDATE store_journal SET revision = {0}, generation = {1}, expires_at_ms = {2}, "
    'last_event = {3}, "window" = {4} WHERE tenant = {5} AND person = {6}'
)
SCOPE: Final = (
    "WITH me AS MATERIALIZED (SELECT set_config('stores.tenant', $3, true) AS tenant, "
    "set_config('stores.person', $4, true), set_config('stores.owner_tag', $5, true)) "
    "SELECT found.* FROM me CROSS JOIN LATERAL "
    "(SELECT * FROM ({0}) AS asked WHERE me.tenant IS NOT NULL OFFSET 0) AS found"
)

BEGIN: Final = (
    "BEGIN; SELECT set_config('stores.tenant', '{tenant}', true), "
    "set_config('stores.person', '{person}', true), "
    "set_config('stores.owner_tag', '{tag}', true); "
    "SELECT FROM store_people WHERE tenant = '{tenant}' AND person = '{person}' FOR UPDATE"
)


class Bare(Protocol):
    """A connection, and a turn over it."""

    async def turn(self, event: str, now_ms: int) -> None:
        """Read the snapshot; write the window in a transaction that checks what it builds on."""

    async def close(self) -> None:
        """Close the connection."""


class BareSqlite:
    """aiosqlite, with the store's pragmas."""

    def __init__(self, driver: aiosqlite.Connection, person: str) -> None:
        """Use an open connection."""
        self._driver, self._mine = driver, (TENANT, person)

    @classmethod
    async def open(cls, url: str, person: str, *, synchronous: str) -> BareSqlite:
        """Connect as the store does."""
        driver = await aiosqlite.connect(url.partition(":///")[2], isolation_level=None)
        await driver.execute("PRAGMA secure_delete = ON")
        await driver.execute("PRAGMA foreign_keys = ON")
        await driver.execute(f"PRAGMA synchronous = {synchronous}")
        return cls(driver, person)

    async def turn(self, event: str, now_ms: int) -> None:
        """See ``Bare``."""
        seen = await self._one(SNAPSHOT.format("?", "?"))
        await self._driver.execute("BEGIN IMMEDIATE")
        found = await self._one(PERSON.format("?", "?"))
        if (found[0], found[3]) != (seen[0], seen[1]):
            raise RuntimeError("Somebody else wrote.")
        values = (found[0], found[3] + 1, now_ms + 900_000, event, WINDOW, *self._mine)
        await self._driver.execute(WRITE.format(*"???????"), values)
        await self._driver.execute("COMMIT")

    async def close(self) -> None:
        """See ``Bare``."""
        await self._driver.close()

    async def _one(self, text: str) -> Any:
        async with self._driver.execute(text, self._mine) as cursor:
            return await cursor.fetchone()


class BarePostgres:
    """asyncpg; each read and each transaction says whose it is, as row-level security needs it."""

    def __init__(self, driver: Any, person: str) -> None:
        """Use an open connection."""
        self._driver, self._mine = driver, (TENANT, person)
        tag = tag_of(Owner(tenant=TENANT, person=person)).hex()
        self._scope = (*self._mine, tag)
        self._begin = BEGIN.format(tenant=TENANT, person=person, tag=tag)

    @classmethod
    async def open(cls, url: str, person: str, *, synchronous: str) -> BarePostgres:
        """Connect as the store does."""
        settings = {"jit": "off"} | ({"synchronous_commit": "off"} if synchronous == "OFF" else {})
        dsn = url.replace("postgresql+asyncpg:", "postgresql:")
        return cls(await asyncpg.connect(dsn, server_settings=settings), person)

    async def turn(self, event: str, now_ms: int) -> None:
        """See ``Bare``."""
        text = SCOPE.format(SNAPSHOT.format("$1", "$2"))
        seen = (await self._driver.fetch(text, *self._mine, *self._scope))[0]
        await self._driver.execute(self._begin)
        found = (await self._driver.fetch(PERSON.format("$1", "$2"), *self._mine))[0]
        if (found[0], found[3]) != (seen[0], seen[1]):
            raise RuntimeError("Somebody else wrote.")
        values = (found[0], found[3] + 1, now_ms + 900_000, event, WINDOW, *self._mine)
        marks = [f"${number}" for number in range(1, 8)]
        await self._driver.fetch(WRITE.format(*marks), *values)
        await self._driver.execute("COMMIT")

    async def close(self) -> None:
        """See ``Bare``."""
        await self._driver.close()
