"""The console's routes: a page, its files, what there is to see, and what can be done."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from local_agent.console import words
from local_agent.console.guard import Guard
from local_agent.console.page import page
from local_agent.console.stage import Stage
from local_agent.console.view import detail
from local_agent.context import SCHEMA
from local_agent.demo.plots import line_plot

STATIC: Final = {
    "console.css": "text/css",
    "console.js": "text/javascript",
    "dom.js": "text/javascript",
    "phone.js": "text/javascript",
    "turn.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
"""Every file that is given out; nothing is looked up by what a request names."""

_NUMBER: Final = re.compile("[0-9]{1,9}")
"""More digits than anything here has; `int` refuses thousands of them."""

WAIT_SECONDS: Final = 20.0
"""How long a question for news waits for some."""


class Said(BaseModel):
    """What the person typed."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    text: str = Field(min_length=1, max_length=5_000)


class Pressed(BaseModel):
    """A button that the person pressed: LINE's postback data, and what the chat shows of it."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    data: str = Field(min_length=1, max_length=300)
    shown: str = Field(default="", max_length=300)


class Drill(BaseModel):
    """One of the drills, and the turn that it is about."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    turn: int | None = None


def create_console(stage: Stage, *, name: str, token: str) -> ASGIApp:
    """Return the console's ASGI app.

    Args:
        stage: What it shows and moves.
        name: The name or address that it is bound to.
        token: What its page sends with whatever changes something.
    """

    async def index(_: Request) -> Response:
        return HTMLResponse(page(token))

    async def static(request: Request) -> Response:
        file = request.path_params["file"]
        if file not in STATIC:
            return _missing()
        content = files("local_agent.console").joinpath("static", file).read_bytes()
        return Response(content, media_type=STATIC[file])

    async def state(request: Request) -> Response:
        since = request.query_params.get("since", "")
        await stage.news.after(_number(since), WAIT_SECONDS)
        return JSONResponse(await stage.state())

    async def turn(request: Request) -> Response:
        found = stage.recorder.turn(_number(request.path_params["number"]))
        return _missing() if found is None else JSONResponse(detail(found, SCHEMA))

    async def exact(request: Request) -> Response:
        found = stage.recorder.turn(_number(request.path_params["number"]))
        index = _number(request.path_params["index"])
        if found is None or not 0 <= index < len(found.sent):
            return _missing()
        if found.sent[index].canonical is None:
            return _missing()
        return Response(found.sent[index].canonical, media_type="application/json")

    async def plot(_: Request) -> Response:
        turns = [one for one in stage.recorder.turns if one.report is not None]
        series = {
            "raw_history": [one.raw_bytes for one in turns],
            "budgeted": [one.units for one in turns],
        }
        if not any(value for values in series.values() for value in values):
            return _missing()
        drawing = line_plot(
            series,
            title=words.PLOT,
            labels=words.SERIES,
            turns=[str(one.number) for one in turns],
        ).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
        return Response(drawing, media_type="image/svg+xml")

    async def say(request: Request) -> Response:
        return await _done(request, Said, lambda said: stage.say(said.text))

    async def press(request: Request) -> Response:
        return await _done(request, Pressed, lambda one: stage.press(one.data, one.shown))

    async def drill(request: Request) -> Response:
        does = stage.drills.get(request.path_params["name"])
        if does is None:
            return _missing()
        return await _done(request, Drill, lambda given: does(given.turn))

    app = Starlette(
        routes=[
            Route("/", index),
            Route("/static/{file}", static),
            Route("/api/state", state),
            Route("/api/turns/{number}", turn),
            Route("/api/turns/{number}/requests/{index}", exact),
            Route("/api/plot.svg", plot),
            Route("/api/say", say, methods=["POST"]),
            Route("/api/press", press, methods=["POST"]),
            Route("/api/drills/{name}", drill, methods=["POST"]),
        ]
    )
    return Guard(app, name=name, token=token)


async def _done(
    request: Request, kind: type[Any], act: Callable[[Any], Awaitable[str]]
) -> Response:
    try:
        given = kind.model_validate_json(await request.body())
    except ValidationError:
        return JSONResponse({"error_code": "COMMAND_INVALID"}, status_code=400)
    return JSONResponse({"notice": await act(given)})


def _number(text: str) -> int:
    """Return a number that a request names; -1, which names nothing, where it is none."""
    return int(text) if _NUMBER.fullmatch(text) else -1


def _missing() -> Response:
    return JSONResponse({"error_code": "COMMAND_INVALID"}, status_code=404)
