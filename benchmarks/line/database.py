"""A PostgreSQL of the benchmark's own, as durable as a new one is: started and ended here."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.line.processes import free_port

OWNER = "owner"


def programs() -> Path | None:
    """Return the folder of initdb; None where PostgreSQL is not installed."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return places[-1].parent if places else None


@contextmanager
def postgres() -> Iterator[str | None]:
    """Start a server on loopback, with its defaults, and give its URL; None where there is none."""
    where = programs()
    if where is None:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # short: a socket's path has 107 characters
    data, port = folder / "data", free_port()
    # It refuses to run as root; then its files belong to the user that the package made.
    user = "postgres" if os.geteuid() == 0 else None
    data.mkdir()
    if user:
        folder.chmod(0o711)
        for path in (folder, data):
            shutil.chown(path, "postgres")
    try:
        _run(user, where / "initdb", "-D", data, "-U", OWNER, "--auth=trust", "-E", "UTF8",
             "--locale=C.UTF-8")  # fmt: skip
        _run(user, where / "pg_ctl", "-D", data, "-l", folder / "log", "-w", "-o",
             f"-p {port} -h 127.0.0.1 -k {folder}", "start")  # fmt: skip
        try:
            yield f"postgresql+asyncpg://{OWNER}@127.0.0.1:{port}/postgres"
        finally:
            _stop(data)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(user: str | None, program: Path, *arguments: object) -> None:
    subprocess.run(  # noqa: S603 - PostgreSQL's own programs
        [str(program), *(str(argument) for argument in arguments)],
        check=True,
        user=user,
        group=user,
        extra_groups=None if user is None else [],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
    )


def _stop(data: Path) -> None:
    """End the server by its process number."""
    note = data / "postmaster.pid"
    pid = int(note.read_text(encoding="ascii").split("\n", 1)[0])
    os.kill(pid, signal.SIGINT)
    for _ in range(1_500):
        if not note.exists():
            return
        time.sleep(0.02)


async def emptied(url: str, name: str) -> str:
    """Make an empty database beside the one that a URL names, and return its URL."""
    await dropped(url, name)
    await _ask(url, f'CREATE DATABASE "{name}"')
    return url.rpartition("/")[0] + f"/{name}"


async def dropped(url: str, name: str) -> None:
    """Remove a database beside the one that a URL names, whoever is in it."""
    await _ask(url, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


async def _ask(url: str, statement: str) -> None:
    import asyncpg  # noqa: PLC0415 - an extra

    dsn = url.replace("postgresql+asyncpg:", "postgresql:")
    connection = await asyncio.wait_for(asyncpg.connect(dsn), 30)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
