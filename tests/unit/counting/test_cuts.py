"""Bisection over cuts finds the fullest that fits, and asks no more than it must."""

import asyncio
import math

import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from callbacks.context.budget import Unit
from callbacks.context.errors import InvalidCount, InvalidSetting
from callbacks.counting.cuts import fullest
from callbacks.counting.probes import said
from callbacks.counting.request import CountRequest
from callbacks.counting.verdict import (
    CallAllowance,
    DecidingCounter,
    Verdict,
    counted,
    decide_with,
)

CONFIG = types.GenerateContentConfig()


def size_of(request: CountRequest) -> int:
    return int((request.contents[0].parts or [])[0].text or "")


class Sized:
    """A counter of requests that say their own size."""

    unit: Unit = "tokens"

    def __init__(self) -> None:
        self.asked: list[int] = []

    async def count(self, request: CountRequest) -> int:
        size = size_of(request)
        self.asked.append(size)
        return size


class Proving(Sized):
    """Proves what fits with some room to spare."""

    async def prove(self, request, limit, *, calls=None):
        size = size_of(request)
        bound = size + 50
        return Verdict(True, None, bound, "proven") if bound <= limit else None

    async def decide(self, request, limit, *, calls=None):
        return counted(await self.count(request), limit)

    def observe(self, request, measured):
        """Not needed here."""


def candidates(sizes):
    base = CountRequest("m", CONFIG, ())
    return [lambda size=size: base.with_contents([said("user", str(size))]) for size in sizes]


falling = st.lists(st.integers(1, 300), min_size=1, max_size=12).map(
    lambda sizes: sorted(sizes, reverse=True)
)


@given(sizes=falling, limit=st.integers(0, 300), counter=st.sampled_from([Sized, Proving]))
def test_the_fullest_that_fits_is_found_in_few_questions(sizes, limit, counter):
    """Invariants 1 and 2: a scan would choose the same, in more than ceil(log2(cuts + 1)) asks."""
    asking = counter()
    cut = asyncio.run(fullest(candidates(sizes), limit, counter=asking))
    right = next((index for index, size in enumerate(sizes) if size <= limit), None)
    assert cut.index == right
    assert len(asking.asked) <= math.ceil(math.log2(len(sizes) + 1))
    # Decided on the very candidate that is sent; refused on the smallest one, by a count.
    if right is None:
        assert cut.verdict.units == sizes[-1]
        assert not cut.verdict.fits
    else:
        assert cut.verdict.fits
        assert cut.verdict.units in (sizes[right], None)
    assert cut.verdict in cut.verdicts


def test_what_is_proven_is_not_asked():
    """A proof of the fullest ends the search without a question."""
    counter = Proving()
    cut = asyncio.run(fullest(candidates([100, 50]), 150, counter=counter))
    assert (cut.index, cut.verdict.decision, counter.asked) == (0, "proven", [])


def test_there_must_be_something_to_choose_from():
    """No candidates is a mistake of the caller."""
    with pytest.raises(InvalidSetting):
        asyncio.run(fullest([], 1, counter=Sized()))


@pytest.mark.parametrize("answer", [-1, True, 1.0, None])
def test_a_plain_counter_is_held_to_whole_numbers(answer):
    """Invariant 3: what is no count decides nothing."""

    class Odd(Sized):
        async def count(self, request):
            return answer

    [build] = candidates([1])
    with pytest.raises(InvalidCount):
        asyncio.run(decide_with(Odd(), build(), 10))


def test_a_plain_counter_does_not_pass_for_one_that_decides():
    """Only a counter with all of the protocol is asked for proofs."""
    assert not isinstance(Sized(), DecidingCounter)
    assert isinstance(Proving(), DecidingCounter)


@pytest.mark.parametrize("limit", [-1, True, 1.5])
def test_an_allowance_is_a_number_of_calls(limit):
    """An allowance of nonsense is refused where it is made."""
    with pytest.raises(InvalidSetting):
        CallAllowance(limit)
