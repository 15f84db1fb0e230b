"""The consent ledger: what was agreed to, turned down and taken back, and never a value."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Self

from pydantic import Field, field_serializer, model_validator

from stores.generations import GenerationHeld
from stores.records import PRIVATE, Count, Key, Millis, Owner, Place, Record, Remembered, Text


class LedgerKind(StrEnum):
    """What happened."""

    PROPOSED = "proposed"
    GRANTED = "granted"
    CHANGED = "changed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    FORGOTTEN = "forgotten"


class LedgerEvent(Record):
    """One line of a person's ledger. Lines are added and never changed.

    Attributes:
        number: 1, 2, 3, ... for each person.
        kind: What happened.
        key: Which preference; None where it was all of them.
        purpose: As it stood on the card; empty where there was no card.
        scope: Where the value could be used, see ``Remembered``.
        channel: Through which channel it came.
        policy: Version of the privacy policy in force.
        at_ms: When.
        revision: The person's revision after it.
        expires_at_ms: The agreed end of what was granted; None for none.
        card_id: The card it was about; None for a value that ran out and for "forget".
    """

    number: Annotated[Count, Field(ge=1)]
    kind: Annotated[LedgerKind, Field(strict=False)]
    key: Key | None
    purpose: Text = ""
    scope: Place = PRIVATE
    channel: Place
    policy: Place
    at_ms: Millis
    revision: Count
    expires_at_ms: Millis | None = None
    card_id: Text | None = None


class Inspection(Record):
    """Everything a store holds of a person, read in one transaction.

    Attributes:
        owner: Whose it is.
        known: Whether the store has a row of theirs, be it the tombstone alone.
        in_inbox: Their rows in the inbox, done or not: events, sent messages, quota, leaving.
        revision: Their revision.
        generation: Number of writes of their window.
        forgotten_at_ms: When they last had something forgotten; the tombstone.
        values: What is remembered in any scope; what has expired is not in it.
        open_cards: Cards that could still be pressed.
        open_events: Their events in the inbox that are not done; never what they say.
        window: The live window; None for none.
        window_expires_at_ms: When that window is gone.
        generations: Records of generations, the oldest first, without their content.
        events: The ledger, oldest first.
    """

    owner: Owner
    known: bool = False
    in_inbox: Count = 0
    revision: Count = 0
    generation: Count = 0
    forgotten_at_ms: Millis | None = None
    values: Mapping[str, Remembered] = Field(default_factory=dict, validate_default=True)
    open_cards: Count = 0
    open_events: Count = 0
    window: Text | None = None
    window_expires_at_ms: Millis | None = None
    generations: tuple[GenerationHeld, ...] = ()
    events: tuple[LedgerEvent, ...] = ()

    @model_validator(mode="after")
    def _freeze(self) -> Self:
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))
        return self

    @property
    def is_empty(self) -> bool:
        """Whether nothing is held; a tombstone has no content and may be there (``known``)."""
        held = (self.values, self.open_cards, self.in_inbox, self.open_events)
        return not any((*held, self.window, self.generations, self.events))

    @field_serializer("values")
    def _thaw(self, values: Mapping[str, Remembered]) -> dict[str, Remembered]:
        return dict(values)


class KeyRotation(Record):
    """What a rotation of the key ring came to, counting data keys and events of the inbox.

    Attributes:
        rewrapped: What the newest ring key wraps or seals now and did not before.
        current: What it wrapped or sealed already.
        lost: What was sealed by a key that is not in the ring; it cannot be read.
    """

    rewrapped: Count = 0
    current: Count = 0
    lost: Count = 0
