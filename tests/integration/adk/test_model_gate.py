"""The model gate against what is put in its place, hidden from it, or made late."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.apps.app import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.load_memory_tool import LoadMemoryTool
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai import Client, types

from callbacks.adk.gate import GatedModel, ModelPatched
from callbacks.adk.internals import invocation_of
from callbacks.adk.plugin import ContextBudgetPlugin
from callbacks.adk.tree import ModelNotGated, PreferenceInPrompt, RawPastKept
from callbacks.context.budget import Budget
from callbacks.counting.bytes import ByteCounter
from callbacks.counting.request import CountRequest
from stores.ports import ContextStore
from tests.integration.adk.conftest import APP, SCHEMA, Town
from tests.support.scripted import ScriptedModel, call, say

HUGE = "x" * 30_000
sequential = pytest.mark.filterwarnings(
    "ignore:SequentialAgent is deprecated:DeprecationWarning", "ignore:.EXPERIMENTAL.:UserWarning"
)


def small(store: ContextStore) -> Town:
    return Town(store, budget=Budget(20_000, "utf8_bytes"))


def wire(store: ContextStore, root: Any, **options: Any) -> ContextBudgetPlugin:
    app = App(name=APP, root_agent=root)
    return ContextBudgetPlugin.for_app(
        app,
        store=store,
        counter=ByteCounter(),
        budget=Budget(20_000, "utf8_bytes"),
        schema=SCHEMA,
        **options,
    )


async def answers(request: LlmRequest, stream: bool = False) -> Any:
    """What somebody puts on a model instead of its own call."""
    yield say("unmeasured")


def put(agent: LlmAgent, other: ScriptedModel) -> None:
    agent.model = other


def put_hidden(agent: LlmAgent, other: ScriptedModel) -> None:
    agent.__dict__["model"] = other


def put_call(agent: LlmAgent, other: ScriptedModel) -> None:
    vars(agent.model)["generate_content_async"] = other.generate_content_async


def put_patched(agent: LlmAgent, other: ScriptedModel) -> None:
    vars(other)["generate_content_async"] = other.generate_content_async
    agent.model = other


@pytest.mark.parametrize("swap", [put, put_hidden, put_call, put_patched])
@pytest.mark.parametrize("size", ["fits", "too big"])
async def test_what_is_put_in_a_models_place_is_measured_or_refused(
    store: ContextStore, swap: Any, size: str
) -> None:
    """Invariant 1: a model swapped or patched after before_model answers nothing unmeasured."""
    town = small(store)
    other = ScriptedModel.of(say("from the other"))
    model = ScriptedModel.of(say("from the first"))

    def late(callback_context: Any, llm_request: LlmRequest) -> None:
        # ADK runs a copy of the agent that it was given.
        swap(invocation_of(callback_context).agent, other)
        if size == "too big":
            llm_request.append_instructions([HUGE])

    root = town.agent(model, before_model_callback=late)
    events = await town.turn(town.runner(root), "hi")
    if swap in {put_call, put_patched}:
        assert events[-1].error_code == "MODEL_NOT_GATED"
    elif size == "too big":
        assert events[-1].error_code == "CURRENT_AND_RULES_EXCEED_INPUT_BUDGET"
    else:
        assert "from the other" in str(events[-1].content)
        assert len(town.sent) == 1
    allowed = int(size == "fits" and swap in {put, put_hidden})
    assert (model.calls_made, other.calls_made) == (0, allowed)


async def test_a_patched_model_stops_the_start_by_name(store: ContextStore, town: Town) -> None:
    """Invariant 1: what is put on the object is nobody's class, so nothing can stand before it."""
    model = ScriptedModel.of()
    vars(model)["generate_content_async"] = answers
    with pytest.raises(ModelNotGated, match=r"root .*replaced on the object"):
        wire(store, LlmAgent(name="root", model=model))
    with pytest.raises(ModelPatched, match="scripted"):
        town.plugin.gate(model)
    events = await town.turn(town.runner(town.agent(model)), "hi")
    assert "cannot be measured" in str(events[-1].content)


async def test_a_gated_model_takes_no_other_call(town: Town) -> None:
    """Invariant 1: not by assignment, and not past it either."""
    twin = town.plugin.gate(ScriptedModel.of())
    with pytest.raises((AttributeError, ValueError)):
        object.__setattr__(twin, "generate_content_async", answers)
    vars(twin)["generate_content_async"] = answers
    assert twin.generate_content_async != answers


async def test_an_agent_that_was_gated_stays_what_it_is(town: Town) -> None:
    """Its class's name, module and fields; a copy of it is gated too."""
    model = ScriptedModel.of(say("ok"))
    root = town.agent(model)
    await town.turn(town.runner(root), "hi")
    assert type(root).__name__ == "LlmAgent"
    assert type(root).__module__ == LlmAgent.__module__
    assert isinstance(root, LlmAgent)
    copy = root.clone(update={"name": "copy"})
    copy.model = ScriptedModel.of()
    assert isinstance(copy.canonical_model, GatedModel)
    anew = type(root)(name="anew", model=model)
    assert anew.canonical_model is model


class Making(BaseToolset):
    """A toolset that makes its tool anew whenever it is asked."""

    def __init__(self, *makers: Any) -> None:
        super().__init__()
        self._makers = makers

    async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
        return [make() for make in self._makers]

    async def close(self) -> None:
        return None


async def test_an_agent_made_late_under_a_runner_without_plugins(store: ContextStore) -> None:
    """Invariant 1: AgentTool(include_plugins=False) runs no callback of ours, only the gate."""
    town = small(store)
    deep = ScriptedModel.of(say("deep"))
    leaf = LlmAgent(name="leaf", model=deep, description="d", instruction=HUGE)
    making = Making(lambda: AgentTool(leaf, include_plugins=False))
    middle_model = ScriptedModel.of(call("leaf", request="x"), say("middle"))
    middle = LlmAgent(name="middle", model=middle_model, description="d", tools=[making])
    model = ScriptedModel.of(call("middle", request="x"), say("ok"))
    root = town.agent(model, tools=[AgentTool(middle, include_plugins=False)])
    await town.turn(town.runner(root), "hi")
    assert middle_model.calls_made == 2
    assert deep.calls_made == 0
    assert b"input budget" in middle_model.requests[1]
    assert len(town.sent) == model.calls_made + middle_model.calls_made


class Judge:
    """An object of an application's own that keeps a model."""

    def __init__(self, model: BaseLlm) -> None:
        self.model = model

    async def judge(self, text: str) -> dict[str, str]:
        """Judge."""
        return {"said": await ask(self.model, text)}

    async def __call__(self, text: str) -> dict[str, str]:
        """Judge."""
        return await self.judge(text)


async def ask(model: BaseLlm, text: str) -> str:
    content = types.Content(role="user", parts=[types.Part(text=text)])
    said: list[LlmResponse] = [
        r async for r in model.generate_content_async(LlmRequest(contents=[content]))
    ]
    return str(said[-1].error_code or said[-1].content)


def closure(model: BaseLlm) -> Any:
    async def judge(text: str) -> dict[str, str]:
        """Judge."""
        return {"said": await ask(model, text)}

    return judge


def decorated(model: BaseLlm) -> Any:
    inner = closure(model)

    @functools.wraps(inner)
    async def judge(text: str) -> dict[str, str]:
        return dict(await inner(text))

    return judge


def default(model: BaseLlm) -> Any:
    async def judge(text: str, *, _model: Any = model) -> dict[str, str]:
        """Judge."""
        return {"said": await ask(_model, text)}

    judge.__signature__ = __import__("inspect").signature(closure(model))  # type: ignore[attr-defined]  # hidden from the model
    return judge


async def _judged(model: BaseLlm, text: str) -> dict[str, str]:
    """Judge."""
    return {"said": await ask(model, text)}


def partial(model: BaseLlm) -> Any:
    made = functools.partial(_judged, model)
    made.__name__ = "judge"  # type: ignore[attr-defined]  # as tools that are partials do
    return made


def partial_by_name(model: BaseLlm) -> Any:
    async def judge(text: str, using: Any) -> dict[str, str]:
        """Judge."""
        return {"said": await ask(using, text)}

    return functools.partial(judge, using=model)


def method(model: BaseLlm) -> Any:
    return Judge(model).judge


def held(model: BaseLlm) -> Any:
    keeper = Judge(model)

    async def judge(text: str) -> dict[str, str]:
        """Judge."""
        return await keeper.judge(text)

    return judge


_GLOBAL: BaseLlm = ScriptedModel.of()


async def judge(text: str) -> dict[str, str]:
    """Judge."""
    return {"said": await ask(_GLOBAL, text)}


def module(model: BaseLlm) -> Any:
    globals()["_GLOBAL"] = model
    return judge


WAYS = [closure, decorated, default, partial, partial_by_name, method, held, module]


@pytest.mark.parametrize("make", WAYS)
async def test_a_model_that_a_function_keeps_is_gated(store: ContextStore, make: Any) -> None:
    """Invariant 1: in a closure, a default, a partial, an object, a module: counted."""
    town = small(store)
    hidden = ScriptedModel.of(say("judged"))
    tool = make(hidden)
    wire(store, LlmAgent(name="root", model=ScriptedModel.of(), tools=[tool]))
    said = [await tool(text=text) for text in ("short", HUGE)]
    assert "judged" in said[0]["said"]
    assert said[1]["said"] == "CURRENT_AND_RULES_EXCEED_INPUT_BUDGET"
    assert hidden.calls_made == 1
    assert town.sent == []


async def test_a_model_in_a_late_function_is_gated(store: ContextStore) -> None:
    """Invariant 1: the same for a tool that a toolset makes, before the model can call it."""
    from google.adk.tools.function_tool import FunctionTool

    town = small(store)
    hidden = ScriptedModel.of(say("judged"))
    making = Making(lambda: FunctionTool(closure(hidden)))
    model = ScriptedModel.of(call("judge", text="short"), say("ok"))
    await town.turn(town.runner(town.agent(model, tools=[making])), "hi")
    assert hidden.calls_made == 1
    assert len(town.sent) == model.calls_made + hidden.calls_made


def test_what_cannot_be_replaced_or_seen_is_named(store: ContextStore) -> None:
    """A bound model's own method is refused; a client of one's own is told in `explain`."""
    model = ScriptedModel.of()

    class Speaks(ScriptedModel):
        def speak(self, text: str) -> dict[str, str]:
            """Speak."""
            return {"text": text}

    with pytest.raises(ModelNotGated, match=r"speak .*self cannot be replaced"):
        wire(store, LlmAgent(name="root", model=model, tools=[Speaks().speak]))

    client = Client(api_key="k")

    def judges(text: str) -> dict[str, str]:
        """Judge."""
        return {"text": str(client)}

    told = wire(store, LlmAgent(name="root", model=model, tools=[judges])).explain()
    assert "  function judges of root, NOT SEEN, clients of its own: client" in told.splitlines()
    assert "not seen: what code of tools and callbacks asks through clients of its own" in told


def test_a_preference_never_fills_a_tool_that_keeps_a_model(store: ContextStore) -> None:
    """Invariant 6: what such a tool asks would hold the value."""
    from callbacks.adk.injection import Preference

    wish = Preference("diet", ["v"], purpose="p", fills={"judge": "text"}, otherwise="any")
    for make in (closure, held, method):
        root = LlmAgent(name="root", model=ScriptedModel.of(), tools=[make(ScriptedModel.of())])
        with pytest.raises(PreferenceInPrompt, match="judge"):
            wire(store, root, preferences=[wish])


@pytest.mark.parametrize("tool", [PreloadMemoryTool, LoadMemoryTool])
def test_tools_that_load_past_text_are_refused_by_name(store: ContextStore, tool: Any) -> None:
    """Invariant 4: past sentences in a request are refused, unless somebody answers for them."""
    made = tool()
    root = LlmAgent(name="root", model=ScriptedModel.of(), tools=[made])
    with pytest.raises(RawPastKept, match=made.name) as caught:
        wire(store, root)
    assert caught.value.error_code == "RAW_PAST_KEPT"
    plugin = wire(store, root, raw_past=[made.name])
    assert f"tool {made.name} of root, RAW PAST" in plugin.explain()


async def test_an_output_key_that_outlives_the_turn_is_refused(
    store: ContextStore, town: Town
) -> None:
    """Invariant 4: what the model said is not kept in the session's state."""
    root = LlmAgent(name="root", model=ScriptedModel.of(), output_key="said")
    with pytest.raises(RawPastKept, match=r"root .*output_key"):
        wire(store, root)
    wire(store, root, raw_past=["root"])
    events = await town.turn(town.runner(root), "hi")
    assert "past sentences" in str(events[-1].content)


@sequential
async def test_an_output_key_of_this_turn_is_no_past(town: Town) -> None:
    """A `temp:` key hands what one step said to the next, and is gone with the turn."""
    first, second = ScriptedModel.of(say("hand over"), say("hand over")), ScriptedModel.of()
    steps = SequentialAgent(
        name="steps",
        sub_agents=[
            LlmAgent(name="first", model=first, output_key="temp:said"),
            LlmAgent(name="second", model=second, instruction="Given: {temp:said?}"),
        ],
    )
    using = town.runner(steps)
    await town.turn(using, "hi")
    assert b"Given: hand over" in second.requests[0]
    first._script.clear()
    first.then(say("other"))
    await town.turn(using, "again")
    assert b"hand over" not in b"".join([*first.requests[1:], *second.requests[1:]])


async def test_a_memory_tool_made_late_stops_the_turn(
    town: Town, caplog: pytest.LogCaptureFixture
) -> None:
    """Invariant 4: what a toolset makes is looked at before a request leaves; its author is told.

    Once, as of what is found when a run begins: the second turn meets the same again.
    """
    model = ScriptedModel.of()
    root = town.agent(model, tools=[Making(LoadMemoryTool)])
    events = await town.turn(town.runner(root), "hi")
    await town.turn(town.runner(root), "hi again")
    assert events[-1].error_code == "RAW_PAST_KEPT"
    assert model.calls_made == 0
    [line] = [one for one in caplog.records if one.name == "local_agent.context"]
    assert line.levelname == "ERROR"
    assert "error_code=RAW_PAST_KEPT plugin=context_budget" in line.getMessage()
    assert "load_memory" in line.getMessage()
    assert isinstance(town.runner(root), Runner)


class Changing(ByteCounter):
    """Lets somebody change the request while it counts it, as a task of a callback's could."""

    def __init__(self) -> None:
        super().__init__()
        self.request: LlmRequest | None = None

    async def count(self, request: CountRequest) -> int:
        units = await super().count(request)
        if self.request is not None:
            part = types.Part(text=HUGE)
            self.request.contents.append(types.Content(role="user", parts=[part]))
        return units


async def test_a_request_that_changes_while_it_is_counted_does_not_leave(
    store: ContextStore,
) -> None:
    """Invariant 1: what leaves is what was measured, whoever still holds the request."""
    counter = Changing()
    town = Town(store, counter=counter, budget=Budget(20_000, "utf8_bytes"))

    def keep(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        llm_request.config.temperature = 0.5  # so that the gate has something to count
        counter.request = llm_request

    model = ScriptedModel.of(say("never"))
    events = await town.turn(town.runner(town.agent(model, before_model_callback=keep)), "hi")
    assert events[-1].error_code == "COUNT_UNAVAILABLE"
    assert model.calls_made == 0
    assert town.sent == []
