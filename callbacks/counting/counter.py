"""What a counter is; backends stand beside this module."""

from typing import Protocol

from callbacks.context.budget import Unit
from callbacks.counting.request import CountRequest


class Counter(Protocol):
    """Measures a whole request in one unit.

    A counter that cannot tell raises; it never guesses, and never answers zero for unknown
    (invariant 13). Anything it raises refuses the request.
    """

    @property
    def unit(self) -> Unit:
        """The unit of every count: ``tokens`` or ``utf8_bytes``."""

    async def count(self, request: CountRequest) -> int:
        """Return the size of the request in ``unit``."""
