"""What all kinds of slots have in common, and the functions that make one of each."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from callbacks.context.errors import InvalidSchema
from callbacks.context.numerals import is_finite
from callbacks.context.values import MAX_NAME, schema_text


@dataclass(frozen=True, kw_only=True)
class Slot(ABC):
    """A typed place for one public value.

    A kind is a small subclass with a ``kind``, an ``admit``, a ``hint`` and its ``details``. Use
    the functions of this class to make one: ``Slot.closed``, ``Slot.date``, and so on.

    Attributes:
        label: What people and the model read; empty means the slot's name.
        topics: Topics that have a value of their own for this slot (a hotel's date is not a
            restaurant's); none means that one value is shared by all.
    """

    kind: ClassVar[str]
    never_kept: ClassVar[bool] = False
    label: str = ""
    topics: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.label != "":
            object.__setattr__(self, "label", schema_text(self.label, MAX_NAME))
        names = {schema_text(topic, MAX_NAME) for topic in self.topics}
        object.__setattr__(self, "topics", tuple(sorted(names)))

    @abstractmethod
    def admit(self, value: object) -> str:
        """Return the canonical form of a value.

        Raises:
            UnsupportedContext: The slot does not admit the value (invariant 5).
        """

    @abstractmethod
    def details(self) -> dict[str, object]:
        """Return what decides which values this kind admits, as plain data in a fixed order."""

    @property
    @abstractmethod
    def hint(self) -> str:
        """What a value looks like, in a few words for the model."""

    def belongs_to(self, topic: str) -> bool:
        """Say whether a topic has this slot: its own, or the shared one."""
        return not self.topics or topic in self.topics

    def canonical_json(self) -> dict[str, object]:
        """Return everything that decides what is admitted, as plain data in a fixed order."""
        scope = {"topics": list(self.topics)} if self.topics else {}
        return {"kind": self.kind, "label": self.label, **scope, **self.details()}

    @staticmethod
    def closed(
        values: Iterable[str],
        aliases: Mapping[str, str] | None = None,
        label: str = "",
        topics: Iterable[str] = (),
    ) -> "kinds.ClosedSlot":
        """Return a slot that admits a closed vocabulary and its aliases.

        Args:
            values: The canonical values.
            aliases: Other spellings, each with the canonical value it stands for.
            label: What people and the model read; empty means the slot's name.
            topics: Topics with a value of their own; none shares one value.

        Raises:
            InvalidSchema: A value or alias is unusable, or a spelling stands for two values.
        """
        if isinstance(values, str):
            raise InvalidSchema("A closed slot takes a list of values, not one text.")
        # A set has no order of its own, and the hash seed must not lend it one (invariant 12).
        given = sorted(values, key=str) if isinstance(values, Set) else list(values)
        return kinds.ClosedSlot(
            label=label,
            topics=_several(topics),
            values=tuple(given),
            aliases=tuple((aliases or {}).items()),
        )

    @staticmethod
    def date(label: str = "", topics: Iterable[str] = ()) -> "kinds.DateSlot":
        """Return a slot for one day, kept as ``YYYY-MM-DD``."""
        return kinds.DateSlot(label=label, topics=_several(topics))

    @staticmethod
    def time(label: str = "", topics: Iterable[str] = ()) -> "kinds.TimeSlot":
        """Return a slot for one time of day, kept as ``HH:MM`` by the 24-hour clock."""
        return kinds.TimeSlot(label=label, topics=_several(topics))

    @staticmethod
    def number(
        minimum: float | Decimal,
        maximum: float | Decimal,
        unit: str = "",
        label: str = "",
        topics: Iterable[str] = (),
    ) -> "kinds.NumberSlot":
        """Return a slot for a number in a range, kept with its unit.

        Args:
            minimum: The smallest number admitted, in ``unit``.
            maximum: The largest number admitted, in ``unit``.
            unit: Stands after the number, such as ``人`` or ``km``; empty for none. Without one,
                no number is ever looked for in a message.
            label: What people and the model read; empty means the slot's name.
            topics: Topics with a value of their own; none shares one value.

        Raises:
            InvalidSchema: The range is empty or unbounded, or the unit is unusable.
        """
        return kinds.NumberSlot(
            label=label,
            topics=_several(topics),
            minimum=_bound(minimum),
            maximum=_bound(maximum),
            unit=unit,
        )

    @staticmethod
    def grounded(
        tool: str, field: str, label: str = "", topics: Iterable[str] = ()
    ) -> "kinds.GroundedSlot":
        """Return a slot for what a tool of this conversation returned under a field.

        Args:
            tool: The tool's name.
            field: The field of its result, or of its result's rows.
            label: What people and the model read; empty means the slot's name.
            topics: Topics with a value of their own; none shares one value.
        """
        return kinds.GroundedSlot(label=label, topics=_several(topics), tool=tool, field=field)

    @staticmethod
    def name(
        max_length: int = 40,
        *,
        addresses: bool = False,
        label: str = "",
        topics: Iterable[str] = (),
    ) -> "kinds.NameSlot":
        """Return a slot for short public names: of places, shops, works. An author opts in.

        No sentence, run of digits, URL or contact passes, and no street address unless asked for.

        Args:
            max_length: Longest name, in characters; at most 80.
            addresses: Whether the street address of a public place is such a name, for slots such
                as where a taxi goes. Leave it off for anything that may be a person's home.
            label: What people and the model read; empty means the slot's name.
            topics: Topics with a value of their own; none shares one value.

        Raises:
            InvalidSchema: ``max_length`` is no whole number from 1 to 80.
        """
        return kinds.NameSlot(
            label=label, topics=_several(topics), max_length=max_length, addresses=addresses
        )

    @staticmethod
    def private(label: str = "") -> "kinds.PrivateSlot":
        """Return a slot that tools have and no context ever holds: trying to is an error."""
        return kinds.PrivateSlot(label=label)


def _several(topics: Iterable[str]) -> tuple[str, ...]:
    if isinstance(topics, str):
        raise InvalidSchema("A slot's topics are a list of names, not one text.")
    return tuple(topics)


def _bound(number: float | Decimal) -> Decimal:
    if isinstance(number, bool) or not isinstance(number, int | float | Decimal):
        raise InvalidSchema("The range of a slot is made of numbers.")
    if not is_finite(number):
        raise InvalidSchema("The range of a slot is bounded.")
    return Decimal(str(number))


# Kinds are made of the class above, which makes them: so they come after it.
from callbacks.context.slot import kinds  # noqa: E402 - as the comment says
