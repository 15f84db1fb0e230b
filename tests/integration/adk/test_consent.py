"""Consented values: in the running tool, and nowhere else."""

from __future__ import annotations

import json
import logging
import re
from typing import Any

import pytest
from google.adk.agents.run_config import RunConfig
from google.adk.tools.tool_context import ToolContext
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from callbacks.adk.injection import MARKER, Preference, fill, scrub
from stores.ports import ContextStore
from stores.records import Preferences, Remembered
from tests.integration.adk.conftest import DIET, SCHEMA, Town
from tests.support.scripted import ScriptedModel, call, calls, say


@pytest.fixture(name="ran")
def _ran() -> list[dict[str, Any]]:
    return []


def recording(ran: list[dict[str, Any]], *, raises: bool = False) -> Any:
    def search_places(area: str, diet: str, tool_context: ToolContext) -> dict[str, Any]:
        """Search places."""
        ran.append({"area": area, "diet": diet})
        tool_context.state["last"] = f"searched {diet}"
        if raises:
            raise ValueError(f"no {diet} in {area}")
        return {"area": area, "diet": diet, "note": f"rows for {diet}", "rows": [{"kind": diet}]}

    return search_places


async def test_the_tool_runs_with_it_and_nobody_else_sees_it(
    town: Town, ran: list[dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    """Invariant 6: not in a request, a session event, its state or a log."""
    caplog.set_level(logging.DEBUG)
    await town.remember()
    model = ScriptedModel.of(call("search_places", area="Huatan", diet=""), say("ok"), say("bye"))
    agent = town.agent(model, tools=[recording(ran)], instruction="You help. {last?}")
    runner = town.runner(agent)
    await town.turn(runner, "hungry")
    await town.turn(runner, "thanks")
    assert ran == [{"area": "Huatan", "diet": DIET}]
    assert not any(DIET.encode() in request for request in model.requests)
    assert DIET not in await town.stored()
    assert DIET not in caplog.text
    assert DIET not in repr(town.reports)
    assert [c.as_dict() for c in town.reports[0].tool_calls] == [
        {
            "tool": "search_places",
            "proposed_arguments": {"area": "Huatan", "diet": ""},
            "effective_arguments": {"area": "Huatan", "diet": DIET},
            "preference_origin": "consented_memory",
            "memory_revision": 1,
        }
    ]


async def test_a_missing_argument_is_filled_too(town: Town, ran: list[dict[str, Any]]) -> None:
    """What the model leaves out altogether is open as well, even where the tool demands it."""
    await town.remember()
    model = ScriptedModel.of(call("search_places", area="Huatan"), say("ok"))
    await town.turn(town.runner(town.agent(model, tools=[recording(ran)])), "hungry")
    assert ran == [{"area": "Huatan", "diet": DIET}]


@pytest.mark.parametrize("said", ["any", "halal"])
async def test_explicit_words_of_this_turn_win(
    town: Town, ran: list[dict[str, Any]], said: str
) -> None:
    """What the person says now beats what is remembered, and forgets nothing."""
    await town.remember()
    model = ScriptedModel.of(call("search_places", area="Huatan", diet=said), say("ok"))
    await town.turn(town.runner(town.agent(model, tools=[recording(ran)])), "anything")
    assert ran == [{"area": "Huatan", "diet": said}]
    assert town.reports[0].tool_calls[0].preference_origin == "this_turn"
    model.then(call("search_places", area="Huatan"), say("ok"))
    await town.turn(town.runner(town.agent(model, tools=[recording(ran)])), "again")
    assert ran[-1] == {"area": "Huatan", "diet": DIET}


async def test_a_tool_that_fails_keeps_it_to_itself(
    town: Town, ran: list[dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    """Invariant 6: an exception's text may quote the value, so it is withheld."""
    caplog.set_level(logging.DEBUG)
    await town.remember()
    model = ScriptedModel.of(call("search_places", area="Huatan"), say("sorry"), say("bye"))
    runner = town.runner(town.agent(model, tools=[recording(ran, raises=True)]))
    await town.turn(runner, "hungry")
    stored = await town.stored()
    assert DIET not in stored + caplog.text
    assert "TOOL_FAILED" in stored
    assert not any(DIET.encode() in request for request in model.requests)


async def test_an_unfilled_tool_keeps_its_own_errors(town: Town) -> None:
    """Where nothing was filled in, the application's own error handling is left alone."""

    def breaks() -> dict[str, Any]:
        """Break."""
        raise ValueError("plain")

    model = ScriptedModel.of(call("breaks"))
    with pytest.raises(Exception, match="plain"):
        await town.turn(town.runner(town.agent(model, tools=[breaks])), "go")


async def test_parallel_calls_do_not_share_anything(town: Town, ran: list[dict[str, Any]]) -> None:
    """Each call has its own filled copy; one explicit value does not leak into the other."""
    await town.remember()
    model = ScriptedModel.of(
        calls(
            ("search_places", {"area": "Huatan"}),
            ("search_places", {"area": "Lukang", "diet": "halal"}),
        ),
        say("ok"),
    )
    await town.turn(town.runner(town.agent(model, tools=[recording(ran)])), "both")
    assert sorted(ran, key=str) == [
        {"area": "Huatan", "diet": DIET},
        {"area": "Lukang", "diet": "halal"},
    ]


async def test_nobody_has_nothing_remembered(store: ContextStore, ran: list[Any]) -> None:
    """Invariant 11: without a person, nothing is read, filled in or kept."""
    town = Town(store, owner=lambda context: None)
    await town.remember("-")
    model = ScriptedModel.of(call("search_places", area="Huatan"), say("ok"), say("ok"))
    runner = town.runner(town.agent(model, tools=[recording(ran)]))
    await town.turn(runner, "one", person="-")
    await town.turn(runner, "two", person="-")
    assert ran == [{"area": "Huatan", "diet": "any"}]
    assert len(model.contents[-1]) == 1
    assert await town.window("-") is None


def normal(text: str) -> str:
    """Session or span text without what is random or timed by nature: ids, times, durations."""
    text = re.sub(
        r"(adk-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "ID", text
    )
    text = re.sub(r"e-ID", "ID", text)
    return re.sub(r'("timestamp":|"last_update_time":) ?[0-9.e+]+', r"\1T", text)


@pytest.mark.parametrize("capture", ["SPAN_AND_EVENT", "legacy"])
async def test_two_people_who_differ_in_memory_look_the_same(
    store: ContextStore,
    ran: list[dict[str, Any]],
    spans: InMemorySpanExporter,
    monkeypatch: pytest.MonkeyPatch,
    capture: str,
) -> None:
    """Invariant 6: with private results, requests, session events and spans are identical."""
    if capture == "legacy":
        monkeypatch.setenv("ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN", "1")
        monkeypatch.setenv("ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS", "true")
    else:
        monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental")
        monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_AND_EVENT")
    seen: list[tuple[list[bytes], str, str]] = []
    for memory in (True, False):
        town = Town(store, private_results=["search_places"])
        person = f"p-{capture}-{memory}"
        if memory:
            await town.remember(person)
        spans.clear()
        model = ScriptedModel.of(
            call("search_places", area="Huatan", diet=""), say("ok"), say("bye")
        )
        runner = town.runner(town.agent(model, tools=[recording(ran)]))
        await town.turn(runner, "hungry", person=person)
        await town.turn(runner, "thanks", person=person)
        finished = [
            {"name": span.name, **dict(span.attributes or {})}
            for span in spans.get_finished_spans()
        ]
        assert any("Huatan" in json.dumps(span, default=str) for span in finished)
        text = json.dumps(finished, default=str, sort_keys=True, ensure_ascii=False)
        seen.append(
            (
                [request.canonical() for request, _ in town.sent],
                normal((await town.stored(person)).replace(person, "P")),
                normal(text.replace(person, "P")),
            )
        )
        assert DIET not in text
    assert [call["diet"] for call in ran] == [DIET, "any"]
    assert seen[0] == seen[1]


async def test_private_results_reach_the_application(town: Town, store: ContextStore) -> None:
    """The report carries the real result; session and model get a constant receipt."""
    town = Town(store, private_results=["search_places"])
    await town.remember()
    model = ScriptedModel.of(call("search_places", area="Huatan"), say("ok"))
    await town.turn(town.runner(town.agent(model)), "hungry")
    [private] = town.reports[0].private_results
    assert private.result["note"] == f"for {DIET}"
    assert '"status":"shown_to_person"' in await town.stored()
    assert "noodles" not in await town.stored()


def forgetting(town: Town, ran: list[str], *, when: str) -> Any:
    async def search_places(area: str, diet: str) -> dict[str, Any]:
        """Search places."""
        ran.append(diet)
        if when == "during":
            await town.forget()
        return {"area": area, "note": diet}

    return search_places


async def test_forgotten_before_the_tool(town: Town) -> None:
    """Invariant 7: a turn that began before the change runs no tool with the old value."""
    ran: list[str] = []
    await town.remember()

    async def forgets(callback_context: Any, llm_response: Any) -> None:
        await town.forget()

    model = ScriptedModel.of(call("search_places", area="Huatan"), say("never"))
    agent = town.agent(
        model, tools=[forgetting(town, ran, when="never")], after_model_callback=forgets
    )
    events = await town.turn(town.runner(agent), "hungry")
    assert ran == []
    assert events[-1].error_code == "PREFERENCE_CHANGED"
    assert model.calls_made == 1
    assert await town.window() is None


async def test_forgotten_while_the_tool_runs(town: Town) -> None:
    """Invariant 8: a result made with a forgotten value goes nowhere, and leaves nothing."""
    ran: list[str] = []
    await town.remember()
    model = ScriptedModel.of(call("search_places", area="Huatan"), say("never"))
    agent = town.agent(model, tools=[forgetting(town, ran, when="during")])
    events = await town.turn(town.runner(agent), "hungry")
    assert ran == [DIET]
    assert events[-1].error_code == "PREFERENCE_CHANGED"
    assert model.calls_made == 1
    assert await town.window() is None
    assert DIET not in await town.stored()


async def test_forgotten_before_the_answer(town: Town) -> None:
    """Invariant 7: an answer that is ready when the revision moves is not given."""
    await town.remember()

    async def forgets(callback_context: Any, llm_response: Any) -> None:
        parts = llm_response.content.parts
        if parts and parts[0].text:
            await town.forget()

    model = ScriptedModel.of(call("search_places", area="Huatan"), say("the pending answer"))
    agent = town.agent(model, after_model_callback=forgets)
    events = await town.turn(town.runner(agent), "hungry")
    assert events[-1].error_code == "PREFERENCE_CHANGED"
    assert "the pending answer" not in await town.stored()
    assert await town.window() is None


async def test_the_old_window_is_gone_after_a_change(town: Town) -> None:
    """Invariant 7: any change of consent makes the window of before unusable."""
    model = ScriptedModel.of(call("search_places", area="Huatan"), say("ok"))
    runner = town.runner(town.agent(model))
    await town.turn(runner, "one")
    assert await town.window() is not None
    await town.remember()
    model.then(say("ok"))
    await town.turn(runner, "two")
    assert len(model.contents[-1]) == 1


async def test_the_same_event_leaves_one_projection(town: Town) -> None:
    """Invariant 9: an event that is delivered again changes the journal once."""
    model = ScriptedModel.of()
    runner = town.runner(town.agent(model))
    config = RunConfig(custom_metadata={"event_id": "evt-1"})
    for _ in range(3):
        model.then(call("search_places", area="Huatan"), say("ok"))
        await town.turn(runner, "one", config=config)
    window = await town.window()
    assert window is not None
    assert window.count("places") == 1


async def test_a_reader_who_stops_early_loses_nothing(town: Town) -> None:
    """The exchange is recorded before its final answer leaves."""
    model = ScriptedModel.of(call("search_places", area="Huatan"), say("ok"))
    runner = town.runner(town.agent(model))
    await town.sessions.create_session(app_name="town", user_id="ann", session_id="s")
    from google.genai import types

    async for event in runner.run_async(
        user_id="ann",
        session_id="s",
        new_message=types.Content(role="user", parts=[types.Part(text="one")]),
    ):
        if event.is_final_response():
            break
    assert await town.window() is not None


WORDS = st.text(st.characters(codec="utf-8"), max_size=8)
RESULTS = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS | st.just(DIET) | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=12,
)


@given(result=st.dictionaries(WORDS | st.just("diet"), RESULTS, max_size=4), prefix=WORDS)
def test_nothing_of_the_value_survives_scrubbing(result: dict[str, Any], prefix: str) -> None:
    """Invariant 6: whatever shape a result has, the remembered value is not in it."""
    preference = Preference("diet", [DIET], purpose="p", fills={"search": "diet"}, otherwise="any")
    known = Preferences(
        revision=1, values={"diet": Remembered(value=DIET, purpose="p", granted_at_ms=0)}
    )
    filled = fill([preference], known, "search", {"area": "x"})
    clean = scrub({**result, f"{prefix}{DIET}": f"{prefix}{DIET}{prefix}"}, filled)
    assert DIET not in repr(clean)
    assert "diet" not in clean
    empty = fill([preference], Preferences(revision=1, values={}), "search", {"area": "x"})
    assert scrub({"diet": "any", "a": ["any", "many"]}, empty) == {"a": [MARKER, "many"]}


def test_a_tool_that_echoes_gives_the_same_with_and_without_memory() -> None:
    """Invariant 6: echoed arguments leave alike, remembered or not."""
    preference = Preference("diet", [DIET], purpose="p", fills={"search": "diet"}, otherwise="any")
    known = Preferences(
        revision=1, values={"diet": Remembered(value=DIET, purpose="p", granted_at_ms=0)}
    )
    outcomes = []
    for memory in (known, Preferences(revision=1, values={})):
        filled = fill([preference], memory, "search", {"diet": ""})
        diet = filled.effective["diet"]
        outcomes.append(scrub({"diet": diet, "args": {"diet": diet}, "echo": [diet]}, filled))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"key": " "},
        {"values": []},
        {"values": [" "]},
        {"purpose": ""},
        {"otherwise": DIET},
        {"key": "generation:7"},
        {"key": "k" * 65},
        {"values": ["v" * 201]},
        {"purpose": "p\0"},
    ],
)
def test_a_preference_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    """A declaration is checked where it is written."""
    fields: dict[str, Any] = {"key": "diet", "values": [DIET], "purpose": "p", "otherwise": "any"}
    fields |= wrong
    with pytest.raises(ValueError, match=r"preference|storable"):
        Preference(fields.pop("key"), fields.pop("values"), fills={"search": "diet"}, **fields)


def test_two_preferences_never_fill_one_argument(store: ContextStore) -> None:
    """Which of two values wins would be chance."""
    twice = [
        Preference(key, [DIET], purpose="p", fills={"search": "diet"}, otherwise="any")
        for key in ("a", "b")
    ]
    with pytest.raises(ValueError, match="same argument"):
        Town(store, preferences=twice)
    assert SCHEMA.fingerprint
