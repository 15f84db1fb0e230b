"""Open a store from its URL."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from stores import checks
from stores.errors import InvalidInput, StoreUnavailable, UnsupportedStoreUrl
from stores.sealing import KeyRing
from stores.sql.engine import Engine
from stores.sql.sqlite import SqliteEngine, Synchronous
from stores.sql.store import SqlStore
from stores.store_base import POLICY_VERSION
from stores.whole import WholeStore

if TYPE_CHECKING:
    from stores.sql.postgres import PostgresEngine

_SQLITE: Final = "sqlite+aiosqlite:"
_POSTGRES: Final = "postgresql+asyncpg:"
_FIRESTORE: Final = "firestore:"
_FIRESTORE_URL: Final = re.compile(
    r"firestore://([a-z0-9.:-]{1,64})/([A-Za-z0-9_-]{1,128})", re.ASCII
)
_MODES: Final = ("FULL", "NORMAL", "OFF")


def open_store(
    url: str,
    *,
    signing_keys: Sequence[bytes] = (),
    store_keys: Sequence[bytes] = (),
    policy_version: str = POLICY_VERSION,
    synchronous: Synchronous = "FULL",
    busy_timeout_ms: int = 5_000,
    connections: int = 10,
) -> WholeStore:
    """Return a store; nothing is opened before its first use, ``start()`` or ``async with``.

    Args:
        url: ``sqlite+aiosqlite:///relative.db``, ``sqlite+aiosqlite:////absolute/file.db``, or
            ``sqlite+aiosqlite://`` for a database in memory; or
            ``postgresql+asyncpg://user:password@host:port/database`` (needs the extra
            ``postgres``), with libpq's options behind a question mark; or
            ``firestore://project/namespace`` (needs the extra ``firestore``), with Google's
            application default credentials, or ``FIRESTORE_EMULATOR_HOST``.
        signing_keys: Keys of consent cards, newest first. Without any, reading, writing windows
            and forgetting work, and cards are refused.
        store_keys: Keys that wrap the data keys of people, newest first, each of at least 32 bytes;
            keep old ones until ``rotate_keys`` has run. Without any, everything works but
            remembering and reading values.
        policy_version: Which privacy policy people agree to, for their ledger.
        synchronous: SQLite's durability; a server keeps its own but for OFF, which waits for no
            disk. OFF is for tests and measurements.
        busy_timeout_ms: How long to wait for another process's lock, in milliseconds.
        connections: The most connections to a server at a time.

    Raises:
        UnsupportedStoreUrl: If the URL names no backend of this package.
        InvalidInput: If another argument is not what it should be.
    """
    if synchronous not in _MODES:
        raise InvalidInput(field="synchronous")
    checks.whole(busy_timeout_ms, "busy_timeout_ms")
    checks.whole(connections, "connections", 1)
    ring = KeyRing(store_keys)
    if str(url).startswith(_FIRESTORE):
        return _firestore()(
            *_namespace(url), signing_keys=signing_keys, ring=ring, policy_version=policy_version
        )
    engine: Engine
    if str(url).startswith(_POSTGRES):
        engine = _postgres()(
            _dsn(url),
            ring=ring,
            synchronous=synchronous != "OFF",
            busy_timeout_ms=busy_timeout_ms,
            connections=connections,
        )
    else:
        engine = SqliteEngine(
            _sqlite_path(url), ring=ring, synchronous=synchronous, busy_timeout_ms=busy_timeout_ms
        )
    return SqlStore(engine, signing_keys=signing_keys, ring=ring, policy_version=policy_version)


def must_exist(url: str) -> None:
    """Refuse a file that is not there: for those who look after a store and must not make one.

    A server is not asked; what it lacks is said at the first use.

    Raises:
        UnsupportedStoreUrl: If the URL names no backend of this package.
        StoreUnavailable: If it names a file, and there is none.
    """
    if url.startswith((_POSTGRES, _FIRESTORE)):
        return
    path = _sqlite_path(url)
    if path is not None and not path.exists():
        raise StoreUnavailable(
            "There is no store: the file that the database's URL names does not exist.",
            reason="missing_file",
        )


def _postgres() -> type[PostgresEngine]:
    """Return the engine; its driver is an extra, which nobody with SQLite needs."""
    try:
        module = import_module("stores.sql.postgres")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("asyncpg", "greenlet"):
            raise
    else:
        engine: type[PostgresEngine] = module.PostgresEngine
        return engine
    raise StoreUnavailable(
        "A store on PostgreSQL needs the extra postgres: pip install '.[postgres]' in its folder.",
        reason="driver_missing",
    )


def _firestore() -> Callable[..., WholeStore]:
    """Return the store's maker; its client is an extra, too."""
    try:
        module = import_module("stores.firestore.store")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("google", "grpc"):
            raise
    else:
        make: Callable[..., WholeStore] = module.firestore_store
        return make
    raise StoreUnavailable(
        "A store on Firestore needs the extra firestore: pip install '.[firestore]' in its folder.",
        reason="driver_missing",
    )


def _namespace(url: str) -> tuple[str, str]:
    """Return the project and the namespace of a URL."""
    found = _FIRESTORE_URL.fullmatch(url)
    if found is None:
        raise UnsupportedStoreUrl
    return found[1], found[2]


def _dsn(url: str) -> str:
    """Return the URL as libpq reads it."""
    rest = url.removeprefix(_POSTGRES)
    try:
        _ = make_url(url).port
    except (ArgumentError, ValueError):
        rest = ""
    if not rest.startswith("//") or rest == "//" or "\x00" in rest:
        raise UnsupportedStoreUrl
    return f"postgresql:{rest}"


def _sqlite_path(url: object) -> Path | None:
    """Return the file a URL names, as SQLAlchemy reads it: three slashes, then the path."""
    if not isinstance(url, str) or not url.startswith(_SQLITE) or "?" in url or "\x00" in url:
        raise UnsupportedStoreUrl
    rest = url.removeprefix(_SQLITE)
    if rest in ("//", "///", "///:memory:"):
        return None
    if not rest.startswith("///"):
        raise UnsupportedStoreUrl
    return Path(unquote(rest.removeprefix("///")))
