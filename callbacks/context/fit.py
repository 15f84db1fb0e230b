"""Makes a window fit a budget by measuring the very request that would be sent."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from callbacks.context.budget import Budget
from callbacks.context.errors import (
    BudgetExceeded,
    ContextError,
    CounterFailed,
    InvalidCount,
    UnitMismatch,
)
from callbacks.context.schema import ContextSchema
from callbacks.context.trace import Action, Block
from callbacks.context.window import ContextWindow

Measure = Callable[[ContextWindow], Awaitable[int]]
"""Measures the whole request that a window would make, in the counter's unit."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A window that fits.

    Attributes:
        window: What the model may see.
        units: Size of the whole request with this window, in the budget's unit.
        tries: Sizes measured on the way, in order; the last one is ``units``.
        blocks: What became of each piece of context and why (invariant 16).
        cut: How many of `each_cut` come before this window.
    """

    window: ContextWindow
    units: int
    tries: tuple[int, ...]
    blocks: tuple[Block, ...]
    cut: int = 0


def each_cut(
    window: ContextWindow, schema: ContextSchema, max_turns: int
) -> Iterator[ContextWindow]:
    """Give every window that may be sent, from the fullest to the empty one, made as needed.

    None is longer than the one before it. Nearly always the first one fits.

    Raises:
        UnsupportedContext: A projection is outside the schema.
        InvalidSetting: ``max_turns`` is no whole number of at least zero.
    """
    candidate: ContextWindow | None = window.keep(max_turns, schema)
    while candidate is not None:
        yield candidate
        candidate = candidate.trim_oldest(schema)


def cuts(window: ContextWindow, schema: ContextSchema, max_turns: int) -> tuple[ContextWindow, ...]:
    """Return all of `each_cut`, for bisection."""
    return tuple(each_cut(window, schema, max_turns))


async def fit(
    window: ContextWindow,
    *,
    schema: ContextSchema,
    budget: Budget,
    max_turns: int,
    measure: Measure,
    unit: str,
) -> Fit:
    """Return the fullest window whose whole request is within the budget.

    Only history is ever given up: rules, tools and the newest message are in every candidate
    ``measure`` is asked about (invariant 2). The decision falls on a count of the very candidate
    that is returned.

    Args:
        window: What the journal holds.
        schema: The schema the window follows.
        budget: How large the request may be.
        max_turns: How many projections may stay whole; 0 keeps none.
        measure: Measures the whole request with a given window.
        unit: The unit ``measure`` counts in.

    Raises:
        UnitMismatch: ``unit`` is not the budget's.
        CounterFailed: ``measure`` raised; its own ContextErrors pass unchanged.
        InvalidCount: ``measure`` did not return a whole number of at least zero.
        BudgetExceeded: Even the request without any history is over the budget.
        UnsupportedContext: The window is outside the schema.
        InvalidSetting: ``max_turns`` is no whole number of at least zero.
    """
    window.check(schema)
    if unit != budget.unit:
        raise UnitMismatch(
            numbers={"counter": str(unit), "budget": budget.unit},
            blocks=_refused(window, "counter_unit_mismatch"),
        )
    tries: list[int] = []
    for candidate in each_cut(window, schema, max_turns):
        units = await _measured(measure, candidate, window)
        tries.append(units)
        if units <= budget.limit:
            blocks = explain(window, candidate, schema, max_turns)
            return Fit(candidate, units, tuple(tries), blocks, len(tries) - 1)
    raise BudgetExceeded(
        units=tries[-1],
        limit=budget.limit,
        unit=budget.unit,
        blocks=(
            *explain(window, candidate, schema, max_turns),
            Block("request", "request", Action.REFUSED, "over_budget"),
        ),
    )


def explain(
    window: ContextWindow, sent: ContextWindow, schema: ContextSchema, max_turns: int
) -> tuple[Block, ...]:
    """Return what became of each piece of a window when one of its cuts is sent.

    Args:
        window: What the journal holds.
        sent: One of ``cuts(window, schema, max_turns)``.
        schema: The schema both follow.
        max_turns: How many projections may stay whole.
    """
    moved = len(window.projections) - len(sent.projections)
    by_limit = max(0, len(window.projections) - max_turns)
    # What was sent with it has that ledger already; only a dropped one has to be made again.
    before_drop = (
        window.keep(len(sent.projections), schema).ledger if sent.ledger.is_empty else sent.ledger
    )
    ledger_dropped = sent.ledger.is_empty and not before_drop.is_empty
    summarized = set(before_drop.slots)
    blocks: list[Block] = []
    if not window.ledger.is_empty:
        blocks.append(
            Block("ledger", "ledger", Action.DROPPED, "over_budget")
            if ledger_dropped
            else Block("ledger", "ledger", Action.KEPT, "within_budget")
        )
    for index, projection in enumerate(window.projections):
        if index >= moved:
            action, reason = Action.KEPT, "within_budget"
        elif ledger_dropped:
            action, reason = Action.DROPPED, "over_budget"
        elif not (schema.is_sticky(projection.topic) or set(projection.slots) & summarized):
            # Nothing of it is left to say: newer turns say all of it, or there was nothing.
            action, reason = Action.DROPPED, "nothing_to_summarize"
        elif index < by_limit:
            action, reason = Action.SUMMARIZED, "over_max_turns"
        else:
            action, reason = Action.SUMMARIZED, "over_budget"
        blocks.append(Block(f"turn-{index + 1}", "turns", action, reason))
    if window.listed:
        blocks.append(
            Block("list", "list", Action.KEPT, "within_budget")
            if sent.listed
            else Block("list", "list", Action.DROPPED, "over_budget")
        )
    return tuple(blocks)


async def _measured(measure: Measure, candidate: ContextWindow, window: ContextWindow) -> int:
    cause = ""
    units: object = None
    try:
        units = await measure(candidate)
    except ContextError as error:
        # Already a refusal with a code; it only lacks what it did to the context.
        error.blocks = error.blocks or _refused(window, error.error_code.lower())
        raise
    except Exception as error:  # noqa: BLE001 - whatever a counter raises, the request is refused
        cause = type(error).__name__
    if cause:
        # Raised outside the handler, so that the counter's error, which may quote the request, is
        # not even kept as this one's context (invariant 3).
        raise CounterFailed(numbers={"cause": cause}, blocks=_refused(window, "count_unavailable"))
    # bool is an int to Python, but True is no count.
    if type(units) is not int or units < 0:
        raise InvalidCount(blocks=_refused(window, "invalid_counter_result"))
    return units


def _refused(window: ContextWindow, reason: str) -> tuple[Block, ...]:
    blocks = [] if window.ledger.is_empty else [Block("ledger", "ledger", Action.REFUSED, reason)]
    blocks.extend(
        Block(f"turn-{index + 1}", "turns", Action.REFUSED, reason)
        for index in range(len(window.projections))
    )
    if window.listed:
        blocks.append(Block("list", "list", Action.REFUSED, reason))
    return (*blocks, Block("request", "request", Action.REFUSED, reason))
