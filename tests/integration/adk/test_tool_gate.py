"""The tool gate: whoever stands around a running tool sees the call as the model made it."""

from __future__ import annotations

import asyncio
import copy
import functools
import logging
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.apps.app import App
from google.adk.events.event_actions import EventActions
from google.adk.events.ui_widget import UiWidget
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.logging_plugin import LoggingPlugin
from google.adk.runners import Runner
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from callbacks.adk.injection import Preference
from callbacks.adk.internals import NodeInterruptedError
from callbacks.adk.toolgate import GatedTool, ToolStopped, gate_tool, without_content
from callbacks.adk.tree import PreferenceInPrompt
from stores.ports import ContextStore
from tests.integration.adk.conftest import APP, DIET, Town
from tests.support.scripted import ScriptedModel, call, calls, say

experimental = pytest.mark.filterwarnings(
    "ignore:.EXPERIMENTAL.:UserWarning", "ignore:ParallelAgent is deprecated:DeprecationWarning"
)


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


class Ending(BaseException):
    """No Exception: ADK asks no error callback about it."""


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


def spanned(spans: InMemorySpanExporter) -> str:
    """All that the spans hold: attributes, events, status."""
    return str(
        [
            (s.name, s.status.description, s.attributes, [e.attributes for e in s.events])
            for s in spans.get_finished_spans()
        ]
    )


def runner(town: Town, root: BaseAgent, before: Any = (), after: Any = ()) -> Runner:
    app = App(name=APP, root_agent=root, plugins=[*before, town.plugin, *after])
    return Runner(app=app, session_service=town.sessions)


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("act", ACTS)
async def test_nobody_around_a_tool_sees_a_value(
    store: ContextStore,
    act: Any,
    private: bool,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Invariant 6: plugins on either side, agent callbacks, LoggingPlugin, logs, requests."""
    caplog.set_level(logging.DEBUG)
    town = Town(store, private_results=["search_places"] if private else [])
    await town.remember()
    ran: list[str] = []
    spies = [Spy("one"), Spy("two")]
    own: list[Any] = []

    def before(tool: Any, args: Any, tool_context: Any) -> None:
        own.extend([copy.deepcopy(args), args])

    def after(tool: Any, args: Any, tool_context: Any, tool_response: Any) -> None:
        own.extend([copy.deepcopy(args), args, copy.deepcopy(tool_response), tool_response])

    model = ScriptedModel.of(call("search_places", area="Huatan"), say("ok"), say("bye"))
    root = town.agent(
        model,
        tools=[places(act, ran)],
        instruction="You help. {last?} {other?}",
        before_tool_callback=before,
        after_tool_callback=after,
    )
    using = runner(
        town, root, [spies[0], LoggingPlugin(name="l1")], [spies[1], LoggingPlugin(name="l2")]
    )
    await town.turn(using, "hungry")
    await town.turn(using, "thanks")
    assert ran == [DIET]
    assert all("Huatan" in str(seen) for seen in (spies[0].seen, spies[1].seen, own))
    told = capsys.readouterr()
    assert "search_places" in told.out
    everything = [spies[0].seen, spies[1].seen, own, caplog.text, told.out, told.err]
    everything += [await town.stored(), model.requests, repr(town.reports)]
    assert DIET not in str(everything)


@pytest.mark.parametrize("capture", ["semantic", "legacy"])
@pytest.mark.parametrize("act", ACTS)
async def test_spans_hold_no_value_in_either_capture_mode(
    town: Town,
    act: Any,
    capture: str,
    spans: InMemorySpanExporter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Invariant 6: arguments, results and errors that spans capture are those of outside."""
    if capture == "legacy":
        monkeypatch.setenv("ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN", "1")
        monkeypatch.setenv("ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS", "true")
    else:
        monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental")
        monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_AND_EVENT")
    spans.clear()
    await town.remember()
    ran: list[str] = []
    model = ScriptedModel.of(call("search_places", area="Huatan"), say("ok"))
    await town.turn(runner(town, town.agent(model, tools=[places(act, ran)])), "hungry")
    told = spanned(spans)
    assert ran == [DIET]
    assert "Huatan" in told
    assert DIET not in told


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize(
    "error",
    [
        Ending,
        asyncio.CancelledError,
    ],
)
async def test_what_is_no_exception_keeps_it_to_itself(
    store: ContextStore,
    error: type[BaseException],
    private: bool,
    caplog: pytest.LogCaptureFixture,
    spans: InMemorySpanExporter,
) -> None:
    """Invariant 6: a BaseException's text, what it came from, and the state are cleaned."""
    caplog.set_level(logging.DEBUG)
    spans.clear()
    town = Town(store, private_results=["search_places"] if private else [])
    await town.remember()
    ran: list[str] = []

    def ends(diet: str, tool_context: ToolContext) -> Any:
        tool_context.state["last"] = f"searched {diet}"
        tool_context.session.state["other"] = diet
        try:
            raise KeyError(diet)  # noqa: TRY301 - the context is what is tested
        except KeyError:
            raise error(f"ends for {diet}")  # noqa: B904 - as above

    spies = [Spy("one"), Spy("two")]
    model = ScriptedModel.of(call("search_places", area="Huatan"), say("never"))
    using = runner(town, town.agent(model, tools=[places(ends, ran)]), spies[:1], spies[1:])
    stopped = ""
    try:
        await town.turn(using, "hungry")
    except (
        ToolStopped,
        asyncio.CancelledError,
    ) as caught:  # ADK may end a cancelled step by itself
        stopped = whole(caught)
    assert bool(stopped) or error is asyncio.CancelledError
    assert ran == [DIET]
    told = spanned(spans)
    everything = [stopped, await town.stored(), told, caplog.text]
    assert DIET not in str([*everything, *(spy.seen for spy in spies)])


def test_a_cancellation_is_still_known_by_its_scope() -> None:
    """A scope of anyio ends by the mark in its message; the rest of a message is dropped."""
    marked = asyncio.CancelledError(f"Cancelled via cancel scope 7f00a; reason: {DIET}")
    kept = without_content(marked)
    assert isinstance(kept, asyncio.CancelledError)
    assert kept.args == ("Cancelled via cancel scope 7f00a",)
    bare = without_content(asyncio.CancelledError(DIET))
    assert isinstance(bare, asyncio.CancelledError)
    assert bare.args == ()


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt, SystemExit, GeneratorExit, NodeInterruptedError]
)
def test_who_ends_a_program_or_a_node_is_still_obeyed(error: type[BaseException]) -> None:
    """Flow by exception goes on by its type; asyncio hands these on by itself."""
    kept = without_content(error(DIET))
    assert type(kept) is error
    assert DIET not in repr(kept)
    assert without_content(ValueError(DIET)) is None


async def test_a_turn_that_is_cancelled_leaves_nothing_of_a_value(town: Town) -> None:
    """Invariant 6: a cancelled tool's state is cleaned before the cancellation goes on."""
    await town.remember()
    inside = asyncio.Event()
    contexts: list[ToolContext] = []

    async def search_places(area: str, tool_context: ToolContext, diet: str = "") -> dict[str, Any]:
        """Search places."""
        tool_context.state["last"] = diet
        contexts.append(tool_context)
        inside.set()
        await asyncio.Event().wait()
        return {}

    model = ScriptedModel.of(call("search_places", area="Huatan"))
    turn = asyncio.ensure_future(
        town.turn(runner(town, town.agent(model, tools=[search_places])), "hungry")
    )
    async with asyncio.timeout(30):
        await inside.wait()
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
    assert contexts[0].state["last"] == "[withheld]"
    assert DIET not in await town.stored() + str(contexts[0].session.state)


async def test_who_answers_in_a_tools_place_answers_without_it(town: Town) -> None:
    """A callback that answers instead, before ours or after, stands; nothing was filled in."""
    await town.remember()
    for place in ("before", "after"):
        ran: list[str] = []
        spy = Spy("spy", answer={"instead": 1})
        model = ScriptedModel.of(call("search_places", area="Huatan"), say("ok"))
        root = town.agent(model, tools=[places(echoes, ran)])
        using = runner(town, root, **{place: [spy]})
        events = await town.turn(using, "hungry", session=place)
        [answer] = [r.response for e in events for r in e.get_function_responses()]
        assert answer == {"instead": 1}
        assert ran == []
        assert DIET not in str(spy.seen)
        assert town.reports[-1].tool_calls == []


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


async def test_a_question_for_confirmation_sees_what_the_model_said(town: Town) -> None:
    """The question holds no value, and the tool's function runs after the yes alone.

    A function tool asks its predicate while it runs (the oldest ADK only there); so far it is part
    of the tool.
    """
    await town.remember()
    asked: list[Any] = []
    ran: list[str] = []

    def needed(area: str, diet: str = "", **rest: Any) -> bool:
        asked.append(diet)
        return True

    tool = FunctionTool(places(echoes, ran), require_confirmation=needed)
    model = ScriptedModel.of(call("search_places", area="Huatan"), say("ok"))
    using = runner(town, town.agent(model, tools=[tool]), after=[spy := Spy("spy")])
    events = await town.turn(using, "hungry")
    [wish] = [
        c for e in events for c in e.get_function_calls() if c.name == "adk_request_confirmation"
    ]
    assert ran == []
    answer = types.Content(
        role="user",
        parts=[
            types.Part(
                function_response=types.FunctionResponse(
                    id=wish.id, name=wish.name, response={"confirmed": True}
                )
            )
        ],
    )
    async for _ in using.run_async(user_id="ann", session_id="s", new_message=answer):
        pass
    assert ran == [DIET]
    assert asked
    assert DIET not in str(spy.seen) + await town.stored() + str(model.requests)


async def test_a_late_answer_stays_late(store: ContextStore) -> None:
    """A long-running tool that says nothing yet is not answered for, private or not."""
    for private in (False, True):
        town = Town(store, private_results=["search_places"] if private else [])
        await town.remember(f"p{private}")
        ran: list[str] = []
        tool = LongRunningFunctionTool(places(lambda diet, context: None, ran))
        model = ScriptedModel.of(call("search_places", area="Huatan"), say("ok"))
        events = await town.turn(
            runner(town, town.agent(model, tools=[tool])), "hungry", person=f"p{private}"
        )
        assert ran == [DIET]
        assert [r for e in events for r in e.get_function_responses()] == []
        assert town.reports[-1].private_results == []


async def test_parallel_calls_each_have_their_own(town: Town) -> None:
    """Invariant 6: calls of one response run at once; each fills a copy of its own."""
    await town.remember()
    meeting = asyncio.Barrier(2)
    ran: list[tuple[str, str]] = []

    async def search_places(area: str, tool_context: ToolContext, diet: str = "") -> dict[str, Any]:
        """Search places."""
        async with asyncio.timeout(30):
            await meeting.wait()
        ran.append((area, diet))
        tool_context.state[f"last {area}"] = diet
        return {"diet": diet}

    both = calls(
        ("search_places", {"area": "Huatan"}),
        ("search_places", {"area": "Lukang", "diet": "halal"}),
    )
    model = ScriptedModel.of(both, say("ok"))
    spies = [Spy("one"), Spy("two")]
    root = town.agent(model, tools=[search_places])
    await town.turn(runner(town, root, spies[:1], spies[1:]), "hungry")
    assert sorted(ran) == [("Huatan", DIET), ("Lukang", "halal")]
    assert DIET not in str([spy.seen for spy in spies]) + await town.stored()


async def test_private_calls_at_once_put_the_same_state_back(store: ContextStore) -> None:
    """Invariant 6: the copy one makes of the state holds nothing another is just writing there."""
    town = Town(store, private_results=["search_places"])
    await town.remember()
    first, second = asyncio.Event(), asyncio.Event()

    async def search_places(area: str, tool_context: ToolContext, diet: str = "") -> dict[str, Any]:
        """Search places."""
        if area == "Huatan":
            tool_context.state["last"] = diet
            first.set()
            async with asyncio.timeout(30):
                await second.wait()
        return {}

    async def waits(tool: Any, args: Any, tool_context: Any) -> None:
        if args["area"] == "Lukang":
            async with asyncio.timeout(30):
                await first.wait()

    def goes(tool: Any, args: Any, tool_context: Any, tool_response: Any) -> None:
        second.set()

    both = calls(("search_places", {"area": "Huatan"}), ("search_places", {"area": "Lukang"}))
    model = ScriptedModel.of(both, say("ok"))
    root = town.agent(
        model,
        tools=[search_places],
        instruction="You help. {last?}",
        before_tool_callback=waits,
        after_tool_callback=goes,
    )
    await town.turn(runner(town, root), "hungry")
    assert DIET not in await town.stored() + str(model.requests)


@experimental
async def test_parallel_agents_share_a_turn_and_nothing_else(town: Town) -> None:
    """Invariant 6: two agents at once, each with a filled tool."""
    await town.remember()
    ran: list[str] = []
    models = [ScriptedModel.of(call("search_places", area=a), say("ok")) for a in ("Huatan", "HT")]
    agents = [
        LlmAgent(name=f"a{n}", model=m, tools=[places(act, ran)])
        for n, (m, act) in enumerate(zip(models, (echoes, writes), strict=True))
    ]
    spies = [Spy("one"), Spy("two")]
    root = ParallelAgent(name="root", sub_agents=agents)
    await town.turn(runner(town, root, spies[:1], spies[1:]), "hungry")
    assert ran == [DIET, DIET]
    told = [await town.stored(), *(spy.seen for spy in spies), *(m.requests for m in models)]
    assert DIET not in str(told)


async def test_two_people_in_turns_never_get_each_others(store: ContextStore) -> None:
    """Invariant 11: one tool object, two people; each call runs with its own person's value."""
    values = [DIET, "zzhalalzz"]
    wish = Preference("diet", values, purpose="p", fills={"search_places": "diet"}, otherwise="any")
    town = Town(store, preferences=[wish])
    for person, value in zip(("ann", "bob"), values, strict=True):
        await town.remember(person, value)
    ran: list[str] = []
    model = ScriptedModel.of(*[call("search_places", area="Huatan"), say("ok")] * 4)
    spy = Spy("spy")
    using = runner(town, town.agent(model, tools=[places(writes, ran)]), after=[spy])
    for person in ("ann", "bob", "ann", "bob"):
        await town.turn(using, "hungry", person=person, session=person)
    assert ran == values * 2
    told = [
        spy.seen,
        model.requests,
        await town.stored("ann", "ann"),
        await town.stored("bob", "bob"),
    ]
    assert all(value not in str(told) for value in values)


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


@pytest.mark.parametrize("private", [False, True])
async def test_actions_put_in_place_of_its_own_are_cleaned(
    store: ContextStore, private: bool
) -> None:
    """Invariant 6: what is persisted of a tool is what its context holds when it has ended."""
    town = Town(store, private_results=["search_places"] if private else [])
    await town.remember()
    ran: list[str] = []

    def replaces(diet: str, tool_context: ToolContext) -> dict[str, Any]:
        tool_context._event_actions = EventActions(state_delta={"last": diet})
        return {"rows": 1}

    spy = Spy("spy")
    model = ScriptedModel.of(call("search_places", area="Huatan"), say("ok"))
    using = runner(town, town.agent(model, tools=[places(replaces, ran)]), after=[spy])
    await town.turn(using, "hungry")
    assert ran == [DIET]
    assert DIET not in await town.stored() + str(spy.seen) + str(model.requests)


@pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning")
@pytest.mark.parametrize("told", [True, False])
async def test_a_running_tool_asks_no_model_with_what_it_was_filled_in(
    town: Town, told: bool
) -> None:
    """Invariant 6: an agent that a filled tool runs gets no value; without one it may run."""
    await town.remember()
    inner = ScriptedModel.of(say("fine"))
    child = AgentTool(LlmAgent(name="child", model=inner, instruction="x"))
    ran: list[str] = []

    async def search_places(area: str, tool_context: ToolContext, diet: str = "") -> Any:
        """Search places."""
        ran.append(diet)
        request = f"places for {diet}" if told else "places"
        return await child.run_async(args={"request": request}, tool_context=tool_context)

    model = ScriptedModel.of(call("search_places", area="Huatan"), say("ok"))
    events = await town.turn(runner(town, town.agent(model, tools=[search_places])), "hungry")
    assert ran == [DIET]
    asked = [request for request, _ in town.sent]
    assert DIET not in str(asked) + str(inner.requests) + str(model.requests)
    assert len(inner.requests) == (0 if told else 1)
    assert events[-1].error_code == ("PREFERENCE_IN_PROMPT" if told else None)


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


async def test_an_unfilled_tools_errors_are_its_own(town: Town) -> None:
    """Where nothing private is in play, error callbacks and exceptions are left alone."""

    def search_events(area: str) -> None:
        """Search events."""
        raise LookupError(f"none in {area}")

    spy = Spy("spy")
    model = ScriptedModel.of(call("search_events", area="Huatan"))
    with pytest.raises(Exception, match="none in Huatan"):
        await town.turn(runner(town, town.agent(model, tools=[search_events]), [spy]), "go")
    assert "none in Huatan" in str(spy.seen)
    assert search_events.__doc__
