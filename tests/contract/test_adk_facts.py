"""Facts of google-adk that callbacks/adk leans on; several are private behaviour."""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps.app import App
from google.adk.events.event import Event
from google.adk.flows.llm_flows import contents as adk_contents
from google.adk.models.google_llm import Gemini
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from callbacks.adk import internals
from callbacks.adk.gate import GatedModel, Gates
from tests.support.scripted import ScriptedModel, call, calls, say


class Recorder(BasePlugin):
    """Notes what happens, in order; behaves as told."""

    def __init__(self, **behaviour: Any) -> None:
        super().__init__(name="recorder")
        self.log: list[str] = []
        self.behaviour = behaviour
        self.sessions: list[str] = []

    async def before_run_callback(self, *, invocation_context):
        self.log.append("before_run")
        self.sessions.append(invocation_context.session.id)
        return self.behaviour.get("before_run")

    async def before_model_callback(self, *, callback_context, llm_request):
        self.log.append("before_model")
        if callable(act := self.behaviour.get("before_model")):
            return act(callback_context, llm_request)
        return None

    async def after_model_callback(self, *, callback_context, llm_response):
        self.log.append("after_model")

    async def before_tool_callback(self, *, tool, tool_args, tool_context):
        self.log.append("before_tool")
        if callable(act := self.behaviour.get("before_tool")):
            act(tool_args)

    async def after_tool_callback(self, *, tool, tool_args, tool_context, result):
        self.log.append("after_tool")

    async def on_tool_error_callback(self, *, tool, tool_args, tool_context, error):
        self.log.append("on_tool_error")
        return self.behaviour.get("on_tool_error")

    async def on_event_callback(self, *, invocation_context, event):
        self.log.append("on_event")
        if callable(act := self.behaviour.get("on_event")):
            return act(event)
        return None

    async def after_run_callback(self, *, invocation_context):
        self.log.append("after_run")


def echo(text: str = "") -> dict[str, str]:
    """Echo."""
    return {"length": str(len(text))}


async def run(
    model: ScriptedModel, plugin: BasePlugin, **agent: Any
) -> tuple[list[Event], list[Event]]:
    """Run one turn; return the events given out and those persisted."""
    sessions = InMemorySessionService()
    fields: dict[str, Any] = {"name": "root", "model": model, "tools": [echo]}
    root = LlmAgent(**(fields | agent))
    runner = Runner(app=App(name="a", root_agent=root, plugins=[plugin]), session_service=sessions)
    session = await sessions.create_session(app_name="a", user_id="u", session_id="s")
    events = [
        event
        async for event in runner.run_async(
            user_id="u",
            session_id="s",
            new_message=types.Content(role="user", parts=[types.Part(text="hi")]),
        )
    ]
    found = await sessions.get_session(app_name="a", user_id="u", session_id=session.id)
    assert found is not None
    return events, found.events


async def test_order_of_callbacks() -> None:
    """before_run; model and tool callbacks around each step, on_event after each; after_run."""
    plugin = Recorder()
    await run(ScriptedModel.of(call("echo", text="x"), say("ok")), plugin)
    assert plugin.log == [
        "before_run",
        "before_model",
        "after_model",
        "on_event",
        "before_tool",
        "after_tool",
        "on_event",
        "before_model",
        "after_model",
        "on_event",
        "after_run",
    ]


async def test_plugins_come_before_the_agents_own_callbacks() -> None:
    """So a plugin's count is not the last word, and only a wrapped model sees the final request."""
    plugin = Recorder()

    def own(callback_context: Any, llm_request: LlmRequest) -> None:
        plugin.log.append("agent")

    await run(ScriptedModel.of(say("ok")), plugin, before_model_callback=own)
    assert plugin.log.index("before_model") + 1 == plugin.log.index("agent")


async def test_what_before_tool_changes_reaches_the_tool_alone() -> None:
    """Arguments in before_tool are a deep copy of the stored call (A17)."""
    ran: list[str] = []

    def tool(text: str) -> dict[str, int]:
        """A tool."""
        ran.append(text)
        return {"n": 1}

    model = ScriptedModel.of(call("tool", text="asked"), say("ok"))
    plugin = Recorder(before_tool=lambda args: args.update(text="filled"))
    _, stored = await run(model, plugin, tools=[tool])
    assert ran == ["filled"]
    assert "filled" not in str([event.model_dump() for event in stored])
    assert b"filled" not in model.requests[1]


async def test_a_tool_is_run_with_the_context_its_callbacks_got() -> None:
    """One context object a call, so a call can be armed by it; models may repeat an id."""
    contexts: list[Any] = []

    class Contexts(Recorder):
        async def before_tool_callback(self, *, tool, tool_args, tool_context):
            contexts.append(tool_context)

    def tool(tool_context: ToolContext) -> dict[str, int]:
        """A tool."""
        contexts.append(tool_context)
        return {"n": 1}

    await run(ScriptedModel.of(call("tool"), say("ok")), Contexts(), tools=[tool])
    assert len(contexts) == 2
    assert contexts[0] is contexts[1]


async def test_the_model_is_looked_up_after_before_model() -> None:
    """So a model can be swapped past a plugin, and the gate stands where it is looked up."""
    other = ScriptedModel.of(say("other"))

    def swap(context: Any, request: LlmRequest) -> None:
        agent = internals.invocation_of(context).agent
        assert isinstance(agent, LlmAgent)
        agent.model = other

    events, _ = await run(ScriptedModel.of(), Recorder(before_model=swap))
    assert "other" in str(events[-1].content)


async def test_after_tool_runs_also_after_a_handled_tool_error() -> None:
    """on_tool_error's result goes through after_tool, so both must cope with each other."""

    def tool() -> None:
        """A tool."""
        raise ValueError("x")

    plugin = Recorder(on_tool_error={"error": "handled"})
    await run(ScriptedModel.of(call("tool"), say("ok")), plugin, tools=[tool])
    assert [entry for entry in plugin.log if "tool" in entry] == [
        "before_tool",
        "on_tool_error",
        "after_tool",
    ]


async def test_a_response_from_before_model_stands_in_for_the_model() -> None:
    """No model call, no after_model; the event is persisted and final."""
    from google.adk.models.llm_response import LlmResponse

    refused = LlmResponse(
        content=types.Content(role="model", parts=[types.Part(text="no")]),
        error_code="C",
        error_message="no",
        custom_metadata={"a": 1},
    )
    model = ScriptedModel.of()
    plugin = Recorder(before_model=lambda context, request: refused)
    events, stored = await run(model, plugin)
    assert model.calls_made == 0
    assert "after_model" not in plugin.log
    assert events[-1].is_final_response()
    assert stored[-1].error_code == "C"
    assert stored[-1].custom_metadata == {"a": 1}


async def test_before_run_content_ends_the_run() -> None:
    """Early exit by before_run works on the ordinary path: no model call (A15)."""
    model = ScriptedModel.of()
    early = types.Content(role="model", parts=[types.Part(text="blocked")])
    events, _ = await run(model, Recorder(before_run=early))
    assert model.calls_made == 0
    assert [e.content for e in events] == [early]


async def test_what_on_event_returns_is_what_is_persisted() -> None:
    """A replaced event is persisted and given out; the original is in neither place."""

    def withhold(event: Event) -> Event:
        content = types.Content(role="model", parts=[types.Part(text="withheld")])
        return event.model_copy(update={"content": content})

    events, stored = await run(ScriptedModel.of(say("original")), Recorder(on_event=withhold))
    assert "original" not in str([e.model_dump() for e in [*events, *stored]])
    assert stored[-1].content == events[-1].content


def test_adks_own_plugins_replace_no_event() -> None:
    """They look at events (logging, analytics, stamps) and return nothing, in every release."""
    root = Path(inspect.getfile(BasePlugin)).parent.parent
    hooks = {
        file.name: node
        for file in root.rglob("*.py")
        if "def on_event_callback" in (text := file.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.AsyncFunctionDef) and node.name == "on_event_callback"
    }
    assert {"base_plugin.py", "logging_plugin.py"} <= hooks.keys()
    for name, hook in hooks.items():
        given = [one.value for one in ast.walk(hook) if isinstance(one, ast.Return)]
        assert all(g is None or (isinstance(g, ast.Constant) and g.value is None) for g in given), (
            name
        )


async def test_a_plugin_that_raises_leaves_its_words_in_the_error() -> None:
    """So this package's plugin never raises."""

    def raises(context: Any, request: Any) -> None:
        raise ValueError("words")

    with pytest.raises(RuntimeError, match="words"):
        await run(ScriptedModel.of(), Recorder(before_model=raises))


@pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning")
async def test_plugins_run_inside_an_agent_tool_with_a_session_of_its_own() -> None:
    """The nested run has another session and fires before_run and after_run itself (A14)."""
    inner = LlmAgent(name="inner", model=ScriptedModel.of(say("in")), description="d")
    plugin = Recorder()
    model = ScriptedModel.of(call("inner", request="x"), say("out"))
    await run(model, plugin, tools=[AgentTool(inner)])
    assert plugin.log.count("before_run") == 2
    assert plugin.log.count("after_run") == 2
    assert len(set(plugin.sessions)) == 2


async def test_parallel_calls_run_at_the_same_time() -> None:
    """before_tool, tool and after_tool of several calls interleave: state is keyed by call id."""
    import asyncio

    meeting = asyncio.Barrier(2)

    async def tool(n: int) -> dict[str, int]:
        """A tool."""
        async with asyncio.timeout(5):
            await meeting.wait()
        return {"n": n}

    ids: list[str | None] = []

    class Ids(Recorder):
        async def before_tool_callback(self, *, tool, tool_args, tool_context):
            ids.append(tool_context.function_call_id)

    model = ScriptedModel.of(calls(("tool", {"n": 1}), ("tool", {"n": 2})), say("ok"))
    await run(model, Ids(), tools=[tool])
    assert len(set(ids)) == 2
    assert None not in ids


async def test_the_past_is_built_as_adk_builds_it() -> None:
    """`_get_contents` takes these arguments and gives contents equal to the request's own."""
    wanted = {
        "preserve_function_call_ids",
        "isolation_scope",
        "is_single_turn",
        "user_content",
        "include_thoughts_from_other_agents",
    }
    assert wanted <= set(inspect.signature(adk_contents._get_contents).parameters)
    assert internals.unsupported() == []
    built: list[list[types.Content]] = []

    def look(context: Any, request: LlmRequest) -> None:
        invocation = internals.invocation_of(context)
        assert internals.contents_of(invocation, invocation.session.events) == request.contents
        built.append(request.contents)

    model = ScriptedModel.of(call("echo", text="x"), say("ok"))
    await run(model, Recorder(before_model=look))
    assert len(built) == 2


async def test_a_static_instruction_leaves_its_mark() -> None:
    """Non-text static instructions become contents at the front, counted by a private index."""
    prefixes: list[int] = []
    static = types.Content(
        role="user",
        parts=[types.Part(inline_data=types.Blob(data=b"x", mime_type="image/png"))],
    )
    plugin = Recorder(before_model=lambda c, r: prefixes.append(internals.static_prefix(r)))
    await run(ScriptedModel.of(say("ok")), plugin, static_instruction=static)
    assert prefixes == [1]


async def test_custom_metadata_of_a_run_reaches_the_plugin() -> None:
    """A channel names its event there."""
    assert RunConfig(custom_metadata={"event_id": "e"}).custom_metadata == {"event_id": "e"}


def test_a_gated_gemini_is_still_a_gemini() -> None:
    """Every check by type and every capability stays true; settings are shared, nothing stacks."""

    async def check(request: LlmRequest) -> None:
        return None

    gates = Gates(check)
    model = Gemini(model="gemini-flash-latest")
    twin = gates.gate(model)
    assert issubclass(type(twin), Gemini)
    assert issubclass(type(twin), GatedModel)
    assert twin.capabilities == model.capabilities
    assert twin.model == model.model
    assert gates.gate(model) is twin
    assert gates.gate(twin) is twin
    assert type(model) is Gemini
    other = Gates(check).gate(twin)
    assert type(other).__mro__.count(GatedModel) == 1


class ImportSpy:
    """Notes what somebody tries to import that is not loaded."""

    def __init__(self) -> None:
        self.tried: list[str] = []

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        self.tried.append(name)


async def test_nothing_is_imported_in_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """ADK retries an absent extra on every turn; `stop_import_retry` ends that."""
    name = "google.adk.agents.remote_a2a_agent"
    monkeypatch.delitem(sys.modules, name, raising=False)
    spy = ImportSpy()
    model = ScriptedModel.of(say("ok"))
    await run(model, Recorder())  # everything that is imported once is imported now
    monkeypatch.setattr(sys, "meta_path", [spy, *sys.meta_path])
    await run(ScriptedModel.of(call("echo", text="x"), say("ok")), Recorder())
    retried = name in spy.tried
    missing = internals.stop_import_retry()
    assert retried is missing
    spy.tried.clear()
    await run(ScriptedModel.of(call("echo", text="x"), say("ok")), Recorder())
    assert spy.tried == []
