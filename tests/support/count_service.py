"""A count service over real loopback sockets that fails in the ways services do."""

import asyncio
import json
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from socket import SO_LINGER, SOL_SOCKET
from typing import Any

import httpx
from google import genai
from google.genai import types

Write = Callable[[bytes], Awaitable[None]]
Behaviour = Callable[[asyncio.StreamWriter], Awaitable[bool]]
"""Answers one request; False is: the connection is done with."""

MODEL = "gemini-flash-latest"


@dataclass
class CountService:
    """What a test sees of the service.

    Attributes:
        port: Where it listens.
        behaviours: How the next requests are answered; the last one stays.
        bodies: The parsed bodies it was sent.
        paths: The paths it was asked at.
        connections: How many connections were opened.
        transport: The library that clients speak through: ``httpx``, or None for what the SDK
            chooses, which is aiohttp where that is installed.
        clients: Those that were made, to be closed.
    """

    port: int = 0
    behaviours: list[Behaviour] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    connections: int = 0
    transport: str | None = None
    clients: list[genai.Client] = field(default_factory=list)

    def client(self, *, vertex: bool = False) -> genai.Client:
        """Return a client of this service, with a key that is nobody's."""
        own = {"transport": httpx.AsyncHTTPTransport()} if self.transport == "httpx" else None
        base_url = f"http://127.0.0.1:{self.port}"
        options = types.HttpOptions(base_url=base_url, async_client_args=own)
        client = genai.Client(vertexai=vertex, api_key="no-key", http_options=options)
        self.clients.append(client)
        return client


@asynccontextmanager
async def count_service(
    *behaviours: Behaviour, transport: str | None = None
) -> AsyncIterator[CountService]:
    """Serve on a free loopback port."""
    service = CountService(behaviours=list(behaviours) or [total(7)], transport=transport)
    open_writers: set[asyncio.StreamWriter] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        service.connections += 1
        open_writers.add(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode().split("\r\n")
                service.paths.append(lines[0].split()[1])
                sizes = [line for line in lines if line.lower().startswith("content-length:")]
                body = await reader.readexactly(int(sizes[0].split(":")[1]))
                service.bodies.append(json.loads(body))
                answers = service.behaviours
                behaviour = answers.pop(0) if len(answers) > 1 else answers[0]
                if not await behaviour(writer):
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client went away, as some tests want it to
        finally:
            open_writers.discard(writer)
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, limit=2**24)
    service.port = server.sockets[0].getsockname()[1]
    try:
        yield service
    finally:
        for client in service.clients:
            await client.aio.aclose()
        server.close()
        for writer in list(open_writers):
            writer.close()
        await asyncio.sleep(0)


def answer(
    body: bytes, status: str = "200 OK", kind: str = "application/json", extra: str = ""
) -> Behaviour:
    """Answer with these bytes and keep the connection."""

    async def behave(writer: asyncio.StreamWriter) -> bool:
        head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n"
        writer.write(f"{head}{extra}\r\n".encode() + body)
        await writer.drain()
        return True

    return behave


def total(value: object) -> Behaviour:
    """Answer with a totalTokens of any kind."""
    return answer(json.dumps({"totalTokens": value}).encode())


def error(status: str, extra: str = "") -> Behaviour:
    """Answer with an error as Google's services word it."""
    code, _, reason = status.partition(" ")
    body = {"error": {"code": int(code), "message": "echo of the request", "status": reason}}
    return answer(json.dumps(body).encode(), status, extra=extra)


def model_answer(text: str = "ok") -> Behaviour:
    """Answer as generateContent does."""
    content = {"role": "model", "parts": [{"text": text}]}
    body = {"candidates": [{"content": content, "finishReason": "STOP"}]}
    return answer(json.dumps(body).encode())


async def silence(_: asyncio.StreamWriter) -> bool:
    """Never answer."""
    await asyncio.sleep(30)
    return False


async def reset(writer: asyncio.StreamWriter) -> bool:
    """Promise a body, send half of it, and reset the connection."""
    writer.write(b'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"totalTo')
    await writer.drain()
    await asyncio.sleep(0.02)
    # Lingering for no time makes the kernel send RST instead of FIN.
    writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
    return False


async def drip(writer: asyncio.StreamWriter) -> bool:
    """Send a right answer so slowly that each single read is in time."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 400\r\n\r\n")
    for _ in range(400):
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.05)
    return False
