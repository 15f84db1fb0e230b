"""The structured summary of what has left the window: a goal and the newest value of each slot."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from callbacks.context.errors import UnsupportedContext
from callbacks.context.projection import Projection
from callbacks.context.schema import ContextSchema
from callbacks.context.values import Values


@dataclass(frozen=True, slots=True)
class Ledger:
    """What projections leave when they move out of the window. No model is involved.

    It cannot outgrow its schema: one goal and one bounded value a slot (invariant 15).

    Attributes:
        goal: The last topic that sticks, if any.
        slots: The newest value of each slot, in the order of the names.
    """

    goal: str | None = None
    slots: Mapping[str, str] = field(default_factory=Values)

    def __post_init__(self) -> None:
        if type(self.slots) is not Values:
            object.__setattr__(self, "slots", Values(self.slots))

    @property
    def is_empty(self) -> bool:
        """Whether the ledger says nothing."""
        return self.goal is None and not self.slots

    def absorb(self, projection: Projection, schema: ContextSchema) -> "Ledger":
        """Return the ledger with a newer projection in it.

        A topic that does not stick never replaces the goal; its slots count all the same.

        Raises:
            UnsupportedContext: The projection is outside the schema.
        """
        schema.check(projection)
        goal = projection.topic if schema.is_sticky(projection.topic) else self.goal
        return Ledger(goal, {**self.slots, **projection.slots})

    def check(self, schema: ContextSchema) -> None:
        """Refuse a ledger that no projections of the schema could have left.

        Raises:
            UnsupportedContext: The goal, a slot or a value is outside the schema.
        """
        if self.goal is not None and not schema.is_sticky(self.goal):
            raise UnsupportedContext("A topic that does not stick is no goal.")
        schema.check_values(self.slots)
