"""Where counts are kept between processes: a tiny port and two backends."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from callbacks.context.errors import CounterFailed


class CountCache(Protocol):
    """Keeps small values under opaque keys. Neither holds any content of a request."""

    def get(self, key: str) -> bytes | None:
        """Return what was put under the key, or None."""

    def put(self, key: str, value: bytes) -> None:
        """Keep a value under the key, in place of an earlier one."""


class MemoryCountCache:
    """Keeps counts for as long as the process lives."""

    def __init__(self) -> None:
        """Start empty."""
        self._values: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        """Return what was put under the key, or None."""
        return self._values.get(key)

    def put(self, key: str, value: bytes) -> None:
        """Keep a value under the key."""
        self._values[key] = value


class SqliteCountCache:
    """Keeps counts in one SQLite file that several processes may share.

    A connection is opened for each operation: the cache is read once per envelope and process, so
    that costs nothing that matters, and no connection crosses threads or forks.
    """

    def __init__(self, path: str | Path, *, busy_timeout_s: float = 2.0) -> None:
        """Use the file at ``path``; it is made when something is first put there.

        Args:
            path: The file. Its folder must exist.
            busy_timeout_s: How long to wait for another process's write, in seconds.
        """
        self._path = Path(path)
        self._timeout = busy_timeout_s

    def get(self, key: str) -> bytes | None:
        """Return what was put under the key, or None.

        Raises:
            CounterFailed: The file cannot be read.
        """
        if not self._path.exists():
            return None
        with self._open() as connection:
            row = connection.execute("SELECT value FROM counts WHERE key = ?", (key,)).fetchone()
        return bytes(row[0]) if row is not None else None

    def put(self, key: str, value: bytes) -> None:
        """Keep a value under the key.

        Raises:
            CounterFailed: The file cannot be written.
        """
        with self._open() as connection, connection:
            connection.execute(
                "INSERT INTO counts (key, value) VALUES (?, ?) "
                "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                (key, value),
            )

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        failed = False
        try:
            with contextlib.closing(sqlite3.connect(self._path, timeout=self._timeout)) as opened:
                opened.execute(
                    "CREATE TABLE IF NOT EXISTS counts (key TEXT PRIMARY KEY, value BLOB NOT NULL)"
                )
                yield opened
        except sqlite3.Error:
            failed = True
        if failed:
            # Outside the handler: the driver's message may name the file.
            raise CounterFailed(numbers={"cause": "count_cache"})
