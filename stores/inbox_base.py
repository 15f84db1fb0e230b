"""What every inbox does before a backend is asked: checks of arguments, and sealing."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Literal

from stores import checks
from stores.errors import InvalidInput, StoreKeyMissing, StoreUnavailable
from stores.framing import framed
from stores.inbox import (
    ACCEPTED_AT_ONCE,
    BODY_MAX_BYTES,
    CODE_MAX,
    ENDINGS,
    EVENT_ID_MAX,
    Append,
    Arrival,
    Claim,
    HeldPlan,
    LeaseLost,
    Leaving,
    Letter,
    State,
)
from stores.records import PLACE_MAX, TENANT_MAX, Owner
from stores.sealing import KeyRing

PERSON_MAX: Final = 256
CLAIMED_AT_ONCE: Final = 1_000

MARK_CHARS: Final = 17
"""Length of an event's mark: 16 hexadecimal digits, and a comma, so that none is part of two."""

_PLACES: Final = itertools.count()
"""Tells events apart that this process accepted in one millisecond, in whatever batches."""

Part = Literal["body", "plan"]
_LABEL: Final = "stores.inbox.1"


class NotDueError(Exception):
    """Raised in the transaction of an erasure: the person did not leave, or came back."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """An arrival to be stored: its place among others of one moment, and its sealed body."""

    arrival: Arrival
    place: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Settled:
    """An answer as it is kept: its sealed plan, and whether it leaves right away."""

    plan: bytes | None
    state: State = State.READY
    retry_key: str | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How an event ended, see ``Inbox.finish``."""

    ending: State
    error_code: str | None
    sent: tuple[str, ...]
    with_held: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def of_held(self) -> tuple[tuple[str, State], ...]:
        """Held events that end with it, and how."""
        along = ((event_id, self.ending) for event_id in self.with_held)
        return (*along, *((event_id, State.REFUSED) for event_id in self.dropped))


@dataclass(frozen=True, slots=True)
class Taken:
    """A leased event as it lies in a backend: body and plans sealed."""

    event_id: str
    chat: str
    person: str | None
    said_at_ms: int
    state: str
    body: bytes
    plan: bytes | None
    retry_key: str | None
    attempts: int
    held: tuple[tuple[str, str | None, bytes], ...]
    fence: int


class InboxBase:
    """An ``stores.inbox.Inbox`` but for its backend, which the methods with a dash are.

    Those that write under a lease tell whether they wrote.
    """

    def __init__(self, tenant: str, ring: KeyRing) -> None:
        """Open nothing yet.

        Raises:
            InvalidInput: If the tenant is blank or too long.
        """
        self.tenant = checks.identifier(tenant, "tenant", TENANT_MAX)
        self._ring = ring

    async def accept(self, arrivals: tuple[Arrival, ...], *, now_ms: int) -> int:
        """Store each event once, all in one transaction; return how many were new."""
        checks.whole(now_ms, "now_ms")
        given: object = arrivals
        listed: tuple[object, ...] = given if isinstance(given, tuple) else (None,)
        if len(listed) > ACCEPTED_AT_ONCE or not all(isinstance(one, Arrival) for one in listed):
            raise InvalidInput(field="arrivals", most=ACCEPTED_AT_ONCE)
        if not arrivals:
            return 0
        sealed = [
            Sealed(one, next(_PLACES), self._seal(one.event_id, "body", one.body))
            for one in arrivals
        ]
        return await self._accept(sealed, now_ms)

    async def claim(
        self, worker: str, *, now_ms: int, lease_ms: int, most: int = 1, chat: str | None = None
    ) -> list[Claim]:
        """Lease up to ``most`` chats (or that one) and return the oldest open event of each."""
        checks.identifier(worker, "worker")
        checks.whole(now_ms, "now_ms")
        until_ms = now_ms + checks.whole(lease_ms, "lease_ms", 1)
        if checks.whole(most, "most", 1) > CLAIMED_AT_ONCE:
            raise InvalidInput(field="most", most=CLAIMED_AT_ONCE)
        if chat is not None:
            checks.identifier(chat, "chat", PLACE_MAX)
        _ = self._ring.newest  # without any key nothing is leased
        claims = []
        for one in await self._claim(worker, now_ms, until_ms, most, chat):
            try:
                claims.append(self._opened(one, worker))
            except (StoreKeyMissing, StoreUnavailable) as error:
                await self._put_aside(one, worker, now_ms, error.error_code)
        return claims

    async def _put_aside(self, one: Taken, worker: str, now_ms: int, error_code: str) -> None:
        """Put what cannot be opened among the dead; what may be out ends unknown.

        The dead can be given back, and what may be out would be sent a second time.
        """
        closed = self._told(one, worker, body=b"", plan=None, held=())
        if one.state == State.SENDING and (one.retry_key is None or one.plan is None):
            rode = () if one.retry_key else tuple(event_id for event_id, *_ in one.held)
            await self._finish(closed, Ended(State.UNKNOWN, error_code, (), rode), now_ms)
            return
        await self._release(closed, now_ms, now_ms, error_code, dead=True)

    async def extend(self, claim: Claim, *, now_ms: int, lease_ms: int) -> None:
        """Keep a lease alive.

        Raises:
            LeaseLost: If somebody else has the chat, or the event is gone.
        """
        until_ms = self._mine(claim, now_ms) + checks.whole(lease_ms, "lease_ms", 1)
        _require(await self._extend(claim, until_ms))

    async def settle(
        self,
        claim: Claim,
        *,
        plan: bytes | None,
        append: Append | None,
        now_ms: int,
        leaving: Leaving | None = None,
    ) -> None:
        """Write the journal and the plan, ``ready`` or ``sending``, in one transaction.

        Raises:
            LeaseLost: If somebody else has the chat, or the event is gone.
            PreferenceChanged: If the person's consent changed since the snapshot.
            ConversationChanged: If another event moved the window on.
        """
        self._mine(claim, now_ms)
        if append is not None:
            given: object = append
            if not isinstance(given, Append) or given.owner.tenant != self.tenant:
                raise InvalidInput(field="append")
            checks.window_text(append.window)
            checks.identifier(append.event_id, "event_id")
            checks.whole(append.ttl_ms, "ttl_ms", 1)
        settled = Settled(None if plan is None else self._seal_plan(claim, plan))
        if leaving is not None:
            settled = Settled(settled.plan, State.SENDING, _retry_key(leaving.retry_key))
        _require(await self._settle(claim, settled, append, now_ms))

    async def sending(self, claim: Claim, *, retry_key: str | None, now_ms: int) -> None:
        """Note that the message is about to leave.

        Raises:
            LeaseLost: If somebody else has the chat, or the event is gone.
        """
        self._mine(claim, now_ms)
        _require(await self._sending(claim, _retry_key(retry_key), now_ms))

    async def finish(
        self,
        claim: Claim,
        ending: State,
        *,
        now_ms: int,
        error_code: str | None = None,
        sent: tuple[str, ...] = (),
        with_held: tuple[str, ...] = (),
        dropped: tuple[str, ...] = (),
    ) -> None:
        """End an event, drop its body and plan, and free the chat.

        Raises:
            LeaseLost: If somebody else has the chat.
        """
        self._mine(claim, now_ms)
        if ending not in ENDINGS:
            raise InvalidInput(field="ending")
        _check_code(error_code)
        for field, ids in (("sent", sent), ("with_held", with_held), ("dropped", dropped)):
            if not isinstance(ids, tuple):
                raise InvalidInput(field=field)
            for one in ids:
                checks.identifier(one, field, EVENT_ID_MAX)
        ended = Ended(State(ending), error_code, sent, with_held, dropped)
        _require(await self._finish(claim, ended, now_ms))

    async def hold(self, claim: Claim, plan: bytes, *, now_ms: int, error_code: str) -> None:
        """Keep an answer for the chat's next reply, and free the chat.

        Raises:
            LeaseLost: If somebody else has the chat, or the event is gone.
        """
        self._mine(claim, now_ms)
        checks.identifier(error_code, "error_code", CODE_MAX)
        _require(await self._hold(claim, self._seal_plan(claim, plan), now_ms, error_code))

    async def release(
        self,
        claim: Claim,
        *,
        now_ms: int,
        retry_at_ms: int,
        error_code: str | None = None,
        most_attempts: int = 5,
    ) -> State:
        """Give the event back; with an error it counts as an attempt, and ends among the dead.

        Raises:
            LeaseLost: If somebody else has the chat, or the event is gone.
        """
        self._mine(claim, now_ms)
        checks.whole(retry_at_ms, "retry_at_ms")
        checks.whole(most_attempts, "most_attempts", 1)
        _check_code(error_code)
        dead = error_code is not None and claim.attempts + 1 >= most_attempts
        state = await self._release(claim, now_ms, retry_at_ms, error_code, dead=dead)
        if state is None:
            raise LeaseLost
        return State(state)

    async def unsend(self, message: str, *, now_ms: int) -> Arrival | None:
        """Drop an unsent message's text wherever it is, and what came of it; None if unknown."""
        checks.identifier(message, "message", EVENT_ID_MAX)
        return await self._unsend(message, checks.whole(now_ms, "now_ms"))

    async def is_open(self, event_id: str) -> bool:
        """Tell whether an event still waits for its answer: waiting, ready or sending."""
        return await self._is_open(checks.identifier(event_id, "event_id", EVENT_ID_MAX))

    async def is_ours(self, chat: str, message: str) -> bool:
        """Tell whether a message of this chat was sent by ``finish(sent=…)`` not long ago."""
        checks.identifier(message, "message", EVENT_ID_MAX)
        return await self._is_ours(checks.identifier(chat, "chat", PLACE_MAX), message)

    async def has_message(self, message: str) -> bool:
        """Tell whether an event is kept whose ``message`` this is, done or not."""
        return await self._has_message(checks.identifier(message, "message", EVENT_ID_MAX))

    async def spend(self, person: str, *, event_id: str, day: str, most: int) -> bool:
        """Take one of a person's turns of that day for an event; False if they are used up."""
        checks.identifier(person, "person", PERSON_MAX)
        checks.identifier(event_id, "event_id", EVENT_ID_MAX)
        checks.whole(most, "most")
        try:
            day = date.fromisoformat(day).isoformat()
        except (TypeError, ValueError):
            day = ""
        if not day:
            raise InvalidInput(field="day")
        return most > 0 and await self._spend(person, mark_of(event_id), day, most)

    async def leave(self, person: str, *, said_at_ms: int, due_at_ms: int) -> None:
        """Note that a person who left at ``said_at_ms`` is to be erased at ``due_at_ms``."""
        checks.identifier(person, "person", PERSON_MAX)
        checks.whole(said_at_ms, "said_at_ms")
        await self._leave(person, said_at_ms, checks.whole(due_at_ms, "due_at_ms"))

    async def stay(self, person: str, *, said_at_ms: int) -> None:
        """Note that a person came back at ``said_at_ms``."""
        checks.identifier(person, "person", PERSON_MAX)
        await self._leave(person, checks.whole(said_at_ms, "said_at_ms"), None)

    async def leavers(self, *, now_ms: int, most: int = 100) -> list[Owner]:
        """Return who is due to be erased; erasing them takes them off."""
        checks.whole(now_ms, "now_ms")
        found = await self._leavers(now_ms, checks.whole(most, "most", 1))
        return [Owner(tenant=self.tenant, person=person) for person in found]

    async def counts(self) -> dict[State, int]:
        """Count events by state; a state without events is not in it."""
        return {State(state): count for state, count in (await self._counts()).items() if count}

    async def letters(self, state: State, *, most: int = 100) -> list[Letter]:
        """List events in a state, those first that are in it longest."""
        if not isinstance(state, State):
            raise InvalidInput(field="state")
        return await self._letters(state, checks.whole(most, "most", 1))

    async def requeue(self, event_id: str, *, now_ms: int) -> bool:
        """Give a dead event back with no attempts counted; False if it is not dead."""
        checks.identifier(event_id, "event_id", EVENT_ID_MAX)
        return await self._requeue(event_id, checks.whole(now_ms, "now_ms"))

    async def purge(self, *, now_ms: int) -> int:
        """Drop what was finished ``KEPT_MS`` ago; return how many events."""
        return await self._purge(checks.whole(now_ms, "now_ms"))

    # what a backend does

    async def _accept(self, sealed: Sequence[Sealed], now_ms: int) -> int:
        raise NotImplementedError

    async def _claim(
        self, worker: str, now_ms: int, until_ms: int, most: int, chat: str | None
    ) -> list[Taken]:
        raise NotImplementedError

    async def _extend(self, claim: Claim, until_ms: int) -> bool:
        raise NotImplementedError

    async def _settle(
        self, claim: Claim, settled: Settled, append: Append | None, now_ms: int
    ) -> bool:
        raise NotImplementedError

    async def _sending(self, claim: Claim, retry_key: str | None, now_ms: int) -> bool:
        raise NotImplementedError

    async def _finish(self, claim: Claim, ended: Ended, now_ms: int) -> bool:
        raise NotImplementedError

    async def _hold(self, claim: Claim, plan: bytes, now_ms: int, error_code: str) -> bool:
        raise NotImplementedError

    async def _release(
        self, claim: Claim, now_ms: int, retry_at_ms: int, error_code: str | None, *, dead: bool
    ) -> str | None:
        raise NotImplementedError

    async def _unsend(self, message: str, now_ms: int) -> Arrival | None:
        raise NotImplementedError

    async def _is_open(self, event_id: str) -> bool:
        raise NotImplementedError

    async def _is_ours(self, chat: str, message: str) -> bool:
        raise NotImplementedError

    async def _has_message(self, message: str) -> bool:
        raise NotImplementedError

    async def _spend(self, person: str, mark: str, day: str, most: int) -> bool:
        raise NotImplementedError

    async def _leave(self, person: str, said_at_ms: int, due_at_ms: int | None) -> None:
        raise NotImplementedError

    async def _leavers(self, now_ms: int, most: int) -> list[str]:
        raise NotImplementedError

    async def _counts(self) -> dict[str, int]:
        raise NotImplementedError

    async def _letters(self, state: State, most: int) -> list[Letter]:
        raise NotImplementedError

    async def _requeue(self, event_id: str, now_ms: int) -> bool:
        raise NotImplementedError

    async def _purge(self, now_ms: int) -> int:
        raise NotImplementedError

    def _mine(self, claim: Claim, now_ms: int) -> int:
        given: object = claim
        if not isinstance(given, Claim):
            raise InvalidInput(field="claim")
        return checks.whole(now_ms, "now_ms")

    def _seal_plan(self, claim: Claim, plan: bytes) -> bytes:
        given: object = plan
        if not isinstance(given, bytes) or len(given) > BODY_MAX_BYTES:
            raise InvalidInput(field="plan", limit=BODY_MAX_BYTES)
        return self._seal(claim.event_id, "plan", plan)

    def _seal(self, event_id: str, part: Part, raw: bytes) -> bytes:
        return self._ring.seal_passing(bound_to(self.tenant, event_id, part), raw)

    def _open(self, event_id: str, part: Part, sealed: bytes) -> bytes:
        return self._ring.open_passing(bound_to(self.tenant, event_id, part), sealed)

    def _opened(self, one: Taken, worker: str) -> Claim:
        return self._told(
            one,
            worker,
            body=self._open(one.event_id, "body", one.body),
            plan=None if one.plan is None else self._open(one.event_id, "plan", one.plan),
            held=tuple(
                HeldPlan(event_id=event_id, person=person, plan=self._open(event_id, "plan", plan))
                for event_id, person, plan in one.held
                if self._opens(plan)
            ),
        )

    def _opens(self, sealed: bytes) -> bool:
        """Whether the ring has the key; an answer that nobody can open keeps no chat up."""
        return self._ring.has_key_of(sealed)

    def _told(self, one: Taken, worker: str, **opened: Any) -> Claim:
        return Claim(
            event_id=one.event_id,
            chat=one.chat,
            person=one.person,
            said_at_ms=one.said_at_ms,
            state=State(one.state),
            retry_key=one.retry_key,
            attempts=one.attempts,
            worker=worker,
            fence=one.fence,
            **opened,
        )


def bound_to(tenant: str, event_id: str, part: Part) -> bytes:
    """Return what a sealed body or plan is bound to."""
    return framed(_LABEL, tenant, event_id, part)


def mark_of(event_id: str) -> str:
    """Return what is kept of an event that took a turn, ``MARK_CHARS`` long.

    A row that has room for whole ids would be rewritten with 4 KiB at each turn. That two events of
    one person have the same mark is no matter: a turn would be free.
    """
    digits = hashlib.sha256(framed(event_id)).hexdigest()[: MARK_CHARS - 1]
    return f"{digits},"


def _require(written: bool) -> None:
    if not written:
        raise LeaseLost


def _retry_key(retry_key: str | None) -> str | None:
    return None if retry_key is None else checks.identifier(retry_key, "retry_key", CODE_MAX)


def _check_code(error_code: str | None) -> None:
    if error_code is not None:
        checks.identifier(error_code, "error_code", CODE_MAX)
