"""Who stands around a running tool in the tests, and tools that try to tell them a value."""

from __future__ import annotations

import copy
import traceback
from collections.abc import Callable
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.apps.app import App
from google.adk.events.ui_widget import UiWidget
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.tools.tool_context import ToolContext

from tests.integration.adk.conftest import APP, Town


class Spy(BasePlugin):
    """Keeps whatever a plugin is given around a tool, when it is given and afterwards."""

    def __init__(self, name: str, answer: dict[str, Any] | None = None) -> None:
        super().__init__(name=name)
        self.seen: list[Any] = []
        self.answer = answer

    async def before_tool_callback(self, *, tool, tool_args, tool_context):
        self.seen += [copy.deepcopy(tool_args), tool_args]
        return self.answer

    async def after_tool_callback(self, *, tool, tool_args, tool_context, result):
        self.seen += [copy.deepcopy(tool_args), tool_args, copy.deepcopy(result), result]
        self.seen.append(tool_context.actions.model_dump_json())
        self.seen.append(copy.deepcopy(dict(tool_context.session.state)))

    async def on_tool_error_callback(self, *, tool, tool_args, tool_context, error):
        self.seen += [copy.deepcopy(tool_args), tool_args, whole(error)]

    async def on_event_callback(self, *, invocation_context, event):
        self.seen.append(event.model_dump_json())


def whole(error: BaseException) -> str:
    """An error with all that it came from."""
    told = "".join(traceback.format_exception(error))
    while inner := (error.__cause__ or error.__context__):
        told += repr(inner)
        error = inner
    return told


def echoes(diet: str, tool_context: ToolContext) -> dict[str, Any]:
    return {"diet": diet, "note": f"for {diet}", "list": [diet]}


def writes(diet: str, tool_context: ToolContext) -> dict[str, Any]:
    tool_context.state["last"] = f"searched {diet}"
    tool_context.session.state["other"] = [diet]
    tool_context.actions.transfer_reason = f"because of {diet}"
    tool_context.actions.render_ui_widgets = [
        UiWidget(id="w", provider="p", payload={"diet": diet})
    ]
    return {"rows": 1}


def raises(diet: str, tool_context: ToolContext) -> dict[str, Any]:
    tool_context.state["last"] = f"searched {diet}"
    raise ValueError(f"no {diet}") from KeyError(diet)


ACTS = [echoes, writes, raises]


def places(act: Callable[..., Any], ran: list[str]) -> Callable[..., Any]:
    def search_places(area: str, tool_context: ToolContext, diet: str = "") -> dict[str, Any]:
        """Search places."""
        ran.append(diet)
        return act(diet, tool_context)

    return search_places


def runner(town: Town, root: BaseAgent, before: Any = (), after: Any = ()) -> Runner:
    app = App(name=APP, root_agent=root, plugins=[*before, town.plugin, *after])
    return Runner(app=app, session_service=town.sessions)
