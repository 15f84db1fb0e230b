"""A real PostgreSQL for tests: started by them, on loopback and a free port, ended by its number.

Where Debian's ``postgresql`` is not installed, tests that need it are skipped by that name.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import asyncpg
import pytest

OWNER = "owner"
"""Superuser of the test's server, who migrates."""

SERVICE = "service"
"""A role like a service's: owns nothing, is no superuser, and cannot bypass row-level security."""

MISSING = "PostgreSQL is not installed (Debian's package postgresql)"


def binaries() -> Path | None:
    """The folder of initdb, wherever a system keeps it."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return places[-1].parent if places else None


class Server:
    """A running server and its files."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.folder = folder
        self.port = _free_port()
        self._programs = programs
        # It refuses to run as root; then its files belong to the user that the package made.
        self._user = "postgres" if os.geteuid() == 0 else None

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def url(self, database: str = "postgres", user: str = SERVICE) -> str:
        return f"postgresql+asyncpg://{user}@127.0.0.1:{self.port}/{database}"

    def create(self) -> None:
        self.data.mkdir()
        if self._user:
            self.folder.chmod(0o711)
            for path in (self.folder, self.data):
                shutil.chown(path, "postgres")
        self._run("initdb", "-D", str(self.data), "-U", OWNER, "--auth=trust", "-E", "UTF8",
                  "--locale=C.UTF-8", "-N", "-k")  # fmt: skip

    def start(self) -> None:
        options = (
            f"-p {self.port} -h 127.0.0.1 -k {self.folder} -F -c log_statement=all "
            "-c max_connections=60 -c shared_buffers=32MB -c autovacuum=off"
        )
        self._run("pg_ctl", "-D", str(self.data), "-l", str(self.log), "-w", "-o", options, "start")

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """End it by its process number; SIGQUIT is an immediate shutdown, which is like a crash."""
        pid = int((self.data / "postmaster.pid").read_text(encoding="ascii").split("\n", 1)[0])
        os.kill(pid, how)
        for _ in range(500):
            if not (self.data / "postmaster.pid").exists() and not _alive(pid):
                return
            time.sleep(0.02)
        raise TimeoutError("PostgreSQL did not end.")

    async def execute(self, sql: str, database: str = "postgres") -> None:
        connection = await self.bare(database)
        await connection.execute(sql)
        await connection.close()

    async def bare(self, database: str = "postgres", user: str = OWNER) -> asyncpg.Connection:
        return await asyncpg.connect(host="127.0.0.1", port=self.port, user=user, database=database)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(self._programs / program), *arguments],
            check=True,
            user=self._user,
            group=self._user,
            extra_groups=None if self._user is None else [],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
        )


@contextmanager
def running() -> Iterator[Server]:
    """A new server in a folder of its own; skips the test where there is none."""
    programs = binaries()
    if programs is None:
        pytest.skip(MISSING)
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # short: a socket's path may have 107 characters
    server = Server(programs, folder)
    try:
        server.create()
        server.start()
        yield server
    finally:
        with suppress(OSError):
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port
