"""The keeper of turns: opens each from the store once, records what it leaves behind once."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from datetime import date
from typing import Any

from google.adk.agents.invocation_context import InvocationContext

from callbacks.adk.refusal import Refusal
from callbacks.adk.report import TurnReport
from callbacks.adk.turn import OpenTurns, Turn
from callbacks.context.errors import SchemaChanged, UnsupportedContext
from callbacks.context.finder import MessageFinder
from callbacks.context.grounds import check_grounds, grounds_of
from callbacks.context.projection import Projection, Source
from callbacks.context.schema import ContextSchema
from callbacks.context.window import ContextWindow
from stores.checks import WINDOW_MAX_BYTES
from stores.errors import PreferenceChanged
from stores.ports import ContextStore
from stores.records import Owner, Preferences

logger = logging.getLogger("local_agent.context")

WINDOW_TTL_MS = 900_000
"""A window lives this long after its last append, in milliseconds (DESIGN: journal)."""

EVENT_ID_METADATA = "event_id"
"""Key in `RunConfig.custom_metadata` under which a channel names the event it delivers."""

OwnerOf = Callable[[InvocationContext], Owner | None]

_outer: ContextVar[Turn | None] = ContextVar("local_agent_outer_turn", default=None)


def owner_of_session(context: InvocationContext) -> Owner | None:
    """Return app name + user id; None, so a stateless turn, where either is blank."""
    session = context.session
    if not session.app_name.strip() or not session.user_id.strip():
        return None
    return Owner(tenant=session.app_name, person=session.user_id)


def epoch_ms() -> int:
    """Return the wall clock in milliseconds."""
    return time.time_ns() // 1_000_000


def event_id_of(context: InvocationContext) -> str:
    """Return the channel's id of the event that this turn answers; else the invocation's own."""
    metadata = (context.run_config.custom_metadata if context.run_config else None) or {}
    event_id = metadata.get(EVENT_ID_METADATA)
    return event_id if isinstance(event_id, str) and event_id else context.invocation_id


class TurnKeeper:
    """Opens, checks, records and closes turns against the store."""

    def __init__(
        self,
        *,
        store: ContextStore,
        schema: ContextSchema,
        max_turns: int,
        ttl_ms: int,
        owner: OwnerOf,
        clock: Callable[[], int],
        on_report: Callable[[TurnReport], None] | None,
        finder: MessageFinder | None = None,
        today: Callable[[], date] | None = None,
    ) -> None:
        """Keep turns in `store`; see ContextBudgetPlugin for the arguments."""
        self._store = store
        self._schema = schema
        self._max_turns = max_turns
        self._ttl_ms = ttl_ms
        self._owner = owner
        self._clock = clock
        self._on_report = on_report
        self._finder = finder
        self._today = today
        self._turns = OpenTurns()
        self._latest = 0

    def find(self, context: InvocationContext) -> Turn | None:
        """Return the open turn of this invocation, or None."""
        return self._turns.get(context.invocation_id)

    async def open(self, context: InvocationContext) -> Turn:
        """Return this invocation's turn; the first time, take its snapshot: one transaction.

        Raises:
            StoreError: The store failed.
            ContextError: The stored window holds what its own schema does not admit.
        """
        return self.find(context) or await self._snapshot(context)

    def stateless(self, context: InvocationContext) -> Turn:
        """Return this invocation's turn, or one that reads and remembers nothing."""
        turn = self.find(context)
        if turn is None:
            turn = self._turns.add(Turn(report=_report(context), owner=None))
        return turn

    def enter_tool(self, turn: Turn) -> None:
        """Let a runner that the tool starts (AgentTool) find whose turn it belongs to."""
        _outer.set(turn)

    def leave_tool(self, turn: Turn | None) -> None:
        """Undo `enter_tool`."""
        _outer.set(turn.outer if turn is not None else None)

    def outer(self) -> Turn | None:
        """Return the turn whose tool starts the run that begins here; None for a person's own."""
        outer = _outer.get()
        if outer is not None and self._turns.get(outer.report.invocation_id) is not outer:
            return None  # left over from a turn of another plugin, or from one that has ended
        return outer

    def check(self, turn: Turn, noted: Projection) -> Projection:
        """Return a projection as the schema admits it, whoever made it (invariant 5).

        Raises:
            UnsupportedContext: It is outside the schema, or a grounded value stands in no result.
        """
        checked = self._schema.project(noted.topic, dict(noted.slots))
        check_grounds(checked, self._schema, turn.root.grounds, turn.root.window)
        return checked

    def note(self, turn: Turn, noted: Projection, source: Source = "tool") -> None:
        """Add what a tool, the model or the message settled to what the exchange leaves behind.

        Raises:
            UnsupportedContext: A projector's word is not enough: see `check`.
        """
        checked = self.check(turn, noted)
        checked = replace(checked, sources=dict.fromkeys(checked.slots, source))
        if checked.is_empty:
            return
        root = turn.root
        root.projection = (
            checked if root.projection is None else root.projection.merge(checked, self._schema)
        )
        root.unsaved = not root.replayed

    def returned(self, turn: Turn, tool: str, result: Mapping[str, Any]) -> None:
        """Remember what a tool's result grounds, and its list, for the rest of the exchange."""
        root = turn.root
        for name, values in grounds_of(self._schema, tool, result).items():
            root.grounds[name] = root.grounds.get(name, frozenset()) | values
        listing = self._schema.listings.get(tool)
        if listing is not None:
            root.listed = listing.read(result) or root.listed

    async def preferences(self, turn: Turn) -> Preferences | None:
        """Return what the person consented to, if nothing changed since the turn began.

        Raises:
            PreferenceChanged: Something did (invariant 7).
        """
        if turn.owner is None:
            return None
        now = await self._store.preferences(turn.owner, now_ms=self._now())
        if now.revision != turn.revision:
            raise PreferenceChanged
        return now

    async def record(self, turn: Turn) -> Refusal | None:
        """Append what the exchange leaves behind; None when its answer may leave.

        An answer that cannot be recorded is not given: journal and answers say the same.
        """
        if turn.outer is not None or turn.owner is None or turn.refusal is not None:
            return turn.refusal
        try:
            if turn.projection is None or not turn.unsaved:
                await self.preferences(turn)
                return None
            window = turn.window.append(turn.projection, self._schema, self._max_turns, turn.listed)
            turn.generation = await self._store.append(
                turn.owner,
                event_id=turn.report.event_id,
                window=window.to_json(self._schema),
                expected_revision=turn.revision,
                expected_generation=turn.generation,
                now_ms=self._now(),
                ttl_ms=self._ttl_ms,
            )
        except Exception as error:  # noqa: BLE001 - a failure to record is a refusal, whatever it was
            return turn.refuse(failed(error))
        turn.unsaved = False
        turn.report.recorded = True
        return None

    def close(self, context: InvocationContext) -> None:
        """Close this invocation's turn and hand out its report."""
        turn = self._turns.close(context.invocation_id)
        if turn is not None and turn.outer is None and self._on_report is not None:
            try:
                self._on_report(turn.report)
            except Exception as error:  # noqa: BLE001 - a report holds values, and so may its error
                logger.error("event=report_failed error_type=%s", type(error).__name__)  # noqa: TRY400 - no traceback

    def _now(self) -> int:
        """Return the time, which does not step back by less than a window's life.

        Otherwise a window that had run out would come back. A larger step sets a wrong clock
        right; to hold that back would keep new windows alive for as long.
        """
        now = self._clock()
        if not now < self._latest <= now + self._ttl_ms:
            self._latest = now
        return self._latest

    async def _snapshot(self, context: InvocationContext) -> Turn:
        outer = self.outer()
        owner = outer.owner if outer is not None else self._owner(context)
        turn = Turn(report=_report(context), owner=owner, outer=outer)
        if outer is not None:
            turn.revision = outer.revision
        elif owner is not None:
            snapshot = await self._store.snapshot(owner, now_ms=self._now())
            turn.revision, turn.generation = snapshot.revision, snapshot.generation
            turn.replayed = snapshot.last_event == turn.report.event_id
            turn.report.revision = snapshot.revision
            if snapshot.window is not None:
                turn.window = self._read_window(snapshot.window)
        if outer is None:
            self._look(turn, context)
        return self._turns.add(turn)

    def _look(self, turn: Turn, context: InvocationContext) -> None:
        """Note what the newest message plainly contains; a tool or the model may say better."""
        parts = (context.user_content.parts if context.user_content else None) or []
        if self._finder is None or turn.owner is None:
            return
        found = self._finder.find(
            "\n".join(part.text for part in parts if part.text and not part.thought),
            goal=turn.window.goal(self._schema),
            listed=turn.window.listed,
            today=self._today() if self._today is not None else None,
        )
        if found:
            self.note(turn, Projection("", found), "found")

    def _read_window(self, stored: str) -> ContextWindow:
        if len(stored.encode()) > WINDOW_MAX_BYTES:
            raise UnsupportedContext("The stored context is larger than any that is written.")
        try:
            # Whoever can write a row can write more exchanges than were ever kept whole, and so did
            # a release that kept more: what is over goes where it would have gone.
            return ContextWindow.from_json(stored, self._schema).keep(self._max_turns, self._schema)
        except SchemaChanged:
            # Another release of the application wrote it. It lives for minutes: start afresh.
            logger.info("event=window_dropped reason=schema_changed")
            return ContextWindow()


def failed(error: BaseException) -> Refusal:
    """Turn any failure into a refusal; an unforeseen one is logged by its type alone."""
    refusal = Refusal.of(error)
    if refusal.code == "INTERNAL_ERROR":
        # The text or a traceback may quote a conversation or a value.
        logger.error("event=internal_error error_type=%s", type(error).__name__)
    return refusal


def _report(context: InvocationContext) -> TurnReport:
    return TurnReport(
        invocation_id=context.invocation_id,
        session_id=context.session.id,
        event_id=event_id_of(context),
    )
