"""Kinds of failure in ADK's public tracker: calls and answers that lost each other in a session.

Each test writes the broken history into a real session and runs the real Runner with the plugin.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest
from google.adk.agents.run_config import RunConfig
from google.adk.apps.app import App
from google.adk.events.event import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types

from callbacks.adk.sessions import SessionTurns, bounded_run_config
from tests.integration.adk.conftest import APP, Town
from tests.support.past import (
    answered,
    answers,
    asked,
    called,
    chat,
    neighbours,
    said,
    shape,
    unpaired,
)
from tests.support.scripted import ScriptedModel, call, calls, say

CONFIRMATION = "adk_request_confirmation"


def look(q: str) -> dict[str, str]:
    """Look something up."""
    return {"v": q}


def text(words: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=words)])


async def given(town: Town, events: Sequence[Event]) -> None:
    """A session that holds these events."""
    session = await town.sessions.create_session(app_name=APP, user_id="ann", session_id="s")
    for event in events:
        await town.sessions.append_event(session, event)


async def run(
    town: Town, model: ScriptedModel, message: types.Content, tools: Any = (look,)
) -> list[Event]:
    runner = town.runner(town.agent(model, tools=list(tools)))
    return [
        event
        async for event in runner.run_async(user_id="ann", session_id="s", new_message=message)
    ]


async def run_as_channel(
    town: Town, model: ScriptedModel, message: types.Content, tools: Any = (look,)
) -> list[Event]:
    turns = SessionTurns(town.runner(town.agent(model, tools=list(tools))))
    return [e async for e in turns.run(user_id="ann", session_id="s", message=message)]


BROKEN = {
    "A01 answer without its call, last": [asked("hi", "1"), answered("X", turn="1")],
    "A01 answer without its call, inside": [
        asked("hi", "1"),
        answered("X", turn="1"),
        said("so", "1"),
    ],
    "A02 call without its answer": [asked("hi", "1"), called("X", turn="1")],
    "A02 one of two parallel calls without its answer": [
        asked("hi", "1"),
        called("X", "Y", turn="1"),
        answered("X", turn="1"),
    ],
    "A02 call without id and without answer": [asked("hi", "1"), called(None, turn="1")],
    "answered twice": [
        asked("hi", "1"),
        called("X", turn="1"),
        answered("X", turn="1"),
        said("so", "1"),
        answered("X", turn="1", value="again"),
        said("well", "1"),
    ],
    "A05 two turns' calls answered in one event": [
        asked("hi", "1"),
        called("A", turn="1", waiting=True),
        said("wait", "1"),
        asked("ho", "2"),
        called("B", turn="2", waiting=True),
        said("wait", "2"),
        answered("A", "B", turn="3", author="user"),
        said("both", "3"),
    ],
    "the same id called in two turns": [
        asked("hi", "1"),
        called("X", turn="1"),
        answered("X", turn="1"),
        said("so", "1"),
        asked("ho", "2"),
        called("X", turn="2"),
        answered("X", turn="2"),
        said("so", "2"),
    ],
    "a call still waiting": [
        asked("hi", "1"),
        called("A", turn="1", waiting=True),
        answered("A", turn="1", value="pending"),
        said("wait", "1"),
    ],
}


@pytest.mark.parametrize("kind", BROKEN)
async def test_an_ordinary_message_after_a_broken_exchange_is_answered(
    town: Town, kind: str
) -> None:
    """A01, A02, A05: whatever the past holds, the message is answered with paired contents."""
    await given(town, BROKEN[kind])
    model = ScriptedModel.of(say("fine"))
    events = await run(town, model, text("never mind"))
    assert [e.error_code for e in events] == [None]
    assert shape(model.contents[0]) == ["user:never mind"]


@pytest.mark.parametrize("kind", BROKEN)
async def test_every_later_turn_after_a_broken_exchange_is_answered_too(
    town: Town, kind: str
) -> None:
    """A01: the session is not poisoned: the next turns, with tools and a window, are whole."""
    await given(town, BROKEN[kind])
    model = ScriptedModel.of(call("search_places", area="Huatan"), say("a"), say("b"))
    tools = town.agent(model).tools
    for words in ("first", "second"):
        events = await run(town, model, text(words), tools)
        assert [e.error_code for e in events if e.error_code] == []
    assert all(not unpaired(contents) and not neighbours(contents) for contents in model.contents)
    assert shape(model.contents[-1])[-1] == "user:second"


@pytest.mark.parametrize("recent", [0, 1, 2, 3])
async def test_a01_events_cut_at_load_leave_no_answer_without_its_call(
    town: Town, recent: int
) -> None:
    """A01: loading only the newest events may cut through an exchange; the turn is whole anyway."""
    await given(
        town, [asked("hi", "1"), called("X", turn="1"), answered("X", turn="1"), said("so", "1")]
    )
    model = ScriptedModel.of(call("look", q="z"), say("fine"))
    runner = town.runner(town.agent(model, tools=[look]))
    config = RunConfig(get_session_config=GetSessionConfig(num_recent_events=recent))
    await town.turn(runner, "now", config=config)
    assert [shape(contents)[0] for contents in model.contents] == ["user:now"] * 2
    assert unpaired(model.contents[1]) == []


async def test_a01_an_answer_whose_call_is_gone_is_told_that_it_expired(
    town: Town, caplog: pytest.LogCaptureFixture
) -> None:
    """A01, A04: ADK's Runner raises before any plugin; the channel's function refuses."""
    await given(town, [asked("hi", "1"), said("so", "1")])
    with pytest.raises(ValueError, match="Function call not found"):
        await run(town, ScriptedModel.of(), answers("X"))
    model = ScriptedModel.of()
    with caplog.at_level(logging.WARNING, "local_agent.context"):
        [event] = await run_as_channel(town, model, answers("X"))
    assert event.error_code == "ANSWER_WITHOUT_CALL"
    assert event.content is not None
    assert "event=answers_without_call dropped=1" in caplog.text
    assert model.calls_made == 0


def submit(q: str) -> dict[str, str]:
    """Hand something in; somebody decides later."""
    return {"v": "pending"}


async def two_pending(town: Town, model: ScriptedModel) -> tuple[str, str]:
    """Two turns, each of which leaves a long-running call pending; returns the calls' ids."""
    ids = []
    for words in ("one", "two"):
        model.then(call("submit", q=words), say("handed in"))
        events = await run(town, model, text(words), [LongRunningFunctionTool(submit)])
        ids += [str(c.id) for event in events for c in event.get_function_calls()]
    return ids[0], ids[1]


async def test_a05_answers_to_two_turns_in_one_message_are_split_by_turn(town: Town) -> None:
    """A05: each call turn gets exactly its own answer; ADK alone raises on such a message."""
    await town.sessions.create_session(app_name=APP, user_id="ann", session_id="s")
    model = ScriptedModel.of()
    first, second = await two_pending(town, model)
    message = answers(second, first, value="done", name="submit")
    with pytest.raises(ValueError, match="multiple invocations"):
        await run(town, model, message, [LongRunningFunctionTool(submit)])
    before = model.calls_made
    model.then(say("one is done"), say("two is done"))
    events = await run_as_channel(town, model, message, [LongRunningFunctionTool(submit)])
    assert [e.error_code for e in events if e.error_code] == []
    # ADK takes its own ids out of requests.
    assert [shape(contents) for contents in model.contents[before:]] == [
        ["user:one", "model:call(None)", "user:answer(None)=done"],
        ["user:two", "model:call(None)", "user:answer(None)=done"],
    ]


async def test_the_same_id_answered_twice_keeps_the_latest(town: Town) -> None:
    """A05: progress reports and a final result under one id: the model sees the last one."""
    await town.sessions.create_session(app_name=APP, user_id="ann", session_id="s")
    model = ScriptedModel.of()
    first, _ = await two_pending(town, model)
    for value in ("half", "all"):
        model.then(say(f"{value} done"))
        await run_as_channel(
            town,
            model,
            answers(first, value=value, name="submit"),
            [LongRunningFunctionTool(submit)],
        )
    last = shape(model.contents[-1])
    assert last[0] == "user:one"
    assert [line for line in last if "answer" in line] == ["user:answer(None)=all"]
    assert unpaired(model.contents[-1]) == []


async def test_the_same_id_twice_in_one_message_keeps_the_latest(town: Town) -> None:
    """A05: two answers to one call in one message: one goes to the model, the later."""
    await given(town, [asked("hi", "1"), called("A", turn="1", waiting=True), said("wait", "1")])
    twice = types.Content(
        role="user",
        parts=[*(answers("A", value="old").parts or []), *(answers("A", value="new").parts or [])],
    )
    model = ScriptedModel.of(say("ok"))
    await run(town, model, twice)
    assert shape(model.contents[0]) == ["user:hi", "model:call(A)", "user:answer(A)=new"]


async def test_one_of_two_waiting_calls_answered_says_that_the_other_waits(town: Town) -> None:
    """A05: the number of answers equals the number of calls, though one is still to come."""
    await given(
        town, [asked("hi", "1"), called("A", "B", turn="1", waiting=True), said("wait", "1")]
    )
    model = ScriptedModel.of(say("ok"))
    await run(town, model, answers("B"))
    [question, call_, response] = model.contents[0]
    assert shape([question, call_]) == ["user:hi", "model:call(A)+call(B)"]
    assert [p.function_response.response for p in response.parts or [] if p.function_response] == [
        {"status": "pending"},
        {"v": "found"},
    ]


@pytest.mark.parametrize("chatter", [0, 1, 12, 40])
async def test_a04_a_long_running_call_is_answered_many_turns_later(
    town: Town, chatter: int
) -> None:
    """A04: the pending call and its question are pinned; no word of the turns between is sent."""
    await given(
        town,
        [
            asked("order it", "1"),
            called("A", turn="1", waiting=True),
            answered("A", turn="1", value="pending"),
            said("wait", "1"),
            *chat(range(chatter)),
        ],
    )
    model = ScriptedModel.of(call("look", q="z"), say("done"))
    events = await run(town, model, answers("A", value="arrived"))
    assert [e.error_code for e in events if e.error_code] == []
    assert shape(model.contents[0]) == [
        "user:order it",
        "model:call(A)",
        "user:answer(A)=arrived",
    ]
    assert unpaired(model.contents[1]) == []
    assert not any(b"zebra" in request for request in model.requests)


async def test_a04_a_confirmation_given_twelve_turns_later_runs_the_tool_once(town: Town) -> None:
    """A04: with only the newest events loaded for chat, the confirmation still finds its call."""
    ran: list[str] = []

    def pay(q: str) -> dict[str, str]:
        """Pay."""
        ran.append(q)
        return {"v": "paid"}

    tools = [FunctionTool(pay, require_confirmation=True)]
    await town.sessions.create_session(app_name=APP, user_id="ann", session_id="s")
    model = ScriptedModel.of(call("pay", q="rent"), say("Please confirm."))
    events = await run_as_channel(town, model, text("pay the rent"), tools)
    [wanted] = [c for e in events for c in e.get_function_calls() if c.name == CONFIRMATION]
    for number in range(12):
        await run_as_channel(town, model, text(f"zebra {number}"), tools)
    before = model.calls_made
    yes = types.FunctionResponse(id=wanted.id, name=CONFIRMATION, response={"confirmed": True})
    message = types.Content(role="user", parts=[types.Part(function_response=yes)])
    events = await run_as_channel(town, model, message, tools)
    assert ran == ["rent"]
    assert [e.error_code for e in events if e.error_code] == []
    assert shape(model.contents[before]) == [
        "user:pay the rent",
        "model:call(None)",
        "user:answer(None)=paid",
    ]
    assert b"zebra" not in model.requests[before]


async def test_a04_the_block_never_stands_between_a_call_and_its_answer(town: Town) -> None:
    """A04: a resumed turn has a window too; it goes before the pinned question."""
    model = ScriptedModel.of(call("search_places", area="Huatan"), say("ok"))
    await town.turn(town.runner(town.agent(model)), "find")
    session = await town.sessions.get_session(app_name=APP, user_id="ann", session_id="s")
    assert session is not None
    for event in [asked("order", "1"), called("A", turn="1", waiting=True), said("wait", "1")]:
        await town.sessions.append_event(session, event)
    model.then(say("done"))
    await run(town, model, answers("A"))
    sent = shape(model.contents[-1])
    assert sent[0].startswith("user:[earlier]")
    assert sent[2:] == ["user:order", "model:call(A)", "user:answer(A)=found"]


def test_a_channel_loads_everything_only_where_a_call_is_answered() -> None:
    """Bounded loading: nothing of the past for words, all of it for an answer; settings stay."""
    own = RunConfig(max_llm_calls=7)
    words = bounded_run_config(text("hi"), own, recent_events=3)
    assert words.get_session_config == GetSessionConfig(num_recent_events=3)
    assert words.max_llm_calls == 7
    assert bounded_run_config(answers("A"), words).get_session_config is None
    assert own.get_session_config is None


async def test_a19_thought_signatures_are_untouched(town: Town) -> None:
    """A19: what is kept of a turn are the very parts that ADK gave, also beside a mended past."""
    seen: list[types.Content] = []

    class Looking(BasePlugin):
        async def before_model_callback(self, *, callback_context, llm_request):
            seen[:] = llm_request.contents

    await given(town, [*BROKEN["A05 two turns' calls answered in one event"]])
    signed = calls(("look", {"q": "a"}), ("look", {"q": "b"}))
    assert signed.content is not None
    assert signed.content.parts is not None
    signed.content.parts[0].thought_signature = b"\x00sig"
    model = ScriptedModel.of(signed, say("ok"))
    app = App(
        name=APP,
        root_agent=town.agent(model, tools=[look]),
        plugins=[Looking(name="looking"), town.plugin],
    )
    await town.turn(Runner(app=app, session_service=town.sessions), "now")
    question, call_, response = model.contents[-1]
    assert all(any(one is had for had in seen) for one in (question, call_, response))
    assert [p.thought_signature for p in call_.parts or []] == [b"\x00sig", None]


async def test_a19_a_signed_pinned_call_keeps_its_signature(town: Town) -> None:
    """A19: a call pinned over many turns still carries its signature, byte for byte."""
    await given(
        town,
        [
            asked("order", "1"),
            called("A", "B", turn="1", waiting=True, signature=b"\x01\xff"),
            said("wait", "1"),
            *chat(range(3)),
        ],
    )
    model = ScriptedModel.of(say("ok"))
    await run(town, model, answers("B", "A"))
    parts = model.contents[0][1].parts or []
    assert [p.thought_signature for p in parts] == [b"\x01\xff", None]


async def test_repeated_identical_texts_are_told_apart_by_turn(town: Town) -> None:
    """The same words in every turn, with tools between: this turn's own contents are sent."""
    model = ScriptedModel.of()
    await town.sessions.create_session(app_name=APP, user_id="ann", session_id="s")
    for number in range(4):
        model.then(call("look", q="same"), say("same"))
        await run(town, model, text("same"))
        assert shape(model.contents[-2]) == ["user:same"]
        assert len(model.contents[-1]) == 3, number
