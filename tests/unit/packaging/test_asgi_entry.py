"""The ASGI entry, as a server calls it, until the LINE webhook stands there."""

import json

from examples.day15.main import ERROR_CODE, app


async def exchange(scope, *incoming):
    """Plays the server's side of one ASGI connection."""
    waiting, sent = list(incoming), []

    async def receive():
        return waiting.pop(0)

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    return sent


async def test_http_is_answered_503_with_a_code():
    """Every request gets 503, a code and a sentence, with the length that it has."""
    start, body = await exchange({"type": "http", "method": "POST", "path": "/callback"})
    assert start["status"] == 503
    assert dict(start["headers"])[b"content-length"] == str(len(body["body"])).encode()
    answer = json.loads(body["body"])
    assert answer["error_code"] == ERROR_CODE
    assert "LINE webhook is not available yet" in answer["message"]


async def test_head_has_no_body():
    """HEAD gets the same headers and no body."""
    _, body = await exchange({"type": "http", "method": "HEAD", "path": "/"})
    assert body["body"] == b""


async def test_lifespan_starts_and_stops():
    """Servers that start applications by the lifespan protocol get both answers."""
    sent = await exchange(
        {"type": "lifespan"}, {"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}
    )
    assert [message["type"] for message in sent] == [
        "lifespan.startup.complete",
        "lifespan.shutdown.complete",
    ]


async def test_websockets_are_closed():
    """A WebSocket is closed with the code as its reason."""
    (closed,) = await exchange({"type": "websocket"}, {"type": "websocket.connect"})
    assert (closed["type"], closed["reason"]) == ("websocket.close", ERROR_CODE)
