"""The tool gate: any tool runs behind it, as the tool that it is, or does not run."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps.app import App
from google.adk.runners import Runner
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from callbacks.adk.injection import Preference
from callbacks.adk.toolgate import GatedTool, gate_tool
from callbacks.adk.tree import PreferenceInPrompt
from stores.ports import ContextStore
from tests.integration.adk.around import Spy, echoes, places, runner
from tests.integration.adk.conftest import APP, DIET, Town
from tests.support.scripted import ScriptedModel, call, say


class Search(BaseTool):
    """A tool class of an application's own, with state of its own."""

    def __init__(self) -> None:
        super().__init__(name="search_places", description="d")
        self.ran: list[str] = []
        self.count = 0

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name=self.name, description=self.description)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        self.count += 1
        self.ran.append(args["diet"])
        args.setdefault("tags", []).append(args["diet"])
        return {"args": args}


class Late(BaseToolset):
    """Makes its tool when it is asked."""

    def __init__(self, tool: BaseTool, **options: Any) -> None:
        super().__init__(**options)
        self._tool = tool

    async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
        return [self._tool]

    async def close(self) -> None:
        return None


@pytest.mark.parametrize("way", ["tool", "toolset", "patched"])
async def test_any_tool_is_gated_and_stays_what_it_is(town: Town, way: str) -> None:
    """A class of one's own, a toolset's late tool, a run put on the object: filled innermost."""
    await town.remember()
    tool = Search()
    kind = type(tool)
    if way == "patched":
        tool.run_async = functools.partial(Search.run_async, tool)  # type: ignore[method-assign]  # what is tested
    spy = Spy("spy")
    model = ScriptedModel.of(
        call("search_places", area="Huatan", tags=["a"]),
        say("ok"),
        call("search_places"),
        say("ok"),
    )
    root = town.agent(model, tools=[Late(tool) if way == "toolset" else tool])
    using = runner(town, root, after=[spy])
    await town.turn(using, "hungry")
    await town.turn(using, "again")
    assert tool.ran == [DIET, DIET]
    assert tool.count == 2
    assert isinstance(tool, kind)
    assert isinstance(tool, GatedTool)
    assert (type(tool).__name__, type(tool).__module__) == (kind.__name__, kind.__module__)
    assert DIET not in str(spy.seen) + await town.stored()


async def test_a_gated_tool_runs_as_before_where_nobody_armed_it(town: Town) -> None:
    """A tool that other apps share is inert there: no value, no turn, the arguments as given."""
    tool = Search()
    assert gate_tool(tool)
    assert gate_tool(tool)
    model = ScriptedModel.of(call("search_places", diet="x"), say("ok"))
    root = LlmAgent(name="other", model=model, tools=[tool])
    using = Runner(app=App(name=APP, root_agent=root), session_service=town.sessions)
    await town.turn(using, "hungry")
    assert tool.ran == ["x"]
    tool.run_async = None  # type: ignore[assignment, method-assign]  # as a test would patch it
    del tool.run_async
    assert type(tool).__mro__.count(GatedTool) == 1


async def test_a_tool_that_cannot_be_gated_does_not_run(town: Town) -> None:
    """Invariant 3: a class that allows no subclass is refused by a code, and by name."""

    class Closed(Search):
        def __init_subclass__(cls) -> None:
            raise TypeError("closed")

    tool = Closed()
    model = ScriptedModel.of(call("search_places"), say("never"))
    events = await town.turn(runner(town, town.agent(model, tools=[tool])), "hungry")
    assert tool.ran == []
    assert events[-1].error_code == "TOOL_NOT_GATED"
    assert (events[-1].custom_metadata or {})["refusal"]["names"] == "search_places"


async def test_an_agent_as_a_tool_is_never_filled(store: ContextStore, town: Town) -> None:
    """Invariant 6: a value filled into an agent's request would stand in a child's prompt."""
    inner = LlmAgent(name="search_places", model=ScriptedModel.of(say("in")), description="d")
    wish = Preference(
        "diet", [DIET], purpose="p", fills={"search_places": "request"}, otherwise="any"
    )
    town = Town(store, preferences=[wish])
    await town.remember()
    model = ScriptedModel.of(call("search_places"), say("ok"))
    with pytest.raises(PreferenceInPrompt, match="search_places") as caught:
        town.plugin._wiring.wire(town.agent(model, tools=[AgentTool(inner)]))
    assert caught.value.error_code == "PREFERENCE_IN_PROMPT"
    events = await town.turn(runner(town, town.agent(model, tools=[AgentTool(inner)])), "hungry")
    assert "remembered preference" in str(events[-1].content)
    assert model.calls_made == 0


async def test_an_agent_as_a_tool_made_late_is_never_filled(store: ContextStore) -> None:
    """Invariant 6: the same for what a toolset makes: the turn is refused before a request."""
    child = ScriptedModel.of(say("in"))
    inner = LlmAgent(name="search_places", model=child, description="d")
    wish = Preference(
        "diet", [DIET], purpose="p", fills={"search_places": "request"}, otherwise="any"
    )
    town = Town(store, preferences=[wish])
    await town.remember()

    class Making(Late):
        async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
            return [AgentTool(inner)]

    model = ScriptedModel.of(call("search_places"), say("ok"))
    root = town.agent(model, tools=[Making(Search())])
    events = await town.turn(runner(town, root), "hungry")
    assert events[-1].error_code == "PREFERENCE_IN_PROMPT"
    assert (model.calls_made, child.calls_made) == (0, 0)


def yields(area: str, diet: str = "") -> Any:
    """Search places."""
    yield {"diet": diet}


async def yields_later(area: str, diet: str = "") -> Any:
    """Search places."""
    yield {"diet": diet}


@pytest.mark.parametrize("function", [yields, yields_later])
@pytest.mark.parametrize("private", [False, True])
async def test_a_filled_tool_that_yields_does_not_run(
    store: ContextStore, function: Any, private: bool
) -> None:
    """Invariant 6: ADK gives out what a tool yields before it could be cleaned; refused by name."""
    town = Town(store, private_results=["search_places"] if private else [])
    await town.remember()
    tool = FunctionTool(function)
    tool.name = "search_places"
    model = ScriptedModel.of(call("search_places", area="Huatan"), say("never"))
    events = await town.turn(runner(town, town.agent(model, tools=[tool])), "hungry")
    assert events[-1].error_code == "TOOL_NOT_GATED"
    assert DIET not in await town.stored() + str(model.requests)


class Elsewhere(BaseTool):
    """A tool that keeps what it was run with."""

    def __init__(self) -> None:
        super().__init__(name="elsewhere", description="d")
        self.ran: list[dict[str, Any]] = []

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name="elsewhere")

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        self.ran.append(dict(args))
        return {"rows": 1}


async def test_another_tool_under_the_same_context_is_not_filled(town: Town) -> None:
    """Invariant 6: what is filled in for one tool reaches no other that a callback runs."""
    await town.remember()
    other = Elsewhere()
    ran: list[str] = []

    async def before(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext) -> None:
        if tool.name == "search_places":
            await other.run_async(args=args, tool_context=tool_context)

    tools = [places(echoes, ran), other]
    model = ScriptedModel.of(call("elsewhere"), call("search_places", area="Huatan"), say("ok"))
    agent = town.agent(model, tools=tools, before_tool_callback=before)
    await town.turn(runner(town, agent), "hungry")
    assert isinstance(other, GatedTool)
    assert other.ran == [{}, {"area": "Huatan"}]
    assert ran == [DIET]
    assert DIET not in await town.stored() + str(model.requests)


class OwnWay(Elsewhere):
    """Hands out a run of its own, whatever class it is given."""

    def __getattribute__(self, name: str) -> Any:
        return super().__getattribute__("own" if name == "run_async" else name)

    async def own(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        self.ran.append(dict(args))
        return {"rows": 1}


async def test_a_tool_that_goes_round_its_gate_does_not_run(town: Town) -> None:
    """Invariant 6: a gate that would not be come by is no gate; such a tool is refused by name."""
    tool = OwnWay()
    model = ScriptedModel.of(call("elsewhere"), say("never"))
    events = await town.turn(runner(town, town.agent(model, tools=[tool])), "hungry")
    assert events[-1].error_code == "TOOL_NOT_GATED"
    assert tool.ran == []
