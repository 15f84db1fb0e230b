"""One event from its claim to its end: the turn, its journal and plan, the delivery."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from pydantic import ValidationError

from local_agent import templates
from local_agent.line.delivery import RETRY_KEY_GOOD_MS, Delivered, Mark
from local_agent.line.departure import Departure, may_have_ridden, revision_of
from local_agent.line.incoming import Incoming
from local_agent.line.journal import DeferredJournal
from local_agent.line.names import Names
from local_agent.line.plan import Plan
from local_agent.line.reading import DUMMY_TOKENS
from local_agent.logs import reference
from stores.errors import ConversationChanged, PreferenceChanged, StoreError
from stores.inbox import Append, Claim, HeldPlan, Inbox, LeaseLost, Leaving, State
from stores.ports import ContextStore

logger = logging.getLogger("local_agent.line")

MOST_ATTEMPTS: Final = 5
"""Failures after which an event lies among the dead, for an operator to look at."""

BACKOFF_MS: Final = (1_000, 4_000, 15_000, 60_000)
"""How long an event rests after each failure."""

ASK_AGAIN_SECONDS: Final = (0.2, 1.0, 3.0)
"""How long to wait before a store that failed is told again how an event ended."""

LOADING_AFTER_SECONDS: Final = 1.0
"""A turn that takes longer shows the loading animation; most are done before it would appear."""


class Responds(Protocol):
    """What answers an event; `local_agent.line.conversation.Conversation`."""

    async def respond(self, incoming: Incoming) -> Plan | None:
        """Return what to say; None for nothing."""


class Delivers(Protocol):
    """What sends an answer; `local_agent.line.delivery.Delivery`."""

    async def deliver(
        self,
        incoming: Incoming,
        plan: Plan,
        *,
        held: tuple[HeldPlan, ...],
        retry_key: str | None = None,
        mark: Mark,
    ) -> Delivered:
        """Send it, and say what came of it."""

    def first_key(self, incoming: Incoming, retry_key: str | None = None) -> str | None:
        """Return the retry key of the first request that would be made now; None is a reply."""

    async def loading(self, incoming: Incoming) -> None:
        """Show that an answer is being worked on."""


@dataclass(frozen=True)
class Turns:
    """Takes turns.

    Attributes:
        inbox: Where events are.
        store: Where consent is; asked for its revision right before an answer leaves.
        journal: Holds a turn's window until its answer is settled.
        conversation: Makes answers.
        delivery: Sends them.
        names: Makes pseudonyms.
        clock: Milliseconds since the epoch.
        turn_seconds: How long an answer may take to be made.
    """

    inbox: Inbox
    store: ContextStore
    journal: DeferredJournal
    conversation: Responds
    delivery: Delivers
    names: Names
    clock: Callable[[], int]
    turn_seconds: float

    async def run(self, claim: Claim) -> None:
        """Bring an event to its end, or give it back for another try; never raises an Exception."""
        leaving = Departure(self.inbox, self.store, self.clock, claim)
        try:
            await self._work(claim, leaving)
        except LeaseLost:
            # Somebody else has the chat, or the message was unsent: nothing more may leave.
            logger.info("event=lease_lost ref=<%s>", reference(claim.event_id))
        except asyncio.CancelledError:
            await self._cut_off(claim, leaving, None)
            raise
        except StoreError as error:
            await self._cut_off(claim, leaving, error.error_code)
        except Exception as error:  # noqa: BLE001 - a turn that fails must not stop the others
            logger.error("event=turn_failed error_type=%s", type(error).__name__)  # noqa: TRY400 - a traceback may quote the conversation
            await self._cut_off(claim, leaving, "INTERNAL_ERROR")

    async def _work(self, claim: Claim, leaving: Departure) -> None:
        if claim.state is State.SENDING and (claim.retry_key is None or claim.plan is None):
            # It may be with the person, and nothing can tell: unknown, and never sent again.
            await self._leave_unknown(claim, may_have_ridden(claim))
            return
        try:
            incoming = Incoming.model_validate_json(claim.body)
            kept = None if claim.plan is None else Plan.model_validate_json(claim.plan)
        except ValidationError:  # written by another version
            await self._give_back(claim, "EVENT_UNREADABLE", most_attempts=1)
            return
        if (
            claim.state is State.SENDING
            and self.clock() - incoming.arrived_at_ms >= RETRY_KEY_GOOD_MS
        ):
            # LINE may have forgotten the key, and would send the answer a second time.
            await self._leave_unknown(claim)
            return
        if claim.attempts >= MOST_ATTEMPTS:  # its workers die at it: they never gave it back
            await self._give_back(claim, "WORKER_LOST")
            return
        plan = kept or await self._turn(claim, incoming, leaving)
        if plan is None:
            await self._finish(claim, Delivered(State.SILENT))
            return
        await self._deliver(claim, incoming, plan, leaving)

    async def _cut_off(self, claim: Claim, leaving: Departure, error_code: str | None) -> None:
        """Leave an event as it is safe to: an answer that may be out never leaves again."""
        if not leaving.marked or leaving.repeatable:
            await self._give_back(claim, error_code)
            return
        try:
            await self._leave_unknown(claim, leaving.with_held, error_code)
        except LeaseLost:  # its ending was written before it was cut off, or by somebody else
            logger.info("event=lease_lost ref=<%s>", reference(claim.event_id))

    async def _leave_unknown(
        self, claim: Claim, with_held: tuple[str, ...] = (), error_code: str | None = None
    ) -> None:
        code = error_code or "DELIVERY_CUT_OFF"
        ended = Delivered(State.UNKNOWN, error_code=code, with_held=with_held)
        await self._finish(claim, ended)

    async def _turn(self, claim: Claim, incoming: Incoming, leaving: Departure) -> Plan | None:
        """Make the answer, and write it down together with the journal."""
        with self.journal.turn() as aside:
            plan = await self._respond(incoming)
        append = None if plan is None or plan.refused else aside.append
        if plan is None:
            return None
        try:
            await self._settle(claim, incoming, plan, append, leaving)
        except (PreferenceChanged, ConversationChanged) as changed:
            plan = _refusal(changed.error_code)
            await self._settle(claim, incoming, plan, None, leaving)
        return plan

    async def _settle(
        self,
        claim: Claim,
        incoming: Incoming,
        plan: Plan,
        append: Append | None,
        leaving: Departure,
    ) -> None:
        """Write answer and journal, and that it leaves, where that transaction can tell it may.

        It can where the answer depends on no revision, or on the one that the journal is written
        under, and nothing is held that may depend on another.
        """
        written_under = None if append is None else append.expected_revision
        leaves = (
            not claim.held
            and plan.revision in {None, written_under}
            and incoming.reply_token not in DUMMY_TOKENS
        )
        key = self.delivery.first_key(incoming)
        await self.inbox.settle(
            claim,
            plan=_kept(plan),
            append=append,
            now_ms=self.clock(),
            leaving=Leaving(retry_key=key) if leaves else None,
        )
        if leaves:
            leaving.settled(key)

    async def _respond(self, incoming: Incoming) -> Plan | None:
        try:
            async with asyncio.timeout(self.turn_seconds) as deadline, self._animated(incoming):
                return await self.conversation.respond(incoming)
        except TimeoutError:
            if not deadline.expired():
                raise
            logger.warning("event=turn_timed_out")
            return _refusal("MODEL_FAILED").model_copy(update={"refused": True})

    @asynccontextmanager
    async def _animated(self, incoming: Incoming) -> AsyncIterator[None]:
        """Show the loading animation while inside, where it takes long enough to be seen."""

        async def show() -> None:
            await asyncio.sleep(LOADING_AFTER_SECONDS)
            await self.delivery.loading(incoming)

        task = asyncio.create_task(show(), name="loading") if incoming.kind == "text" else None
        try:
            yield
        finally:
            if task is not None:
                task.cancel()

    async def _deliver(
        self, claim: Claim, incoming: Incoming, plan: Plan, leaving: Departure
    ) -> None:
        held, stale = await self._held(claim)
        leaving.plan = plan
        try:
            delivered = await self.delivery.deliver(
                incoming, plan, held=held, retry_key=claim.retry_key, mark=leaving.mark
            )
        except PreferenceChanged as changed:
            # What may be out has a key under which LINE takes one message, whichever comes first.
            leaving.plan = plan = _refusal(changed.error_code)
            key = leaving.key if leaving.marked else claim.retry_key
            delivered = await self.delivery.deliver(
                incoming, plan, held=held, retry_key=key, mark=leaving.mark
            )
        await self._finish(claim, delivered, stale)

    async def _held(self, claim: Claim) -> tuple[tuple[HeldPlan, ...], tuple[str, ...]]:
        """Split answers that wait for a reply: those that may leave, and ids of those too old.

        Each is of somebody in this chat, whose revision is looked at; what depends on the consent
        of somebody unknown is too old at once.
        """
        fresh: list[HeldPlan] = []
        stale: list[str] = []
        revisions: dict[str | None, int | None] = {}
        for one in claim.held:
            try:
                made_under = Plan.model_validate_json(one.plan).revision
            except ValidationError:  # written by another version
                stale.append(one.event_id)
                continue
            if made_under is not None and one.person not in revisions:
                revisions[one.person] = await revision_of(
                    self.store, self.inbox.tenant, one.person, self.clock()
                )
            if made_under is None or made_under == revisions[one.person]:
                fresh.append(one)
            else:
                stale.append(one.event_id)
        return tuple(fresh), tuple(stale)

    async def _finish(
        self, claim: Claim, delivered: Delivered, stale: tuple[str, ...] = ()
    ) -> None:
        """Write down what came of it.

        The answer may be out, so a store that is down for a moment is asked again, and after that
        left alone: the lease runs out, and the event ends unknown.
        """
        if delivered.ending is State.WAITING:
            await self._give_back(claim, delivered.error_code or "LINE_FAILED")
            return
        if delivered.error_code is not None:
            logger.warning(
                "event=answer_%s ref=<%s> error_code=%s",
                delivered.ending.value,
                reference(claim.event_id),
                delivered.error_code,
            )
        for rest in (*ASK_AGAIN_SECONDS, None):
            try:
                await self._write_down(claim, delivered, stale)
                logger.info(
                    "event=event_ended ref=<%s> ending=%s ms=<%d>",
                    reference(claim.event_id),
                    delivered.ending.value,
                    self.clock() - claim.said_at_ms,
                )
                return
            except LeaseLost:
                raise
            except StoreError as error:
                code = error.error_code
            if rest is not None:
                await asyncio.sleep(rest)
        logger.error(
            "event=ending_not_written ref=<%s> error_code=%s", reference(claim.event_id), code
        )

    async def _write_down(self, claim: Claim, delivered: Delivered, stale: tuple[str, ...]) -> None:
        if delivered.ending is State.HELD and delivered.kept is not None:
            await self.inbox.hold(
                claim,
                delivered.kept.model_dump_json().encode(),
                now_ms=self.clock(),
                error_code=delivered.error_code or "LINE_QUOTA_USED_UP",
            )
            return
        await self.inbox.finish(
            claim,
            delivered.ending,
            now_ms=self.clock(),
            error_code=delivered.error_code,
            sent=tuple(self.names.message(sent) for sent in delivered.sent_ids),
            with_held=delivered.with_held,
            dropped=(*delivered.dropped, *stale),
        )

    async def _give_back(
        self, claim: Claim, error_code: str | None, *, most_attempts: int = MOST_ATTEMPTS
    ) -> None:
        """Let somebody try again: at once where nothing failed, else after a rest."""
        now = self.clock()
        rest = 0 if error_code is None else BACKOFF_MS[min(claim.attempts, len(BACKOFF_MS) - 1)]
        try:
            state = await self.inbox.release(
                claim,
                now_ms=now,
                retry_at_ms=now + rest,
                error_code=error_code,
                most_attempts=most_attempts,
            )
        except StoreError as error:  # the lease runs out by itself, and somebody else takes it
            logger.warning("event=release_failed error_code=%s", error.error_code)
            return
        if error_code is None:
            return
        level = logging.ERROR if state is State.DEAD else logging.WARNING
        logger.log(
            level,
            "event=%s ref=<%s> attempts=<%d> error_code=%s",
            "event_dead" if state is State.DEAD else "event_given_back",
            reference(claim.event_id),
            claim.attempts + 1,
            error_code,
        )


def _kept(plan: Plan) -> bytes | None:
    """Return a plan as it is stored; one with a remembered value never is."""
    return None if plan.personal else plan.model_dump_json().encode()


def _refusal(code: str) -> Plan:
    return Plan(messages=({"type": "text", "text": templates.refusal(code)},))
