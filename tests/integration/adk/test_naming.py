"""Names of tools and arguments in the options of an app: a misspelt one stops the start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps.app import App
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.logging_plugin import LoggingPlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool as LongRunning
from google.adk.workflow import START, Workflow

from callbacks.adk.injection import Preference
from callbacks.adk.naming import UnknownName
from callbacks.adk.plugin import ContextBudgetPlugin
from callbacks.adk.reducing import first_entries
from callbacks.context.budget import Budget
from callbacks.counting.bytes import ByteCounter
from stores.ports import ContextStore
from tests.integration.adk.conftest import APP, SCHEMA, search_events, search_places
from tests.support.scripted import ScriptedModel


def wire(
    store: ContextStore, root: Any, plugins: list[BasePlugin] | None = None, **options: Any
) -> App:
    app = App(name=APP, root_agent=root, plugins=plugins or [])
    budget = Budget(20_000, "utf8_bytes")
    ContextBudgetPlugin.for_app(
        app, store=store, counter=ByteCounter(), budget=budget, schema=SCHEMA, **options
    )
    return app


def agent(*tools: Any, name: str = "root", **options: Any) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedModel.of(), tools=list(tools), **options)


def fills(tool: str, argument: str) -> dict[str, Any]:
    wish = Preference("diet", ["vegan"], purpose="p", fills={tool: argument}, otherwise="any")
    return {"preferences": [wish]}


def nothing(arguments: Any, result: Any) -> None:
    return None


MISSPELT: list[tuple[dict[str, Any], str]] = [
    (fills("serch_places", "diet"), r"preference diet: serch_places \(nearest: search_places\)"),
    (fills("search_places", "deit"), r"preference diet: search_places\(deit\) \(nearest: diet\)"),
    (fills("search_places", "zz"), r"search_places\(zz\)\."),
    ({"projectors": {"search_place": nothing}}, r"projectors: search_place \(nearest: search_p"),
    ({"private_results": ["search_Events"]}, r"private_results: search_Events \(nearest: sea"),
    ({"reducers": {"zz": first_entries}}, r"reducers: zz\."),
]


@pytest.mark.parametrize(("options", "told"), MISSPELT)
def test_a_name_that_nothing_has_stops_the_start(
    store: ContextStore, options: dict[str, Any], told: str
) -> None:
    """A misspelt option would be noticed by nobody; it is named, with the nearest that there is."""
    root = agent(search_places, sub_agents=[agent(search_events, name="child")])
    with pytest.raises(UnknownName, match=told) as caught:
        wire(store, root, [LoggingPlugin()], **options)
    assert caught.value.error_code == "TOOL_UNKNOWN"


class Hides(BaseTool):
    """A tool that takes more than it declares."""

    def __init__(self) -> None:
        super().__init__(name="hides", description="d")


def anything(**arguments: str) -> dict[str, str]:
    """Take anything."""
    return arguments


def wrapped() -> dict[str, str]:
    """Take nothing."""
    return {}


def late(area: str) -> dict[str, str]:
    """Take long."""
    return {"area": area}


def other(name: str) -> dict[str, str]:
    """Take one argument under another tool's name."""
    return {"name": name}


other.__name__ = "search_events"


def test_what_an_app_has_may_be_named(store: ContextStore) -> None:
    """Tools of agents inside tools, what functions take besides, and what is added by ADK."""
    inner = agent(search_places, name="inner", description="d")
    root = agent(
        AgentTool(inner), Hides(), anything, search_events, Wraps(wrapped), LongRunning(late)
    )
    for options in (
        fills("search_places", "diet"),
        fills("hides", "unsaid"),
        fills("wrapped", "unsaid"),
        fills("late", "area"),
        fills("anything", "unsaid"),
        {"reducers": {"inner": first_entries, "transfer_to_agent": first_entries}},
        {"projectors": {"note_context": nothing, "search_events": nothing}},
    ):
        assert wire(store, root, **options).plugins


def test_tools_of_one_name_take_together_what_either_takes(store: ContextStore) -> None:
    """Two agents may have a tool of one name each; an argument of either may be filled."""
    root = agent(search_events, sub_agents=[agent(other, name="child")])
    for argument in ("area", "name"):
        assert wire(store, root, **fills("search_events", argument)).plugins
    with pytest.raises(UnknownName, match="nome"):
        wire(store, root, **fills("search_events", "nome"))


class Later(BaseToolset):
    """Its tools are known when it is asked."""

    async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
        return []


class Adds(BaseTool):
    """A tool that may add others to a request."""

    def __init__(self) -> None:
        super().__init__(name="adds", description="d")

    async def process_llm_request(self, *, tool_context: Any, llm_request: Any) -> None:
        return None


class Changes(BasePlugin):
    """A plugin that may add tools to a request."""

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        return None


class Gives(BasePlugin):
    """A plugin that may give an agent tools."""

    async def before_agent_callback(self, *, agent: Any, callback_context: Any) -> None:
        return None


async def picked(self: LlmAgent, ctx: Any = None) -> list[BaseTool]:
    """Say oneself which tools an agent has."""
    return []


Picks: Any = type("Picks", (LlmAgent,), {"canonical_tools": picked, "__module__": __name__})


class Wraps(FunctionTool):
    """A tool of a function that declares, and takes, what the function does not."""

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        return args


def workflow() -> Workflow:
    return Workflow(name="flow", edges=[(START, agent(search_places, name="step"))])


OPEN: dict[str, Callable[[], tuple[Any, list[BasePlugin]]]] = {
    "a toolset": lambda: (agent(Later()), []),
    "below": lambda: (agent(sub_agents=[agent(Later(), name="child")]), []),
    "inside a tool": lambda: (agent(AgentTool(agent(Later(), name="inner"))), []),
    "a tool that adds": lambda: (agent(Adds()), []),
    "a callback": lambda: (agent(before_model_callback=lambda *_: None), []),
    "an agent's callback": lambda: (agent(before_agent_callback=lambda *_: None), []),
    "an agent of one's own": lambda: (Picks(name="root", model=ScriptedModel.of()), []),
    "a plugin that gives": lambda: (agent(), [Gives(name="gives")]),
    "a plugin": lambda: (agent(), [Changes(name="changes")]),
    "a graph": lambda: (workflow(), []),
}


@pytest.mark.parametrize("made", OPEN)
@pytest.mark.filterwarnings("ignore:.EXPERIMENTAL.:UserWarning")
def test_what_is_known_at_run_time_alone_is_not_judged(store: ContextStore, made: str) -> None:
    """A toolset's tools, or those that code adds to a request, may have any name."""
    root, plugins = OPEN[made]()
    assert wire(store, root, plugins, private_results=["later"]).plugins
