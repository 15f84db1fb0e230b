"""ADK as it comes, to compare with: one session that is kept in SQLite, no plugin.

Agent, rules and tools are LOCAL's. The model answers at once without reading what it is given, so
nothing of LOCAL's offline rules is counted against ADK.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, closing
from pathlib import Path

from google.adk.apps.app import App
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types
from pydantic import PrivateAttr

from callbacks.counting.request import CountRequest
from local_agent.bootstrap import APP_NAME, build_agent
from local_agent.catalog import load_catalog
from local_agent.settings import Settings
from local_agent.tools import LocalTools

EVENTS_A_TURN = 3
_USER, _SESSION = "bench", "bench"
_CALL = types.FunctionCall(
    name="search_local_places", args={"area": "花壇鄉", "dietary_type": "", "keyword": ""}
)


class _AtOnce(BaseLlm):
    """Calls the search for places at once and keeps the request it was given."""

    model: str = "answers-at-once"
    _got: list[LlmRequest] = PrivateAttr(default_factory=list)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self._got[:] = [llm_request]
        part = types.Part(function_call=_CALL.model_copy())
        yield LlmResponse(content=types.Content(role="model", parts=[part]))

    @property
    def request_bytes(self) -> int:
        """Canonical bytes of the request it was given last; 0 before the first."""
        return sum(
            CountRequest(got.model or "", got.config, tuple(got.contents)).size for got in self._got
        )


class AdkDefault:
    """A person with a past, on ADK's default Runner."""

    def __init__(self, settings: Settings, folder: Path, past_events: int, message: str) -> None:
        """Prepare nothing yet.

        Args:
            settings: LOCAL's, for catalogue and time zone.
            folder: Where the session's database goes.
            past_events: How many events the session has; cut down to whole turns.
            message: What the person says in every turn.
        """
        tools = LocalTools(
            catalog=load_catalog(settings.catalog),
            store=None,
            owner=lambda _: None,
            clock=lambda: time.time_ns() // 1_000_000,
            zone=settings.zone,
        )
        agent = build_agent(settings, tools)
        self._model = agent.model = _AtOnce()
        self._database = folder / f"adk-{past_events}.db"
        self._sessions = SqliteSessionService(str(self._database))
        self._runner = Runner(
            app=App(name=APP_NAME, root_agent=agent), session_service=self._sessions
        )
        self._message = message
        self.past_events = past_events // EVENTS_A_TURN * EVENTS_A_TURN

    async def prepare(self) -> None:
        """Make the past: one real turn, whose events are then written again until there are enough.

        They are written by SQL in one transaction, each with ids of its own: by the service, every
        event costs a commit.
        """
        await self._sessions.create_session(app_name=APP_NAME, user_id=_USER, session_id=_SESSION)
        events = await self.turn()
        with closing(sqlite3.connect(self._database)) as database, database:
            database.execute("DELETE FROM events")
            start = time.time() - self.past_events
            database.executemany(
                "INSERT INTO events (id, app_name, user_id, session_id, invocation_id, timestamp,"
                " event_data) VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    self._row(events[number % EVENTS_A_TURN], number, start)
                    for number in range(self.past_events)
                ],
            )

    async def turn(self) -> list[Event]:
        """Take one turn; returns its events, the person's own first."""
        new = types.Content(role="user", parts=[types.Part(text=self._message)])
        async with aclosing(
            self._runner.run_async(user_id=_USER, session_id=_SESSION, new_message=new)
        ) as run:
            events = [event async for event in run]
        own = Event(author="user", content=new, invocation_id=events[0].invocation_id)
        return [own, *events]

    async def close(self) -> None:
        """Close the runner."""
        await self._runner.close()

    @property
    def request_bytes(self) -> int:
        """Canonical bytes of the last turn's request."""
        return self._model.request_bytes

    def _row(self, event: Event, number: int, start: float) -> tuple[str | float, ...]:
        turn, call_id = number // EVENTS_A_TURN, f"call-{number // EVENTS_A_TURN}"
        past = event.model_copy(deep=True)
        past.id, past.invocation_id = f"event-{number}", f"turn-{turn}"
        past.timestamp = start + number
        for call in past.get_function_calls():
            call.id = call_id
        for response in past.get_function_responses():
            response.id = call_id
        data = past.model_dump_json(exclude_none=True)
        return past.id, APP_NAME, _USER, _SESSION, past.invocation_id, past.timestamp, data
