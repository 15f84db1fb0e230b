"""Two lines to adopt: a plugin for an app, a schema read off its tools, everything gated."""

from __future__ import annotations

from datetime import date
from typing import Any, Literal

import pytest
from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.loop_agent import LoopAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.apps.app import App, EventsCompactionConfig
from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.models.base_llm import BaseLlm
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.workflow import START, Workflow
from google.genai import types
from pydantic import PrivateAttr

from callbacks.adk.derived import schema_from_tools
from callbacks.adk.gate import GatedModel
from callbacks.adk.injection import Preference
from callbacks.adk.plugin import ContextBudgetPlugin
from callbacks.adk.tree import ModelNotGated
from callbacks.context.budget import Budget
from callbacks.context.errors import UnitMismatch
from callbacks.counting.bytes import ByteCounter
from stores.ports import ContextStore
from tests.integration.adk.conftest import APP, DIET, SCHEMA, Town
from tests.support.past import said, shape
from tests.support.scripted import ScriptedModel, call, say

experimental = pytest.mark.filterwarnings("ignore:.EXPERIMENTAL.:UserWarning")
BUDGET = Budget(20_000, "utf8_bytes")


def find(town: Literal["Huatan", "Lukang"], day: date | None = None, diet: str = "") -> Any:
    """Find."""
    return {"rows": [town]}


def wire(store: ContextStore, root: Any, **options: Any) -> tuple[App, ContextBudgetPlugin]:
    app = App(name=APP, root_agent=root)
    plugin = ContextBudgetPlugin.for_app(
        app, store=store, counter=ByteCounter(), budget=BUDGET, **options
    )
    return app, plugin


async def test_two_lines_carry_the_thread(store: ContextStore, town: Town) -> None:
    """An app without schema or projectors keeps its thread, and what is private out of it."""
    model = ScriptedModel.of(call("find", town="Lukang", day="2026-03-08", diet="x"), say("ok"))
    root = LlmAgent(name="root", model=model, tools=[find])
    wish = Preference("diet", [DIET], purpose="p", fills={"find": "diet"}, otherwise="any")
    app, plugin = wire(store, root, preferences=[wish])
    assert app.plugins == [plugin]
    runner = Runner(app=app, session_service=town.sessions)
    await town.turn(runner, "what is on in Lukang on the 8th?")
    model.then(say("ok"))
    await town.turn(runner, "and then?")
    block = shape(model.contents[-1])[0]
    assert "Lukang" in block
    assert "2026-03-08" in block
    assert "diet" not in block


async def test_a_value_that_a_derived_slot_does_not_admit_is_left_out(
    store: ContextStore, town: Town
) -> None:
    """A model's argument outside the vocabulary is not kept, and stops no turn."""
    model = ScriptedModel.of(call("find", town="my home", day="soon"), say("ok"))
    app, _ = wire(store, LlmAgent(name="root", model=model, tools=[find]), private=["diet"])
    runner = Runner(app=app, session_service=town.sessions)
    events = await town.turn(runner, "find it")
    assert [e.error_code for e in events if e.error_code] == []
    window = await town.window()
    assert window is not None
    assert "home" not in window
    assert "soon" not in window


async def test_a_failed_call_leaves_nothing(store: ContextStore) -> None:
    """A derived projector notes nothing of a call that answered with an error."""
    derived = schema_from_tools(LlmAgent(name="root", tools=[find]), private=["diet"])
    project = derived.projectors["find"]
    assert project({"town": "Huatan"}, {"error": "down"}) is None
    noted = project({"town": "Huatan"}, {"rows": []})
    assert noted is not None
    assert dict(noted.slots) == {"town": "Huatan"}


class Keeps(BaseTool):
    """A tool that consults a model of its own."""

    def __init__(self, model: BaseLlm) -> None:
        super().__init__(name="keeps", description="d")
        self._model = model
        self.spare = {"other": model}


class Watching(BasePlugin):
    """A plugin that keeps a model."""

    def __init__(self, model: BaseLlm) -> None:
        super().__init__(name="watching")
        self.models = [model]


@experimental
@pytest.mark.filterwarnings("ignore:(Loop|Sequential)Agent is deprecated:DeprecationWarning")
def test_every_model_of_a_tree_is_gated_from_the_start(store: ContextStore) -> None:
    """Sub-agents, orchestrators, agents and models inside tools, plugins, the summarizer."""
    models = [ScriptedModel.of() for _ in range(6)]
    inner = LlmAgent(name="inner", model=models[0], description="d")
    child = LlmAgent(name="child")  # inherits its model
    leaf = LlmAgent(name="leaf", model=models[1])
    steps = SequentialAgent(name="steps", sub_agents=[LoopAgent(name="loop", sub_agents=[leaf])])
    keeps = Keeps(models[2])
    root = LlmAgent(
        name="root",
        model=models[3],
        tools=[AgentTool(inner, include_plugins=False), keeps],
        sub_agents=[child, steps],
    )
    watching = Watching(models[4])
    summarizer = LlmEventSummarizer(llm=models[5])
    app = App(
        name=APP,
        root_agent=root,
        plugins=[watching],
        events_compaction_config=EventsCompactionConfig(
            compaction_interval=9, overlap_size=1, summarizer=summarizer
        ),
    )
    plugin = ContextBudgetPlugin.for_app(
        app, store=store, counter=ByteCounter(), budget=BUDGET, schema=SCHEMA
    )
    for gated in (
        *(agent.model for agent in (root, child, inner, leaf)),
        *(keeps._model, keeps.spare["other"], watching.models[0], summarizer._llm),
    ):
        assert isinstance(gated, GatedModel)
    told = plugin.explain()
    for line in (
        "budget: 20000 utf8_bytes",
        "counter: ByteCounter, in utf8_bytes",
        "  agent root of town, gated: model",
        "  agent child of root, gated: model",
        "  agent leaf of loop, gated: model",
        "  agent inner of inner, gated: model",
        "  tool keeps of root, gated: _model, spare",
        "  plugin watching, gated: models",
        "schema: 3 topics, 1 slots, written by hand",
    ):
        assert line in told.splitlines()
    assert "summarizer LlmEventSummarizer" in told


@experimental
async def test_the_nodes_of_a_workflow_are_gated(store: ContextStore, town: Town) -> None:
    """A workflow's agents pass the gate, and their requests are counted."""
    model = ScriptedModel.of(say("done"))
    agent = LlmAgent(name="writer", model=model, instruction="x" * 30_000)
    flow = Workflow(name="flow", edges=[(START, agent)])
    app, plugin = wire(store, flow, schema=SCHEMA)
    assert "  agent writer of Graph, gated: model" in plugin.explain().splitlines()
    runner = Runner(app=app, session_service=town.sessions)
    await town.sessions.create_session(app_name=APP, user_id="ann", session_id="s")
    events = await town.turn(runner, "go")
    assert model.calls_made == 0
    assert "CURRENT_AND_RULES_EXCEED_INPUT_BUDGET" in [e.error_code for e in events]


class Own(BaseAgent):
    """An agent class with code of its own."""

    async def _run_async_impl(self, ctx):
        yield said("unmeasured", ctx.invocation_id)


class OwnWithModel(BaseAgent):
    """One whose model can be seen."""

    _llm: BaseLlm = PrivateAttr()


class Summarizer(BaseEventsSummarizer):
    """A summarizer of which nothing is known."""

    async def maybe_summarize_events(self, *, events):
        return None


class Frozen(BaseTool):
    """A tool whose model cannot be replaced."""

    def __init__(self, model: BaseLlm) -> None:
        super().__init__(name="frozen", description="d")
        self.__dict__["llm"] = model

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "llm":
            raise AttributeError
        super().__setattr__(name, value)


@pytest.mark.parametrize(
    ("thing", "name", "why"),
    [
        (lambda: Own(name="own"), "own", "its class has code of its own"),
        (
            lambda: LlmAgent(name="r", model="gemini-flash-latest", sub_agents=[Own(name="deep")]),
            "deep",
            "its class has code of its own",
        ),
        (
            lambda: LlmAgent(
                name="r", model=ScriptedModel.of(), tools=[AgentTool(Own(name="inside"))]
            ),
            "inside",
            "its class has code of its own",
        ),
        (
            lambda: LlmAgent(
                name="r", model=ScriptedModel.of(), tools=[Frozen(ScriptedModel.of())]
            ),
            "frozen",
            "llm cannot be replaced",
        ),
        (lambda: LlmAgent(name="lost", model="no-such-model"), "lost", "cannot be made"),
    ],
    ids=["root", "sub-agent", "inside a tool", "frozen", "unknown model"],
)
def test_a_tree_with_an_ungated_model_is_refused_by_name(
    store: ContextStore, thing: Any, name: str, why: str
) -> None:
    """Invariant 1: what cannot be gated stops the start by name; nothing is wired."""
    app = App(name=APP, root_agent=thing())
    with pytest.raises(ModelNotGated, match=f"{name} .*{why}") as caught:
        ContextBudgetPlugin.for_app(
            app, store=store, counter=ByteCounter(), budget=BUDGET, schema=SCHEMA
        )
    assert caught.value.error_code == "MODEL_NOT_GATED"
    assert name in str(caught.value.numbers["names"])
    assert app.plugins == []


@experimental
def test_a_summarizer_of_which_nothing_is_known_is_refused(store: ContextStore) -> None:
    """A compaction's own model sees the raw past; one that cannot be gated stops the start."""
    config = EventsCompactionConfig(compaction_interval=9, overlap_size=1, summarizer=Summarizer())
    root = LlmAgent(name="r", model=ScriptedModel.of())
    app = App(name=APP, root_agent=root, events_compaction_config=config)
    with pytest.raises(ModelNotGated, match="Summarizer"):
        ContextBudgetPlugin.for_app(
            app, store=store, counter=ByteCounter(), budget=BUDGET, schema=SCHEMA
        )


async def test_who_answers_for_an_agents_code_may_name_it(store: ContextStore, town: Town) -> None:
    """An agent class of one's own runs where it is named, or where its model can be seen."""
    app, _ = wire(store, Own(name="own"), schema=SCHEMA, without_model=["own"])
    [event] = await town.turn(Runner(app=app, session_service=town.sessions), "hi")
    assert shape([event.content or types.Content()]) == ["model:unmeasured"]
    seen = OwnWithModel(name="seen")
    seen._llm = ScriptedModel.of()
    wire(store, seen, schema=SCHEMA)
    assert type(seen._llm).__name__ == "GatedScriptedModel"


def test_an_app_is_wired_once(store: ContextStore) -> None:
    """A second plugin would record every exchange twice."""
    app, _ = wire(store, LlmAgent(name="r", model=ScriptedModel.of()), schema=SCHEMA)
    with pytest.raises(ValueError, match="already"):
        ContextBudgetPlugin.for_app(
            app, store=store, counter=ByteCounter(), budget=BUDGET, schema=SCHEMA
        )


def test_a_counter_of_another_unit_stops_the_start(store: ContextStore) -> None:
    """Invariant 13: a budget in tokens and a counter of bytes are told apart before any turn."""
    app = App(name=APP, root_agent=LlmAgent(name="r", model=ScriptedModel.of()))
    tokens = Budget(8_192, "tokens")
    with pytest.raises(UnitMismatch) as caught:
        ContextBudgetPlugin.for_app(
            app, store=store, counter=ByteCounter(), budget=tokens, schema=SCHEMA
        )
    assert caught.value.numbers == {"counter": "utf8_bytes", "budget": "tokens"}
    assert app.plugins == []


def test_the_wiring_names_what_happens_around_each_tool(store: ContextStore) -> None:
    """`explain` lists projections, fills, private results, reducers, and what was left out."""
    wish = Preference("diet", [DIET], purpose="p", fills={"find": "diet"}, otherwise="any")
    _, plugin = wire(
        store,
        LlmAgent(name="root", model=ScriptedModel.of(), tools=[find]),
        preferences=[wish],
        private_results=["find"],
        reducers={"find": lambda result, room: result},
    )
    told = plugin.explain()
    assert (
        "  find: leaves a projection, diet filled from diet, result for the application alone,"
        " result shortened when too big"
    ) in told
    assert "schema: 1 topics, 2 slots, read off the tools" in told
    assert "find(diet): filled by a remembered preference" in told
    assert DIET not in told
