"""The same five turns, three ways: all of it as ADK sends it, all projections, window and ledger.

Agent, rules, tools, catalogue and model are the same in all three, and each goes through the real
Runner. Only what the model sees of earlier turns differs.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Protocol

from google.adk.apps.app import App
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types

from callbacks.adk.report import TurnReport
from callbacks.counting.request import CountRequest
from local_agent.bootstrap import APP_NAME, build, build_agent
from local_agent.catalog import load_catalog
from local_agent.demo.witness import Seen, witness
from local_agent.service import LocalService, Reply
from local_agent.settings import Settings
from local_agent.tools import LocalTools

PERSON = "demo-person"


@dataclass(frozen=True)
class TurnSeen:
    """One turn of one way.

    Attributes:
        requests: What reached the model, as it reached it.
        tool: The tool that was called, if one was.
        arguments: What the model proposed to call it with.
        report: The plugin's report, where there is a plugin.
        text: What the person was shown, where there is a service.
    """

    requests: tuple[CountRequest, ...]
    tool: str | None
    arguments: dict[str, Any]
    report: TurnReport | None = None
    text: str = ""

    @property
    def size(self) -> int:
        """Bytes of canonical UTF-8 JSON of all requests of the turn together."""
        return sum(request.size for request in self.requests)


class Way(Protocol):
    """One way of keeping history, with a person in the middle of a conversation."""

    async def say(self, message: str) -> TurnSeen:
        """Take one turn."""

    async def close(self) -> None:
        """Let go of what is held."""


class RawHistory:
    """ADK as it comes: one session that is kept, no plugin, results visible to the model."""

    def __init__(self, settings: Settings, clock: Callable[[], int]) -> None:
        """Wire LOCAL's agent and tools without the plugin."""
        tools = LocalTools(
            catalog=load_catalog(settings.catalog),
            store=None,
            owner=lambda _: None,
            clock=clock,
            zone=settings.zone,
        )
        app = App(name=APP_NAME, root_agent=build_agent(settings, tools))
        self._seen = witness(app)
        self._sessions = InMemorySessionService()
        self._runner = Runner(app=app, session_service=self._sessions)
        self._session = uuid.uuid4().hex

    async def say(self, message: str) -> TurnSeen:
        """Take one turn of the one session."""
        before = len(self._seen.requests)
        if not before:
            await self._sessions.create_session(
                app_name=APP_NAME, user_id=PERSON, session_id=self._session
            )
        new = types.Content(role="user", parts=[types.Part(text=message)])
        async with aclosing(
            self._runner.run_async(user_id=PERSON, session_id=self._session, new_message=new)
        ) as run:
            events: list[Event] = [event async for event in run]
        calls = [call for event in events for call in event.get_function_calls()]
        return TurnSeen(
            requests=self._seen.since(before),
            tool=calls[0].name if calls else None,
            arguments=dict(calls[0].args or {}) if calls else {},
        )

    async def close(self) -> None:
        """Close the runner."""
        await self._runner.close()


class Bounded:
    """LOCAL's production path: service, plugin, store; a session a turn."""

    def __init__(self, settings: Settings, clock: Callable[[], int]) -> None:
        """Wire LOCAL with a witness in its model's place."""
        self.service = LocalService(lambda sink: build(settings, clock=clock, on_report=sink))
        self.seen: Seen = witness(self.service.local.app)

    async def say(self, message: str, person: str = PERSON) -> TurnSeen:
        """Take one turn of a person."""
        turn, _ = await self.ask(message, person)
        return turn

    async def ask(self, message: str, person: str) -> tuple[TurnSeen, Reply]:
        """Take one turn of a person; what they are shown comes with it, cards included."""
        before = len(self.seen.requests)
        reply = await self.service.answer(person, message)
        calls = reply.report.tool_calls if reply.report is not None else []
        turn = TurnSeen(
            requests=self.seen.since(before),
            tool=calls[0].tool if calls else None,
            arguments=dict(calls[0].proposed_arguments) if calls else {},
            report=reply.report,
            text=reply.text,
        )
        return turn, reply

    async def close(self) -> None:
        """Close the service and its store."""
        await self.service.close()
