"""The words in which a decision explains itself."""

from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """What became of a piece of context."""

    KEPT = "kept"
    DROPPED = "dropped"
    SUMMARIZED = "summarized"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of context and what became of it.

    A block names its piece and never quotes it, so it may stand in logs and records.

    Attributes:
        id: Which piece: ``ledger``, ``turn-1`` (the oldest turn of the window), ``list``,
            ``request``.
        channel: Where the piece travels: ``ledger``, ``turns``, ``list`` or ``request``.
        action: What became of it.
        reason: Why, as one short snake_case word or phrase.
    """

    id: str
    channel: str
    action: Action
    reason: str

    def as_json(self) -> dict[str, str]:
        """Return the block as plain data for a generation record."""
        return {
            "id": self.id,
            "channel": self.channel,
            "action": self.action.value,
            "reason": self.reason,
        }
