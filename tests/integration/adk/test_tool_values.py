"""What a tool was filled with: seen by nobody around it, in whatever way it ends."""

from __future__ import annotations

import asyncio
import copy
import logging
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event_actions import EventActions
from google.adk.plugins.logging_plugin import LoggingPlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from callbacks.adk.internals import NodeInterruptedError
from callbacks.adk.toolgate import ToolStopped, without_content
from stores.ports import ContextStore
from tests.integration.adk.around import ACTS, Spy, echoes, places, runner, whole
from tests.integration.adk.conftest import DIET, Town
from tests.support.scripted import ScriptedModel, call, say


class Ending(BaseException):
    """No Exception: ADK asks no error callback about it."""


def spanned(spans: InMemorySpanExporter) -> str:
    """All that the spans hold: attributes, events, status."""
    return str(
        [
            (s.name, s.status.description, s.attributes, [e.attributes for e in s.events])
            for s in spans.get_finished_spans()
        ]
    )


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
