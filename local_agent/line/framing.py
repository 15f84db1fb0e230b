"""How long a request's body is must not be a matter of opinion, or one request hides another.

A proxy that believes one of two headers, and a server that believes the other, see different
requests in the same bytes (RFC 9112, 6.3 and 11.2). Servers let some of that by: h11, which
uvicorn has without extras, takes both headers and believes Transfer-Encoding.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http import HTTPStatus
from typing import Any, Final

logger = logging.getLogger("local_agent.line")

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

ERROR_CODE: Final = "BODY_LENGTH_AMBIGUOUS"

_REFUSED: Final = json.dumps(
    {"error_code": ERROR_CODE, "message": "The length of the body can be read in two ways."}
).encode()


def is_ambiguous(headers: Iterable[tuple[bytes, bytes]], *, http_version: str = "1.1") -> bool:
    """Tell whether two readers could take the end of the body for two different places.

    Args:
        headers: Names and values as they came.
        http_version: Before 1.1 there was no Transfer-Encoding, and who knows none reads past it.
    """
    told = [(name.lower(), value.strip()) for name, value in headers]
    lengths = [value for name, value in told if name == b"content-length"]
    codings = [value.lower() for name, value in told if name == b"transfer-encoding"]
    if codings:
        return bool(lengths) or codings != [b"chunked"] or http_version < "1.1"
    return len(lengths) > 1 or any(not value.isdigit() for value in lengths)


class OneLength:
    """Refuses such a request on whatever path, before anything of its body is read."""

    def __init__(self, app: App) -> None:
        """Stand before an application."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve, as ASGI calls it."""
        if scope["type"] != "http" or not is_ambiguous(
            scope["headers"], http_version=scope["http_version"]
        ):
            await self._app(scope, receive, send)
            return
        logger.info("event=webhook_refused error_code=%s", ERROR_CODE)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(_REFUSED)).encode()),
            # What follows on this connection is not to be trusted to begin where it seems to.
            (b"connection", b"close"),
        ]
        status = HTTPStatus.BAD_REQUEST.value
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": _REFUSED})
