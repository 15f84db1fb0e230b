"""Where a projection's values come from: tools, the model's notes, the newest message."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

from google.adk.tools.tool_context import ToolContext

from callbacks.context.listing import Listing
from callbacks.context.projecting import project_fields
from callbacks.context.schema import ContextSchema, Topic
from callbacks.context.slot import Slot
from stores.ports import ContextStore
from tests.integration.adk.conftest import Town
from tests.support.scripted import ScriptedModel, call, calls, say

BLOCK = "[earlier]\n"
TRIP = ContextSchema(
    topics={"places": Topic("places"), "events": Topic("events")},
    slots={
        "area": Slot.closed(["Huatan", "Lukang"], aliases={"HT": "Huatan"}),
        "date": Slot.date(topics=["events"]),
        "shop": Slot.grounded("find", "name", topics=["places"]),
        "card": Slot.private(),
    },
    listings={"find": Listing("name", id="id", slot="shop")},
)


def find(area: str) -> dict[str, Any]:
    """Find shops."""
    return {"area": area, "rows": [{"id": 1, "name": "Sino"}, {"id": 2, "name": "Lalla|=x"}]}


def finish(tool_context: ToolContext) -> dict[str, Any]:
    """Show the answer as it is."""
    tool_context.actions.skip_summarization = True
    return {"shown": True}


def trip(store: ContextStore, **options: Any) -> Town:
    settings: dict[str, Any] = {
        "schema": TRIP,
        "projectors": {"find": project_fields("places", {"area": "area"})},
        "preferences": [],
        "noting": True,
        "today": lambda: date(2026, 3, 5),
    }
    return Town(store, **(settings | options))


async def stored(town: Town) -> dict[str, Any]:
    return json.loads(await town.window() or "{}")


def block_of(model: ScriptedModel) -> str:
    return str((model.contents[-1][0].parts or [])[0].text)


async def test_what_a_message_plainly_says_is_kept_without_any_tool(store: ContextStore) -> None:
    """Invariant 4: a turn without a tool leaves its values, marked as found, and no sentence."""
    town = trip(store)
    model = ScriptedModel.of(say("Sure."), say("ok"))
    runner = town.runner(town.agent(model, tools=[find]))
    await town.turn(runner, "something in HT on March 7th, my xylophone is ready")
    turns = (await stored(town))["turns"]
    assert turns == [
        {
            "topic": "events",
            "slots": {"area": "Huatan", "date": "2026-03-07"},
            "sources": {"area": "found", "date": "found"},
        }
    ]
    # Nothing was added to the very request that said it.
    assert len(model.contents[0]) == 1
    await town.turn(runner, "and now?")
    assert block_of(model) == BLOCK + "-events|area=Huatan|date=2026-03-07"
    assert b"xylophone" not in model.requests[-1]


async def test_what_a_tool_ran_with_beats_what_was_found(store: ContextStore) -> None:
    """A tool's word counts more than a word in the message."""
    town = trip(store)
    model = ScriptedModel.of(call("find", area="Lukang"), say("ok"))
    await town.turn(town.runner(town.agent(model, tools=[find])), "not far from Huatan")
    assert (await stored(town))["turns"] == [{"topic": "places", "slots": {"area": "Lukang"}}]


async def test_the_model_notes_what_the_schema_admits(store: ContextStore) -> None:
    """Invariant 5: notes are checked, kept with their source, and refused in one line."""
    town = trip(store)
    model = ScriptedModel.of(
        call(
            "note_context",
            area="HT",
            date="someday",
            card="4111111111111111",
            shop="Nowhere",
            topic="weather",
            said="the person is angry",
        ),
        say("ok"),
    )
    await town.turn(town.runner(town.agent(model, tools=[find])), "hello")
    turn = (await stored(town))["turns"][0]
    assert turn == {"topic": "", "slots": {"area": "Huatan"}, "sources": {"area": "noted"}}
    answer = next(
        part.function_response.response
        for part in model.contents[-1][-1].parts or []
        if part.function_response
    )
    assert answer == {
        "noted": ["area"],
        "not_noted": "topic (events / places); date (YYYY-MM-DD); no such item; "
        "shop (as a tool returned it); no such item",
    }


async def test_a_note_may_name_its_topic(store: ContextStore) -> None:
    """A topic of the schema is taken from the note."""
    town = trip(store)
    model = ScriptedModel.of(call("note_context", topic="places", area="Lukang"), say("ok"))
    await town.turn(town.runner(town.agent(model, tools=[find])), "hello")
    assert (await stored(town))["turns"][0]["topic"] == "places"


async def test_the_declaration_comes_from_the_schema(store: ContextStore) -> None:
    """Invariant 14: every request has the same tool, with each slot but the private ones."""
    town = trip(store)
    model = ScriptedModel.of(say("a"), say("b"))
    runner = town.runner(town.agent(model, tools=[find]))
    await town.turn(runner, "one")
    await town.turn(runner, "two")
    for request, _ in town.sent:
        config = request.config.model_dump(exclude_none=True)
        declared = [f for tool in config["tools"] for f in tool["function_declarations"]]
        [note] = [f["parameters"]["properties"] for f in declared if f["name"] == "note_context"]
        assert set(note) == {"area", "date", "shop", "topic"}
        assert note["area"]["enum"] == ["Huatan", "Lukang"]
    assert len({request.envelope_json for request, _ in town.sent}) == 1


async def test_without_noting_nothing_is_added(store: ContextStore) -> None:
    """The tool is there only where it was asked for, and only where there is something to note."""
    town = trip(store, noting=False, finding=False)
    model = ScriptedModel.of(call("find", area="Huatan"), say("a"))
    await town.turn(town.runner(town.agent(model, tools=[find])), "in Lukang")
    assert b"note_context" not in model.requests[0]
    assert (await stored(town))["turns"][0]["slots"] == {"area": "Huatan"}
    bare = trip(store, schema=ContextSchema({"a": Topic("a")}), projectors={})
    model = ScriptedModel.of(say("a"))
    await bare.turn(bare.runner(bare.agent(model, tools=[find])), "hello", person="bob")
    assert b"note_context" not in model.requests[0]


async def test_a_note_beside_a_tool_that_ends_the_turn(store: ContextStore) -> None:
    """A turn whose answer is a tool's result ends as it would, and the note is kept."""
    town = trip(store)
    model = ScriptedModel.of(calls(("finish", {}), ("note_context", {"area": "HT"})))
    await town.turn(town.runner(town.agent(model, tools=[find, finish])), "hello")
    assert model.calls_made == 1
    assert (await stored(town))["turns"][0]["slots"] == {"area": "Huatan"}
    alone = ScriptedModel.of(call("note_context", area="Lukang"), say("ok"))
    await town.turn(town.runner(town.agent(alone, tools=[find, finish])), "hello")
    assert alone.calls_made == 2


async def test_the_second_one_is_the_second_of_the_last_list(store: ContextStore) -> None:
    """A list stays as ids and escaped names; a reference by order grounds a value in it (5)."""
    town = trip(store)
    model = ScriptedModel.of(call("find", area="Huatan"), say("two"), say("ok"), say("ok"))
    runner = town.runner(town.agent(model, tools=[find]))
    await town.turn(runner, "shops?")
    await town.turn(runner, "when is the second one open?")
    assert block_of(model) == BLOCK + "-places|area=Huatan\n#1=Sino|2=Lalla\\u007c\\u003dx"
    await town.turn(runner, "and?")
    assert "\n-|shop=Lalla\\u007c\\u003dx\n#" in block_of(model)


async def test_a_private_result_gives_no_list(store: ContextStore) -> None:
    """Invariant 6: what only the person sees is in no list and grounds nothing."""
    town = trip(store, private_results=["find"])
    model = ScriptedModel.of(
        call("find", area="Huatan"), call("note_context", shop="Sino"), say("ok"), say("ok")
    )
    runner = town.runner(town.agent(model, tools=[find]))
    await town.turn(runner, "shops?")
    await town.turn(runner, "and?")
    assert block_of(model) == BLOCK + "-places|area=Huatan"
