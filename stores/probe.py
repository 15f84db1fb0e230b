"""A look at a store for an operator: reached, of which version, writable, its time.

Nothing is migrated and nothing is left behind: what is written is rolled back, or taken away where
a backend has no transaction for it.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final

from stores.errors import StoreUnavailable
from stores.open import _FIRESTORE, _POSTGRES, _dsn, _namespace, _postgres, _sqlite_path
from stores.records import Owner, Snapshot
from stores.sql import migrate, people
from stores.sql.engine import Engine
from stores.sql.session import Session
from stores.sql.sqlite import SqliteEngine, unavailable

_WINDOW_MS: Final = 1_000
_CONNECT_SECONDS: Final = 10.0


@dataclass(frozen=True)
class Probe:
    """What a look found.

    Attributes:
        backend: `sqlite`, `postgresql` or `firestore`.
        version: Of the schema that is there; None where there is none yet.
        known: The version that this program brings it to.
        wrote: Whether something was written, read back and taken away again; None where that was
            not tried, for the schema is not this program's.
        clock_ms: The store's own time, in Unix milliseconds; None where it has no clock of its own.
    """

    backend: str
    version: str | None
    known: str
    wrote: bool | None
    clock_ms: int | None = None

    @property
    def current(self) -> bool:
        """Whether the schema needs no migration."""
        return self.version == self.known


async def probe(url: str, *, now_ms: int, busy_timeout_ms: int = 5_000) -> Probe:
    """Look at the store that a URL names.

    Args:
        url: As for `open_store`.
        now_ms: Unix milliseconds.
        busy_timeout_ms: How long to wait for somebody else's lock, in milliseconds.

    Raises:
        UnsupportedStoreUrl: The URL names no backend.
        StoreUnavailable: The store cannot be reached or opened, or what was written was not there.
        SchemaTooNew: A newer version of this program wrote it.
    """
    if str(url).startswith(_FIRESTORE):
        return await _look_at_firestore(*_namespace(url))
    if str(url).startswith(_POSTGRES):
        return await _look_at_postgres(_dsn(url), now_ms, busy_timeout_ms)
    return await _look_at_sqlite(_sqlite_path(url), now_ms, busy_timeout_ms)


class _Undone(Exception):
    """Ends a transaction so that nothing of it stays; it carries what was read in it."""

    def __init__(self, seen: Snapshot) -> None:
        super().__init__()
        self.seen = seen


async def _look_at_sqlite(path: Path | None, now_ms: int, busy_timeout_ms: int) -> Probe:
    version = None if path is None else _sqlite_version(path)
    wrote = None
    if migrate.is_current(version):
        wrote = await _writes(SqliteEngine(path, busy_timeout_ms=busy_timeout_ms), now_ms)
    return Probe("sqlite", version, migrate.HEAD, wrote)


def _sqlite_version(path: Path) -> str | None:
    if not path.exists():
        if path.parent.is_dir():
            return None
        raise StoreUnavailable(
            "The folder of the store's file does not exist.", reason="missing_folder"
        )
    failure: sqlite3.Error | None = None
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as driver:
            found = driver.execute(migrate.READ_VERSION).fetchone()
            return None if found is None else str(found[0])
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:  # no such table
            return None
        failure = error
    except sqlite3.Error as error:
        failure = error
    raise unavailable(failure)


async def _look_at_postgres(dsn: str, now_ms: int, busy_timeout_ms: int) -> Probe:
    engine = _postgres()(
        dsn, connections=1, busy_timeout_ms=busy_timeout_ms
    )  # says so where the driver is missing
    version, clock_ms = await _postgres_version(dsn)
    wrote = None
    if migrate.is_current(version):
        wrote = await _writes(engine, now_ms)
    return Probe("postgresql", version, migrate.HEAD, wrote, clock_ms)


async def _postgres_version(dsn: str) -> tuple[str | None, int]:
    asyncpg = import_module("asyncpg")  # an extra, as is what knows its errors
    failure: BaseException
    try:
        driver = await asyncpg.connect(dsn, timeout=_CONNECT_SECONDS)
        try:
            there = await driver.fetchval("SELECT to_regclass('store_schema') IS NOT NULL")
            version = await driver.fetchval(migrate.READ_VERSION) if there else None
            clock = await driver.fetchval("SELECT extract(epoch FROM clock_timestamp()) * 1000")
        finally:
            await driver.close()
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        failure = error
    else:
        return None if version is None else str(version), int(clock)
    raise import_module("stores.sql.postgres").unavailable(failure)


async def _look_at_firestore(project: str, namespace: str) -> Probe:
    module = import_module("stores.firestore.documents")
    documents = module.Documents(project, namespace)
    look: Callable[[str], Awaitable[tuple[int | None, int]]] = documents.look
    try:
        version, clock_ms = await look(secrets.token_hex(16))
        return Probe(
            "firestore",
            None if version is None else str(version),
            str(import_module("stores.firestore.client").SCHEMA),
            wrote=True,
            clock_ms=clock_ms,
        )
    finally:
        await documents.close()


async def _writes(engine: Engine, now_ms: int) -> bool:
    """Write the window of somebody who does not exist, read it, and roll it back.

    Raises:
        StoreUnavailable: It could not be written, or was not there when it was read.
    """
    nobody = Owner(tenant="local-agent doctor", person=secrets.token_hex(16))

    def work(session: Session) -> None:
        people.append(
            session,
            owner=nobody,
            event_id="probe",
            window="{}",
            expected_revision=0,
            expected_generation=0,
            expires_at_ms=now_ms + _WINDOW_MS,
        )
        raise _Undone(people.snapshot(session, owner=nobody, now_ms=now_ms))

    seen = None
    try:
        try:
            await engine.write(nobody, work)
        except _Undone as undone:
            seen = undone.seen
        after = await engine.read(nobody, partial(people.snapshot, owner=nobody, now_ms=now_ms))
    finally:
        await engine.close()
    if seen is None or seen.window != "{}":
        raise StoreUnavailable("What was written to the store was not there.", reason="lost")
    if after.generation:
        raise StoreUnavailable("What was rolled back is still there.", reason="failed")
    return True
