"""Attacks that once got through, each as the kind that it is."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from pydantic import BaseModel, Field

from callbacks.context.projecting import project_fields
from callbacks.context.schema import ContextSchema, Topic
from callbacks.context.slot import Slot
from stores.ports import ContextStore
from tests.integration.adk.conftest import DIET, Town
from tests.support.scripted import ScriptedModel, call, say


class Hidden(BaseModel):
    diet_of_person: str = Field(repr=False)


@dataclass
class Quiet:
    diet_of_person: str = field(repr=False)


async def turn_with(town: Town, tool: Any, **agent: Any) -> str:
    """Run two turns with a filled tool; return all that ADK stored and the model was given."""
    await town.remember()
    model = ScriptedModel.of(call("search_places", area="Huatan"), say("ok"), say("bye"))
    runner = town.runner(town.agent(model, tools=[tool], **agent))
    await town.turn(runner, "hungry")
    await town.turn(runner, "thanks")
    return await town.stored() + b"".join(model.requests).decode()


@pytest.mark.parametrize("private", [True, False])
async def test_two_calls_under_one_id_are_two_calls(store: ContextStore, private: bool) -> None:
    """Invariant 6: a model may number calls as it likes; each result is known by its own call."""
    town = Town(store, private_results=["search_places"] if private else [])
    await town.remember()
    parts = [
        types.Part(
            function_call=types.FunctionCall(id="call_0", name="search_places", args={"area": area})
        )
        for area in ("Huatan", "Lukang")
    ]
    both = LlmResponse(content=types.Content(role="model", parts=parts))

    async def search_places(area: str = "", diet: str = "") -> dict[str, str]:
        """Search places."""
        await asyncio.sleep(0.01)
        return {"kind": diet}

    model = ScriptedModel.of(both, say("ok"))
    await town.turn(town.runner(town.agent(model, tools=[search_places])), "hungry")
    assert DIET not in await town.stored() + b"".join(model.requests).decode()


async def test_a_result_nobody_answers_for_does_not_leave(store: ContextStore) -> None:
    """Invariant 6: a filled tool whose turn is no longer known fails closed."""
    town = Town(store)

    def search_places(area: str, diet: str = "") -> dict[str, str]:
        """Search places."""
        town.plugin._keeper._turns._turns.clear()
        return {"kind": diet}

    assert DIET not in await turn_with(town, search_places)


async def test_a_projector_never_sees_what_was_filled_in(store: ContextStore) -> None:
    """Invariants 5 and 6: a slot for the very argument stays empty; the journal holds no value."""
    schema = ContextSchema(
        topics={"places": Topic("places")},
        slots={"area": Slot.closed(["Huatan"]), "kind": Slot.closed([DIET, "meat"])},
    )
    town = Town(
        store,
        schema=schema,
        projectors={"search_places": project_fields("places", {"area": "area", "kind": "kind"})},
    )

    def search_places(area: str, diet: str = "") -> dict[str, str]:
        """Search places."""
        return {"area": area, "kind": diet}

    seen = await turn_with(town, search_places)
    assert DIET not in seen + str(await town.window())


@pytest.mark.parametrize(
    "echo",
    [
        lambda diet: {"x": Hidden(diet_of_person=diet)},
        lambda diet: {"x": [Quiet(diet)]},
        lambda diet: {"x": bytearray(diet.encode())},
        lambda diet: {"x": diet.upper(), "y": diet.title()},
        lambda diet: {("a", diet): 1},
        lambda diet: {"x": json.dumps({"q": diet})},
        lambda diet: Hidden(diet_of_person=diet),
        lambda diet: (f"{part}{diet}" for part in "ab"),
    ],
)
async def test_results_of_any_shape_are_plain_before_they_are_scrubbed(
    store: ContextStore, echo: Any
) -> None:
    """Invariant 6: what an object's text hides, its fields say."""

    def search_places(area: str, diet: str = "") -> Any:
        """Search places."""
        return echo(diet)

    assert DIET.lower() not in (await turn_with(Town(store), search_places)).lower()


@pytest.mark.parametrize("private", [True, False])
@pytest.mark.parametrize("way", ["key", "nested", "session", "confirmation", "artifact"])
async def test_what_a_tool_writes_elsewhere_is_its_output_too(
    store: ContextStore, way: str, private: bool
) -> None:
    """Invariant 6: state, its keys, confirmations and artifacts are part of what a tool says."""
    town = Town(store, private_results=["search_places"] if private else [])

    def search_places(area: str, tool_context: ToolContext, diet: str = "") -> dict[str, str]:
        """Search places."""
        if way == "key":
            tool_context.state[f"k {diet}"] = 1
        elif way == "nested":
            tool_context.state["last"] = {"x": {"y": diet}}
        elif way == "session":
            tool_context.session.state["last"] = diet
        elif way == "confirmation":
            tool_context.request_confirmation(hint=f"for {diet}?", payload={"diet_is": diet})
        else:
            tool_context.actions.artifact_delta[f"{diet}.txt"] = 1
        return {"found": "1"}

    instruction = "You help. {last?}"
    assert DIET not in await turn_with(town, search_places, instruction=instruction)


@pytest.mark.parametrize("hook", ["on_request", "on_report", "refusal_text"])
async def test_an_applications_hook_that_fails_says_nothing(
    store: ContextStore, hook: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Invariant 3: hooks get private things; their errors never travel through ADK."""

    def broken(*arguments: Any) -> Any:
        raise ValueError(f"words {DIET}")

    town = Town(store, **{hook: broken})
    await town.remember()
    model = ScriptedModel.of(call("search_places", area="Huatan"), say("ok"))
    await town.turn(town.runner(town.agent(model)), "hungry")
    assert DIET not in await town.stored() + caplog.text


@pytest.mark.parametrize(
    ("cause", "change"),
    [
        ("cached_content", {"cached_content": "cachedContents/x"}),
        ("extra_body", {"http_options": types.HttpOptions(extra_body={"contents": ["x" * 9000]})}),
        ("automatic_function_calling", {"tools": [print]}),
    ],
)
async def test_what_no_counter_can_see_is_refused_in_every_unit(
    town: Town, cause: str, change: dict[str, Any]
) -> None:
    """Invariant 1: a part that bypasses the count refuses the request, by name."""

    def adds(callback_context: Any, llm_request: LlmRequest) -> None:
        for name, value in change.items():
            setattr(llm_request.config, name, value)

    model = ScriptedModel.of()
    events = await town.turn(town.runner(town.agent(model, before_model_callback=adds)), "hi")
    assert model.calls_made == 0
    assert events[-1].error_code == "COUNT_UNAVAILABLE"
    refusal = (events[-1].custom_metadata or {})["refusal"]
    assert refusal["cause"] == cause


@pytest.mark.parametrize("wrong", [{"max_turns": True}, {"max_turns": 1.5}, {"ttl_ms": 0.5}])
def test_settings_that_are_no_whole_numbers_are_refused(
    store: ContextStore, wrong: dict[str, Any]
) -> None:
    """A wrong setting is told where it is given, not in every turn."""
    with pytest.raises(ValueError, match="max_turns"):
        Town(store, **wrong)
