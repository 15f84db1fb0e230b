"""Erased bytes that are still in a file of SQLite: in a page, a free one too, or in the WAL."""

from __future__ import annotations

import sqlite3
from functools import cache
from pathlib import Path
from typing import Final

SEARCHED_BYTES: Final = 2 * 1024 * 1024
"""Files up to this size together are searched for erased bytes after a forget (0.5 ms); larger
ones are not, so that forgetting costs the same however many people there are."""

_BESIDE: Final = ("-wal", "-journal")


class Leftovers:
    """Looks for bytes in a database's files. Used on one thread only, that of the writer."""

    def __init__(self, path: Path) -> None:
        """Open nothing yet."""
        self._path = path = path.resolve()  # beside what a link names lies nothing
        self._beside = [Path(f"{path}{suffix}") for suffix in _BESIDE]
        self._uri = f"{path.as_uri()}?mode=ro&immutable=1"
        self._look: sqlite3.Connection | None = None
        self._looked_at = 0

    def of(self, erased: list[bytes]) -> list[bytes] | None:
        """Return those that are still in a file; None if that was not looked for."""
        try:
            size = self._path.stat().st_size
            beside = [file for file in self._beside if _size(file)]
            if size + sum(map(_size, beside)) > SEARCHED_BYTES:
                return None
            contents = [file.read_bytes() for file in beside]
            contents.append(self._pages(size))
        except (OSError, sqlite3.Error, AttributeError):
            # Gone, not readable, or a SQLite without serialize: what was committed stands, nothing
            # is claimed.
            self.close()
            return None
        return [body for body in erased if any(body in content for content in contents)]

    def close(self) -> None:
        """Let go of the file; the next search opens it again."""
        if self._look is not None:
            self._look.close()
            self._look = None

    def _pages(self, size: int) -> bytes:
        """Return the database file's own bytes, free pages too, without what is in the WAL.

        SQLite has to open it: POSIX drops every lock that a process has on a file as soon as it
        closes any descriptor of it, so reading the file here would leave the connections of this
        process without theirs, and the next process to close the file would delete the WAL under
        them (https://sqlite.org/howtocorrupt.html, 2.2). SQLite itself keeps such descriptors until
        then.

        It stays open, as reading the schema costs more than reading the pages of a small file. To
        SQLite an immutable file never changes, so that it is opened anew when it has grown, and
        made to forget the pages it read before.
        """
        _keep_memory()
        if size != self._looked_at:
            self.close()
        if self._look is None:
            self._look = sqlite3.connect(self._uri, uri=True, isolation_level=None)
            self._look.execute("PRAGMA cache_size = 1")
            self._looked_at = size
        self._look.execute("PRAGMA shrink_memory")
        return self._look.serialize()


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:  # as is the rule
        return 0


@cache
def _keep_memory() -> None:
    """Let the C library keep the memory of one search for the next.

    Reading 2 MB takes 0.3 ms; that the kernel hands out and clears their memory anew each time
    takes another 2.5 ms. glibc raises its thresholds to the largest block that was given back and
    to twice that (mallopt(3), M_MMAP_THRESHOLD): one is given back here, unused. Other C libraries
    do as they did.
    """
    bytes(2 * SEARCHED_BYTES)
