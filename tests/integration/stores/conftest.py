"""What the tests on real files share."""

import sqlite3
from pathlib import Path

import pytest

from stores.open import open_store

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
