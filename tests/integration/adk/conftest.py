"""A small app on the real Runner: two tools, a closed vocabulary, one preference."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps.app import App
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from callbacks.adk.injection import Preference
from callbacks.adk.plugin import ContextBudgetPlugin
from callbacks.adk.report import RequestRecord, TurnReport
from callbacks.context.budget import Budget
from callbacks.context.schema import ContextSchema, Topic
from callbacks.context.slot import Slot
from callbacks.counting.bytes import ByteCounter
from callbacks.counting.request import CountRequest
from stores.open import open_store
from stores.ports import ContextStore
from stores.records import CardAction, Owner, Proposal

APP = "town"
KEY = b"k" * 32
DIET = "zzveganzz"  # a value that occurs nowhere else, so that a search for it is a proof

SCHEMA = ContextSchema(
    topics={
        "places": Topic("find places"),
        "events": Topic("find events"),
        "help": Topic("help", sticky=False),
    },
    slots={"area": Slot.closed(["Huatan", "Lukang"], aliases={"HT": "Huatan"})},
)


def search_places(area: str, diet: str = "") -> dict[str, Any]:
    """Search places."""
    return {"area": area, "diet": diet, "note": f"for {diet}", "rows": [f"{area} noodles"]}


def search_events(area: str) -> dict[str, Any]:
    """Search events."""
    return {"area": area, "rows": [f"{area} market"]}


def about(topic: str) -> Callable[..., Any]:
    def project(arguments: Any, result: Any) -> Any:
        return SCHEMA.project(topic, {"area": result.get("area")})

    return project


class Town:
    """The app, its store, and what came out of it."""

    def __init__(self, store: ContextStore, **options: Any) -> None:
        self.store = store
        self.now = 1_000_000
        self.reports: list[TurnReport] = []
        self.sent: list[tuple[CountRequest, RequestRecord]] = []
        settings: dict[str, Any] = {
            "schema": SCHEMA,
            "store": store,
            "counter": ByteCounter(),
            "budget": Budget(100_000, "utf8_bytes"),
            "projectors": {"search_places": about("places"), "search_events": about("events")},
            "preferences": [
                Preference(
                    "diet",
                    [DIET],
                    purpose="so that places suit you",
                    fills={"search_places": "diet"},
                    otherwise="any",
                )
            ],
            "replacing": ["one", "spy"],  # plugins of tests that look and replace nothing
            "unchecked": ["search_places", "search_events"],  # many an agent of tests lacks them
            "clock": lambda: self.now,
            "on_report": self.reports.append,
            "on_request": lambda request, record: self.sent.append((request, record)),
        }
        self.plugin = ContextBudgetPlugin(**(settings | options))
        self.sessions = InMemorySessionService()

    def agent(self, model: BaseLlm, **options: Any) -> LlmAgent:
        fields: dict[str, Any] = {
            "name": "root",
            "model": model,
            "instruction": "You help.",
            "tools": [search_places, search_events],
        }
        return LlmAgent(**(fields | options))

    def runner(self, root: BaseAgent, plugins: list[Any] | None = None) -> Runner:
        return Runner(
            app=App(name=APP, root_agent=root, plugins=[self.plugin, *(plugins or [])]),
            session_service=self.sessions,
        )

    async def turn(
        self,
        runner: Runner,
        text: str,
        *,
        person: str = "ann",
        session: str = "s",
        config: RunConfig | None = None,
    ) -> list[Event]:
        if (
            await self.sessions.get_session(app_name=APP, user_id=person, session_id=session)
            is None
        ):
            await self.sessions.create_session(app_name=APP, user_id=person, session_id=session)
        message = types.Content(role="user", parts=[types.Part(text=text)])
        return [
            event
            async for event in runner.run_async(
                user_id=person,
                session_id=session,
                new_message=message,
                run_config=config or RunConfig(),
            )
        ]

    async def stored(self, person: str = "ann", session: str = "s") -> str:
        """Everything ADK persisted of a session, as text."""
        found = await self.sessions.get_session(app_name=APP, user_id=person, session_id=session)
        assert found is not None
        return found.model_dump_json()

    async def remember(self, person: str = "ann", value: str = DIET) -> None:
        owner = Owner(tenant=APP, person=person)
        proposal = Proposal(key="diet", value=value, purpose="p", action=CardAction.REMEMBER)
        card = await self.store.propose(owner, proposal, now_ms=self.now)
        assert (await self.store.approve(owner, card.token, now_ms=self.now)).outcome == "saved"

    async def forget(self, person: str = "ann") -> None:
        await self.store.forget(Owner(tenant=APP, person=person), "diet", now_ms=self.now)

    async def window(self, person: str = "ann") -> str | None:
        owner = Owner(tenant=APP, person=person)
        return (await self.store.snapshot(owner, now_ms=self.now)).window


@pytest.fixture(name="store")
async def _store(tmp_path: Path) -> AsyncIterator[ContextStore]:
    store = open_store(
        f"sqlite+aiosqlite:///{tmp_path}/town.db", signing_keys=[KEY], store_keys=[KEY]
    )
    yield store
    await store.close()


@pytest.fixture(name="town")
def _town(store: ContextStore) -> Town:
    return Town(store)


@pytest.fixture(name="spans", scope="session")
def _spans() -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter
