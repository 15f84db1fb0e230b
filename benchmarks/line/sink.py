"""A LINE that takes every answer and notes when: a process of its own that costs next to nothing.

The loopback peer of the package knows which tokens it gave out; here events are made by another
process, so this takes any token or retry key, a key once, as LINE does. `python -m
benchmarks.line.sink` prints its port, serves until its stdin ends, and then writes what it got.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import dataclass
from typing import Any, Self

_SENT = b'{"sentMessages":[{"id":"%d","quoteToken":"q"}]}'


class _Sink:
    """Answers requests; `got` has a name (token or retry key) and a moment for each answer."""

    def __init__(self) -> None:
        self.got: list[tuple[str, float]] = []
        self._keys: set[str] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
                body = await reader.readexactly(int(fields.get("content-length", "0")))
                path = head.split(" ", 2)[1]
                status, answer = self._answer(path, fields, body)
                writer.write(
                    b"HTTP/1.1 %d OK\r\ncontent-type: application/json\r\n"
                    b"content-length: %d\r\n\r\n" % (status, len(answer)) + answer
                )
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _answer(self, path: str, fields: dict[str, str], body: bytes) -> tuple[int, bytes]:
        if path.endswith("/message/reply"):
            self.got.append((json.loads(body)["replyToken"], time.time()))
        elif path.endswith("/message/push"):
            key = fields.get("x-line-retry-key", "")
            if key in self._keys:
                return 409, b"{}"
            self._keys.add(key)
            self.got.append((key, time.time()))
        else:
            return 202, b"{}"
        return 200, _SENT % len(self.got)


async def _serve() -> None:
    sink = _Sink()
    server = await asyncio.start_server(sink.serve, "127.0.0.1", 0)
    loop = asyncio.get_running_loop()
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        asked: Any = len(sink.got) if line == "count\n" else sink.got
        sys.stdout.write(json.dumps(asked) + "\n")
        sys.stdout.flush()


@dataclass
class Sink:
    """The process, from outside: `async with Sink.started() as sink`.

    Attributes:
        url: The value of LOCAL_LINE_API_HOST.
    """

    process: asyncio.subprocess.Process
    url: str

    @classmethod
    async def started(cls) -> Self:
        """Start one and wait until it listens."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "benchmarks.line.sink",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=64 * 1024**2,
        )
        if process.stdout is None:
            raise RuntimeError("The sink has no output.")
        port = int(await asyncio.wait_for(process.stdout.readline(), 60))
        return cls(process, f"http://127.0.0.1:{port}")

    async def count(self) -> int:
        """Return how many answers have come."""
        return int(await self._ask(b"count\n"))

    async def has(self, many: int) -> None:
        """Wait until so many answers have come."""
        missing = many - await self.count()
        while missing > 0:
            await asyncio.sleep(0.1)
            missing = many - await self.count()

    async def answers(self) -> list[tuple[str, float]]:
        """Return each answer's token or key and the moment it came, in seconds since the epoch."""
        return [(name, at) for name, at in await self._ask(b"all\n")]

    async def stop(self) -> None:
        """End it."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        await self.process.wait()

    async def _ask(self, what: bytes) -> Any:
        if self.process.stdin is None or self.process.stdout is None:
            raise RuntimeError("The sink has no pipes.")
        self.process.stdin.write(what)
        await self.process.stdin.drain()
        return json.loads(await asyncio.wait_for(self.process.stdout.readline(), 60))


if __name__ == "__main__":
    asyncio.run(_serve())
