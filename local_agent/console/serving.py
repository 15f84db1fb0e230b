"""ASGI servers that run beside others in one event loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp

SHUTDOWN_SECONDS: Final = 3
"""How long open requests may still take when a server ends."""


class _Server(uvicorn.Server):
    """Leaves signals to whoever runs the loop, and tells when it is ready."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.tried = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and tell."""
        await super().startup(sockets)
        self.tried.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


@asynccontextmanager
async def serving(app: ASGIApp, bound: socket.socket) -> AsyncIterator[None]:
    """Serve an app on a bound socket while open; returns once it is ready.

    Raises:
        RuntimeError: The app did not start.
    """
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[bound]), name="server")
    trying = asyncio.create_task(server.tried.wait(), name="starting")
    try:
        await asyncio.wait({trying, task}, return_when=asyncio.FIRST_COMPLETED)
        if not server.started:
            raise RuntimeError("The server did not start.")
        yield
    finally:
        server.should_exit = True
        trying.cancel()
        await task
        bound.close()
