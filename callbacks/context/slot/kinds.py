"""Kinds of slots: each decides which values it admits, and in which one form."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import ClassVar

from callbacks.context.dates import read_date
from callbacks.context.errors import InvalidSchema, UnsupportedContext
from callbacks.context.numerals import is_finite, plain, read_number
from callbacks.context.public_name import MAX_LENGTH, is_public_name
from callbacks.context.slot.base import Slot
from callbacks.context.times import read_time
from callbacks.context.values import MAX_NAME, MAX_VALUE, canonical, schema_text, writable

_REFUSED = "A slot does not admit this value."
_MANY = 24
"""So many values of a vocabulary may stand in one hint."""


@dataclass(frozen=True, kw_only=True)
class ClosedSlot(Slot):
    """A slot with a closed vocabulary, compared after NFC and strip and in no other way.

    Attributes:
        values: The canonical values in their author's order.
        aliases: Pairs of another spelling and its canonical value, sorted.
    """

    kind: ClassVar[str] = "closed"
    values: tuple[str, ...]
    aliases: tuple[tuple[str, str], ...] = ()
    _spellings: dict[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        values = tuple(schema_text(value, MAX_VALUE) for value in self.values)
        if not values:
            raise InvalidSchema("A closed slot needs at least one value.")
        spellings: dict[str, str] = {}
        for value in values:
            if value in spellings:
                raise InvalidSchema(
                    "A closed slot has the same value twice.", numbers={"value": value}
                )
            spellings[value] = value
        aliases: dict[str, str] = {}
        for spelling, target in self.aliases:
            alias, value = schema_text(spelling, MAX_VALUE), schema_text(target, MAX_VALUE)
            if spellings.get(value) != value:
                raise InvalidSchema(
                    "An alias stands for a value the slot does not have.",
                    numbers={"alias": alias, "value": value},
                )
            if spellings.setdefault(alias, value) != value:
                raise InvalidSchema("An alias stands for two values.", numbers={"alias": alias})
            if alias != value:
                aliases[alias] = value
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "aliases", tuple(sorted(aliases.items())))
        object.__setattr__(self, "_spellings", spellings)

    @property
    def spellings(self) -> Mapping[str, str]:
        """Every spelling with the canonical value it stands for."""
        return self._spellings

    @property
    def hint(self) -> str:
        """The values where they are few."""
        return " / ".join(self.values) if len(self.values) <= _MANY else "one of its known values"

    def admit(self, value: object) -> str:
        """Return the canonical value for a value or one of its aliases.

        Raises:
            UnsupportedContext: It is neither.
        """
        found = self._spellings.get(canonical(value)) if isinstance(value, str) else None
        if found is None:
            raise UnsupportedContext(_REFUSED)
        return found

    def details(self) -> dict[str, object]:
        """Return the vocabulary; the author's order of values is no part of it."""
        return {"values": sorted(self.values), "aliases": dict(self.aliases)}


@dataclass(frozen=True, kw_only=True)
class DateSlot(Slot):
    """A slot for one day. Use ``Slot.date``."""

    kind: ClassVar[str] = "date"

    @property
    def hint(self) -> str:
        """The one form."""
        return "YYYY-MM-DD"

    def admit(self, value: object) -> str:
        """Return the ISO form of a date that has its year.

        Raises:
            UnsupportedContext: It is no such date.
        """
        if isinstance(value, date) and not isinstance(value, datetime):
            return value.isoformat()
        found = read_date(canonical(value)) if isinstance(value, str) else None
        if found is None:
            raise UnsupportedContext(_REFUSED)
        return found

    def details(self) -> dict[str, object]:
        """Return nothing: every date is admitted."""
        return {}


@dataclass(frozen=True, kw_only=True)
class TimeSlot(Slot):
    """A slot for one time of day. Use ``Slot.time``."""

    kind: ClassVar[str] = "time"

    @property
    def hint(self) -> str:
        """The one form."""
        return "HH:MM, 24 h"

    def admit(self, value: object) -> str:
        """Return the ``HH:MM`` form of a time that leaves no doubt.

        Raises:
            UnsupportedContext: It is no such time.
        """
        if isinstance(value, time):
            return value.strftime("%H:%M")
        found = read_time(canonical(value)) if isinstance(value, str) else None
        if found is None:
            raise UnsupportedContext(_REFUSED)
        return found

    def details(self) -> dict[str, object]:
        """Return nothing: every time is admitted."""
        return {}


@dataclass(frozen=True, kw_only=True)
class NumberSlot(Slot):
    """A slot for a number in a range. Use ``Slot.number``.

    Attributes:
        minimum: The smallest number admitted, in ``unit``.
        maximum: The largest number admitted, in ``unit``.
        unit: Stands after the number.
    """

    kind: ClassVar[str] = "number"
    minimum: Decimal
    maximum: Decimal
    unit: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.unit != "":
            object.__setattr__(self, "unit", schema_text(self.unit, 16))
            if any(character.isdigit() or character in "+-.," for character in self.unit):
                raise InvalidSchema("A unit has no digits or signs.")
        if self.minimum > self.maximum:
            raise InvalidSchema("The smallest number of a slot is above its largest.")

    @property
    def hint(self) -> str:
        """The range and the unit."""
        return f"{plain(self.minimum)}-{plain(self.maximum)}{self._tail}"

    def admit(self, value: object) -> str:
        """Return a number's one form, with the unit.

        Raises:
            UnsupportedContext: It is no number, has another unit, or is out of range.
        """
        number: Decimal | None = None
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            number = read_number(plain(Decimal(str(value)))) if is_finite(value) else None
        elif isinstance(value, str):
            text = canonical(value)
            # The unit may be left out; another one may not stand in its place.
            if self.unit and text.endswith(self.unit):
                text = text[: -len(self.unit)].rstrip()
            number = read_number(text)
        if number is None or not self.minimum <= number <= self.maximum:
            raise UnsupportedContext(_REFUSED)
        return plain(number) + self._tail

    def details(self) -> dict[str, object]:
        """Return range and unit."""
        return {"minimum": plain(self.minimum), "maximum": plain(self.maximum), "unit": self.unit}

    @property
    def _tail(self) -> str:
        return f" {self.unit}" if self.unit.isascii() and self.unit else self.unit


@dataclass(frozen=True, kw_only=True)
class GroundedSlot(Slot):
    """A slot for what a tool returned. Use ``Slot.grounded``.

    ``admit`` can only see whether a value has the form of one; that it stands in a result of this
    conversation is checked where results are known (``grounds.py``).

    Attributes:
        tool: The tool's name.
        field: The field of its result, or of its result's rows.
    """

    kind: ClassVar[str] = "grounded"
    tool: str
    field: str

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "tool", schema_text(self.tool, MAX_NAME))
        object.__setattr__(self, "field", schema_text(self.field, MAX_NAME))

    @property
    def hint(self) -> str:
        """Where values come from."""
        return "as a tool returned it"

    def admit(self, value: object) -> str:
        """Return a value's text: of a scalar, short and printable.

        Raises:
            UnsupportedContext: It has another form.
        """
        return grounded_text(value)

    def details(self) -> dict[str, object]:
        """Return where values come from."""
        return {"tool": self.tool, "field": self.field}


@dataclass(frozen=True, kw_only=True)
class NameSlot(Slot):
    """A slot for short public names. Use ``Slot.name``.

    Attributes:
        max_length: Longest name, in characters.
        addresses: Whether the street address of a public place is such a name.
    """

    kind: ClassVar[str] = "name"
    max_length: int = 40
    addresses: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.max_length) is not int or not 1 <= self.max_length <= MAX_LENGTH:
            raise InvalidSchema("A name's longest form is a whole number from 1 to 80.")

    @property
    def hint(self) -> str:
        """The length."""
        return f"a public name, at most {self.max_length} characters"

    def admit(self, value: object) -> str:
        """Return a public name as it is.

        Raises:
            UnsupportedContext: It is none.
        """
        text = canonical(value) if isinstance(value, str) else ""
        if not is_public_name(text, max_length=self.max_length, addresses=self.addresses):
            raise UnsupportedContext(_REFUSED)
        return text

    def details(self) -> dict[str, object]:
        """Return length and whether addresses pass."""
        return {"max_length": self.max_length, "addresses": self.addresses}


@dataclass(frozen=True, kw_only=True)
class PrivateSlot(Slot):
    """A slot that tools have and no context ever holds. Use ``Slot.private``."""

    kind: ClassVar[str] = "private"
    never_kept: ClassVar[bool] = True

    @property
    def hint(self) -> str:
        """That there is none."""
        return "never kept"

    def admit(self, value: object) -> str:
        """Refuse every value.

        Raises:
            UnsupportedContext: Always.
        """
        raise UnsupportedContext("A private slot never enters the context.")

    def details(self) -> dict[str, object]:
        """Return nothing: no value is admitted."""
        return {}


def grounded_text(value: object) -> str:
    """Return the text of a value that a tool returned: a scalar, short and printable.

    Raises:
        UnsupportedContext: It is something else, blank, or too long to be kept.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise UnsupportedContext(_REFUSED)
    text = canonical(value if isinstance(value, str) else str(value))
    if not 0 < len(text) <= MAX_LENGTH or not writable(text) or not text.isprintable():
        raise UnsupportedContext(_REFUSED)
    return text
