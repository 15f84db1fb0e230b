"""LOCAL's own commands as processes: a gateway, workers, and their ends by process number."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

SECRET, TOKEN = "secret-of-a-channel", "token-of-a-channel"
START_SECONDS = 120.0
"""Longest wait for a process to be ready: imports take seconds, more on a busy machine."""

Kind = Literal["gateway", "worker", "both"]


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def environment(url: str, peer_url: str, folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a deployment: the channel, its keys and its store."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LOCAL_", "GOOGLE_", "GEMINI_"))
    }
    return {
        **kept,
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "LOCAL_DATABASE_URL": url,
        "LOCAL_LINE_CHANNEL_SECRET": SECRET,
        "LOCAL_LINE_CHANNEL_TOKEN": TOKEN,
        "LOCAL_LINE_API_HOST": peer_url,
        "LOCAL_PSEUDONYM_KEY": "a pseudonym key of a benchmark alone",
        "LOCAL_CONSENT_KEYS": "a consent key of a benchmark that is long",
        "LOCAL_STORE_KEYS": "a store key of a benchmark that is long too",
        "LOCAL_COUNT_CACHE": str(folder / "counts.db"),
        "LOCAL_DAILY_TURNS": "1000000",
        **more,
    }


class Process:
    """A process of LOCAL on LINE.

    Attributes:
        log: Everything it wrote, over all its lives.
    """

    def __init__(self, kind: Kind, env: Mapping[str, str], folder: Path, name: str) -> None:
        """Make one that is not started.

        Args:
            kind: A gateway alone, a worker alone, or both in one.
            env: See `environment`.
            folder: Where it runs and its log goes.
            name: Of its log.
        """
        self.kind = kind
        self.port = free_port() if kind != "worker" else 0
        self.log = folder / f"{name}.log"
        self._env, self._folder = dict(env), folder
        self._process: subprocess.Popen[bytes] | None = None
        self._read_from = 0

    @property
    def url(self) -> str:
        """The webhook's address."""
        return f"http://127.0.0.1:{self.port}/callback"

    @property
    def pid(self) -> int:
        """The number of the running process."""
        if self._process is None:
            raise RuntimeError("The process has not been started.")
        return self._process.pid

    def start(self) -> None:
        """Start it; `ready` waits for it."""
        arguments = ["work"]
        if self.kind != "worker":
            processing = "elsewhere" if self.kind == "gateway" else "worker"
            arguments = ["serve", "--port", str(self.port), "--processing", processing]
        self._read_from = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                [sys.executable, "-m", "local_agent.cli", *arguments],
                cwd=self._folder,
                env=self._env,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    async def ready(self) -> None:
        """Wait until it can work.

        Raises:
            RuntimeError: It ended, or is not ready in two minutes.
        """
        limit = time.monotonic() + START_SECONDS
        while time.monotonic() < limit:
            if self._process is None or self._process.poll() is not None:
                break
            if await self._is_ready():
                return
            await asyncio.sleep(0.05)
        raise RuntimeError(f"The {self.kind} did not start; see {self.log}.")

    def kill(self) -> None:
        """End it as a crash does: it can do nothing any more."""
        os.kill(self.pid, signal.SIGKILL)
        self._wait()

    def stop(self) -> int:
        """Ask it to end, and return its exit status; one that does not end is killed."""
        if self._process is None or self._process.poll() is not None:
            return 0 if self._process is None else int(self._process.returncode)
        os.kill(self.pid, signal.SIGTERM)
        try:
            return self._wait()
        except subprocess.TimeoutExpired:
            os.kill(self.pid, signal.SIGKILL)
            return self._wait()

    def cpu_seconds(self) -> float:
        """Return the processor time that it has used (Linux)."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rpartition(")")[2]
        user, system = fields.split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def _wait(self) -> int:
        if self._process is None:
            raise RuntimeError("The process has not been started.")
        return self._process.wait(timeout=60)

    async def _is_ready(self) -> bool:
        if self.kind == "worker":
            with self.log.open("rb") as log:
                log.seek(self._read_from)
                return b"event=worker_started" in log.read()
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        try:
            writer.write(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            return (await reader.readline()).split(b" ")[1:2] == [b"200"]
        except OSError:
            return False
        finally:
            writer.close()
