"""A counter that can be broken on purpose, to see that what cannot be measured is not sent."""

from __future__ import annotations

from callbacks.context.budget import Unit
from callbacks.context.errors import CounterFailed
from callbacks.counting.bytes import ByteCounter
from callbacks.counting.request import CountRequest


class BreakableCounter:
    """Counts bytes, until it is broken; then it fails as a counter does whose service is down.

    Attributes:
        down: Whether it is broken.
    """

    def __init__(self) -> None:
        self.down = False
        self._bytes = ByteCounter()

    @property
    def unit(self) -> Unit:
        """As that of the counter that works."""
        return self._bytes.unit

    async def count(self, request: CountRequest) -> int:
        """Return the size of the request in bytes.

        Raises:
            CounterFailed: It is broken.
        """
        if self.down:
            raise CounterFailed(numbers={"cause": "down"})
        return await self._bytes.count(request)
