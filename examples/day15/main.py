"""ASGI entry of the deployed service: `uvicorn examples.day15.main:app`.

The LINE webhook is not built yet. Until it is, every request is told so: a process that starts and
says what it lacks is easier to operate than one that does not start.
"""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]

ERROR_CODE = "LINE_WEBHOOK_NOT_AVAILABLE"
_BODY = json.dumps(
    {
        "error_code": ERROR_CODE,
        "message": "LOCAL runs, but its LINE webhook is not available yet; try: local-agent demo",
    }
).encode()


async def app(
    scope: MutableMapping[str, Any],
    receive: Callable[[], Awaitable[Message]],
    send: Callable[[Message], Awaitable[None]],
) -> None:
    """Answers 503 with a code and a sentence to every HTTP request, and closes WebSockets."""
    if scope["type"] == "lifespan":
        while (await receive())["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
    elif scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1013, "reason": ERROR_CODE})
    else:
        await send(
            {
                "type": "http.response.start",
                "status": 503,
                "headers": [
                    (b"content-type", b"application/json; charset=utf-8"),
                    (b"content-length", str(len(_BODY)).encode()),
                ],
            }
        )
        await send(
            {"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else _BODY}
        )
