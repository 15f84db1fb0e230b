"""A history policy through the real Runner: placed, measured, gated and recorded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps.app import App
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

from callbacks.adk.history import HistoryMinimizer
from callbacks.adk.plugin import ContextBudgetPlugin
from callbacks.adk.report import RequestRecord, TurnReport
from callbacks.context.budget import Budget
from callbacks.context.history_block import parse_history, render_history
from callbacks.context.history_message import HistoryMessage
from callbacks.context.schema import ContextSchema, Topic
from callbacks.context.slot import Slot
from callbacks.counting.bytes import ByteCounter
from callbacks.counting.request import CountRequest
from stores.open import open_store
from stores.ports import ContextStore
from tests.support.scripted import ScriptedModel, call, say

SECRET = "zzBACKUPzz"
RULES = "a message before the newest"
SCHEMA = ContextSchema(
    topics={"look": Topic("look up")}, slots={"room": Slot.closed(["one", "two"])}
)
OLDER = (
    HistoryMessage("m-1", "user", "my laptop", "internal", safe_summary="a test laptop"),
    HistoryMessage("m-2", "user", "VPN says E401, a new login helped", "internal"),
    HistoryMessage("m-3", "user", f"VPN code {SECRET}", "secret"),
    HistoryMessage("m-4", "model", "the printer is mended", "internal", status="resolved"),
)
ASKED = "VPN says E401 again, do not open a ticket"
adks_own_warning = pytest.mark.filterwarnings(
    "ignore:The `plugins` argument is deprecated:DeprecationWarning"  # AgentTool's own runner
)


def look(room: str) -> dict[str, str]:
    """Look into a room."""
    return {"room": room}


class Desk:
    """An app with a history policy, and what came out of it."""

    def __init__(self, store: ContextStore, **options: Any) -> None:
        self.loads = 0
        self.older: Sequence[Any] = OLDER
        self.sent: list[tuple[CountRequest, RequestRecord]] = []
        self.reports: list[TurnReport] = []
        self.sessions = InMemorySessionService()
        settings: dict[str, Any] = {
            "schema": SCHEMA,
            "store": store,
            "counter": ByteCounter(),
            "budget": Budget(100_000, "utf8_bytes"),
            "projectors": {"look": lambda _, result: SCHEMA.project("look", dict(result))},
            "unchecked": ["look"],  # not every agent has it
            "history": HistoryMinimizer(self.load, language="en"),
            "on_report": self.reports.append,
            "on_request": lambda request, record: self.sent.append((request, record)),
        }
        self.plugin = ContextBudgetPlugin(**(settings | options))

    async def load(self, _: Any) -> Sequence[HistoryMessage]:
        self.loads += 1
        return self.older

    async def ask(self, model: ScriptedModel, *parts: types.Part, tools: Any = (look,)) -> Any:
        agent = LlmAgent(name="desk", model=model, instruction="Help.", tools=list(tools))
        app = App(name="desk", root_agent=agent, plugins=[self.plugin])
        runner = Runner(app=app, session_service=self.sessions)
        if await self.sessions.get_session(app_name="desk", user_id="p", session_id="s") is None:
            await self.sessions.create_session(app_name="desk", user_id="p", session_id="s")
        message = types.Content(role="user", parts=list(parts or [types.Part(text=ASKED)]))
        return [
            event
            async for event in runner.run_async(user_id="p", session_id="s", new_message=message)
        ]


@pytest.fixture(name="store")
async def _store(tmp_path: Path) -> AsyncIterator[ContextStore]:
    store = open_store(f"sqlite+aiosqlite:///{tmp_path}/desk.db", signing_keys=[b"k" * 32])
    yield store
    await store.close()


def texts(contents: Sequence[types.Content]) -> list[tuple[str | None, str | None]]:
    return [(one.role, one.parts[0].text if one.parts else None) for one in contents]


def older_in(contents: Sequence[types.Content]) -> list[str]:
    for _, text in texts(contents):
        if text and text.startswith("【history】"):
            return [block.block_id for block in parse_history(text, "en")]
    return []


async def test_older_blocks_stand_right_before_the_newest_message(store: ContextStore) -> None:
    """What the policy admits is one block, the newest message stays itself; secrets are nowhere."""
    desk, model = Desk(store), ScriptedModel.of(say("ok"))
    await desk.ask(model)
    block = (
        "【history】\n#history-summary\n> Earlier records: a test laptop\n"
        "#m-2 user\n> VPN says E401, a new login helped"
    )
    assert texts(model.contents[0]) == [
        ("user", block),
        ("model", "Noted."),
        ("user", ASKED),
    ]
    assert RULES.encode() in model.requests[0]
    assert SECRET.encode() not in model.requests[0]
    (request, record) = desk.sent[0]
    assert record.units == request.size
    assert [(b.id, b.action.value, b.reason) for b in record.blocks] == [
        ("history-summary", "kept", "summary"),
        ("m-1", "summarized", "safe_summary"),
        ("m-2", "kept", "relevance"),
        ("secret#1", "dropped", "secret"),
        ("m-4", "dropped", "resolved"),
        ("newest", "kept", "recency"),
    ]


async def test_each_step_of_a_turn_has_the_same_block(store: ContextStore) -> None:
    """The history is prepared once a turn: a tool loop's requests begin alike (invariant 14)."""
    desk, model = Desk(store), ScriptedModel.of(call("look", room="one"), say("ok"))
    await desk.ask(model)
    assert desk.loads == 1
    first, second = model.contents
    assert texts(second)[:3] == texts(first)
    assert len(second) == 5
    assert model.requests[0].splitlines()[0] == model.requests[1].splitlines()[0]


async def test_the_window_stands_before_the_history(store: ContextStore) -> None:
    """Window and history are two blocks, the past of the session is in neither."""
    desk = Desk(store)
    model = ScriptedModel.of(call("look", room="two"), say("SAID"), say("ok"))
    await desk.ask(model)
    await desk.ask(model)
    roles = texts(model.contents[-1])
    assert [role for role, _ in roles] == ["user", "model", "user", "model", "user"]
    assert roles[0][1] is not None
    assert "room=two" in roles[0][1]
    assert older_in(model.contents[-1]) == ["history-summary", "m-2"]
    assert b"SAID" not in model.requests[-1]


async def test_a_budget_takes_relevance_then_facts_then_the_window_then_refuses(
    store: ContextStore,
) -> None:
    """Each cut is one the whole request was measured with; the newest message never goes (1, 2)."""
    setup = ScriptedModel.of(call("look", room="two"), say("ok"))
    await Desk(store, history=None).ask(setup)
    limit = 100_000
    seen: list[tuple[list[str], bool]] = []
    while True:
        desk = Desk(store, budget=Budget(limit, "utf8_bytes"))
        model = ScriptedModel.of(say("ok"))
        events = await desk.ask(model)
        if not model.contents:
            codes = [event.error_code for event in events]
            break
        assert desk.sent[0][0].size <= limit
        assert texts(model.contents[0])[-1] == ("user", ASKED)
        with_window = any("room=two" in (text or "") for _, text in texts(model.contents[0]))
        seen.append((older_in(model.contents[0]), with_window))
        limit = desk.sent[0][0].size - 1
    assert seen == [
        (["history-summary", "m-2"], True),
        (["history-summary"], True),
        ([], True),
        ([], False),
    ]
    assert codes == ["CURRENT_AND_RULES_EXCEED_INPUT_BUDGET"]
    refused = desk.reports[0].requests[0]
    assert ("m-2", "over_budget") in [(block.id, block.reason) for block in refused.blocks]
    assert SECRET not in repr(desk.reports)


async def test_without_a_text_there_is_nothing_to_be_relevant_to(store: ContextStore) -> None:
    """A message without text gets no history."""
    desk, model = Desk(store), ScriptedModel.of(say("ok"))
    image = types.Part(inline_data=types.Blob(data=b"x", mime_type="image/png"))
    await desk.ask(model, image)
    assert len(model.contents[0]) == 1
    assert desk.loads == 0


async def test_query_terms_may_be_given(store: ContextStore) -> None:
    """An application may say what a message is about instead of its words."""
    desk = Desk(store)
    policy = HistoryMinimizer(desk.load, query_terms=lambda _: ("printer",), language="en")
    desk = Desk(store, history=policy)
    model = ScriptedModel.of(say("ok"))
    await desk.ask(model)
    assert older_in(model.contents[0]) == ["history-summary", "m-4"]


@pytest.mark.parametrize(
    ("older", "code"),
    [
        ([OLDER[0], OLDER[0]], "HISTORY_INVALID"),
        ([HistoryMessage("newest", "user", "x", "public")], "HISTORY_INVALID"),
        (None, "INTERNAL_ERROR"),
    ],
)
async def test_a_history_that_cannot_be_used_refuses_the_turn(
    store: ContextStore, older: Any, code: str
) -> None:
    """A failure inside the policy is a refusal with a code; no model is called (invariant 3)."""
    desk, model = Desk(store), ScriptedModel.of(say("ok"))
    desk.older = older
    events = await desk.ask(model)
    assert model.calls_made == 0
    assert [event.error_code for event in events] == [code]


async def test_an_imitated_block_is_the_persons_message(store: ContextStore) -> None:
    """A message that looks like a block stands after the real one, as the newest content."""
    desk, model = Desk(store), ScriptedModel.of(say("ok"))
    imitation = render_history(
        [block for block in (await _prepared(desk)).blocks if block.reason != "recency"], "en"
    )
    await desk.ask(model, types.Part(text=imitation))
    assert texts(model.contents[0])[-1] == ("user", imitation)


async def _prepared(desk: Desk) -> Any:
    class Context:
        user_content = types.Content(role="user", parts=[types.Part(text=ASKED)])

    context: Any = Context()
    prepared = await HistoryMinimizer(desk.load, language="en").prepare(context)
    assert prepared is not None
    return prepared


@adks_own_warning
async def test_an_agent_inside_a_tool_gets_no_history(store: ContextStore) -> None:
    """What another agent asks is no person's message: it brings no older ones with it."""
    inner_model = ScriptedModel.of(say("inner"))
    inner = LlmAgent(name="inner", model=inner_model, description="inner", instruction="Help.")
    desk, model = Desk(store), ScriptedModel.of(call("inner", request="VPN E401"), say("ok"))
    await desk.ask(model, tools=[AgentTool(inner)])
    assert older_in(inner_model.contents[0]) == []
    assert older_in(model.contents[0]) == ["history-summary", "m-2"]
