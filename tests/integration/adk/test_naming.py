"""Names of tools and arguments in the options of an app: a misspelt one stops the start."""

from __future__ import annotations

import re
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
from callbacks.adk.toolgate import GatedTool
from callbacks.context.budget import Budget
from callbacks.counting.bytes import ByteCounter
from stores.ports import ContextStore
from tests.integration.adk.conftest import APP, SCHEMA, Town, search_events, search_places
from tests.support.scripted import ScriptedModel, call, say


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


NOTHING: dict[str, Any] = {"projectors": {}, "preferences": [], "unchecked": []}
"""Options of the town that name no tool."""

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


@pytest.mark.parametrize(("options", "told"), MISSPELT)
async def test_without_for_app_the_first_run_looks_at_the_names(
    store: ContextStore, caplog: pytest.LogCaptureFixture, options: dict[str, Any], told: str
) -> None:
    """No model is asked in any turn; the log names what is misspelt, once, and a person no name."""
    town = Town(store, **(NOTHING | options))
    root = agent(search_places, sub_agents=[agent(search_events, name="child")])
    runner = town.runner(root, [LoggingPlugin()])
    for turns in (1, 2):
        events = await town.turn(runner, "hi")
        assert "not set up correctly" in str(events[-1].content)
        assert [report.refusal and report.refusal.code for report in town.reports] == [
            "TOOL_UNKNOWN"
        ] * turns
    assert town.sent == []
    [line] = [one for one in caplog.records if one.name == "local_agent.context"]
    assert line.levelname == "ERROR"
    assert re.search(f"error_code=TOOL_UNKNOWN .*{told}", line.getMessage())


@pytest.mark.parametrize("made", OPEN)
@pytest.mark.filterwarnings("ignore:.EXPERIMENTAL.:UserWarning")
async def test_a_run_judges_no_name_that_it_cannot_know(store: ContextStore, made: str) -> None:
    """Without `for_app` the rule is the same about what is known at run time alone."""
    root, plugins = OPEN[made]()
    town = Town(store, **NOTHING, private_results=["later"])
    await town.turn(town.runner(root, plugins), "hi")
    assert "TOOL_UNKNOWN" not in {r.refusal.code for r in town.reports if r.refusal}


@pytest.mark.filterwarnings("ignore:The `plugins` argument:DeprecationWarning")  # ADK's own
async def test_an_agent_as_a_tool_need_not_have_what_the_app_has(store: ContextStore) -> None:
    """Names are looked for in the person's run; the run inside a tool has some of them alone."""
    model = ScriptedModel.of(say("inside"))
    inner = LlmAgent(name="inner", description="d", model=model)
    outer = ScriptedModel.of(call("inner", request="r"), say("done"))
    root = LlmAgent(name="root", model=outer, tools=[AgentTool(inner), search_events])
    town = Town(store, **NOTHING, private_results=["search_events"])
    await town.turn(town.runner(root), "hi")
    assert [report.refusal for report in town.reports] == [None]
    assert len(model.requests) == 1


async def test_a_tool_that_ran_behind_a_gate_is_read_like_any_other(store: ContextStore) -> None:
    """Another app may have run the same tool: what it takes is known all the same."""
    tool = FunctionTool(search_events)
    model = ScriptedModel.of(call("search_events", area="Huatan"), say("done"))
    town = Town(store, **NOTHING)
    await town.turn(town.runner(LlmAgent(name="root", model=model, tools=[tool])), "hi")
    assert isinstance(tool, GatedTool)
    for argument, codes in (("area", [None]), ("aera", ["TOOL_UNKNOWN"])):
        other = Town(store, **(NOTHING | fills("search_events", argument)))
        await other.turn(other.runner(agent(tool)), "hi")
        assert [r.refusal and r.refusal.code for r in other.reports] == codes


async def test_who_answers_for_a_name_says_so(store: ContextStore) -> None:
    """A plugin of several apps names tools of each; those in `unchecked` are not looked for."""
    options: dict[str, Any] = {"private_results": ["elsewhere"], "unchecked": ["elsewhere"]}
    town = Town(store, **(NOTHING | options))
    await town.turn(town.runner(agent(search_places)), "hi")
    assert [report.refusal for report in town.reports] == [None]
    assert wire(store, agent(), **options).plugins


async def test_an_agents_own_tools_are_read_once(store: ContextStore) -> None:
    """After the first run a turn does not look at the names again."""
    town = Town(store, **NOTHING, private_results=["search_places"])
    root = agent(search_places)
    runner = town.runner(root)
    await town.turn(runner, "hi")
    root.tools.clear()
    await town.turn(runner, "hi")
    assert [report.refusal for report in town.reports] == [None, None]
