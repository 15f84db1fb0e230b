"""Plays dialogues through the real Runner, plugin, journal and renderer, and counts."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps.app import App
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from benchmarks.carryover.dialogues import Agent, Dialogue, Exchange
from benchmarks.carryover.reader import (
    Carried,
    PerfectReader,
    Shown,
    carried_arguments,
    shown_by,
    told_by,
)
from benchmarks.carryover.strategies import (
    added_bytes,
    adk_filter,
    block,
    langchain_trim,
    raw,
    said,
    tool_projections,
)
from benchmarks.carryover.tally import Tally, private_values_of, sentences_of, text_of
from callbacks.adk.plugin import ContextBudgetPlugin
from callbacks.context.budget import Budget
from callbacks.counting.bytes import ByteCounter
from stores.open import open_store
from stores.ports import ContextStore
from stores.records import Owner

APP = "carryover"
RAW = {"adk_last_2": 2, "adk_last_3": 3}
"""Settings of ADK's filter: the newest message is the last of the exchanges it keeps."""

STRATEGIES = (
    "window_ledger",
    "adk_last_2",
    "adk_last_3",
    "langchain_trim",
    "full_raw",
    "tool_projection_2",
)
_NOW = 1_000_000


class Scripted(BaseTool):
    """A tool whose result is the exchange's own rows."""

    def __init__(self, name: str) -> None:
        """Take the tool's name."""
        super().__init__(name=name, description=name)
        self.rows: Sequence[Mapping[str, Any]] = ()

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name=self.name, description=self.description)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any]:
        """Return the rows."""
        return {"results": [dict(row) for row in self.rows]}


class Stage:
    """An agent on the real Runner, with the plugin as an application would install it."""

    def __init__(self, agent: Agent, store: ContextStore) -> None:
        """Wire the agent."""
        self.agent = agent
        self.reader = PerfectReader()
        self._store = store
        self._tools = {name: Scripted(name) for name in agent.tools}
        self._sessions = InMemorySessionService()
        root = LlmAgent(
            name="agent", model=self.reader, instruction="", tools=list(self._tools.values())
        )
        plugin = ContextBudgetPlugin(
            schema=agent.schema,
            store=store,
            counter=ByteCounter(),
            budget=Budget(1_000_000, "utf8_bytes"),
            projectors=agent.projectors,
            noting=True,
            clock=lambda: _NOW,
        )
        app = App(name=APP, root_agent=root, plugins=[plugin])
        self._runner = Runner(app=app, session_service=self._sessions)

    async def begin(self, person: str) -> None:
        """Open the person's session: one for the whole dialogue, as ADK keeps it."""
        await self._sessions.create_session(app_name=APP, user_id=person, session_id=person)

    async def exchange(self, person: str, exchange: Exchange) -> Sequence[types.Content]:
        """Take one exchange and return what its first request said before the newest message."""
        self.reader.begin(self.agent, exchange)
        if exchange.tool:
            self._tools[exchange.tool].rows = exchange.rows
        async for event in self._runner.run_async(
            user_id=person, session_id=person, new_message=said("user", exchange.user or "-")
        ):
            if event.error_code:
                raise RuntimeError(f"An exchange was refused: {event.error_code}.")
        return self.reader.request[:-1]

    async def journal(self, person: str) -> str:
        """Return what the journal holds of a person."""
        owner = Owner(tenant=APP, person=person)
        return (await self._store.snapshot(owner, now_ms=_NOW)).window or ""

    async def end(self, person: str) -> None:
        """Delete the session."""
        await self._sessions.delete_session(app_name=APP, user_id=person, session_id=person)


class Play:
    """Plays dialogues one after another and keeps a tally a strategy."""

    def __init__(self, specs: Mapping[str, Any], folder: Path) -> None:
        """Open a store for the journals in a folder."""
        self.tallies = {name: Tally() for name in STRATEGIES}
        self._specs = specs
        self._store = open_store(
            f"sqlite+aiosqlite:///{folder}/carryover.db",
            signing_keys=[b"0" * 32],
            synchronous="OFF",
        )
        self._stages: dict[tuple[str, ...], Stage] = {}

    async def dialogue(self, dialogue: Dialogue, *, only_window: bool = False) -> list[int]:
        """Play one dialogue; of a very long one, the window alone.

        Returns:
            The bytes that the window's block added to each exchange's first request.
        """
        stage = self._stage(dialogue.services)
        sizes: list[int] = []
        await stage.begin(dialogue.id)
        for place, exchange in enumerate(dialogue.exchanges):
            past = dialogue.exchanges[:place]
            wanted = carried_arguments(stage.agent, exchange)
            journal = await stage.journal(dialogue.id)
            contents = await stage.exchange(dialogue.id, exchange)
            sizes.append(added_bytes(contents, said("user", exchange.user or "-")))
            if only_window:
                continue
            topic = stage.agent.service_of(exchange.tool) if exchange.tool else ""
            shown = shown_by(stage.reader.window(), stage.agent, topic)
            seen = _Seen(stage.agent, place, exchange, past, wanted)
            seen.count(self.tallies["window_ledger"], contents, shown, extra=journal, by_slot=True)
            await self._others(seen, topic, sizes[-1])
        await stage.end(dialogue.id)
        return sizes

    async def close(self) -> None:
        """Close the store."""
        await self._store.close()

    def _stage(self, services: tuple[str, ...]) -> Stage:
        if services not in self._stages:
            if len(self._stages) > 8:
                self._stages.clear()
                gc.collect()
            self._stages[services] = Stage(Agent(services, self._specs), self._store)
        return self._stages[services]

    async def _others(self, seen: _Seen, topic: str, limit: int) -> None:
        full, newest = raw(seen.past), said("user", seen.exchange.user or "-")
        kept = {"full_raw": len(full), "langchain_trim": langchain_trim(full, limit)}
        for name, keep in RAW.items():
            kept[name] = await adk_filter(full, newest, keep)
        for name, many in kept.items():
            contents = full[len(full) - many :]
            # Two contents an exchange; half an exchange tells nothing that is counted.
            shown = told_by(seen.past[len(seen.past) - many // 2 :])
            seen.count(self.tallies[name], contents, shown)
        window = tool_projections(seen.agent, seen.past, 2)
        shown = shown_by(window, seen.agent, topic)
        seen.count(
            self.tallies["tool_projection_2"], block(seen.agent, window), shown, by_slot=True
        )


class _Seen:
    """One exchange and what came before it, as every strategy is counted on it."""

    def __init__(
        self,
        agent: Agent,
        place: int,
        exchange: Exchange,
        past: Sequence[Exchange],
        wanted: Sequence[Carried],
    ) -> None:
        self.agent, self.exchange, self.past = agent, exchange, past
        self._place, self._wanted = place, wanted
        self._sentences: Iterable[str] = sentences_of(past)
        self._private: Iterable[str] = private_values_of(agent, past)

    def count(
        self,
        tally: Tally,
        contents: Sequence[types.Content],
        shown: Shown,
        *,
        extra: str = "",
        by_slot: bool = False,
    ) -> None:
        """Count a strategy's contents for this exchange."""
        tally.size(self._place, added_bytes(contents, said("user", self.exchange.user or "-")))
        tally.arguments(self.agent, self._wanted, shown, by_slot=by_slot)
        tally.search(text_of(contents) + "\n" + extra, self._sentences, self._private)
