"""Fits a turn's window into the budget, by proof where the counter has one."""

from __future__ import annotations

from collections.abc import Callable

from google.adk.telemetry.tracing import tracer

from callbacks.adk.meter import Meter
from callbacks.context.errors import BudgetExceeded, ContextError
from callbacks.context.fit import Fit, cuts, each_cut, explain, fit
from callbacks.context.schema import ContextSchema
from callbacks.context.trace import Action, Block
from callbacks.context.window import ContextWindow
from callbacks.counting.request import CountRequest
from callbacks.counting.telemetry import Telemetry
from callbacks.counting.verdict import CallAllowance

Build = Callable[[ContextWindow], CountRequest]
"""Builds the whole request that a window would make."""


class Fitting:
    """Finds the fullest window that fits, and tells OpenTelemetry what that took."""

    def __init__(self, schema: ContextSchema, meter: Meter, max_turns: int) -> None:
        """Fit windows of one schema with one meter."""
        self._schema = schema
        self._meter = meter
        self._max_turns = max_turns
        self._telemetry = Telemetry(tracer)

    async def fit(self, window: ContextWindow, build: Build, calls: CallAllowance) -> Fit:
        """Return the fullest window whose whole request is within the budget.

        A counter that decides is asked by bisection, since no cut is longer than the one before
        it; any other one counts them in order.

        Args:
            window: What the journal holds.
            build: Makes the request of a cut of it.
            calls: What the turn may still ask of a count service.

        Raises:
            BudgetExceeded: Even the request without any history is over the budget.
            ContextError: A request could not be measured, or the window is outside the schema.
        """
        budget = self._meter.budget
        before = calls.used
        with self._telemetry.deciding(unit=budget.unit, limit=budget.limit) as measurement:
            try:
                fitted = await (
                    self._by_verdicts(window, build, calls)
                    if self._meter.decides
                    else self._by_counts(window, build, calls)
                )
                measurement.verdict = await self._meter.verdict(build(fitted.window), calls)
                measurement.cuts = fitted.cut
            finally:
                measurement.calls = calls.used - before
        return fitted

    async def _by_counts(self, window: ContextWindow, build: Build, calls: CallAllowance) -> Fit:
        async def measure(candidate: ContextWindow) -> int:
            return await self._meter.measure(build(candidate), calls)

        return await fit(
            window,
            schema=self._schema,
            budget=self._meter.budget,
            max_turns=self._max_turns,
            measure=measure,
            unit=self._meter.counter.unit,
        )

    async def _by_verdicts(self, window: ContextWindow, build: Build, calls: CallAllowance) -> Fit:
        window.check(self._schema)
        whole = next(each_cut(window, self._schema, self._max_turns))
        proof = await self._meter.proven(build(whole), calls)
        if proof is not None:
            blocks = explain(window, whole, self._schema, self._max_turns)
            return Fit(whole, proof.bound, (proof.bound,), blocks)
        candidates = cuts(window, self._schema, self._max_turns)

        def builder(candidate: ContextWindow) -> Callable[[], CountRequest]:
            return lambda: build(candidate)

        try:
            cut = await self._meter.fullest([builder(each) for each in candidates], calls)
        except ContextError as error:
            # Already a refusal with a code; it only lacks what it did to the request.
            reason = error.error_code.lower()
            error.blocks = (Block("request", "request", Action.REFUSED, reason),)
            raise
        sent = candidates[-1 if cut.index is None else cut.index]
        blocks = explain(window, sent, self._schema, self._max_turns)
        if cut.index is None:
            refused = Block("request", "request", Action.REFUSED, "over_budget")
            raise BudgetExceeded(
                units=cut.verdict.bound,
                limit=self._meter.budget.limit,
                unit=self._meter.budget.unit,
                blocks=(*blocks, refused),
            )
        tries = tuple(verdict.bound for verdict in cut.verdicts)
        return Fit(sent, cut.verdict.bound, tries, blocks, cut.index)
