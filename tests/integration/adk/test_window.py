"""What a model sees of the past, through the real Runner."""

from __future__ import annotations

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps.app import App
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

from tests.integration.adk.conftest import APP, Town
from tests.support.scripted import ScriptedModel, call, calls, say

BLOCK = "[earlier]"
adks_own_warning = pytest.mark.filterwarnings(
    "ignore:The `plugins` argument is deprecated:DeprecationWarning"  # AgentTool's own runner
)


def texts(contents: list[types.Content]) -> list[tuple[str | None, str | None]]:
    return [(c.role, c.parts[0].text if c.parts else None) for c in contents]


async def test_the_past_is_replaced_by_a_block(town: Town) -> None:
    """Invariant 4: no past sentence of user or model reaches a later request."""
    model = ScriptedModel.of(call("search_places", area="HT"), say("Noodles!"), say("Sunny."))
    runner = town.runner(town.agent(model))
    await town.turn(runner, "hungry in HT, my secret is 42")
    await town.turn(runner, "and the weather?")
    assert texts(model.contents[-1]) == [
        ("user", f"{BLOCK}\n-find places|area=Huatan"),
        ("model", "Noted."),
        ("user", "and the weather?"),
    ]
    assert b"secret" not in model.requests[-1]
    assert b"Noodles!" not in model.requests[-1]


async def test_each_step_of_a_tool_loop_sees_the_same_block_and_its_own_calls(town: Town) -> None:
    """Invariant 2: the current turn's call and response contents stay whole, in place."""
    model = ScriptedModel.of(call("search_places", area="Huatan"), say("ok"))
    runner = town.runner(town.agent(model))
    await town.turn(runner, "first")
    model.then(
        calls(("search_places", {"area": "Lukang"}), ("search_events", {"area": "Lukang"})),
        call("search_events", area="Huatan"),
        say("all found"),
    )
    await town.turn(runner, "second")
    steps = model.contents[2:]
    assert len(steps) == 3
    assert all(texts(step)[:3] == texts(steps[0])[:3] for step in steps)
    assert texts(steps[0])[0][1] == f"{BLOCK}\n-find places|area=Huatan"
    last = steps[-1]
    assert [c.role for c in last] == ["user", "model", "user", "model", "user", "model", "user"]
    assert [p.function_response.name for p in last[4].parts or [] if p.function_response] == [
        "search_places",
        "search_events",
    ]
    assert last[-1].role == "user"


async def test_what_is_kept_is_the_same_object(town: Town) -> None:
    """Invariant 2: contents are reused, never rebuilt, so thought signatures survive."""
    kept: list[types.Content] = []

    class Looking(BasePlugin):
        async def before_model_callback(self, *, callback_context, llm_request):
            kept[:] = llm_request.contents

    model = ScriptedModel.of(
        call("search_places", area="Huatan"), say("ok"), call("search_places", area="Huatan")
    )
    app = App(
        name=APP, root_agent=town.agent(model), plugins=[Looking(name="looking"), town.plugin]
    )
    runner = Runner(app=app, session_service=town.sessions)
    await town.turn(runner, "first")
    await town.turn(runner, "second")
    block, acknowledgement, *own = model.contents[-1]
    assert [content.role for content in own] == ["user", "model", "user"]
    assert all(any(content is one for one in kept) for content in own)
    assert not any(one is block or one is acknowledgement for one in kept)


async def test_repeating_oneself_cuts_the_right_message(town: Town) -> None:
    """Past and present are told apart by invocation, never by comparing texts."""
    model = ScriptedModel.of(say("hello"), say("hello"), say("hello"))
    runner = town.runner(town.agent(model))
    for _ in range(3):
        await town.turn(runner, "hi")
    assert [texts(step) for step in model.contents] == [[("user", "hi")]] * 3


async def test_only_the_newest_two_exchanges_stay_whole(town: Town) -> None:
    """Older projections live on in the ledger, where newer ones do not say the same anew."""
    model = ScriptedModel.of()
    runner = town.runner(town.agent(model))
    for name, area in [
        ("search_places", "Huatan"),
        ("search_events", "Lukang"),
        ("search_places", "Huatan"),
        ("search_events", "Huatan"),
    ]:
        model.then(call(name, area=area), say("ok"))
        await town.turn(runner, "go on")
    model.then(say("bye"))
    await town.turn(runner, "last")
    assert texts(model.contents[-1])[0][1] == (
        f"{BLOCK}\n*find events\n-find places|area>Huatan\n-find events|area>Huatan"
    )


async def test_sub_agents_share_the_window_and_the_turn(town: Town) -> None:
    """A transfer within a turn keeps the turn's own contents and the same history block."""
    child_model = ScriptedModel.of(call("search_places", area="Huatan"), say("child done"))
    child = town.agent(child_model, name="child", description="finds places")
    root_model = ScriptedModel.of(call("transfer_to_agent", agent_name="child"))
    root = town.agent(root_model, sub_agents=[child])
    runner = town.runner(root)
    await town.turn(runner, "please find")
    assert any("please find" in str(text) for _, text in texts(child_model.contents[0]))
    assert await town.window() is not None
    child_model.then(say("hello again"))
    root_model.then(call("transfer_to_agent", agent_name="child"))
    await town.turn(runner, "thanks")
    last = child_model.contents[-1]
    assert texts(last)[0][1] == f"{BLOCK}\n-find places|area=Huatan"
    assert b"please find" not in child_model.requests[-1]


@adks_own_warning
async def test_an_agent_as_a_tool_is_counted_and_leaves_its_projection_to_the_turn(
    town: Town,
) -> None:
    """Invariant 1: requests of agents inside tools pass the same budget and gate."""
    inner_model = ScriptedModel.of(call("search_places", area="Lukang"), say("inner"))
    inner = town.agent(inner_model, name="inner", description="inner")
    outer_model = ScriptedModel.of(call("inner", request="find in Lukang"), say("outer"))
    runner = town.runner(town.agent(outer_model, tools=[AgentTool(inner)]))
    await town.turn(runner, "hello")
    assert [record.agent for _, record in town.sent] == ["root", "inner", "inner", "root"]
    assert len(town.reports) == 1
    assert [c.tool for c in town.reports[0].tool_calls] == ["inner", "search_places"]
    outer_model.then(say("bye"))
    await town.turn(runner, "again")
    assert texts(outer_model.contents[-1])[0][1] == f"{BLOCK}\n-find places|area=Lukang"


@adks_own_warning
async def test_an_uncovered_agent_tool_is_still_gated(town: Town) -> None:
    """Invariant 1: include_plugins=False takes the plugin away, but not the gate."""
    inner_model = ScriptedModel.of(say("inner"))
    inner = LlmAgent(name="inner", model=inner_model, description="inner")
    outer_model = ScriptedModel.of(call("inner", request="x" * 200_000), say("outer"))
    runner = town.runner(town.agent(outer_model, tools=[AgentTool(inner, include_plugins=False)]))
    await town.turn(runner, "hello")
    assert inner_model.calls_made == 0


async def test_include_contents_none_keeps_the_newest_message(town: Town) -> None:
    """A child that sees no history still sees what the person just wrote."""
    model = ScriptedModel.of(call("search_places", area="Huatan"), say("ok"), say("ok"))
    runner = town.runner(town.agent(model, include_contents="none"))
    await town.turn(runner, "xylophone")
    await town.turn(runner, "two")
    assert texts(model.contents[-1])[-1] == ("user", "two")
    assert b"xylophone" not in model.requests[-1]


async def test_streaming_changes_nothing(town: Town) -> None:
    """SSE sends the same bounded request and records the exchange once."""
    model = ScriptedModel.of(call("search_places", area="Huatan"), say("ok"))
    runner = town.runner(town.agent(model))
    config = RunConfig.model_validate({"streaming_mode": "sse"})
    await town.turn(runner, "one", config=config)
    await town.turn(runner, "two", config=config)
    assert texts(model.contents[-1])[0][1] == f"{BLOCK}\n-find places|area=Huatan"


async def test_nothing_loaded_of_a_long_session_is_fine(town: Town) -> None:
    """Invariant 15: with num_recent_events=0 the turn works and ADK loads nothing old."""
    model = ScriptedModel.of(call("search_places", area="Huatan"), say("ok"))
    runner = town.runner(town.agent(model))
    config = RunConfig(get_session_config=GetSessionConfig(num_recent_events=0))
    await town.turn(runner, "one", config=config)
    model.then(call("search_events", area="Lukang"), say("ok"))
    await town.turn(runner, "two", config=config)
    assert texts(model.contents[2])[0][1] == f"{BLOCK}\n-find places|area=Huatan"
    assert len(model.contents[3]) == 5


async def test_the_window_expires(town: Town) -> None:
    """The journal's time to live slides from the last append and then ends."""
    model = ScriptedModel.of(call("search_places", area="Huatan"), say("ok"), say("ok"))
    runner = town.runner(town.agent(model))
    await town.turn(runner, "one")
    town.now += 900_001
    await town.turn(runner, "two")
    assert texts(model.contents[-1]) == [("user", "two")]


async def test_stable_prefix(town: Town) -> None:
    """Invariant 14: rules and tools are byte-identical from turn to turn and come first."""
    model = ScriptedModel.of()
    runner = town.runner(town.agent(model))
    for area in ["Huatan", "Lukang", "Huatan"]:
        model.then(call("search_places", area=area), say("ok"))
        await town.turn(runner, f"look in {area}")
    assert len({request.envelope_json for request, _ in town.sent}) == 1


async def test_agent_level_callbacks_do_the_same(town: Town) -> None:
    """Without an App plugin, the agent's own callbacks build, fill, record and close."""
    model = ScriptedModel.of(call("search_places", area="Huatan"), say("ok"), say("ok"))
    agent = town.agent(model, **town.plugin.agent_callbacks())
    runner = Runner(app=App(name=APP, root_agent=agent), session_service=town.sessions)
    await town.remember()
    await town.turn(runner, "one")
    await town.turn(runner, "two")
    assert texts(model.contents[-1])[0][1] == f"{BLOCK}\n-find places|area=Huatan"
    assert [c.preference_origin for c in town.reports[0].tool_calls] == ["consented_memory"]
