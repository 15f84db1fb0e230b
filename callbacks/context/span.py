"""A piece of a message and the value it stands for."""

from typing import NamedTuple


class Span(NamedTuple):
    """Where a value stands in a message.

    Attributes:
        start: Index of its first character.
        end: Index after its last character.
        value: The canonical value.
    """

    start: int
    end: int
    value: str
