"""Sends a plan: by reply while its token is fresh, else by push; never twice, and never by guess.

A reply has no retry key, but its token is good once; a push has a key under which LINE accepts it
once (LINE, "Retry failed API requests"). So a reply that may be out is never followed by a push,
and a push that may be out is sent again under the very same key.
"""

from __future__ import annotations

import logging
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Protocol

from local_agent.line import words
from local_agent.line.answer import said
from local_agent.line.departure import messages_of, riders
from local_agent.line.flex import Json, text
from local_agent.line.incoming import Incoming
from local_agent.line.outcome import Outcome, Verdict
from local_agent.line.plan import MOST_MESSAGES, Plan
from local_agent.line.reading import DUMMY_TOKENS
from stores.errors import PreferenceChanged
from stores.inbox import HeldPlan, State

logger = logging.getLogger("local_agent.line.delivery")

REPLY_FRESH_MS: Final = 50_000
"""How old a reply token may be. LINE says about a minute; the rest is for the way there."""

RETRY_KEY_GOOD_MS: Final = 23 * 3_600_000
"""How old an event may be whose answer is pushed again under its key. LINE knows a key for 24 hours
from when it was first used (LINE, "Retry failed API requests"); the rest is for clocks."""

_KEY_SPACE: Final = uuid.UUID("5f0c1d3a-4d8e-5b86-9d55-0b6a6a5f0b7e")

Mark = Callable[[str | None, tuple[str, ...]], Awaitable[None]]
"""Notes durably that a request is about to leave, under this retry key or none, and with which held
answers; raises PreferenceChanged where it may not. Another key says that the one before is not out.
"""


class Sends(Protocol):
    """What delivery needs of LINE; `local_agent.line.client.LineClient`."""

    async def reply(self, token: str, messages: list[Json]) -> Outcome:
        """Answer by a reply token."""

    async def push(self, to: str, messages: list[Json], *, retry_key: str) -> Outcome:
        """Send unasked."""

    async def loading(self, chat_id: str) -> Outcome:
        """Show the loading animation."""


@dataclass(frozen=True)
class Delivered:
    """What came of a plan.

    Attributes:
        ending: `sent`; `unknown` (perhaps with the person, never sent again); `refused`; `held`
            for the chat's next reply; `waiting`, to be tried again; `silent` for a test of LINE's.
        error_code: Why it is not `sent`.
        sent_ids: LINE's ids of the messages that are out, where it told them.
        with_held: Event ids of the held plans that left with it.
        dropped: Event ids of held plans that can never be sent.
        kept: What is to be held, where the ending is `held`; never with personal values.
    """

    ending: State
    error_code: str | None = None
    sent_ids: tuple[str, ...] = ()
    with_held: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    kept: Plan | None = None


def retry_key_of(event_id: str) -> str:
    """Return the retry key of the answer to an event: the same one whenever it is asked for."""
    return str(uuid.uuid5(_KEY_SPACE, event_id))


class Delivery:
    """Sends plans.

    Attributes:
        tally: How often requests ended how, for an operator; it counts from the start.
    """

    def __init__(
        self, client: Sends, *, clock: Callable[[], int], reply_fresh_ms: int = REPLY_FRESH_MS
    ) -> None:
        """Bind it to a channel.

        Args:
            client: Sends requests and never raises.
            clock: Milliseconds since the epoch.
            reply_fresh_ms: How old a reply token may be, counted from the event's arrival.
        """
        self.tally: Counter[Verdict] = Counter()
        self._client = client
        self._clock = clock
        self._fresh_ms = reply_fresh_ms

    async def deliver(
        self,
        incoming: Incoming,
        plan: Plan,
        *,
        held: tuple[HeldPlan, ...] = (),
        retry_key: str | None = None,
        mark: Mark,
    ) -> Delivered:
        """Send a plan, and say what came of it.

        Args:
            incoming: The event that is answered.
            plan: What to say.
            held: Earlier answers of the chat, the oldest first; they ride with a reply if there
                is room in its five messages.
            retry_key: Of a push that an earlier worker may have sent: it is pushed again under it.
            mark: Awaited before each request that leaves.

        Raises:
            PreferenceChanged: The plan may not leave, and is not out, or only under its key.
            StoreError: `mark` could not note it; nothing was sent after that.
        """
        token = incoming.reply_token
        if token in DUMMY_TOKENS:
            return Delivered(State.SILENT)
        key = self.first_key(incoming, retry_key)
        if token is not None and key is None:
            done = await self._reply(token, plan, held, mark)
            if done is not None:
                return done
        key = key or retry_key_of(incoming.event_id)
        return await self._push(incoming.chat_id, plan, key, mark, unsure=retry_key is not None)

    def first_key(self, incoming: Incoming, retry_key: str | None = None) -> str | None:
        """Return the retry key of the first request that `deliver` would make now.

        None is a reply, which has no key.
        """
        replies = incoming.reply_token is not None and retry_key is None and self._fresh(incoming)
        return None if replies else retry_key or retry_key_of(incoming.event_id)

    async def loading(self, incoming: Incoming) -> None:
        """Show that an answer is being worked on; one-to-one only, and never fails a turn."""
        if incoming.source == "user" and incoming.reply_token not in DUMMY_TOKENS:
            outcome = await self._client.loading(incoming.chat_id)
            if not outcome.verdict.accepted:
                logger.debug("event=loading_not_shown status=%s", outcome.status)

    def _fresh(self, incoming: Incoming) -> bool:
        return self._clock() - incoming.arrived_at_ms < self._fresh_ms

    async def _reply(
        self, token: str, plan: Plan, held: tuple[HeldPlan, ...], mark: Mark
    ) -> Delivered | None:
        """Reply; None if the token is spent and nothing of ours can have spent it."""
        messages, riding, dropped = _with_held(plan, held)
        await mark(None, riding)
        outcome = self._counted(await self._client.reply(token, messages), "reply")
        if outcome.verdict is Verdict.REFUSED and riding:
            # A refused request leaves the token as it was. If our own messages alone are taken, the
            # fault is in the held ones, which would stand in the way of every later answer.
            messages, riding, dropped = list(plan.messages), (), (*riding, *dropped)
            await mark(None, riding)
            outcome = self._counted(await self._client.reply(token, messages), "reply")
        unsure = False
        if outcome.verdict is Verdict.FAILED:
            # LINE has answered, so nothing is on its way any more; the token is good once, so the
            # same request again can bring no second answer.
            unsure = True
            try:
                await mark(None, riding)
            except PreferenceChanged as changed:  # perhaps out already, and nothing may follow
                return Delivered(
                    State.UNKNOWN,
                    error_code=changed.error_code,
                    with_held=riding,
                    dropped=dropped,
                )
            outcome = self._counted(await self._client.reply(token, messages), "reply")
        if outcome.verdict.accepted:
            ids = outcome.message_ids
            return Delivered(State.SENT, sent_ids=ids, with_held=riding, dropped=dropped)
        code = outcome.verdict.error_code
        if unsure or outcome.verdict.maybe:
            return Delivered(State.UNKNOWN, error_code=code, with_held=riding, dropped=dropped)
        if outcome.verdict is Verdict.TOKEN_SPENT:
            return None
        if outcome.verdict is Verdict.REFUSED:
            return Delivered(State.REFUSED, error_code=code)
        return Delivered(State.WAITING, error_code=code)

    async def _push(self, to: str, plan: Plan, key: str, mark: Mark, *, unsure: bool) -> Delivered:
        """Push; `unsure` if a request under this key may have been accepted before."""
        messages = list(plan.messages)
        await mark(key, ())
        outcome = self._counted(await self._client.push(to, messages, retry_key=key), "push")
        if outcome.verdict.maybe:
            unsure = True
            await mark(key, ())
            outcome = self._counted(await self._client.push(to, messages, retry_key=key), "push")
        if outcome.verdict.accepted:
            return Delivered(State.SENT, sent_ids=outcome.message_ids)
        code = outcome.verdict.error_code
        if outcome.verdict in {Verdict.QUOTA, Verdict.REFUSED, Verdict.TOKEN_SPENT}:
            if unsure:  # this request is turned down; the one before it may be out
                return Delivered(State.UNKNOWN, error_code=code)
            if outcome.verdict is Verdict.QUOTA:
                return Delivered(State.HELD, error_code=code, kept=_without_values(plan))
            return Delivered(State.REFUSED, error_code=code)
        if unsure and plan.personal:
            # It is not kept, so another try would be another turn, which could say another thing.
            return Delivered(State.UNKNOWN, error_code=code)
        # Perhaps out, or certainly not: either way the same key may be tried again.
        return Delivered(State.WAITING, error_code=code)

    def _counted(self, outcome: Outcome, via: str) -> Outcome:
        """Count an outcome, and tell the operator of one that needs them."""
        verdict = outcome.verdict
        self.tally[verdict] += 1
        if not verdict.accepted:
            urgent = verdict in {Verdict.QUOTA, Verdict.UNAUTHORIZED, Verdict.REFUSED}
            logger.log(
                logging.ERROR if urgent else logging.WARNING,
                "event=line_request via=%s error_code=%s status=%s line_request=%s so_far=<%d>",
                via,
                verdict.error_code,
                outcome.status,
                outcome.request_id,
                self.tally[verdict],
            )
        return outcome


def _with_held(
    plan: Plan, held: tuple[HeldPlan, ...]
) -> tuple[list[Json], tuple[str, ...], tuple[str, ...]]:
    """Return a reply's messages, ids of held plans in front of its own, and of unreadable ones."""
    # What finds no room waits; what another version wrote can never be sent.
    along = riders(held, len(plan.messages))
    dropped = tuple(one.event_id for one in held if messages_of(one) is None)
    messages = [message for one in along for message in messages_of(one) or ()]
    messages += plan.messages
    if along and len(messages) < MOST_MESSAGES:
        messages.insert(0, text(words.HELD))
    return messages, tuple(one.event_id for one in along), dropped


def _without_values(plan: Plan) -> Plan:
    """Return what is kept of a plan: what has no personal values and fits beside another answer."""
    if plan.personal:
        return said(words.HELD_PERSONAL)
    if len(plan.messages) < MOST_MESSAGES:
        return plan
    # All five would never find room beside another answer.
    return plan.model_copy(update={"messages": (*plan.messages[:-2], text(words.CUT))})
