"""Finds the fullest of several candidates that fits, with as few questions as bisection needs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from callbacks.context.errors import InvalidSetting
from callbacks.counting.counter import Counter
from callbacks.counting.request import CountRequest
from callbacks.counting.verdict import (
    CallAllowance,
    DecidingCounter,
    Verdict,
    decide_with,
)


@dataclass(frozen=True, slots=True)
class Cut:
    """Which candidate may be sent.

    Attributes:
        index: Its place among the candidates; None when not even the last fits.
        verdict: On that very candidate, or on the last when none fits.
        verdicts: All that were reached on the way, in order.
    """

    index: int | None
    verdict: Verdict
    verdicts: tuple[Verdict, ...]


async def fullest(
    candidates: Sequence[Callable[[], CountRequest]],
    limit: int,
    *,
    counter: Counter,
    calls: CallAllowance | None = None,
) -> Cut:
    """Return the first candidate that fits.

    None of them may be larger than the one before it: that is what makes bisection right. Of n
    candidates, at most ceil(log2(n + 1)) are decided, and the one returned always is.

    Args:
        candidates: Builders of requests, from the fullest to the smallest.
        limit: In the counter's unit.
        counter: Decides or counts.
        calls: What the turn may still ask.

    Raises:
        InvalidSetting: There are no candidates.
        ContextError: One of them could not be measured.
    """
    if not candidates:
        raise InvalidSetting("There is no candidate to choose from.")
    # What can be proven costs no question; of the rest, everything before `low` is known not to
    # fit and everything from `high` on to fit.
    decided: dict[int, Verdict] = {}
    low, high = 0, len(candidates)
    if isinstance(counter, DecidingCounter):
        for index, build in enumerate(candidates):
            proof = await counter.prove(build(), limit, calls=calls)
            if proof is not None:
                decided[index] = proof
                high = index
                break
    while low < high:
        outcomes = high - low + 1
        half = 2 ** ((outcomes - 1).bit_length() - 1)
        # The fullest is the likeliest to fit: ask as early as the worst case allows.
        index = max(low, high - half)
        verdict = await decide_with(counter, candidates[index](), limit, calls)
        decided[index] = verdict
        if verdict.fits:
            high = index
        else:
            low = index + 1
    chosen = low if low < len(candidates) else None
    return Cut(chosen, decided[min(low, len(candidates) - 1)], tuple(decided.values()))
