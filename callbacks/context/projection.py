"""What one exchange leaves behind: a topic and typed slots, never a sentence of anybody's."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from callbacks.context.errors import UnsupportedContext
from callbacks.context.values import MAX_NAME, Values, canonical, writable


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
        topic: Name of the topic in the schema.
        slots: Canonical values by slot name, in the order of the names.

    Raises:
        UnsupportedContext: The topic, a name or a value is not canonical text.
    """

    topic: str
    slots: Mapping[str, str] = field(default_factory=Values)

    def __post_init__(self) -> None:
        topic = self.topic
        if (
            type(topic) is not str
            or not topic
            or len(topic) > MAX_NAME
            or topic != canonical(topic)
            or not writable(topic)
        ):
            raise UnsupportedContext("A topic of the context is not canonical text.")
        if type(self.slots) is not Values:
            object.__setattr__(self, "slots", Values(self.slots))

    def merge(self, other: "Projection", topics: Topics) -> "Projection":
        """Return one projection for two tool calls of the same exchange.

        A later topic that does not stick never replaces one that does. Slots are united; the
        later value of a slot wins.

        Args:
            other: The later projection.
            topics: The schema.
        """
        keeps = topics.is_sticky(self.topic) and not topics.is_sticky(other.topic)
        topic = self.topic if keeps else other.topic
        return Projection(topic, {**self.slots, **other.slots})
