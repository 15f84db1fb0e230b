"""Kinds of slots: each decides which values it admits."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import ClassVar

from callbacks.context.errors import InvalidSchema, UnsupportedContext
from callbacks.context.values import MAX_NAME, MAX_VALUE, canonical, schema_text


@dataclass(frozen=True)
class Slot(ABC):
    """A typed place for one public value.

    A kind is a small subclass with a ``kind``, an ``admit`` and a ``canonical_json``.

    Attributes:
        label: What people and the model read; empty means the slot's name.
    """

    kind: ClassVar[str]
    label: str

    @abstractmethod
    def admit(self, value: object) -> str:
        """Return the canonical form of a value.

        Raises:
            UnsupportedContext: The slot does not admit the value (invariant 5).
        """

    @abstractmethod
    def canonical_json(self) -> dict[str, object]:
        """Return everything that decides what is admitted, as plain data in a fixed order."""

    @staticmethod
    def closed(
        values: Iterable[str], aliases: Mapping[str, str] | None = None, label: str = ""
    ) -> "ClosedSlot":
        """Return a slot that admits a closed vocabulary and its aliases.

        Args:
            values: The canonical values.
            aliases: Other spellings, each with the canonical value it stands for.
            label: What people and the model read; empty means the slot's name.

        Raises:
            InvalidSchema: A value or alias is unusable, or a spelling stands for two values.
        """
        if isinstance(values, str):
            raise InvalidSchema("A closed slot takes a list of values, not one text.")
        # A set has no order of its own, and the hash seed must not lend it one (invariant 12).
        given = sorted(values, key=str) if isinstance(values, Set) else list(values)
        return ClosedSlot(
            label=label,
            values=tuple(given),
            aliases=tuple((aliases or {}).items()),
        )


@dataclass(frozen=True)
class ClosedSlot(Slot):
    """A slot with a closed vocabulary, compared after NFC and strip and in no other way.

    Use ``Slot.closed``.

    Attributes:
        values: The canonical values in their author's order.
        aliases: Pairs of another spelling and its canonical value, sorted.
    """

    kind: ClassVar[str] = "closed"
    values: tuple[str, ...]
    aliases: tuple[tuple[str, str], ...] = ()
    _spellings: dict[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.label != "":
            object.__setattr__(self, "label", schema_text(self.label, MAX_NAME))
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

    def admit(self, value: object) -> str:
        """Return the canonical value for a value or one of its aliases.

        Raises:
            UnsupportedContext: It is neither.
        """
        found = self._spellings.get(canonical(value)) if isinstance(value, str) else None
        if found is None:
            raise UnsupportedContext("A slot does not admit this value.")
        return found

    def canonical_json(self) -> dict[str, object]:
        """Return the vocabulary as plain data; the author's order of values is no part of it."""
        return {
            "kind": self.kind,
            "label": self.label,
            "values": sorted(self.values),
            "aliases": dict(self.aliases),
        }
