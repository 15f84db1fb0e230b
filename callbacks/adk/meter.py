"""The one place where a request is measured: for the window's fit and again at the gate."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from callbacks.context.budget import Budget
from callbacks.context.errors import (
    BudgetExceeded,
    ContextError,
    CounterFailed,
    UnitMismatch,
)
from callbacks.counting.counter import Counter
from callbacks.counting.cuts import Cut, fullest
from callbacks.counting.request import CountRequest
from callbacks.counting.verdict import CallAllowance, DecidingCounter, Verdict, counted, decide_with

REMEMBERED_COUNTS = 256
"""Verdicts kept by fingerprint, so that the gate does not ask again for what was just asked."""

T = TypeVar("T")


class Meter:
    """Decides about whole requests in the budget's unit, each distinct request once."""

    def __init__(self, counter: Counter, budget: Budget) -> None:
        """Bind a counter to a budget; units are compared at each measurement."""
        self.counter = counter
        self.budget = budget
        self._known: OrderedDict[str, Verdict] = OrderedDict()
        # Asked once: a check against a protocol costs as much as counting a request.
        self._deciding = counter if isinstance(counter, DecidingCounter) else None

    @property
    def decides(self) -> bool:
        """Whether the counter can prove that a request fits."""
        return self._deciding is not None

    async def verdict(self, request: CountRequest, calls: CallAllowance | None = None) -> Verdict:
        """Return whether the whole request is within the budget, and what made that certain.

        Raises:
            ContextError: With COUNTER_UNIT_MISMATCH, COUNT_UNAVAILABLE or INVALID_COUNTER_RESULT.
        """
        known = self._known.get(request.fingerprint)
        if known is not None:
            return known
        self._same_unit()
        deciding = decide_with(self.counter, request, self.budget.limit, calls)
        return self._remember(request, await _contained(deciding))

    async def measure(self, request: CountRequest, calls: CallAllowance | None = None) -> int:
        """Return the size of the whole request in the budget's unit, or a bound that fits.

        Raises:
            ContextError: With COUNTER_UNIT_MISMATCH, COUNT_UNAVAILABLE or INVALID_COUNTER_RESULT.
        """
        return (await self.verdict(request, calls)).bound

    async def exactly(self, request: CountRequest) -> int:
        """Return what the counter counts: no proof, no bound; for what is recorded as a size.

        Raises:
            ContextError: With COUNTER_UNIT_MISMATCH, COUNT_UNAVAILABLE or INVALID_COUNTER_RESULT.
        """
        self._same_unit()
        return counted(await _contained(self.counter.count(request)), self.budget.limit).bound

    async def proven(self, request: CountRequest, calls: CallAllowance) -> Verdict | None:
        """Return a proof that the request fits, where the counter has one; else None.

        Raises:
            ContextError: As `verdict`.
        """
        self._same_unit()
        if self._deciding is None:
            return None
        proof = await _contained(self._deciding.prove(request, self.budget.limit, calls=calls))
        return None if proof is None else self._remember(request, proof)

    async def fullest(
        self, candidates: Sequence[Callable[[], CountRequest]], calls: CallAllowance
    ) -> Cut:
        """Return the first of ever smaller candidates that fits, by bisection.

        Raises:
            ContextError: As `verdict`.
        """
        self._same_unit()
        searching = fullest(candidates, self.budget.limit, counter=self.counter, calls=calls)
        cut = await _contained(searching)
        if cut.index is not None:
            self._remember(candidates[cut.index](), cut.verdict)
        return cut

    async def require(self, request: CountRequest, calls: CallAllowance | None = None) -> Verdict:
        """Return the verdict on a request that fits and is about to leave.

        Raises:
            BudgetExceeded: It does not; the size is among its numbers.
            ContextError: It could not be measured.
        """
        verdict = await self.verdict(request, calls)
        if not verdict.fits:
            raise BudgetExceeded(
                units=verdict.bound, limit=self.budget.limit, unit=self.budget.unit
            )
        if verdict.decision == "proven":
            # A proof holds for this departure: by the next one it may have been broken.
            self._known.pop(request.fingerprint, None)
        return verdict

    def observe(self, request: CountRequest, measured: int | None) -> None:
        """Hand what a model call measured to a counter that made a promise about it."""
        if self._deciding is not None:
            self._deciding.observe(request, measured)

    def _remember(self, request: CountRequest, verdict: Verdict) -> Verdict:
        self._known[request.fingerprint] = verdict
        while len(self._known) > REMEMBERED_COUNTS:
            self._known.popitem(last=False)
        return verdict

    def _same_unit(self) -> None:
        if self.counter.unit != self.budget.unit:
            raise UnitMismatch(
                numbers={"counter": str(self.counter.unit), "budget": self.budget.unit}
            )


async def _contained(measuring: Awaitable[T]) -> T:
    cause = ""
    try:
        return await measuring
    except ContextError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a counter raises, the request is refused
        cause = type(error).__name__
    # Raised outside the handler: the counter's own error may quote the request.
    raise CounterFailed(numbers={"cause": cause})
