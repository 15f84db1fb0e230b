"""PostgreSQL under the store: asyncpg, with the statements compiled once.

A transaction is the same function as on SQLite, run in a greenlet that waits for the driver, as
SQLAlchemy's own bridge does it. It begins with one message that opens it, says whose it is (for
row-level security) and locks that person, by a number and by their row; under READ COMMITTED each
statement after that reads what is committed, so it may build on it. The number is what holds where
there is no row yet: of three who are first at once, the second would find the row of the first,
unlocked, while the third changes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import asyncpg
from sqlalchemy.dialects.postgresql.asyncpg import dialect as make_dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool
from sqlalchemy.util.concurrency import await_only, greenlet_spawn

from stores.errors import StoreUnavailable
from stores.records import Owner, SurfaceCheck
from stores.sealing import KeyRing
from stores.sql import migrate, vault
from stores.sql.pool import Pool
from stores.sql.session import Prepared, Row, Scalar, Session

if TYPE_CHECKING:
    from sqlalchemy import Connection as SyncConnection

T = TypeVar("T")
Connection: TypeAlias = "asyncpg.Connection[Any]"

TRIES: Final = 6
"""How often a transaction is run where the server asks for that, or hangs up too early."""

PAUSE_SECONDS: Final = 0.01
"""Wait before the second try; it grows with each further one."""

CONNECT_SECONDS: Final = 10.0
"""The longest wait for a connection to be made."""

MIGRATION_LOCK: Final = 0x73746F726573
"""Number of the advisory lock under which one of many machines migrates; it reads "stores"."""

MIGRATION_SECONDS: Final = 60
"""The longest wait for another machine's migration."""

_DIALECT: Final = make_dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy left it bare
_HAS_VERSION: Final = "SELECT to_regclass('store_schema')::text"
# InternalClientError, the driver's own confusion, is what a connection being cut can look like.
_CUT: Final = (OSError, asyncpg.InterfaceError, asyncpg.InternalClientError)
_FAILURES: Final = (asyncpg.PostgresError, *_CUT)
_AGAIN: Final = {"40001", "40P01", "23505"}
_LOST: Final = ("lost", "The connection to the store was lost.")
_REASONS: Final = {
    "55P03": ("locked", "The store is locked by somebody else; try again."),
    "57014": ("busy", "The store took too long; try again."),
    "40001": ("busy", "Too many changes met at once; try again."),
    "40P01": ("busy", "Too many changes met at once; try again."),
    "23505": ("busy", "Too many changes met at once; try again."),
    "25006": ("read_only", "The store cannot be written."),
    "42501": ("not_allowed", "The store's role may not do this; see who owns the tables."),
    "3D000": ("cannot_open", "The store's database does not exist."),
    "53100": ("full", "The disk is full; nothing was written."),
    "XX001": ("damaged", "The store's data are damaged."),
    "XX002": ("damaged", "The store's data are damaged."),
}
_CLASSES: Final = {
    "08": _LOST,
    "28": ("not_admitted", "The store does not admit this user."),
    "53": ("busy", "The store has no room for another connection; try again."),
    "57": _LOST,
    "58": ("disk", "The disk failed while the store was used."),
}
_BEGIN: Final = (
    "BEGIN; SELECT set_config('stores.tenant', {tenant}, true), "
    "set_config('stores.person', {person}, true), "
    "set_config('stores.owner_tag', '{tag}', true)"
)
_LOCK_NUMBER: Final = "; SELECT pg_advisory_xact_lock({number})"
_LOCK: Final = "; SELECT FROM {table} WHERE tenant = {tenant} AND {column} = {name} FOR UPDATE"
# Whose it is must be said before a row is looked at. The inner query needs a column of the outer
# one and is not merged with it (OFFSET 0), so it cannot run before the settings are made.
_READ: Final = (
    "WITH me AS MATERIALIZED (SELECT set_config('stores.tenant', ${0}, true) AS tenant, "
    "set_config('stores.person', ${1}, true) AS person, "
    "set_config('stores.owner_tag', ${2}, true) AS tag) "
    "SELECT found.* FROM me CROSS JOIN LATERAL (SELECT * FROM ({text}) AS asked "
    "WHERE me.tenant IS NOT NULL OFFSET 0) AS found"
)


def unavailable(error: BaseException | None) -> StoreUnavailable:
    """Say in one sentence what a driver's error means; its own text is not passed on."""
    state = getattr(error, "sqlstate", None) or ""
    if not state and isinstance(error, OSError | TimeoutError):
        reason, sentence = "unreachable", "The store's server cannot be reached."
    elif not state and isinstance(error, _CUT):
        reason, sentence = _LOST
    else:
        other = _CLASSES.get(state[:2], ("failed", StoreUnavailable.sentence))
        reason, sentence = _REASONS.get(state, other)
    return StoreUnavailable(sentence, reason=reason, sqlstate=state or "none")


class PostgresSession:
    """A session inside a transaction on a connection of the driver."""

    def __init__(self, driver: Connection) -> None:
        """Begin with nothing erased."""
        self._driver = driver
        self.erased: list[bytes] = []

    def rows(self, statement: Prepared, **values: Scalar) -> list[Row]:
        """Run a statement and return all of its rows."""
        text, parameters = statement.positional(_DIALECT, values)
        found: list[Row] = await_only(self._driver.fetch(text, *parameters))
        return found

    def many(self, statement: Prepared, each: Sequence[Mapping[str, Scalar]]) -> list[Row]:
        """Run a statement once for each, in one round trip, and return the rows of all."""
        told = [statement.positional(_DIALECT, values) for values in each]
        if not told:
            return []
        text, rows = told[0][0], [parameters for _, parameters in told]
        found: list[Row] = await_only(self._driver.fetchmany(text, rows))
        return found


class PostgresReader:
    """A session for one reading statement, which says in the same message whose it is."""

    def __init__(self, driver: Connection, owner: Owner | str, texts: dict[str, str]) -> None:
        """Read as the person, or as nobody in a tenant."""
        self._driver = driver
        tenant, person = (owner, "") if isinstance(owner, str) else (owner.tenant, owner.person)
        self._settings = _settings(tenant, person)
        self._texts = texts
        self.erased: list[bytes] = []

    def rows(self, statement: Prepared, **values: Scalar) -> list[Row]:
        """Run the statement and return all of its rows."""
        text, parameters = statement.positional(_DIALECT, values)
        whole = self._texts.get(text)
        if whole is None:
            next_ = len(parameters) + 1
            whole = self._texts[text] = _READ.format(next_, next_ + 1, next_ + 2, text=text)
        found: list[Row] = await_only(self._driver.fetch(whole, *parameters, *self._settings))
        return found

    def many(self, statement: Prepared, each: Sequence[Mapping[str, Scalar]]) -> list[Row]:
        """Run the statement once for each."""
        return [row for values in each for row in self.rows(statement, **values)]


class PostgresEngine:
    """Runs transactions on a server, which any number of machines may use as well."""

    def __init__(
        self,
        dsn: str,
        *,
        ring: KeyRing | None = None,
        synchronous: bool = True,
        busy_timeout_ms: int = 5_000,
        connections: int = 10,
    ) -> None:
        """Open nothing yet.

        Args:
            dsn: ``postgresql://...`` as libpq reads it.
            ring: For values that a migration seals.
            synchronous: Whether a commit waits for the disk; False may lose the last moments.
            busy_timeout_ms: How long to wait for somebody else's lock, in milliseconds.
            connections: The most at a time.
        """
        self._dsn = dsn
        self._ring = ring or KeyRing()
        self._server_settings = {
            "application_name": "local-agent",
            "jit": "off",  # costs more than it saves on queries of a few rows
            # A plan made while a table was empty reads all of it, and is kept when it has grown.
            "enable_seqscan": "off",
            "lock_timeout": f"{max(busy_timeout_ms, 1)}ms",  # 0 would wait for ever
        }
        if not synchronous:
            self._server_settings["synchronous_commit"] = "off"
        self._size = connections
        self._pool: Pool | None = None
        self._ready = False
        self._closed = False
        self._texts: dict[str, str] = {}

    async def start(self) -> None:
        """Connect and migrate if need be. Many machines may do so at once."""
        pool = self._pool_here()
        async with pool.starting:
            if self._ready:
                return
            version = await self._use(self._version)
            if not migrate.is_current(version):
                await self._migrate()
            self._ready = True

    async def read(self, owner: Owner | str, work: Callable[[Session], T]) -> T:
        """Run one reading statement, in one round trip."""
        if not self._ready:
            await self.start()

        async def ask(driver: Connection) -> T:
            return await greenlet_spawn(work, PostgresReader(driver, owner, self._texts))

        return await self._use(ask)

    async def write(
        self, owner: Owner | str, work: Callable[[Session], T], *, chat: str | None = None
    ) -> T:
        """Run a transaction under the locks of the person's row and the chat's."""
        if not self._ready:
            await self.start()
        tenant, person = (owner, "") if isinstance(owner, str) else (owner.tenant, owner.person)
        begin = _begin(tenant, person, chat)

        async def transact(driver: Connection) -> T:
            await driver.execute(begin)
            try:
                result = await greenlet_spawn(work, PostgresSession(driver))
            except Exception:  # whatever it was: nothing of it stays, and the caller hears of it
                if not driver.is_closed():
                    await driver.execute("ROLLBACK")
                raise
            try:
                await driver.execute("COMMIT")
            except (*_CUT, asyncpg.PostgresConnectionError, asyncpg.AdminShutdownError):
                raise _CommitLost from None
            return result

        return await self._use(transact)

    async def erase(
        self,
        owner: Owner | str,
        work: Callable[[Session], T],
        *,
        always: bool = False,
        chat: str | None = None,
    ) -> tuple[T, tuple[SurfaceCheck, ...]]:
        """Run a transaction; a server's files are out of reach, so nothing is claimed of them.

        What they still hold, its log and its dead rows, is sealed under a data key that is gone.
        """
        return await self.write(owner, work, chat=chat), ()

    async def close(self) -> None:
        """Close every connection."""
        self._closed = True
        pool, self._pool = self._pool, None
        if pool is not None and pool.loop is asyncio.get_running_loop():
            await pool.close()
        elif pool is not None:
            pool.cut()

    def _pool_here(self) -> Pool:
        """Return the pool, which belongs to the event loop that the store was first used in."""
        if self._closed:
            raise StoreUnavailable("The store was closed.", reason="closed")
        if self._pool is None:
            self._pool = Pool(self._connect, self._size)
        elif self._pool.loop is not asyncio.get_running_loop():
            raise StoreUnavailable(
                "The store is in use in another event loop; open one for each.",
                reason="other_loop",
            )
        return self._pool

    async def _connect(self) -> Connection:
        driver: Connection = await asyncpg.connect(
            self._dsn, timeout=CONNECT_SECONDS, server_settings=self._server_settings
        )
        return driver

    async def _use(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run ``work`` on a connection; again if the server asks for it or hung up too early.

        A commit that got no answer may have been made, so it is not run again.
        """
        pool = self._pool_here()
        failure: StoreUnavailable | None = None
        for number in range(TRIES):
            if number:
                await asyncio.sleep(PAUSE_SECONDS * number)
            try:
                driver = await pool.take()
            except _FAILURES as error:
                failure = unavailable(error)
                break
            usable = again = False
            try:
                result = await work(driver)
                usable = True
                return result
            except _CommitLost:
                failure = StoreUnavailable(_LOST[1], reason=_LOST[0])
            except _FAILURES as error:
                failure, again = unavailable(error), _may_run_again(driver, error)
                usable = _at_rest(driver) and not isinstance(error, _CUT)
            except Exception:  # ours, or a fault of the transaction's: it was rolled back
                usable = _at_rest(driver)
                raise
            finally:
                pool.give(driver, usable=usable)
            if not again:
                break
        raise failure or StoreUnavailable()

    async def _version(self, driver: Connection) -> str | None:
        if await driver.fetchval(_HAS_VERSION) is None:
            return None
        found = await driver.fetchval(migrate.READ_VERSION)
        return None if found is None else str(found)

    async def _migrate(self) -> None:
        engine = create_async_engine(
            "postgresql+asyncpg://",
            async_creator=self._connect,
            poolclass=NullPool,
            hide_parameters=True,
        )
        failure: StoreUnavailable | None = None
        try:
            async with engine.begin() as connection:
                await connection.run_sync(self._migrate_under_lock)
        except DBAPIError as error:
            failure = unavailable(error.orig)
        except _FAILURES as error:
            failure = unavailable(error)
        finally:
            await engine.dispose()
        if failure is not None:
            raise failure

    def _migrate_under_lock(self, connection: SyncConnection) -> None:
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{MIGRATION_SECONDS}s'")
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")
        # Whoever was faster has done it: the version is read again under the lock.
        version = None
        if connection.exec_driver_sql(_HAS_VERSION).scalar() is not None:
            version = connection.exec_driver_sql(migrate.READ_VERSION).scalar()
        if not migrate.is_current(version):
            migrate.upgrade(connection, self._ring)


class _CommitLost(Exception):
    """The connection was lost while the answer to a commit was waited for."""


def _may_run_again(driver: Connection, error: BaseException) -> bool:
    state = getattr(error, "sqlstate", None) or ""
    cut = isinstance(error, asyncpg.InternalClientError) or driver.is_closed()
    return cut or state in _AGAIN or state.startswith(("08", "57P"))


def _at_rest(driver: Connection) -> bool:
    return not driver.is_closed() and not driver.is_in_transaction()


@lru_cache(maxsize=4096)
def _settings(tenant: str, person: str) -> tuple[str, str, str]:
    """Return the three settings that say whose a transaction is; nobody's for a blank person."""
    tag = vault.tag_of(Owner(tenant=tenant, person=person)).hex() if person else ""
    return tenant, person, tag


@lru_cache(maxsize=4096)
def _begin(tenant: str, person: str, chat: str | None = None) -> str:
    """Return the first message of a transaction: whose it is, and the locks of its rows."""
    tag, town = _settings(tenant, person)[2], _literal(tenant)
    begin = _BEGIN.format(tenant=town, person=_literal(person), tag=tag)
    if person:
        number = int.from_bytes(bytes.fromhex(tag)[:8], "big", signed=True)
        begin += _LOCK_NUMBER.format(number=number)
    locks = [("store_people", "person", person)] if person else []
    locks += [("store_chats", "chat", chat)] if chat is not None else []
    return begin + "".join(
        _LOCK.format(table=table, tenant=town, column=column, name=_literal(name))
        for table, column, name in locks
    )


def _literal(text: str) -> str:
    """Return SQL for a text, as digits: nothing in it can end the literal.

    What ``convert_from`` returns has the collation of a name; with it no index of a column fits,
    and finding one person would mean reading everybody.
    """
    return f"convert_from(decode('{text.encode().hex()}', 'hex'), 'UTF8') COLLATE \"default\""
