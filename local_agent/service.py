"""LOCAL's turns from outside: a person's message in, what to show them out.

A channel (LINE, the console, the demo) calls this and nothing deeper. The ADK session of a turn
holds that turn alone and is thrown away with it: what is kept is in the store.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final

from google.adk.agents.run_config import RunConfig
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types

from callbacks.adk.injection import RECEIPT
from callbacks.adk.keeper import EVENT_ID_METADATA
from callbacks.adk.report import PrivateResult, TurnReport
from local_agent import templates
from local_agent.bootstrap import APP_NAME, CHANNEL_METADATA, SAID_AT_METADATA, STATELESS, Local
from local_agent.context import DIETARY_KEY
from local_agent.messages import BadMessage, read_message
from local_agent.presenting import Shown, present
from local_agent.turnstile import Turnstile
from stores.errors import StoreError
from stores.records import DIRECT, Card, ConsentResult, Outcome, Owner

logger = logging.getLogger("local_agent.service")


@dataclass(frozen=True)
class Reply:
    """What to show.

    Attributes:
        text: For the person.
        card: A consent card to show with buttons, if one was made.
        error_code: Why there is no answer, where there is none.
        outcome: What a pressed card came to.
        report: The turn's report, for the operator: holds private values.
        revision: The consent revision the answer was made under; None for nobody's.
        shown: The parts of the text, for a surface that lays them out itself.
    """

    text: str
    card: Card | None = None
    error_code: str | None = None
    outcome: Outcome | None = None
    report: TurnReport | None = field(default=None, repr=False)
    revision: int | None = None
    shown: tuple[Shown, ...] = ()


class LocalService:
    """Answers messages and presses, each by itself; two turns of one person never overlap."""

    def __init__(
        self,
        build_local: Callable[[Callable[[TurnReport], None]], Local],
        *,
        checks_revision: bool = True,
    ) -> None:
        """Serve a LOCAL.

        Args:
            build_local: Wires it, given where turn reports go; see `bootstrap.build`.
            checks_revision: Whether a reply is held back where a consent changed while it was
                made; a channel that looks again right before it sends one says no.
        """
        self._checks_revision = checks_revision
        self._reports: dict[str, TurnReport] = {}
        self.local = build_local(self._take_report)
        self._sessions = InMemorySessionService()
        self._runner = Runner(app=self.local.app, session_service=self._sessions)
        self._busy = Turnstile()

    async def close(self) -> None:
        """Let go of the store, the counter and what ADK holds."""
        await self._runner.close()
        await self.local.close()

    async def answer(
        self,
        person: str | None,
        message: object,
        *,
        event_id: str | None = None,
        said_at_ms: int | None = None,
        channel: str = DIRECT,
    ) -> Reply:
        """Answer one message.

        Args:
            person: A pseudonym; None makes the turn stateless: nothing is remembered.
            message: What the person wrote.
            event_id: The channel's id; the same event again leaves the journal as it is.
            said_at_ms: When it was written; now, if it has not waited anywhere. What was written
                before a "forget" is not remembered after it.
            channel: Where it came from, for the consent ledger.
        """
        arrived = self.local.clock() if said_at_ms is None else said_at_ms
        limit = self.local.settings.max_message_chars
        try:
            text = read_message(message, limit)
        except BadMessage as error:
            sentence = templates.input_error(error.error_code, limit=limit)
            return Reply(sentence, error_code=error.error_code)
        async with self._busy.one_at_a_time(person):
            told: dict[str, object] = {SAID_AT_METADATA: arrived, CHANNEL_METADATA: channel}
            if event_id:
                told[EVENT_ID_METADATA] = event_id
            return await self._delivered(person, await self._turn(person, text, told))

    async def deliverable(self, person: str | None, reply: Reply) -> bool:
        """Tell whether a reply may still be sent: nobody changed a consent since it was made.

        A channel that keeps replies for a while asks again right before it sends one.

        Raises:
            StoreError: The store cannot be asked.
        """
        if person is None or reply.revision is None:
            return True
        seen = await self.local.store.snapshot(self._owner(person), now_ms=self.local.clock())
        return seen.revision == reply.revision

    async def approve(self, person: str, token: str, *, channel: str = DIRECT) -> Reply:
        """Apply a card that the person pressed. Only a channel calls this, never a model."""
        return await self._pressed(self.local.store.approve, person, token, channel)

    async def cancel(self, person: str, token: str, *, channel: str = DIRECT) -> Reply:
        """Withdraw a card that the person declined."""
        return await self._pressed(self.local.store.cancel, person, token, channel)

    async def forget(
        self, person: str, *, everything: bool = False, channel: str = DIRECT
    ) -> Reply:
        """Forget the person's diet, or all there is, and say so only after reading back."""
        try:
            done = await self.local.store.forget(
                self._owner(person),
                None if everything else DIETARY_KEY,
                now_ms=self.local.clock(),
                channel=channel,
            )
        except StoreError as error:
            return _refused(error.error_code)
        remaining = sum(check.remaining for check in done.verified)
        return Reply(templates.forgotten(remaining, everything=everything))

    async def inspect(self, person: str) -> Reply:
        """Tell the person what is remembered."""
        try:
            known = await self.local.store.preferences(
                self._owner(person), now_ms=self.local.clock()
            )
        except StoreError as error:
            return _refused(error.error_code)
        diet = known.values.get(DIETARY_KEY)
        text = templates.preferences(diet.value if diet is not None else None)
        return Reply(text, revision=known.revision, shown=(Shown(text, about_memory=True),))

    async def _pressed(
        self,
        press: Callable[..., Awaitable[ConsentResult]],
        person: str,
        token: str,
        channel: str,
    ) -> Reply:
        try:
            result = await press(
                self._owner(person), token, now_ms=self.local.clock(), channel=channel
            )
        except StoreError as error:
            return _refused(error.error_code)
        return Reply(templates.outcome(result.outcome), outcome=result.outcome)

    def _owner(self, person: str) -> Owner:
        return Owner(tenant=self.local.settings.tenant, person=person)

    async def _delivered(self, person: str | None, reply: Reply) -> Reply:
        """Hold back what was made under a consent that has changed since."""
        if reply.error_code is not None or not self._checks_revision:
            return reply
        try:
            if await self.deliverable(person, reply):
                return reply
        except StoreError as error:
            return _refused(error.error_code, reply.report)
        return _refused("PREFERENCE_CHANGED", reply.report)

    async def _turn(self, person: str | None, text: str, metadata: dict[str, object]) -> Reply:
        user, session_id = person or STATELESS, uuid.uuid4().hex
        await self._sessions.create_session(app_name=APP_NAME, user_id=user, session_id=session_id)
        events: list[Event] = []
        try:
            async with aclosing(
                self._runner.run_async(
                    user_id=user,
                    session_id=session_id,
                    new_message=types.Content(role="user", parts=[types.Part(text=text)]),
                    run_config=RunConfig(custom_metadata=metadata),
                )
            ) as run:
                events = [event async for event in run]
        except Exception as error:  # noqa: BLE001 - a model's failure must not reach the channel raw
            # Only the type, and no traceback: they may quote the conversation.
            logger.error("event=turn_failed error_type=%s", type(error).__name__)  # noqa: TRY400 - see above
            return _refused("MODEL_FAILED", self._reports.pop(session_id, None))
        finally:
            await self._sessions.delete_session(
                app_name=APP_NAME, user_id=user, session_id=session_id
            )
        return _reply(events, self._reports.pop(session_id, None))

    def _take_report(self, report: TurnReport) -> None:
        self._reports[report.session_id] = report


def _reply(events: list[Event], report: TurnReport | None) -> Reply:
    """Put a turn's results into words, in the order in which they came."""
    if report is not None and report.refusal is not None:
        return _refused(report.refusal.code, report)
    private = list(report.private_results) if report is not None else []
    shown: list[Shown] = []
    for event in events:
        for response in event.get_function_responses():
            result: Any = response.response or {}
            if result == dict(RECEIPT):
                result = _of(response.name or "", private)
            shown.append(present(response.name or "", result))
        if event.is_final_response() and event.content and not event.get_function_responses():
            text = "".join(
                part.text or "" for part in event.content.parts or [] if not part.thought
            )
            if text.strip():
                shown.append(Shown(text, error_code=event.error_code))
    if not shown:
        return _refused("MODEL_FAILED", report)
    return Reply(
        text="\n\n".join(part.text for part in shown),
        card=next((part.card for part in shown if part.card is not None), None),
        error_code=next((part.error_code for part in shown if part.error_code), None),
        report=report,
        revision=report.revision if report is not None else None,
        shown=tuple(shown),
    )


def _of(tool: str, private: list[PrivateResult]) -> Mapping[str, Any]:
    for index, result in enumerate(private):
        if result.tool == tool:
            value: Mapping[str, Any] = private.pop(index).result
            return value
    return {"error_code": "INTERNAL_ERROR"}


_EVERY_DAY: Final = frozenset({"PREFERENCE_CHANGED", "CONVERSATION_CHANGED"})
"""What people bring about themselves; any other refusal is for an operator to look at."""


def _refused(code: str, report: TurnReport | None = None) -> Reply:
    numbers = report.refusal.numbers if report is not None and report.refusal is not None else {}
    logger.log(
        logging.INFO if code in _EVERY_DAY else logging.WARNING,
        "event=turn_refused error_code=%s%s",
        code,
        "".join(f" {name}=<{value}>" for name, value in numbers.items()),
    )
    return Reply(templates.refusal(code), error_code=code, report=report)
