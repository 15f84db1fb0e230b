"""What one exchange leaves behind: a topic and typed slots, never a sentence of anybody's."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

from callbacks.context.errors import UnsupportedContext
from callbacks.context.values import MAX_NAME, Values, is_canonical

Source = Literal["tool", "noted", "found"]
"""Where a value comes from: what a tool ran with or returned, what the model noted, what the newest
message plainly contains."""
SOURCES: tuple[str, ...] = get_args(Source)


class Topics(Protocol):
    """Knows which topics may become the goal; a ContextSchema does."""

    def is_sticky(self, topic: str) -> bool:
        """Say whether a topic may become the goal."""


@dataclass(frozen=True, slots=True)
class Projection:
    """The public trace of one exchange.

    Build one with ``ContextSchema.project``, which checks it; whatever takes a projection checks
    it again against its schema.

    Attributes:
        topic: Name of the topic in the schema; empty where the exchange goes on with the running
            goal.
        slots: Canonical values by slot name, in the order of the names.
        changed: Slots whose value took the place of another one. The other one is not kept.
        sources: Where each value comes from. It is no part of what a model reads, and two
            projections that differ in it alone are equal.

    Raises:
        UnsupportedContext: The topic, a name or a value is not canonical text, or a mark stands at
            no value.
    """

    topic: str
    slots: Mapping[str, str] = field(default_factory=Values)
    changed: frozenset[str] = frozenset()
    sources: Mapping[str, str] = field(default_factory=Values, compare=False)

    def __post_init__(self) -> None:
        if self.topic != "" and not is_canonical(self.topic, MAX_NAME):
            raise UnsupportedContext("A topic of the context is not canonical text.")
        for name in ("slots", "sources"):
            if type(getattr(self, name)) is not Values:
                object.__setattr__(self, name, Values(getattr(self, name)))
        if type(self.changed) is not frozenset:
            object.__setattr__(self, "changed", frozenset(self.changed))
        if not self.changed <= self.slots.keys() or not self.sources.keys() <= self.slots.keys():
            raise UnsupportedContext("A mark of the context stands at no value.")
        if not all(source in SOURCES for source in self.sources.values()):
            raise UnsupportedContext("A source of the context is unknown.")

    @property
    def is_empty(self) -> bool:
        """Whether the exchange left nothing at all."""
        return not self.topic and not self.slots

    def merge(self, other: "Projection", topics: Topics) -> "Projection":
        """Return one projection for two that belong to the same exchange.

        A later topic never replaces one that weighs more: one that sticks, before one that does
        not, before none. Slots are united; the later value of a slot wins.

        Args:
            other: The later projection.
            topics: The schema.
        """
        weights = [(bool(p.topic), topics.is_sticky(p.topic)) for p in (self, other)]
        return Projection(
            self.topic if weights[0] > weights[1] else other.topic,
            {**self.slots, **other.slots},
            self.changed | other.changed,
            {**self.sources, **other.sources},
        )
