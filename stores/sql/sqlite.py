"""SQLite under the store: one connection that writes, one that reads, each on a thread of its own.

The URL names aiosqlite, as SQLAlchemy and ADK write it; the driver is the standard library's. A
transaction is one function on its connection's thread, so one of six statements costs one hop
between threads instead of a dozen, and a cancelled caller cannot leave it half open.
"""

from __future__ import annotations

import sqlite3
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Literal, TypeVar

from sqlalchemy import create_engine
from sqlalchemy.dialects import sqlite as sqlite_dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from stores.errors import StoreUnavailable
from stores.records import Owner, SurfaceCheck
from stores.sealing import KeyRing
from stores.sql import migrate
from stores.sql.leftovers import Leftovers
from stores.sql.session import Prepared, Row, Scalar, Session
from stores.sql.worker import Worker

T = TypeVar("T")
Synchronous = Literal["FULL", "NORMAL", "OFF"]

TRY_AGAIN_SECONDS: Final = 0.001
"""How long to wait between two tries for the write lock; a transaction takes a few times that."""

_DIALECT: Final = sqlite_dialect.dialect(paramstyle="qmark")
_REASONS: Final = {
    sqlite3.SQLITE_BUSY: ("locked", "The store is locked by another process; try again."),
    sqlite3.SQLITE_LOCKED: ("locked", "The store is locked by another process; try again."),
    sqlite3.SQLITE_READONLY: ("read_only", "The store's file cannot be written."),
    sqlite3.SQLITE_PERM: ("read_only", "The store's file cannot be written."),
    sqlite3.SQLITE_NOTADB: ("not_a_database", "The store's file is not a database."),
    sqlite3.SQLITE_CORRUPT: ("damaged", "The store's file is damaged."),
    sqlite3.SQLITE_CANTOPEN: ("cannot_open", "The store's file cannot be opened."),
    sqlite3.SQLITE_FULL: ("full", "The disk is full; nothing was written."),
    sqlite3.SQLITE_IOERR: ("disk", "The disk failed while the store was used."),
}
# After these the connection still works; after anything else it is opened anew.
_HARMLESS: Final = {"locked", "read_only", "full"}


def unavailable(error: BaseException | None) -> StoreUnavailable:
    """Say in one sentence what a driver's error means; its own text is not passed on."""
    code = getattr(error, "sqlite_errorcode", None) or 0
    reason, sentence = _REASONS.get(code & 0xFF, ("failed", StoreUnavailable.sentence))
    return StoreUnavailable(sentence, reason=reason, sqlite_code=code)


class SqliteSession:
    """A session on a connection of the driver, with statements compiled once."""

    def __init__(self, driver: sqlite3.Connection) -> None:
        """Begin with nothing erased."""
        self._driver = driver
        self.erased: list[bytes] = []

    def rows(self, statement: Prepared, **values: Scalar) -> list[Row]:
        """Run a statement and return all of its rows."""
        text, parameters = statement.positional(_DIALECT, values)
        return self._driver.execute(text, parameters).fetchall()

    def many(self, statement: Prepared, each: Sequence[Mapping[str, Scalar]]) -> list[Row]:
        """Run a statement once for each; the database is in this process."""
        return [row for values in each for row in self.rows(statement, **values)]


class _Connection:
    """A connection that opens when it is first needed. Used on its own thread only."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], *, lasting: bool) -> None:
        self._connect = connect
        self._lasting = lasting  # a database in memory is gone with its connection
        self._driver: sqlite3.Connection | None = None

    @property
    def driver(self) -> sqlite3.Connection:
        if self._driver is None:
            self._driver = self._connect()
        return self._driver

    def close(self) -> None:
        if self._driver is not None:
            self._driver.close()
            self._driver = None

    def use(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work``; a driver's error becomes ours, without the driver's as its cause."""
        try:
            return work(self.driver)
        except sqlite3.Error as error:
            failure = unavailable(error)
        except DBAPIError as error:  # out of a migration
            failure = unavailable(error.orig)
        if not self._lasting and failure.numbers["reason"] not in _HARMLESS:
            self.close()
        raise failure


class SqliteEngine:
    """Runs transactions on one file, which other processes may have open as well."""

    def __init__(
        self,
        path: Path | None,
        *,
        ring: KeyRing | None = None,
        synchronous: Synchronous = "FULL",
        busy_timeout_ms: int = 5_000,
    ) -> None:
        """Open nothing yet.

        Args:
            path: The file; None for a database in memory, gone when the store is closed.
            ring: For values that a migration seals.
            synchronous: SQLite's own durability: FULL loses nothing when power fails, OFF may.
            busy_timeout_ms: How long to wait for another process's lock, in milliseconds.
        """
        self._path = path
        self._ring = ring or KeyRing()
        self._busy_timeout_ms = busy_timeout_ms
        connect = partial(_connect, path, synchronous, busy_timeout_ms)
        self._writer = Worker("store-writer")
        self._writing = _Connection(connect, lasting=path is None)
        if path is None:
            self._reader, self._reading = self._writer, self._writing
        else:
            self._reader = Worker("store-reader")
            self._reading = _Connection(connect, lasting=path is None)
        self._ready = False
        # Values that were erased may still be in the WAL: after a crash, or beside a long reader.
        self._wal_pending = path is not None
        self._leftovers = None if path is None else Leftovers(path)
        self._found: list[bytes] = []  # sealed bytes that a search still found, for the next one
        self._end_writing = partial(_end, self._writing, self._leftovers)
        ends = (self._writer, self._end_writing, self._reader, self._reading.close)
        weakref.finalize(self, _abandon, *ends)

    async def start(self) -> None:
        """Open the file and migrate it if need be. Several processes may do so at once."""
        if not self._ready:
            await self._writer.run(partial(self._writing.use, self._prepare))
            self._ready = True

    async def read(self, owner: Owner | str, work: Callable[[Session], T]) -> T:
        """Run one reading statement on the reading connection."""
        if not self._ready:
            await self.start()
        return await self._reader.run(
            partial(self._reading.use, lambda driver: work(SqliteSession(driver)))
        )

    async def write(
        self, owner: Owner | str, work: Callable[[Session], T], *, chat: str | None = None
    ) -> T:
        """Run a transaction under SQLite's write lock, taken at its beginning."""
        if not self._ready:
            await self.start()
        return await self._writer.run(partial(self._writing.use, partial(self._transact, work)))

    async def erase(
        self,
        owner: Owner | str,
        work: Callable[[Session], T],
        *,
        always: bool = False,
        chat: str | None = None,
    ) -> tuple[T, tuple[SurfaceCheck, ...]]:
        """Run a transaction, empty the WAL, and search the files for what was erased."""
        if not self._ready:
            await self.start()
        return await self._writer.run(
            partial(self._writing.use, partial(self._erase, work, always))
        )

    async def close(self) -> None:
        """Close both connections after the work that is queued."""
        await self._writer.close(self._end_writing)
        await self._reader.close(self._reading.close)

    def _prepare(self, driver: sqlite3.Connection) -> None:
        if not migrate.is_current(_version(driver)):
            self._migrate(driver)
        self._empty_wal(driver, wait=False)

    def _migrate(self, driver: sqlite3.Connection) -> None:
        # The very same driver connection, as a database in memory has no other; it stays open.
        engine = create_engine(
            "sqlite://", creator=lambda: driver, poolclass=StaticPool, hide_parameters=True
        )
        # SQLAlchemy keeps the transaction and ends it; the driver begins it, with the lock.
        with engine.connect() as connection, connection.begin():
            driver.execute("BEGIN IMMEDIATE")
            # Whoever was faster has done it: the version is read again under the lock.
            if not migrate.is_current(_version(driver)):
                migrate.upgrade(connection, self._ring)

    def _transact(self, work: Callable[[Session], T], driver: sqlite3.Connection) -> T:
        result, erased = _in_transaction(work, driver, self._busy_timeout_ms)
        if erased or self._wal_pending:
            self._wal_pending = self._wal_pending or bool(erased)
            self._empty_wal(driver, wait=bool(erased))
        return result

    def _erase(
        self, work: Callable[[Session], T], always: bool, driver: sqlite3.Connection
    ) -> tuple[T, tuple[SurfaceCheck, ...]]:
        result, erased = _in_transaction(work, driver, self._busy_timeout_ms)
        if self._leftovers is None or not (erased or always):
            return result, ()
        self._wal_pending = True
        checks = [SurfaceCheck(surface="wal", remaining=self._empty_wal(driver, wait=True))]
        found = self._leftovers.of(self._found + erased)
        if found is not None:
            self._found = found
            checks.append(SurfaceCheck(surface="files", remaining=len(found)))
        return result, tuple(checks)

    def _empty_wal(self, driver: sqlite3.Connection, *, wait: bool) -> int:
        """Move the WAL into the database and cut it to zero bytes; return the frames left in it.

        A reader elsewhere can hold it up. Then the next write tries again, without waiting.
        """
        if self._path is None or not self._wal_pending:
            return 0
        if not wait:
            driver.execute("PRAGMA busy_timeout = 0")
        try:
            busy, frames, _ = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.OperationalError:  # committed already: not emptied yet is no failure of that
            busy, frames = 1, 1
        finally:
            driver.execute(f"PRAGMA busy_timeout = {self._busy_timeout_ms}")
        self._wal_pending = bool(busy)
        return max(frames, 1) if busy else 0


def _in_transaction(
    work: Callable[[Session], T], driver: sqlite3.Connection, wait_ms: int
) -> tuple[T, list[bytes]]:
    session = SqliteSession(driver)
    _begin(driver, wait_ms)
    try:
        result = work(session)
        driver.execute("COMMIT")
    except BaseException:  # whatever it was: nothing of it stays, and the caller hears of it
        _roll_back(driver)
        raise
    return result, session.erased


def _begin(driver: sqlite3.Connection, wait_ms: int) -> None:
    """Take the write lock, waiting for another process no longer than allowed.

    IMMEDIATE: a transaction that reads first and then upgrades its lock fails at once, whatever the
    timeout, if another process wrote in between. SQLite's own waiting sleeps up to a tenth of a
    second between two tries, so beside a process that writes all the time it comes too late again
    and again (benchmarks/RESULTS.md).
    """
    deadline = time.monotonic() + wait_ms / 1000
    driver.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            try:
                driver.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
                if time.monotonic() > deadline:
                    raise
            else:
                return
            time.sleep(TRY_AGAIN_SECONDS)
    finally:
        driver.execute(f"PRAGMA busy_timeout = {wait_ms}")


def _roll_back(driver: sqlite3.Connection) -> None:
    if driver.in_transaction:  # some errors, a full disk for one, have rolled back already
        driver.execute("ROLLBACK")


def _version(driver: sqlite3.Connection) -> str | None:
    try:
        found = driver.execute(migrate.READ_VERSION).fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
            raise
        return None  # no such table
    return None if found is None else str(found[0])


def _connect(
    path: Path | None, synchronous: Synchronous, busy_timeout_ms: int
) -> sqlite3.Connection:
    if path is not None and not path.parent.is_dir():
        raise StoreUnavailable(
            "The folder of the store's file does not exist.", reason="missing_folder"
        )
    driver = sqlite3.connect(
        ":memory:" if path is None else path,
        timeout=busy_timeout_ms / 1000,
        isolation_level=None,
        cached_statements=128,
    )
    try:
        driver.execute("PRAGMA secure_delete = ON")
        driver.execute("PRAGMA foreign_keys = ON")
        driver.execute("PRAGMA temp_store = MEMORY")
        driver.execute(f"PRAGMA synchronous = {synchronous}")
        if path is not None:
            _use_wal(driver, time.monotonic() + busy_timeout_ms / 1000)
    except BaseException:  # whatever it was: the driver is closed
        driver.close()
        raise
    return driver


def _use_wal(driver: sqlite3.Connection, deadline: float) -> None:
    """Switch to WAL. Two first starts at once collide here, and SQLite does not wait by itself."""
    while driver.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            driver.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _end(writing: _Connection, leftovers: Leftovers | None) -> None:
    if leftovers is not None:
        leftovers.close()
    writing.close()


def _abandon(
    writer: Worker, end_writing: Callable[[], None], reader: Worker, end_reading: Callable[[], None]
) -> None:
    """Close what a store that was never closed leaves behind; does nothing after ``close``."""
    writer.stop(end_writing)
    reader.stop(end_reading)
