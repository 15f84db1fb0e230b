"""The ASGI entry, as a server calls it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from examples.day15.main import app
from local_agent.line import app as line_app

ROOT = Path(__file__).parents[3]


async def exchange(scope, *incoming):
    """Plays the server's side of one ASGI connection."""
    waiting, sent = list(incoming), []

    async def receive():
        return waiting.pop(0)

    async def send(message):
        sent.append(message)

    await line_app.LazyApp()(scope, receive, send)
    return sent


def test_it_is_the_line_gateway():
    """The example's application is the package's own, under both names."""
    assert app is line_app.app


@pytest.mark.parametrize("name", ["examples.day15.main", "local_agent.line.app"])
def test_importing_reads_nothing(name):
    """An import reads no setting and no file and brings neither ADK nor a web framework."""
    code = (
        f"import sys, {name}\n"
        "print([n for n in ('google.adk', 'fastapi', 'linebot', 'sqlalchemy', 'pydantic_settings')"
        " if n in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT,
        env={"LOCAL_MAX_TURNS": "no number"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout == "[]\n"


async def test_a_missing_setting_is_named_at_startup():
    """A server that starts it without a channel's settings is told which are missing."""
    (failed,) = await exchange({"type": "lifespan"}, {"type": "lifespan.startup"})
    assert failed["type"] == "lifespan.startup.failed"
    assert failed["message"] == (
        "LOCAL_LINE_CHANNEL_SECRET and LOCAL_LINE_CHANNEL_TOKEN must be set to serve LINE. "
        "[SETTINGS_INVALID]"
    )


async def test_a_server_without_lifespan_is_told():
    """Where nothing was started every request gets 503, a code and a sentence."""
    start, body = await exchange({"type": "http", "method": "POST", "path": "/callback"})
    assert start["status"] == 503
    assert dict(start["headers"])[b"content-length"] == str(len(body["body"])).encode()
    assert json.loads(body["body"])["error_code"] == "NOT_STARTED"
    _, body = await exchange({"type": "http", "method": "HEAD", "path": "/"})
    assert body["body"] == b""


async def test_websockets_are_closed():
    """A WebSocket is closed with the code as its reason."""
    (closed,) = await exchange({"type": "websocket"}, {"type": "websocket.connect"})
    assert (closed["type"], closed["reason"]) == ("websocket.close", "NOT_STARTED")
