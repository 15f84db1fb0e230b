"""The ASGI application: `uvicorn local_agent.line.app:app`, or `create_app` with settings.

Importing this reads no setting and imports neither ADK nor FastAPI.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from local_agent.line import memory

if TYPE_CHECKING:
    from fastapi import FastAPI

    from local_agent.line.building import BuildLocal, Line
    from local_agent.settings import Settings

logger = logging.getLogger("local_agent.line")

WEBHOOK_PATH = "/callback"
READY_SECONDS = 2.0
"""How long the store may take to answer `/readyz`."""

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


def create_app(
    settings: Settings, *, local: BuildLocal | None = None, worker: bool | None = None
) -> FastAPI:
    """Return the gateway of a channel, with its worker.

    Args:
        settings: See docs/settings.md.
        local: Wires LOCAL itself; `bootstrap.build` if None.
        worker: Whether turns are taken in this process; as LOCAL_PROCESSING says if None.

    Raises:
        SettingsError: A setting is missing or cannot be used.
        StoreError: The database URL is not one that stores know.
    """
    from local_agent.bootstrap import build  # noqa: PLC0415 - imports ADK
    from local_agent.line.building import build_line  # noqa: PLC0415 - as above

    return application(build_line(settings, local=local or build, worker=worker))


def application(line: Line) -> FastAPI:
    """Return the application around a wired LOCAL; its lifespan starts and stops it."""
    from fastapi import FastAPI, Request  # noqa: PLC0415 - see the module's docstring
    from fastapi.responses import JSONResponse, Response  # noqa: PLC0415 - as above
    from starlette.exceptions import HTTPException  # noqa: PLC0415 - as above

    from local_agent.line.framing import OneLength  # noqa: PLC0415 - this application's

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        try:
            await line.start()
        except Exception as error:
            code = getattr(error, "error_code", None)
            # Ours are sentences; of others only the type is told, they may quote anything.
            told = error if isinstance(code, str) else type(error).__name__
            logger.error("event=not_started error_code=%s %s", code, told)  # noqa: TRY400 - as above
            await line.stop()
            raise
        try:
            yield
        finally:
            await line.stop()

    app = FastAPI(
        title="LOCAL on LINE", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None
    )

    async def receive(request: Request) -> Response:
        return await line.gateway.receive(request)

    async def healthz(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def readyz(_: Request) -> Response:
        if await is_ready(line):
            return JSONResponse({"status": "ready"})
        return _error(HTTPStatus.SERVICE_UNAVAILABLE, "NOT_READY", "The service is not ready yet.")

    async def refused(_: Request, error: Exception) -> Response:
        status = HTTPStatus(error.status_code if isinstance(error, HTTPException) else 500)
        return _error(status, status.name, f"{status.phrase}.")

    def _error(status: HTTPStatus, code: str, sentence: str) -> Response:
        return JSONResponse({"error_code": code, "message": sentence}, status_code=status)

    app.add_middleware(OneLength)
    # Plain routes: FastAPI's own would look for parameters and models, and there are none.
    app.add_route(WEBHOOK_PATH, receive, methods=["POST"])
    app.add_route("/healthz", healthz, methods=["GET"])
    app.add_route("/readyz", readyz, methods=["GET"])
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(Exception, refused)
    return app


async def is_ready(line: Line) -> bool:
    """Tell whether the store answers and the worker is warm and at work."""
    if line.worker is not None and not line.worker.ready:
        return False
    try:
        async with asyncio.timeout(READY_SECONDS):
            await line.inbox.is_open("readyz")
    except Exception:  # noqa: BLE001 - whatever it was, it is not ready
        return False
    return True


class LazyApp:
    """Reads the settings from the environment when a server starts it, and not at import."""

    def __init__(self) -> None:
        self._app: FastAPI | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve, as ASGI calls it."""
        if scope["type"] == "lifespan":
            try:
                self._app = self._create()
            except Exception as error:  # ours become a sentence; others are raised as they are
                code = getattr(error, "error_code", None)
                if not isinstance(code, str):
                    raise
                logger.error("event=not_started error_code=%s %s", code, error)  # noqa: TRY400 - ours
                await receive()
                await send({"type": "lifespan.startup.failed", "message": f"{error} [{code}]"})
                return
        if self._app is None:
            await _not_started(scope, receive, send)
            return

        async def started(message: Message) -> None:
            if message["type"] == "lifespan.startup.complete":
                memory.settle()
            await send(message)

        await self._app(scope, receive, started if scope["type"] == "lifespan" else send)

    def _create(self) -> FastAPI:
        from local_agent import logs  # noqa: PLC0415 - see the module's docstring
        from local_agent.settings import load_settings  # noqa: PLC0415 - imports pydantic

        settings = load_settings()
        logs.set_up(settings.log_level)
        return create_app(settings)


async def _not_started(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a server that does not speak the lifespan protocol, without which nothing runs."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1013, "reason": "NOT_STARTED"})
        return
    body = (
        b'{"error_code": "NOT_STARTED", '
        b'"message": "The server did not start the application (lifespan)."}'
    )
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


app = LazyApp()
