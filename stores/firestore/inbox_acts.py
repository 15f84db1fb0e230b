"""What can be done to a chat and its events, as changes in memory: no I/O, no clock.

The same rules as the transactions over SQL (``stores.sql.inbox_acts``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from stores.inbox import ENDINGS, KEPT_MS, OPEN, STUCK_MS, Claim, State
from stores.inbox_base import Ended

_STUCK: Final = (State.HELD.value, State.DEAD.value)


@dataclass
class Event:
    """An event's document.

    Attributes:
        sort: State and time of the last change, as one text that a query can range over.
        drop_at_ms: When it is to be dropped; None while it is open.
    """

    event_id: str
    chat: str
    person: str | None
    message: str | None
    said_at_ms: int
    arrived_at_ms: int
    place: int
    changed_at_ms: int
    state: str
    attempts: int = 0
    error_code: str | None = None
    retry_key: str | None = None
    body: bytes | None = None
    plan: bytes | None = None
    sort: str = ""
    drop_at_ms: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether it waits for its answer."""
        return self.state in OPEN

    def move(self, state: str, now_ms: int) -> None:
        """Put it into a state, with all that goes with that."""
        self.state, self.changed_at_ms = state, now_ms
        self.sort = f"{state} {now_ms:016}"
        self.drop_at_ms = None
        if state in ENDINGS:
            self.drop_at_ms = now_ms + KEPT_MS
            self.body = self.plan = self.retry_key = None
        elif state in _STUCK:
            self.drop_at_ms = now_ms + STUCK_MS


@dataclass
class Chat:
    """A chat's document: who is at work in it, and which of its events are open or held.

    Attributes:
        due_at_ms: When there is work, or a lease runs out; None while there is none.
        open: Ids with their order: time, time of arrival, place in the batch.
        held: The same of held answers.
    """

    chat: str
    fence: int = 0
    worker: str | None = None
    event_id: str | None = None
    lapsed: int = 0
    due_at_ms: int | None = None
    last_at_ms: int = 0
    open: list[dict[str, Any]] = field(default_factory=list)
    held: list[dict[str, Any]] = field(default_factory=list)

    @property
    def open_ids(self) -> list[str]:
        """Open events, the oldest first."""
        return _ids(self.open)

    @property
    def held_ids(self) -> list[str]:
        """Held answers, the oldest first."""
        return _ids(self.held)

    def add(self, event: Event, now_ms: int) -> None:
        """Note an open event, and that there is work."""
        if not self.fence:
            self.fence = now_ms  # a chat that was purged and comes again repeats no number
        self.open.append(_place(event))
        self.last_at_ms = now_ms
        if self.due_at_ms is None:
            self.due_at_ms = now_ms

    def drop(self, event_id: str) -> None:
        """Note that an event is neither open nor held any more."""
        self.open = [one for one in self.open if one["event_id"] != event_id]
        self.held = [one for one in self.held if one["event_id"] != event_id]

    def hold(self, event: Event) -> None:
        """Note that an event's answer is held."""
        self.drop(event.event_id)
        self.held.append(_place(event))

    def is_due(self, now_ms: int) -> bool:
        """Whether there is work, or a lease ran out."""
        return self.due_at_ms is not None and self.due_at_ms <= now_ms

    def lease(self, worker: str, *, now_ms: int, until_ms: int) -> bool:
        """Begin a lease if there is work due."""
        if not self.is_due(now_ms) or not self.open:
            return False
        head = self.open_ids[0]
        again = self.worker is not None and self.event_id == head
        self.lapsed = self.lapsed + 1 if again else 0
        self.worker, self.fence, self.due_at_ms = worker, self.fence + 1, until_ms
        self.event_id = head
        return True

    def leased(self, claim: Claim) -> bool:
        """Whether the claim's lease is the one that holds."""
        return (self.worker, self.fence) == (claim.worker, claim.fence)

    def free(self, next_at_ms: int) -> None:
        """End the lease; the chat is due then if there is more."""
        self.worker, self.event_id, self.lapsed = None, None, 0
        self.due_at_ms = next_at_ms if self.open else None

    def end_work(self, gone: str | None, now_ms: int) -> None:
        """An event is gone: nobody works on it any more, and the chat is due if there is more."""
        if self.worker is None or (gone is not None and self.event_id == gone):
            self.free(now_ms)


def at_it(chat: Chat, event: Event | None, claim: Claim, now_ms: int) -> bool:
    """Tell whether the claim may change its event; one that is gone frees its chat."""
    if not chat.leased(claim):
        return False
    if event is None or not event.is_open:
        chat.free(now_ms)
        return False
    return True


def finish(
    chat: Chat, events: Mapping[str, Event], claim: Claim, ended: Ended, now_ms: int
) -> tuple[bool, str | None]:
    """End the event and free the chat; tell whether, and whose the sent messages are."""
    if not chat.leased(claim):
        return False, None
    event, person = events.get(claim.event_id), None
    if event is not None and event.is_open:
        person, event.error_code = event.person, ended.error_code
        event.move(ended.ending.value, now_ms)
        chat.drop(event.event_id)
    for event_id, state in ended.of_held:
        held = events.get(event_id)
        if held is not None and held.state == State.HELD and event_id in chat.held_ids:
            held.move(state.value, now_ms)
            chat.drop(event_id)
    chat.free(now_ms)
    return True, person


def release(
    chat: Chat, event: Event, claim: Claim, *, now_ms: int, next_at_ms: int,
    error_code: str | None, dead: bool,
) -> str:  # fmt: skip
    """Give the event back, or put it among the dead; return where it is."""
    state = event.state
    if state == State.SENDING and (event.retry_key is None or event.plan is None):
        state, event.retry_key = State.READY.value, None
    if dead:
        state = State.DEAD.value
        chat.drop(event.event_id)
    event.attempts = claim.attempts + (error_code is not None)
    event.error_code = error_code
    event.move(state, now_ms)
    chat.free(now_ms if dead else next_at_ms)
    return state


def take_back(chat: Chat, event: Event, now_ms: int) -> None:
    """Drop what an event says and what it was answered; one that is not done ends silent."""
    gone = None if event.state == State.SENDING else event.event_id
    if event.state not in ENDINGS:
        event.move(State.SILENT.value, now_ms)
    chat.drop(event.event_id)
    chat.end_work(gone, now_ms)


def requeue(chat: Chat, event: Event, now_ms: int) -> bool:
    """Give a dead event back."""
    if event.state != State.DEAD:
        return False
    state = State.WAITING
    if event.plan is not None:
        state = State.READY if event.retry_key is None else State.SENDING
    event.attempts, event.error_code = 0, None
    event.move(state.value, now_ms)
    chat.add(event, now_ms)
    return True


def _place(event: Event) -> dict[str, Any]:
    return {
        "event_id": event.event_id,
        "said_at_ms": event.said_at_ms,
        "arrived_at_ms": event.arrived_at_ms,
        "place": event.place,
    }


def _ids(listed: list[dict[str, Any]]) -> list[str]:
    ordered = sorted(
        listed, key=lambda one: (one["said_at_ms"], one["arrived_at_ms"], one["place"])
    )
    return [str(one["event_id"]) for one in ordered]
