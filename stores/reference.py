"""The store as a small sequential model: what any backend must look like from outside.

It keeps everything in dictionaries, knows no signature and no transaction, and decides outcomes by
its own few lines instead of ``stores.consent``, so that the two can be held against each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from stores.errors import ConversationChanged, PreferenceChanged
from stores.records import (
    PRIVATE,
    Card,
    CardAction,
    Outcome,
    Owner,
    Preferences,
    Proposal,
    Remembered,
    Snapshot,
)


@dataclass
class _Shown:
    """A card that was handed out, and what became of it."""

    proposal: Proposal
    revision: int
    expires_at_ms: int
    end: Outcome | None = None


@dataclass
class _Person:
    revision: int = 0
    generation: int = 0
    window: str | None = None
    expires_at_ms: int = 0
    last_event: str | None = None
    forgotten_at_ms: int = -1
    values: dict[str, Remembered] = field(default_factory=dict)
    cards: dict[str, _Shown] = field(default_factory=dict)


class Reference:
    """What happened so far, told in the calls of ``ContextStore``; its clock never goes back."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._people: dict[Owner, _Person] = {}

    def _person(self, owner: Owner) -> _Person:
        return self._people.setdefault(owner, _Person())

    def snapshot(self, owner: Owner, *, now_ms: int) -> Snapshot:
        """What ``ContextStore.snapshot`` must return."""
        person = self._person(owner)
        return Snapshot(
            revision=person.revision,
            generation=person.generation,
            window=person.window if now_ms < person.expires_at_ms else None,
            last_event=person.last_event,
        )

    def preferences(self, owner: Owner, *, now_ms: int, chat: str = PRIVATE) -> Preferences:
        """What ``ContextStore.preferences`` must return."""
        person = self._person(owner)
        values = {
            key: one for key, one in person.values.items() if one.usable(now_ms=now_ms, chat=chat)
        }
        return Preferences(revision=person.revision, values=values)

    def append(
        self,
        owner: Owner,
        *,
        event_id: str,
        window: str,
        expected_revision: int,
        expected_generation: int,
        now_ms: int,
        ttl_ms: int = 900_000,
    ) -> int:
        """What ``ContextStore.append`` must return.

        Raises:
            PreferenceChanged: If it must.
            ConversationChanged: If it must.
        """
        person = self._person(owner)
        if person.revision != expected_revision:
            raise PreferenceChanged
        again = person.last_event == event_id and person.generation == expected_generation + 1
        if again:
            return person.generation
        if person.generation != expected_generation:
            raise ConversationChanged
        person.generation += 1
        person.window, person.last_event = window, event_id
        person.expires_at_ms = now_ms + ttl_ms
        return person.generation

    def clear(self, owner: Owner) -> int:
        """What ``ContextStore.clear`` must return."""
        person = self._person(owner)
        person.generation += 1
        person.window = person.last_event = None
        person.expires_at_ms = 0
        return person.generation

    def refuses(self, owner: Owner, proposal: Proposal) -> bool:
        """Whether ``ContextStore.propose`` must refuse words as older than the last "forget"."""
        said_at_ms = proposal.said_at_ms
        return said_at_ms is not None and said_at_ms <= self._person(owner).forgotten_at_ms

    def shown(self, owner: Owner, proposal: Proposal, card: Card) -> None:
        """Take note of a card that the store under test made."""
        self._person(owner).cards[card.token] = _Shown(proposal, card.revision, card.expires_at_ms)

    def press(self, owner: Owner, token: str, *, approve: bool, now_ms: int) -> Outcome:
        """What ``ContextStore.approve`` or ``cancel`` must come to."""
        person = self._person(owner)
        card = person.cards.get(token)
        if card is None:
            return Outcome.INVALID
        if card.end is not None:
            return card.end
        if card.revision != person.revision:
            return Outcome.STALE
        if now_ms >= card.expires_at_ms:
            return Outcome.EXPIRED
        if not approve:
            card.end = Outcome.CANCELLED
            self._changed(owner)
            return Outcome.CANCELLED
        key = card.proposal.key
        if card.proposal.action is CardAction.FORGET:
            self.forget(owner, key, now_ms=now_ms)
            card.end = Outcome.ALREADY_APPLIED
            return Outcome.FORGOTTEN
        card.end = Outcome.ALREADY_APPLIED
        self._changed(owner)
        person.values[key] = Remembered(
            value=card.proposal.value or "",
            purpose=card.proposal.purpose,
            granted_at_ms=now_ms,
            expires_at_ms=card.proposal.expires_at_ms,
            scope=card.proposal.scope,
        )
        return Outcome.SAVED

    def forget(self, owner: Owner, key: str | None, *, now_ms: int) -> int:
        """The revision ``ContextStore.forget`` must return."""
        person = self._person(owner)
        person.forgotten_at_ms = max(person.forgotten_at_ms, now_ms)
        for name in list(person.values):
            if key in (None, name):
                del person.values[name]
        for card in person.cards.values():
            if card.end is Outcome.ALREADY_APPLIED and key in (None, card.proposal.key):
                card.end = Outcome.STALE
        return self._changed(owner)

    def erase(self, owner: Owner, *, now_ms: int) -> int:
        """The revision ``PersonalStore.erase`` must return; the person's cards are unknown then."""
        revision = self.forget(owner, None, now_ms=now_ms)
        self._person(owner).cards.clear()
        return revision

    def _changed(self, owner: Owner) -> int:
        self.clear(owner)
        person = self._person(owner)
        person.revision += 1
        return person.revision
