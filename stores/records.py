"""The records a store takes and gives: frozen, closed, and silent about values in ``repr``."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    field_serializer,
    model_validator,
)

from stores.checks import LARGEST_INT, VALUE_MAX_BYTES, WINDOW_MAX_BYTES, is_text
from stores.errors import InvalidInput

KEY_MAX: Final = 64
"""Longest name of a preference, in characters."""

OF_GENERATION: Final = "generation:"
"""How the name begins under which a generation's key is sealed; no preference is called so."""

PURPOSE_MAX: Final = 300
"""Longest purpose, in characters."""

TOKEN_MAX: Final = 200
"""Longest token of a card, in characters; a LINE postback carries up to 300."""

TENANT_MAX: Final = 128
"""Longest name of a tenant, in characters."""

PLACE_MAX: Final = 128
"""Longest name of a chat, channel or policy, in characters."""

PRIVATE: Final = "private"
"""The chat between the person and the service alone; every other name is a group's."""

DIRECT: Final = "direct"
"""The channel of an act that came through none, such as an operator's command."""


def _storable(text: str) -> str:
    if not is_text(text):
        raise ValueError
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError
    return text


def _not_reserved(text: str) -> str:
    if text.startswith(OF_GENERATION):
        raise ValueError
    return text


def _value(text: str) -> str:
    if len(text.encode()) > VALUE_MAX_BYTES:
        raise ValueError
    return text


Text = Annotated[str, AfterValidator(_storable)]
Named = Annotated[Text, AfterValidator(_not_blank)]
Key = Annotated[Named, Field(max_length=KEY_MAX)]
Purpose = Annotated[Named, Field(max_length=PURPOSE_MAX)]
Value = Annotated[Named, AfterValidator(_value)]
Place = Annotated[Named, Field(max_length=PLACE_MAX)]
Count = Annotated[int, Field(ge=0, le=LARGEST_INT)]
Millis = Annotated[int, Field(ge=0, le=LARGEST_INT)]


class Record(BaseModel):
    """Base of all records: frozen, strict, unknown fields refused.

    Raises:
        InvalidInput: Instead of pydantic's own error, which would quote what it was given.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        hide_input_in_errors=True,
        revalidate_instances="never",
    )

    @model_validator(mode="wrap")
    @classmethod
    def _one_sentence(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        fields: list[str] = []
        try:
            return handler(data)
        except ValidationError as error:
            fields = [str(part) for problem in error.errors() for part in problem["loc"][:1]]
        # Outside the except block, so that pydantic's error, which holds the input, is not even the
        # context of ours. A name that is not a field's may be content, so it is not told.
        known = [name for name in fields if name in cls.model_fields]
        raise InvalidInput(record=cls.__name__, field=known[0] if known else "unknown")


class Owner(Record):
    """Whose row it is. Both parts are in every key and every query (invariant 11)."""

    tenant: Annotated[Named, Field(max_length=TENANT_MAX)]
    person: Annotated[Named, Field(max_length=256)]


class Snapshot(Record):
    """What a turn starts from, read in one round trip.

    Attributes:
        revision: Number of consent changes of this person so far.
        generation: Number of writes of this person's window so far.
        window: The window's JSON; None if absent, expired, or written under another revision.
        last_event: The event that wrote the last window; None after it was cleared.
    """

    revision: Count = 0
    generation: Count = 0
    window: str | None = None
    last_event: str | None = None


class Remembered(Record):
    """One consented value, for one purpose.

    Attributes:
        value: What the person agreed to have remembered.
        purpose: What for.
        granted_at_ms: When they agreed.
        expires_at_ms: From when on it is as if forgotten; None for no end.
        scope: ``PRIVATE``, or the one group in which it may be used as well.
    """

    value: Value = Field(repr=False)
    purpose: Purpose
    granted_at_ms: Millis
    expires_at_ms: Millis | None = None
    scope: Place = PRIVATE

    def usable(self, *, now_ms: int, chat: str) -> bool:
        """Whether it may be used now and there: its person's private chat, or its one group."""
        alive = self.expires_at_ms is None or now_ms < self.expires_at_ms
        return alive and chat in (PRIVATE, self.scope)


class Preferences(Record):
    """All that a person agreed to have remembered, under one revision over all keys."""

    revision: Count = 0
    values: Mapping[str, Remembered] = Field(default_factory=dict, validate_default=True)

    @model_validator(mode="after")
    def _freeze(self) -> Self:
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))
        return self

    @field_serializer("values")
    def _thaw(self, values: Mapping[str, Remembered]) -> dict[str, Remembered]:
        return dict(values)


class CardAction(StrEnum):
    """What pressing a card does."""

    REMEMBER = "remember"
    FORGET = "forget"


class CardStatus(StrEnum):
    """Where a card is; only a pending one can still be pressed with effect."""

    PENDING = "pending"
    APPROVED = "approved"
    CANCELLED = "cancelled"
    STALE = "stale"
    EXPIRED = "expired"


class Outcome(StrEnum):
    """What pressing a card came to."""

    SAVED = "saved"
    FORGOTTEN = "forgotten"
    ALREADY_APPLIED = "already_applied"
    STALE = "stale"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    INVALID = "invalid"


class Proposal(Record):
    """What an agent would like the person to decide on. It changes nothing by itself.

    Attributes:
        key: The preference's name; none that begins with ``OF_GENERATION``.
        purpose: What it is for, as the person is told.
        action: To remember or to forget.
        value: What to remember; None to forget.
        expires_at_ms: Until when to remember it; None for no end.
        scope: ``PRIVATE``, or the one group in which it may be used as well.
        said_at_ms: When the words were said that it came from; None for just now. Words from
            before the person's last "forget" make no card (a tombstone stops what is older).
    """

    key: Annotated[Key, AfterValidator(_not_reserved)]
    purpose: Purpose
    action: Annotated[CardAction, Field(strict=False)] = CardAction.REMEMBER
    value: Value | None = Field(default=None, repr=False)
    expires_at_ms: Millis | None = None
    scope: Place = PRIVATE
    said_at_ms: Millis | None = None

    @model_validator(mode="after")
    def _value_only_to_remember(self) -> Self:
        forgets = self.action is CardAction.FORGET
        if (self.value is None) is not forgets:
            raise InvalidInput(
                "A proposal to remember has a value, and one to forget has none.",
                record="Proposal",
                field="value",
            )
        if forgets and (self.expires_at_ms is not None or self.scope != PRIVATE):
            raise InvalidInput(
                "Only what is remembered has an end or a group.",
                record="Proposal",
                field="scope" if self.scope != PRIVATE else "expires_at_ms",
            )
        return self


class Card(Record):
    """What is shown to the person. The token names the card and proves it; no value is in it.

    Attributes:
        expires_at_ms: Until when the card can be pressed.
        value_expires_at_ms: Until when the value would be remembered; None for no end.
        scope: Where it could be used, see ``Remembered``.
    """

    card_id: Named
    action: Annotated[CardAction, Field(strict=False)]
    key: Key
    purpose: Purpose
    revision: Count
    expires_at_ms: Millis
    token: Annotated[Named, Field(max_length=TOKEN_MAX, repr=False)]
    value_expires_at_ms: Millis | None = None
    scope: Place = PRIVATE


class SurfaceCheck(Record):
    """What reading back found on one surface after the commit; 0 is what it should be."""

    surface: Named
    remaining: Count

    @property
    def gone(self) -> bool:
        """Whether nothing is left there."""
        return self.remaining == 0


class ConsentResult(Record):
    """What a press came to, with the person's revision after it.

    Attributes:
        verified: For a press that took a value away, what reading back found.
    """

    outcome: Annotated[Outcome, Field(strict=False)]
    revision: Count
    key: Key | None = None
    action: Annotated[CardAction | None, Field(strict=False)] = None
    verified: tuple[SurfaceCheck, ...] = ()


class ForgetResult(Record):
    """What forgetting or erasing came to, read back after the commit (invariant 8).

    Attributes:
        verified: What reading back found, surface by surface, at the last attempt.
        attempts: How often the surfaces were cleaned and read back; more than once where
            something was left at first.
    """

    outcome: Literal[Outcome.FORGOTTEN] = Outcome.FORGOTTEN
    revision: Count
    verified: tuple[SurfaceCheck, ...]
    attempts: Count = 1

    @property
    def complete(self) -> bool:
        """Whether nothing was found on any surface."""
        return all(check.gone for check in self.verified)


__all__ = [
    "DIRECT",
    "KEY_MAX",
    "OF_GENERATION",
    "PLACE_MAX",
    "PRIVATE",
    "PURPOSE_MAX",
    "TENANT_MAX",
    "TOKEN_MAX",
    "VALUE_MAX_BYTES",
    "WINDOW_MAX_BYTES",
    "Card",
    "CardAction",
    "CardStatus",
    "ConsentResult",
    "ForgetResult",
    "Outcome",
    "Owner",
    "Preferences",
    "Proposal",
    "Record",
    "Remembered",
    "Snapshot",
    "SurfaceCheck",
]
