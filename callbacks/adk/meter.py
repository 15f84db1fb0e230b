"""The one place where a request is measured: for the window's fit and again at the gate."""

from __future__ import annotations

from collections import OrderedDict

from callbacks.context.budget import Budget
from callbacks.context.errors import (
    BudgetExceeded,
    ContextError,
    CounterFailed,
    InvalidCount,
    UnitMismatch,
)
from callbacks.counting.counter import Counter
from callbacks.counting.request import CountRequest

REMEMBERED_COUNTS = 256
"""Counts kept by fingerprint, so that the gate does not ask again for what was just asked."""


class Meter:
    """Counts whole requests in the budget's unit, each distinct request once."""

    def __init__(self, counter: Counter, budget: Budget) -> None:
        """Bind a counter to a budget; units are compared at each measurement."""
        self.counter = counter
        self.budget = budget
        self._known: OrderedDict[str, int] = OrderedDict()

    async def measure(self, request: CountRequest) -> int:
        """Return the size of the whole request in the budget's unit.

        Raises:
            ContextError: With COUNTER_UNIT_MISMATCH, COUNT_UNAVAILABLE or INVALID_COUNTER_RESULT.
        """
        key = request.fingerprint
        known = self._known.get(key)
        if known is not None:
            return known
        if self.counter.unit != self.budget.unit:
            raise UnitMismatch(
                numbers={"counter": str(self.counter.unit), "budget": self.budget.unit}
            )
        units = await self._asked(request)
        # bool is an int to Python, but True is no count.
        if type(units) is not int or units < 0:
            raise InvalidCount
        self._known[key] = units
        while len(self._known) > REMEMBERED_COUNTS:
            self._known.popitem(last=False)
        return units

    async def require(self, request: CountRequest) -> int:
        """Return the size of a request that fits.

        Raises:
            BudgetExceeded: It does not; the size is among its numbers.
            ContextError: It could not be measured.
        """
        units = await self.measure(request)
        if units > self.budget.limit:
            raise BudgetExceeded(units=units, limit=self.budget.limit, unit=self.budget.unit)
        return units

    async def _asked(self, request: CountRequest) -> object:
        cause = ""
        try:
            return await self.counter.count(request)
        except ContextError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a counter raises, the request is refused
            cause = type(error).__name__
        # Raised outside the handler: the counter's own error may quote the request.
        raise CounterFailed(numbers={"cause": cause})
