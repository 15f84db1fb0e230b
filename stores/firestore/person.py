"""A person as one document: everything but their live window and the lines of their ledger.

Lists of small maps instead of maps by name: Firestore reserves names such as ``__x__``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from stores import consent
from stores.consent import CardRow
from stores.errors import StoreUnavailable
from stores.generations import GENERATIONS_MAX, key_name
from stores.ledger import LedgerKind
from stores.records import PRIVATE, CardStatus, Owner, Remembered, Snapshot
from stores.sealing import KeyRing, open_sealed
from stores.sql.events import Act

CARD_KEPT_MS: Final = 30 * 24 * 3_600_000
"""How long a closed card, which has no value, is kept to be told apart from an invalid one."""

DUE_NOW: Final = 0
"""A person is due until the lines of their dropped ledger are deleted."""

OF_SNAPSHOT: Final = ("revision", "generation", "last_event")
"""Fields that a window is written by."""

CARDS_MAX: Final = 200
"""Most cards in a document, which may have 1 MiB; the oldest ones go first, and are then invalid
instead of stale or applied."""


@dataclass
class Kept:
    """A preference, its value sealed."""

    key: str
    purpose: str
    granted_at_ms: int
    expires_at_ms: int | None
    scope: str
    revision: int
    sealed: bytes

    def ended(self, now_ms: int) -> bool:
        """Whether its agreed end has passed."""
        return self.expires_at_ms is not None and self.expires_at_ms <= now_ms


@dataclass
class KeptCard:
    """A card; what it would remember is sealed, and gone once the card is closed."""

    card_id: str
    action: str
    key: str
    purpose: str
    revision: int
    expires_at_ms: int
    value_tag: str
    value_expires_at_ms: int | None
    scope: str
    status: str
    sealed: bytes | None

    @property
    def pending(self) -> bool:
        """Whether it can still be pressed with effect."""
        return self.status == CardStatus.PENDING.value

    def row(self, owner: Owner) -> CardRow:
        """Return what its signature binds."""
        told = {name: value for name, value in asdict(self).items() if name != "sealed"}
        return CardRow(owner=owner, **told)

    def close(self, status: CardStatus) -> bool:
        """End it; tell whether a value went with it."""
        self.status = status.value
        had, self.sealed = self.sealed is not None, None
        return had


@dataclass
class KeptGeneration:
    """That a record of a generation is kept, and its sealed key; the record is a document."""

    id: str
    made_at_ms: int
    expires_at_ms: int
    revision: int
    sealed: bytes

    @property
    def key(self) -> str:
        """What the sealed key is bound to."""
        return key_name(self.id)


@dataclass
class Person:
    """What a document holds, and what a change adds to it beside the document.

    Attributes:
        epoch: The revision under which the ledger began; it moves when the ledger is dropped.
        lines: Number of lines in the ledger since then.
        due_at_ms: When the next card or value runs out, or ``DUE_NOW``; None for never.
        window: None to leave the window as it is, "" to drop it, else the new one.
        added: New lines of the ledger.
        ended: Whether a value ended, so that its data key must as well.
        bodies: Documents of generations to write, by id; None deletes one.
    """

    owner: Owner
    known: bool = False
    revision: int = 0
    generation: int = 0
    last_event: str | None = None
    forgotten_at_ms: int | None = None
    data_key: bytes | None = None
    key_revision: int | None = None
    ring_id: str | None = None
    epoch: int = 0
    lines: int = 0
    due_at_ms: int | None = None
    preferences: list[Kept] = field(default_factory=list)
    cards: list[KeptCard] = field(default_factory=list)
    generations: list[KeptGeneration] = field(default_factory=list)
    window: str | None = None
    window_expires_at_ms: int = 0
    added: list[dict[str, Any]] = field(default_factory=list)
    ended: bool = False
    bodies: dict[str, dict[str, Any] | None] = field(default_factory=dict)

    def snapshot(self, window: Mapping[str, Any] | None, now_ms: int) -> Snapshot:
        """Return what a turn starts from; the window must be of this generation and revision."""
        alive = (
            window is not None
            and (window["revision"], window["generation"]) == (self.revision, self.generation)
            and now_ms < window["expires_at_ms"]
        )
        return Snapshot(
            revision=self.revision,
            generation=self.generation,
            window=window["window"] if window is not None and alive else None,
            last_event=self.last_event,
        )

    def note(
        self,
        act: Act,
        kind: LedgerKind,
        *,
        key: str | None,
        purpose: str = "",
        scope: str = PRIVATE,
        expires_at_ms: int | None = None,
        card_id: str | None = None,
    ) -> None:
        """Add a line to the ledger, under the revision that holds now."""
        self.lines += 1
        self.added.append(
            {
                "number": self.lines,
                "kind": kind.value,
                "key": key,
                "purpose": purpose,
                "scope": scope,
                "channel": act.channel,
                "policy": act.policy,
                "at_ms": act.at_ms,
                "revision": self.revision,
                "expires_at_ms": expires_at_ms,
                "card_id": card_id,
            }
        )

    def move(self, event: str | None = None, window: str = "", expires_at_ms: int = 0) -> int:
        """Write the window, or drop it, and return the new generation."""
        self.generation += 1
        self.last_event = event
        self.window, self.window_expires_at_ms = window, expires_at_ms
        return self.generation

    def change_revision(self) -> int:
        """Change the revision: the window goes, and each card that still waits is stale."""
        for card in self.cards:
            if card.pending:
                self.ended = card.close(CardStatus.STALE) or self.ended
        self.revision += 1
        self.move()
        return self.revision

    def seal(self, ring: KeyRing, key: str, salt: bytes, value: str) -> bytes:
        """Seal a value; the first one makes the data key.

        Raises:
            StoreKeyMissing: If the ring has not the key that it takes.
        """
        if self.data_key is None:
            data_key = ring.new_data_key()
            self._set_key(ring, data_key)
        else:
            data_key = ring.unwrap(self.owner, self.data_key)
        return ring.seal(data_key, self.owner, key, salt, value)

    def open(self, ring: KeyRing, key: str, sealed: bytes) -> tuple[bytes, str]:
        """Return salt and value.

        Raises:
            StoreKeyMissing: If the ring has not the key that it takes.
            StoreUnavailable: If it is not this person's value of this preference.
        """
        if self.data_key is None:
            raise StoreUnavailable("The store's rows do not fit together.", reason="damaged")
        return open_sealed(ring.unwrap(self.owner, self.data_key), self.owner, key, sealed)

    def remembered(self, ring: KeyRing, *, now_ms: int, chat: str) -> dict[str, Remembered]:
        """Return what may be used now and in this chat, by key."""
        return {
            one.key: Remembered(
                value=self.open(ring, one.key, one.sealed)[1],
                purpose=one.purpose,
                granted_at_ms=one.granted_at_ms,
                expires_at_ms=one.expires_at_ms,
                scope=one.scope,
            )
            for one in self.preferences
            if not one.ended(now_ms) and chat in (PRIVATE, one.scope)
        }

    def renew(self, ring: KeyRing, *, always: bool = False) -> None:
        """End the data key if a value ended; what remains is sealed anew under another one.

        Raises:
            StoreKeyMissing: If something remains and the ring has not the key that it takes.
            StoreUnavailable: If something that remains cannot be opened.
        """
        if self.data_key is None or not (self.ended or always):
            return
        waiting = [card for card in self.cards if card.sealed is not None]
        if not self.preferences and not waiting and not self.generations:
            self.data_key = self.key_revision = self.ring_id = None
            return
        new = ring.new_data_key()
        sealed: list[Kept | KeptCard | KeptGeneration] = [
            *self.preferences,
            *waiting,
            *self.generations,
        ]
        for one in sealed:
            salt, value = self.open(ring, one.key, one.sealed or b"")
            one.sealed = ring.seal(new, self.owner, one.key, salt, value)
        self._set_key(ring, new)

    def rewrap(self, ring: KeyRing) -> None:
        """Wrap the data key by the newest key of the ring.

        Raises:
            StoreKeyMissing: If the ring has not the key that wraps it now.
        """
        if self.data_key is not None:
            self.data_key = ring.wrap(self.owner, ring.unwrap(self.owner, self.data_key))
            self.ring_id = ring.newest

    def tidy(self, now_ms: int) -> None:
        """Drop cards that are too old or too many, and say when the next thing runs out."""
        kept = [
            card
            for card in self.cards
            if card.pending or card.expires_at_ms >= now_ms - CARD_KEPT_MS
        ]
        self.ended = self.ended or any(card.sealed is not None for card in kept[:-CARDS_MAX])
        self.cards = kept[-CARDS_MAX:]
        self.drop_generations(now_ms)
        ends = [card.expires_at_ms for card in self.cards if card.pending]
        ends += [one.expires_at_ms for one in self.preferences if one.expires_at_ms is not None]
        ends += [one.expires_at_ms for one in self.generations]
        if self.due_at_ms != DUE_NOW:  # lines of a dropped ledger are still to be deleted
            self.due_at_ms = min(ends, default=None)

    def drop_generations(self, now_ms: int | None) -> None:
        """Drop records that ran out or are too many; None drops every one."""
        kept = [
            one for one in self.generations if now_ms is not None and one.expires_at_ms > now_ms
        ]
        kept = sorted(kept, key=lambda one: (one.made_at_ms, one.id))[-GENERATIONS_MAX:]
        for one in self.generations:
            if one not in kept:
                self.bodies[one.id] = None
                self.ended = True
        self.generations = kept

    def _set_key(self, ring: KeyRing, data_key: bytes) -> None:
        self.data_key = ring.wrap(self.owner, data_key)
        self.key_revision, self.ring_id = self.revision, ring.newest


_PLAIN: Final = (
    *("revision", "generation", "last_event", "forgotten_at_ms", "data_key", "key_revision"),
    *("ring_id", "epoch", "lines", "due_at_ms"),
)


def fields_of(person: Person) -> dict[str, Any]:
    """Return the document's fields."""
    return {
        "tenant": person.owner.tenant,
        "person": person.owner.person,
        **{name: getattr(person, name) for name in _PLAIN},
        "preferences": [asdict(one) for one in person.preferences],
        "cards": [asdict(card) for card in person.cards],
        "generations": [asdict(one) for one in person.generations],
    }


def person_of(owner: Owner, fields: Mapping[str, Any] | None) -> Person:
    """Return the person in a document, or in the part of it that was read.

    Raises:
        StoreUnavailable: If it is somebody else's, or was tampered with.
    """
    if fields is None:
        return Person(owner)
    if (fields.get("tenant"), fields.get("person")) == (owner.tenant, owner.person):
        try:
            return Person(
                owner,
                known=True,
                **{name: fields[name] for name in _PLAIN if name in fields},
                preferences=[Kept(**one) for one in fields.get("preferences", ())],
                cards=[KeptCard(**card) for card in fields.get("cards", ())],
                generations=[KeptGeneration(**one) for one in fields.get("generations", ())],
            )
        except TypeError:  # fields that are not ours; what they say is not passed on
            pass
    raise StoreUnavailable("The store's rows do not fit together.", reason="damaged")


def find_card(person: Person, token: str, keys: tuple[bytes, ...]) -> tuple[KeptCard | None, bytes]:
    """Return the card that a token proves and the key that signed it; None if it proves nothing."""
    card_id = consent.card_id_of(token)
    for card in person.cards:
        if card.card_id == card_id:
            signed_by = consent.verify(card.row(person.owner), token, keys)
            return (None, b"") if signed_by is None else (card, signed_by)
    return None, b""
