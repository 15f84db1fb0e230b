"""Files as evidence: searched for a value, copied, and listed with their hashes."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

MANIFEST = "MANIFEST.sha256.json"


def files_with(wanted: Sequence[bytes], folder: Path) -> tuple[str, ...]:
    """Return the names of the files below a folder whose bytes hold one of those wanted.

    Every file is read whole: a database's WAL, shared memory and journal, and logs, are files too.
    """
    return tuple(
        path.relative_to(folder).as_posix()
        for path in _files(folder)
        if _holds(path.read_bytes(), wanted)
    )


def forms_of(value: str, database: Path) -> tuple[bytes, ...]:
    """Return the bytes to look for: the value itself, and what the store sealed it and its key as.

    Args:
        value: In the clear; it should be in no file at any time.
        database: A copy from when it was remembered.
    """
    with closing(sqlite3.connect(database)) as copy:
        sealed = copy.execute("SELECT body FROM store_vault WHERE vacant = 0").fetchall()
    return (value.encode(), *(bytes(body) for (body,) in sealed))


def _holds(content: bytes, wanted: Sequence[bytes]) -> bool:
    return any(one in content for one in wanted)


def copy_database(source: Path, target: Path) -> None:
    """Copy an open SQLite database by SQLite's own backup: one consistent state, WAL included."""
    target.parent.mkdir(parents=True, exist_ok=True)
    address = f"{source.absolute().as_uri()}?mode=ro"
    with (
        closing(sqlite3.connect(address, uri=True)) as live,
        closing(sqlite3.connect(target)) as copy,
    ):
        live.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # a copy of one file, without side files


def write_json(path: Path, content: Any) -> None:
    """Write readable UTF-8 JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def write_manifest(folder: Path) -> int:
    """List every file of the folder with size and SHA-256, and return how many there are."""
    files = {
        path.relative_to(folder).as_posix(): {
            "bytes": path.stat().st_size,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        for path in _files(folder)
        if path != folder / MANIFEST
    }
    write_json(folder / MANIFEST, {"algorithm": "sha256", "files": files})
    return len(files)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())
