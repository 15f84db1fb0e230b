"""A06: a huge tool result is bounded by size, wherever it stands, and never cut blindly."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.genai import types

from callbacks.adk.reducing import first_entries, size
from callbacks.context.budget import Budget
from stores.ports import ContextStore
from tests.integration.adk.conftest import Town
from tests.support.past import shape, unpaired
from tests.support.scripted import ScriptedModel, call, calls, say

LIMIT = 20_000
BUDGET = Budget(LIMIT, "utf8_bytes")
ROWS = [{"id": number, "name": f"shop {number}", "note": "彰化" * 10} for number in range(500)]


def huge(q: str = "") -> dict[str, Any]:
    """Return far too much."""
    return {"area": "Huatan", "rows": ROWS}


def results(contents: list[types.Content]) -> list[dict[str, Any]]:
    return [
        p.function_response.response or {}
        for c in contents
        for p in c.parts or []
        if p.function_response is not None
    ]


async def test_a06_in_the_current_turn_without_a_reducer_it_is_refused(store: ContextStore) -> None:
    """A06: over budget and nothing declared: refused with a code, the newest message not cut."""
    town = Town(store, budget=BUDGET)
    model = ScriptedModel.of(call("huge"), say("never"))
    events = await town.turn(town.runner(town.agent(model, tools=[huge])), "hi")
    assert events[-1].error_code == "CURRENT_AND_RULES_EXCEED_INPUT_BUDGET"
    assert model.calls_made == 1


async def test_a06_in_the_current_turn_a_declared_reducer_shortens_it(store: ContextStore) -> None:
    """A06: the request fits, says what it left out, and keeps the call and the message."""
    town = Town(store, budget=BUDGET, reducers={"huge": first_entries})
    model = ScriptedModel.of(call("huge"), say("ok"))
    events = await town.turn(town.runner(town.agent(model, tools=[huge])), "hi")
    assert [e.error_code for e in events if e.error_code] == []
    [result] = results(model.contents[1])
    kept = len(result["rows"])
    assert 0 < kept < len(ROWS)
    assert result["rows"] == ROWS[:kept]
    assert result["shortened"] == {"rows": f"{kept} of 500 entries"}
    assert shape(model.contents[1])[0] == "user:hi"
    assert unpaired(model.contents[1]) == []
    record = town.reports[-1].requests[-1]
    assert record.units is not None
    assert record.units <= LIMIT
    assert ("result-1", "summarized", "over_budget") in [
        (block.id, block.action, block.reason) for block in record.blocks
    ]
    assert '"id":499' in (await town.stored()).replace(" ", "")  # the session keeps all of it


async def test_a06_a_result_that_fits_is_left_alone(store: ContextStore) -> None:
    """A06: a reducer is asked only when the request would not fit."""

    def never(result: Any, room: int) -> Any:
        raise AssertionError

    town = Town(store, budget=Budget(200_000, "utf8_bytes"), reducers={"huge": never})
    model = ScriptedModel.of(call("huge"), say("ok"))
    events = await town.turn(town.runner(town.agent(model, tools=[huge])), "hi")
    assert [e.error_code for e in events if e.error_code] == []
    assert results(model.contents[1]) == [huge()]


async def test_a06_only_declared_tools_are_shortened(store: ContextStore) -> None:
    """A06: beside a shortened result, another tool's result and signed parts stay whole."""

    def small() -> dict[str, str]:
        """Return little."""
        return {"note": "n" * 2_000}

    town = Town(store, budget=BUDGET, reducers={"huge": first_entries})
    signed = calls(("huge", {}), ("small", {}))
    assert signed.content is not None
    assert signed.content.parts is not None
    signed.content.parts[0].thought_signature = b"sig"
    model = ScriptedModel.of(signed, say("ok"))
    await town.turn(town.runner(town.agent(model, tools=[huge, small])), "hi")
    shortened, whole = results(model.contents[1])
    assert "shortened" in shortened
    assert whole == small()
    assert (model.contents[1][1].parts or [])[0].thought_signature == b"sig"


@pytest.mark.parametrize(
    "reducer",
    [lambda result, room: result, lambda result, room: {"text": "x" * (room + 100)}],
    ids=["does nothing", "does too little"],
)
async def test_a06_a_reducer_that_does_not_shorten_changes_nothing(
    store: ContextStore, reducer: Any
) -> None:
    """A06: what does not get small enough is refused, not sent."""
    town = Town(store, budget=BUDGET, reducers={"huge": reducer})
    model = ScriptedModel.of(call("huge"), say("never"))
    events = await town.turn(town.runner(town.agent(model, tools=[huge])), "hi")
    assert events[-1].error_code == "CURRENT_AND_RULES_EXCEED_INPUT_BUDGET"
    assert model.calls_made == 1


async def test_a06_a_reducer_that_fails_refuses(store: ContextStore) -> None:
    """A06, invariant 3: an application's own error is a refusal, and its words stay with it."""

    def broken(result: Any, room: int) -> Any:
        raise KeyError("words of a result")

    town = Town(store, budget=BUDGET, reducers={"huge": broken})
    model = ScriptedModel.of(call("huge"), say("never"))
    events = await town.turn(town.runner(town.agent(model, tools=[huge])), "hi")
    assert events[-1].error_code == "INTERNAL_ERROR"
    assert "words of a result" not in await town.stored()


async def test_a06_in_an_older_turn_it_is_no_part_of_the_request(store: ContextStore) -> None:
    """A06: ten tokens or ten thousand: an older result is gone from every later request."""
    town = Town(store, budget=BUDGET, reducers={"huge": first_entries})
    model = ScriptedModel.of(call("huge"), say("ok"))
    runner = town.runner(town.agent(model, tools=[huge]))
    await town.turn(runner, "hi")
    for number in range(5):
        model.then(say("ok"))
        await town.turn(runner, f"and {number}")
        assert results(model.contents[-1]) == []
        assert len(model.requests[-1]) < 5_000


async def test_a06_four_short_turns_and_a_huge_one_stay_within_the_budget(
    store: ContextStore,
) -> None:
    """A06: nothing that leaves is over the budget, in any of the turns."""
    town = Town(store, budget=BUDGET, reducers={"huge": first_entries})
    model = ScriptedModel.of()
    runner = town.runner(town.agent(model, tools=[huge]))
    for words in ("a", "b", "c", "d"):
        await town.turn(runner, words)
    model.then(call("huge"), call("huge", q="again"), say("ok"))
    await town.turn(runner, "e")
    sizes = [record.units for _, record in town.sent]
    assert len(sizes) == 7
    assert all(units is not None and units <= LIMIT for units in sizes)
    assert len(results(model.contents[-1])) == 2


@pytest.mark.parametrize("room", [300, 1_000, 5_000])
@pytest.mark.parametrize(
    "result",
    [
        {"rows": ROWS},
        {"text": "一" * 9_000, "n": 3},
        {"rows": ROWS, "text": "x" * 9_000, "n": 3},
    ],
    ids=["rows", "text", "both"],
)
def test_the_ready_reducer_keeps_a_beginning_and_says_so(result: dict[str, Any], room: int) -> None:
    """What is kept is a beginning, whole entries and characters, within the room, marked."""
    before = json.dumps(result)
    shorter = first_entries(result, room)
    assert json.dumps(result) == before
    assert size(shorter) <= room
    for name, value in result.items():
        if name in shorter["shortened"]:
            assert value[: len(shorter[name])] == shorter[name]
            assert shorter["shortened"][name].startswith(f"{len(shorter[name])} of {len(value)} ")
        else:
            assert shorter[name] == value


def test_the_ready_reducer_gives_back_what_it_cannot_shorten() -> None:
    """Numbers and short fields stay; whoever asked sees that it did not get small enough."""
    assert first_entries({"n": 1}, 2) == {"n": 1}
