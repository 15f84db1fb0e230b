"""The port of an inbox: each event of a channel kept once, until its one answer is out.

An event is ``waiting``, then ``ready`` (its turn is done: the journal and the plan of the answer
were written in one transaction), then ``sending`` (before the message leaves), then done. Work on a
chat is leased: one worker at a time, its oldest event first. A lease that ran out may be taken by
anybody, and its old holder can write nothing any more (LeaseLost).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, Protocol

from pydantic import Field

from stores.errors import StoreError
from stores.records import Count, Millis, Named, Owner, Place, Record

EVENT_ID_MAX: Final = 128
"""Longest id of an event or a message, in characters."""

BODY_MAX_BYTES: Final = 65_536
"""Largest body or plan, in bytes."""

KEPT_MS: Final = 3 * 24 * 3_600_000
"""How long the id of a finished event is kept, so that a late redelivery is known: three days."""

EventId = Annotated[Named, Field(max_length=EVENT_ID_MAX)]
Body = Annotated[bytes, Field(max_length=BODY_MAX_BYTES)]


class LeaseLost(StoreError):
    """The lease ran out and somebody else may be at work; nothing was written."""

    error_code = "LEASE_LOST"
    sentence = "The lease on this chat ran out; another worker may have taken it."


class State(StrEnum):
    """Where an event is."""

    WAITING = "waiting"
    READY = "ready"
    SENDING = "sending"
    HELD = "held"
    DEAD = "dead"
    SENT = "sent"
    SILENT = "silent"
    UNKNOWN = "unknown"
    REFUSED = "refused"


ENDINGS: Final = frozenset({State.SENT, State.SILENT, State.UNKNOWN, State.REFUSED})
"""Answered; nothing to say; perhaps delivered and never sent again; turned down by the channel."""


class Arrival(Record):
    """An event as the channel delivered it.

    Attributes:
        chat: Pseudonym of the chat; turns of one chat never overlap.
        person: Pseudonym of who sent it; None for nobody known.
        message: Pseudonym of the message's id, by which it can be unsent.
        said_at_ms: When the channel says it happened; the order within a chat.
        body: What a worker needs. Sealed where it lies, and gone when the turn is done.
    """

    event_id: EventId
    chat: Place
    person: Annotated[Named, Field(max_length=256)] | None = None
    message: EventId | None = None
    said_at_ms: Millis
    body: Body = Field(repr=False)


class HeldPlan(Record):
    """An answer that could not be pushed; it goes with the chat's next reply."""

    event_id: EventId
    plan: Body = Field(repr=False)


class Claim(Record):
    """An event that one worker may work on until the lease runs out.

    Attributes:
        state: ``waiting``, ``ready`` or ``sending``: where an earlier worker left it.
        plan: The answer, where its turn is done and the plan was kept.
        retry_key: Of a push that an earlier worker may have sent.
        attempts: How often work on it failed.
        held: Answers that wait for this chat's next reply, the oldest first.
        fence: Grows with every lease of the chat.
    """

    event_id: EventId
    chat: Place
    person: Annotated[Named, Field(max_length=256)] | None = None
    said_at_ms: Millis
    state: Annotated[State, Field(strict=False)] = State.WAITING
    body: Body = Field(repr=False)
    plan: Body | None = Field(default=None, repr=False)
    retry_key: str | None = None
    attempts: Count = 0
    held: tuple[HeldPlan, ...] = ()
    worker: Named
    fence: Count


class Append(Record):
    """A window to be written with the answer; see ``ContextStore.append``."""

    owner: Owner
    event_id: Named
    window: str = Field(repr=False)
    expected_revision: Count
    expected_generation: Count
    ttl_ms: Millis


class Letter(Record):
    """An event as an operator sees it: no text, no id of a person."""

    event_id: EventId
    chat: Place
    state: Annotated[State, Field(strict=False)]
    attempts: Count
    error_code: str | None
    arrived_at_ms: Millis
    changed_at_ms: Millis


class Inbox(Protocol):
    """The inbox of one tenant. Times are Unix milliseconds, and given. Errors are StoreErrors."""

    @property
    def tenant(self) -> str:
        """Whose events these are; it is in every query (invariant 11)."""

    async def accept(self, arrivals: tuple[Arrival, ...], *, now_ms: int) -> int:
        """Store each event once, all in one transaction; return how many were new."""

    async def claim(
        self, worker: str, *, now_ms: int, lease_ms: int, most: int = 1, chat: str | None = None
    ) -> list[Claim]:
        """Lease up to ``most`` chats (or that one) and return the oldest open event of each."""

    async def extend(self, claim: Claim, *, now_ms: int, lease_ms: int) -> None:
        """Keep a lease alive. Raises LeaseLost."""

    async def settle(
        self, claim: Claim, *, plan: bytes | None, append: Append | None, now_ms: int
    ) -> None:
        """Write the journal and the plan, ``ready``, in one transaction.

        A plan of None is not kept (it holds personal values): after a crash the turn runs again.
        Raises LeaseLost, and PreferenceChanged or ConversationChanged where the journal moved on.
        """

    async def sending(self, claim: Claim, *, retry_key: str | None, now_ms: int) -> None:
        """Note that the message is about to leave; held plans of the claim leave with a reply."""

    async def finish(
        self, claim: Claim, ending: State, *, now_ms: int, error_code: str | None = None,
        sent: tuple[str, ...] = (), with_held: bool = False,
    ) -> None:  # fmt: skip
        """End an event, drop its body and plan, and free the chat.

        ``sent`` are pseudonyms of the messages' ids; ``with_held`` ends the held ones as well.
        """

    async def hold(self, claim: Claim, plan: bytes, *, now_ms: int, error_code: str) -> None:
        """Keep an answer for the chat's next reply, and free the chat."""

    async def release(
        self, claim: Claim, *, now_ms: int, retry_at_ms: int, error_code: str | None = None,
        most_attempts: int = 5,
    ) -> State:  # fmt: skip
        """Give the event back; with an error it counts as an attempt, and ends among the dead."""

    async def unsend(self, message: str, *, now_ms: int) -> Arrival | None:
        """Drop an unsent message's text wherever it is, and what came of it; None if unknown.

        Not done yet: it ends ``silent``. Done: its person's window is cleared in the same
        transaction. Returns whose and which it was, with an empty body.
        """

    async def is_ours(self, chat: str, message: str) -> bool:
        """Tell whether a message of this chat was sent by ``finish(sent=…)`` not long ago."""

    async def spend(self, person: str, *, day: str, most: int) -> bool:
        """Take one of a person's turns of that day; False if they are used up."""

    async def leave(self, person: str, *, due_at_ms: int) -> None:
        """Note that a person is to be erased then."""

    async def stay(self, person: str) -> None:
        """Take that back."""

    async def leavers(self, *, now_ms: int, most: int = 100) -> list[Owner]:
        """Return who is due to be erased; erasing them takes them off."""

    async def counts(self) -> dict[State, int]:
        """Count events by state."""

    async def letters(self, state: State, *, most: int = 100) -> list[Letter]:
        """List events in a state, the oldest first."""

    async def requeue(self, event_id: str, *, now_ms: int) -> bool:
        """Let a dead event wait again, with no attempts counted; False if it is not dead."""

    async def purge(self, *, now_ms: int) -> int:
        """Drop what was finished ``KEPT_MS`` ago; return of how many events."""
