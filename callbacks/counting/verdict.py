"""Verdicts: whether a request fits, and what made that certain."""

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from callbacks.context.errors import CounterFailed, InvalidCount, InvalidSetting
from callbacks.counting.counter import Counter
from callbacks.counting.request import CountRequest

Decision = Literal["proven", "counted"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to "does this very request fit?".

    Attributes:
        fits: Whether it may be sent.
        units: Its exact size in the counter's unit; None when nobody was asked, never zero for
            unknown (invariant 13).
        bound: A size it cannot exceed; equal to ``units`` when it was counted.
        decision: ``proven`` by a bound, without asking, or ``counted``.
    """

    fits: bool
    units: int | None
    bound: int
    decision: Decision


class CallAllowance:
    """How many calls to a count service one turn may still make.

    One object belongs to one turn: every candidate, every step of its tool loop and every retry
    takes from it.
    """

    def __init__(self, limit: int = 4) -> None:
        """Allow ``limit`` calls.

        Raises:
            InvalidSetting: The limit is no whole number of at least zero.
        """
        if type(limit) is not int or limit < 0:
            raise InvalidSetting("The calls of a turn are a whole number of at least zero.")
        self.limit = limit
        self.used = 0

    def take(self) -> None:
        """Use up one call.

        Raises:
            CounterFailed: None is left; the request is refused rather than guessed.
        """
        if self.used >= self.limit:
            raise CounterFailed(numbers={"cause": "call_limit", "calls": self.used})
        self.used += 1


class AskingCounter(Counter, Protocol):
    """A counter that asks a service, whose answers may be kept under its identity."""

    @property
    def identity(self) -> str:
        """Backend and SDK version: counts are comparable only where these agree."""

    async def count(self, request: CountRequest, *, calls: CallAllowance | None = None) -> int:
        """Return the exact size; every request to the service takes one of ``calls``."""


@runtime_checkable
class DecidingCounter(Counter, Protocol):
    """A counter that can tell that a request fits without counting it."""

    async def prove(
        self, request: CountRequest, limit: int, *, calls: CallAllowance | None = None
    ) -> Verdict | None:
        """Return a proof that the request fits; None is no proof that it does not."""

    async def decide(
        self, request: CountRequest, limit: int, *, calls: CallAllowance | None = None
    ) -> Verdict:
        """Tell whether the request is at most ``limit``, asking where there is no proof."""

    def observe(self, request: CountRequest, measured: int | None) -> None:
        """Compare what a model call measured with what was promised for that request."""


async def decide_with(
    counter: Counter, request: CountRequest, limit: int, calls: CallAllowance | None = None
) -> Verdict:
    """Return any counter's verdict; a plain one counts and compares.

    Raises:
        ContextError: The request could not be measured.
        InvalidCount: The counter's answer is no whole number of at least zero.
    """
    if isinstance(counter, DecidingCounter):
        return await counter.decide(request, limit, calls=calls)
    return counted(await counter.count(request), limit)


def counted(units: object, limit: int) -> Verdict:
    """Return the verdict on an exact count.

    Raises:
        InvalidCount: It is no whole number of at least zero.
    """
    # bool is an int to Python, but True is no count.
    if type(units) is not int or units < 0:
        raise InvalidCount
    return Verdict(fits=units <= limit, units=units, bound=units, decision="counted")
