"""Tools that run at the same time: each has its own values, and the state is put back once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.tools.tool_context import ToolContext

from callbacks.adk.injection import Preference
from stores.ports import ContextStore
from tests.integration.adk.around import Spy, echoes, places, runner, writes
from tests.integration.adk.conftest import DIET, Town
from tests.support.scripted import ScriptedModel, call, calls, say

experimental = pytest.mark.filterwarnings(
    "ignore:.EXPERIMENTAL.:UserWarning", "ignore:ParallelAgent is deprecated:DeprecationWarning"
)


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
