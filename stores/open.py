"""Open a store from its URL."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from stores import checks
from stores.errors import InvalidInput, UnsupportedStoreUrl
from stores.sql.sqlite import SqliteEngine, Synchronous
from stores.sql.store import SqlStore

_SQLITE: Final = "sqlite+aiosqlite:"
_MODES: Final = ("FULL", "NORMAL", "OFF")


def open_store(
    url: str,
    *,
    signing_keys: Sequence[bytes] = (),
    synchronous: Synchronous = "FULL",
    busy_timeout_ms: int = 5_000,
) -> SqlStore:
    """Return a store; nothing is opened before its first use, ``start()`` or ``async with``.

    Args:
        url: ``sqlite+aiosqlite:///relative.db``, ``sqlite+aiosqlite:////absolute/file.db``, or
            ``sqlite+aiosqlite://`` for a database in memory.
        signing_keys: Keys of consent cards, newest first. Without any, reading, writing windows
            and forgetting work, and cards are refused.
        synchronous: SQLite's durability. OFF is for tests and measurements.
        busy_timeout_ms: How long to wait for another process's lock, in milliseconds.

    Raises:
        UnsupportedStoreUrl: If the URL names no backend of this package.
        InvalidInput: If another argument is not what it should be.
    """
    if synchronous not in _MODES:
        raise InvalidInput(field="synchronous")
    checks.whole(busy_timeout_ms, "busy_timeout_ms")
    engine = SqliteEngine(
        _sqlite_path(url), synchronous=synchronous, busy_timeout_ms=busy_timeout_ms
    )
    return SqlStore(engine, signing_keys=signing_keys)


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
