"""The port of an inbox: each event of a channel kept once, until its one answer is out.

An event is ``waiting``, then ``ready`` (its turn is done: the journal and the plan of the answer
were written in one transaction), then ``sending`` (before the message leaves), then done. Work on a
chat is leased: one worker at a time, its oldest event first (by ``said_at_ms``, then as they
came). A lease that ran out may be taken by anybody, and from then on its old holder can write
nothing any more (LeaseLost). Bodies and plans lie sealed; without a store key they are refused
(StoreKeyMissing).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, Protocol

from pydantic import Field

from stores.errors import StoreError
from stores.personal import PersonalStore
from stores.records import (
    DIRECT,
    Count,
    ForgetResult,
    Millis,
    Named,
    Owner,
    Place,
    Record,
)

EVENT_ID_MAX: Final = 128
"""Longest id of an event or a message, in characters."""

BODY_MAX_BYTES: Final = 65_536
"""Largest body or plan, in bytes."""

KEPT_MS: Final = 3 * 24 * 3_600_000
"""How long the id of a finished event is kept, so that a late redelivery is known: three days."""

STUCK_MS: Final = 14 * 24 * 3_600_000
"""How long an event among the dead, or an answer that was held, is kept: fourteen days."""

PURGED_AT_ONCE: Final = 1_000
"""Most events that one call of ``purge`` drops, so that nobody waits for it long."""

ACCEPTED_AT_ONCE: Final = 1_000
"""Most events in one call of ``accept``."""

COUNTED_EVENTS: Final = 32
"""Of how many events it is kept that they took one of their person's turns.

The last one would not do: chats of one person are worked on in parallel, and between an event and
its next try others of theirs are counted. In its own chat none is, which waits for it; so this is
how many they may ask elsewhere in the few minutes after which an event is given up. Beyond
it, a try counts once more."""

CODE_MAX: Final = 64
"""Longest error code or retry key, in characters."""

EventId = Annotated[Named, Field(max_length=EVENT_ID_MAX)]
Body = Annotated[bytes, Field(max_length=BODY_MAX_BYTES)]


class LeaseLost(StoreError):
    """Somebody else has the chat, or the event was unsent or erased meanwhile; nothing was kept."""

    error_code = "LEASE_LOST"
    sentence = "This work on a chat is over: another worker has it, or its event is gone."


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


OPEN: Final = (State.WAITING.value, State.READY.value, State.SENDING.value)
"""States in which an event waits for a worker, or has one."""

ENDINGS: Final = frozenset({State.SENT, State.SILENT, State.UNKNOWN, State.REFUSED})
"""Answered; nothing to say; perhaps delivered and never sent again; turned down by the channel."""


class Arrival(Record):
    """An event as the channel delivered it.

    Attributes:
        chat: Pseudonym of the chat; turns of one chat never overlap.
        person: Pseudonym of who sent it, the owner of the window; None for nobody known.
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
    """An answer that could not be pushed; it goes with the chat's next reply.

    Attributes:
        person: Whom it answers; None for nobody known.
    """

    event_id: EventId
    person: Annotated[Named, Field(max_length=256)] | None = None
    plan: Body = Field(repr=False)


class Claim(Record):
    """An event that one worker may work on until the lease runs out.

    Attributes:
        state: ``waiting``, ``ready`` or ``sending``: where an earlier worker left it.
        plan: The answer, where its turn is done and the plan was kept.
        retry_key: Of a push that an earlier worker may have sent.
        attempts: How often work on it failed; leases that ran out right before this one count.
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


class Leaving(Record):
    """Said of an answer that leaves right after it is settled; see ``Inbox.sending``."""

    retry_key: str | None = None


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
        """Store each event once, all in one transaction; return how many were new.

        At most ``ACCEPTED_AT_ONCE`` of them.
        """

    async def claim(
        self, worker: str, *, now_ms: int, lease_ms: int, most: int = 1, chat: str | None = None
    ) -> list[Claim]:
        """Lease up to ``most`` chats (or that one) and return the oldest open event of each.

        Those that waited longest come first. An event that cannot be opened goes among the dead;
        one whose answer may be out ends ``unknown``.
        """

    async def extend(self, claim: Claim, *, now_ms: int, lease_ms: int) -> None:
        """Keep a lease alive. Raises LeaseLost, for an event that was unsent or erased as well."""

    async def settle(
        self, claim: Claim, *, plan: bytes | None, append: Append | None, now_ms: int,
        leaving: Leaving | None = None,
    ) -> None:  # fmt: skip
        """Write the journal and the plan, ``ready``, in one transaction.

        A plan of None is not kept (it holds personal values): after a crash the turn runs again.
        ``leaving`` makes it ``sending`` in that transaction, which has then looked at the journal's
        revision right before the message leaves.
        Raises LeaseLost, and PreferenceChanged or ConversationChanged where the journal moved on;
        the lease stays then.
        """

    async def sending(self, claim: Claim, *, retry_key: str | None, now_ms: int) -> None:
        """Note that the message is about to leave; held plans of the claim leave with a reply."""

    async def finish(
        self, claim: Claim, ending: State, *, now_ms: int, error_code: str | None = None,
        sent: tuple[str, ...] = (), with_held: tuple[str, ...] = (),
        dropped: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        """End an event, drop its body and plan, and free the chat.

        ``sent`` are pseudonyms of the messages' ids. Of this chat's held events those ``with_held``
        end the same way, and those ``dropped``, which nobody sends any more, end ``refused``. An
        event that was unsent while it was ``sending`` stays silent.
        """

    async def hold(self, claim: Claim, plan: bytes, *, now_ms: int, error_code: str) -> None:
        """Keep an answer for the chat's next reply, and free the chat."""

    async def release(
        self, claim: Claim, *, now_ms: int, retry_at_ms: int, error_code: str | None = None,
        most_attempts: int = 5,
    ) -> State:  # fmt: skip
        """Give the event back; with an error it counts as an attempt, and ends among the dead.

        One that was ``sending`` is ``ready`` again, unless a kept plan and a retry key say that
        sending it once more is safe. Returns where it is.
        """

    async def unsend(self, message: str, *, now_ms: int) -> Arrival | None:
        """Drop an unsent message's text wherever it is, and what came of it; None if unknown.

        Not done yet: it ends ``silent``, a worker who is at it gets LeaseLost, and its chat is free
        at once, unless a message of it may be leaving right now. Its turn was done: its person's
        window is cleared in the same transaction. Returns whose and which it was, with an empty
        body.
        """

    async def is_open(self, event_id: str) -> bool:
        """Tell whether an event still waits for its answer: waiting, ready or sending."""

    async def is_ours(self, chat: str, message: str) -> bool:
        """Tell whether a message of this chat was sent by ``finish(sent=…)`` not long ago."""

    async def has_message(self, message: str) -> bool:
        """Tell whether an event is kept whose ``message`` this is, done or not."""

    async def spend(self, person: str, *, event_id: str, day: str, most: int) -> bool:
        """Take one of a person's turns of that day (an ISO date); False if they are used up.

        An event that is tried again takes none, on whatever day, while it is among the last
        ``COUNTED_EVENTS`` that took one.
        """

    async def leave(self, person: str, *, said_at_ms: int, due_at_ms: int) -> None:
        """Note that a person who left at ``said_at_ms`` is to be erased at ``due_at_ms``.

        Of leaving and staying what was said later holds, in whatever order it is told: a
        redelivered leave from before a stay changes nothing.
        """

    async def stay(self, person: str, *, said_at_ms: int) -> None:
        """Note that a person came back at ``said_at_ms``; kept for ``KEPT_MS``."""

    async def leavers(self, *, now_ms: int, most: int = 100) -> list[Owner]:
        """Return who is due to be erased; erasing them takes them off.

        Whoever is named may come back before that: ``InboxStore.erase_leaver`` asks again.
        """

    async def counts(self) -> dict[State, int]:
        """Count events by state."""

    async def letters(self, state: State, *, most: int = 100) -> list[Letter]:
        """List events in a state, those first that are in it longest."""

    async def requeue(self, event_id: str, *, now_ms: int) -> bool:
        """Give a dead event back with no attempts counted; False if it is not dead.

        It waits again, or is ready again if its turn was done.
        """

    async def purge(self, *, now_ms: int) -> int:
        """Drop what was finished ``KEPT_MS`` ago; return of how many events.

        At most ``PURGED_AT_ONCE`` of them: call it again while it returns as many.
        Dead events and held answers are dropped ``STUCK_MS`` after they got stuck.
        """


class InboxStore(PersonalStore, Protocol):
    """A PersonalStore that has inboxes as well; erasing somebody reaches what they hold."""

    def inbox(self, tenant: str) -> Inbox:
        """Return the inbox of a tenant; nothing is opened by that."""

    async def erase_leaver(
        self, owner: Owner, *, now_ms: int, channel: str = DIRECT
    ) -> ForgetResult | None:
        """Erase a person as ``erase`` does, if they are due in that very transaction.

        None, and nothing is changed, for one who came back since ``Inbox.leavers`` named them. A
        backend that takes many events in several commits holds each of them to it.
        """
