"""A window is made to fit by measuring what would be sent, and every outcome is explained."""

import asyncio
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callbacks.context.budget import Budget
from callbacks.context.errors import (
    BudgetExceeded,
    ContextError,
    CounterFailed,
    InvalidCount,
    InvalidSetting,
    UnitMismatch,
    UnsupportedContext,
)
from callbacks.context.fit import Fit, cuts, fit
from callbacks.context.ledger import Ledger
from callbacks.context.listing import Entry, Listing
from callbacks.context.projection import Projection
from callbacks.context.render import parse, render
from callbacks.context.schema import ContextSchema, Topic
from callbacks.context.trace import Action, Block
from callbacks.context.window import ContextWindow
from tests.unit.context.worlds import LOCAL, World, worlds

RULES, NEWEST = "rules and tools;", "the newest message"
PLACES, EVENTS, HELP = (LOCAL.project(topic) for topic in ("places", "events", "help"))
FULL = ContextWindow((EVENTS, HELP), Ledger((Projection("places", {"area": "花壇鄉"}),)))


class Scale:
    """Measures a request made of rules, the block and the newest message, and keeps what it saw."""

    def __init__(self, schema=LOCAL):
        self.schema = schema
        self.requests = []

    async def __call__(self, window):
        self.requests.append((RULES, render(window, self.schema), NEWEST))
        return sum(len(part.encode()) for part in self.requests[-1])


def run(window, limit, *, schema=LOCAL, max_turns=2, measure=None, unit="utf8_bytes"):
    return asyncio.run(
        fit(
            window,
            schema=schema,
            budget=Budget(limit, "utf8_bytes"),
            max_turns=max_turns,
            measure=measure or Scale(schema),
            unit=unit,
        )
    )


def size(window, schema=LOCAL):
    return asyncio.run(Scale(schema)(window))


def answering(answer):
    async def measure(_window):
        return answer

    return measure


@given(worlds(), st.integers(0, 5), st.data())
def test_only_history_is_given_up_and_never_more_than_needed(world: World, max_turns, data):
    """What fits is the fullest cut within the limit; rules and newest message are in all (2)."""
    candidates = cuts(world.window, world.schema, max_turns)
    sizes = [size(candidate, world.schema) for candidate in candidates]
    limit = data.draw(st.integers(max(1, sizes[-1] - 3), sizes[0] + 3))
    scale = Scale(world.schema)
    fitting = [at for at, units in enumerate(sizes) if units <= limit]
    if fitting:
        result = run(world.window, limit, schema=world.schema, max_turns=max_turns, measure=scale)
        assert result.window == candidates[fitting[0]]
        assert result.units == sizes[fitting[0]] <= limit
        assert result.tries == tuple(sizes[: fitting[0] + 1])
        # The last request measured is the one that the returned window makes.
        assert parse(scale.requests[-1][1], world.schema) == result.window
    else:
        with pytest.raises(BudgetExceeded) as caught:
            run(world.window, limit, schema=world.schema, max_turns=max_turns, measure=scale)
        assert caught.value.numbers == {"units": sizes[-1], "limit": limit}
        assert scale.requests[-1] == (RULES, "", NEWEST)
    assert {(rules, newest) for rules, _, newest in scale.requests} == {(RULES, NEWEST)}


@given(worlds(), st.integers(0, 5), st.data())
def test_every_piece_is_explained_once(world: World, max_turns, data):
    """Each turn, the ledger and a refused request have one block with a true action (16)."""
    schema, window = world
    candidates = cuts(window, schema, max_turns)
    sizes = [size(candidate, schema) for candidate in candidates]
    limit = data.draw(st.integers(max(1, sizes[-1] - 3), sizes[0] + 3))
    pieces = [] if window.ledger.is_empty else ["ledger"]
    pieces += [f"turn-{number + 1}" for number in range(len(window.projections))]
    pieces += ["list"] if window.listed else []
    try:
        result = run(window, limit, schema=schema, max_turns=max_turns)
        sent, blocks = result.window, result.blocks
    except BudgetExceeded as error:
        sent, blocks = ContextWindow(), error.blocks
        pieces.append("request")
    assert [block.id for block in blocks] == pieces
    assert all(block.reason and block.reason == block.reason.lower() for block in blocks)
    turns = [block.action for block in blocks if block.channel == "turns"]
    gone = len(turns) - len(sent.projections)
    assert turns[gone:] == [Action.KEPT] * len(sent.projections)
    for projection, action in zip(window.projections, turns[:gone], strict=False):
        assert action in {Action.SUMMARIZED, Action.DROPPED}
        if action is Action.SUMMARIZED:
            # Whatever is called summarized is in a ledger that is sent.
            assert not sent.ledger.is_empty
            newer = {name for later in sent.projections for name in later.slots}
            assert set(projection.slots) <= set(sent.ledger.slots) | newer
        elif not sent.ledger.is_empty:
            assert not set(projection.slots) & set(sent.ledger.slots)
            assert not schema.is_sticky(projection.topic)
    for block in blocks:
        if block.channel == "ledger":
            assert (block.action is Action.KEPT) == (not sent.ledger.is_empty)
        if block.channel == "request":
            assert block == Block("request", "request", Action.REFUSED, "over_budget")


def test_each_step_gives_its_reason():
    """Kept, summarized and dropped are told apart, step by step (16)."""

    def told(limit, window=FULL, max_turns=2):
        result = run(window, limit, max_turns=max_turns)
        return [f"{block.id} {block.action} {block.reason}" for block in result.blocks]

    one, two, three, four = (size(cut) for cut in cuts(FULL, LOCAL, 2))
    assert told(one) == [
        "ledger kept within_budget",
        "turn-1 kept within_budget",
        "turn-2 kept within_budget",
    ]
    assert told(two) == [
        "ledger kept within_budget",
        "turn-1 summarized over_budget",
        "turn-2 kept within_budget",
    ]
    assert told(three) == [
        "ledger kept within_budget",
        "turn-1 summarized over_budget",
        "turn-2 dropped nothing_to_summarize",
    ]
    assert told(four) == [
        "ledger dropped over_budget",
        "turn-1 dropped over_budget",
        "turn-2 dropped over_budget",
    ]
    assert told(one, max_turns=1) == [
        "ledger kept within_budget",
        "turn-1 summarized over_max_turns",
        "turn-2 kept within_budget",
    ]
    assert told(one, window=ContextWindow()) == []


def test_no_turns_kept_means_that_none_is_measured():
    """With max_turns 0 no candidate holds a projection."""
    assert run(FULL, 10_000, max_turns=0).window == ContextWindow(
        (), Ledger((Projection("events", {"area": "花壇鄉"}),))
    )
    assert all(not cut.projections for cut in cuts(FULL, LOCAL, 0))


def test_even_the_smallest_request_can_be_too_big():
    """A budget of one byte is a refusal with code, unit and numbers, and no content."""
    with pytest.raises(BudgetExceeded) as caught:
        run(FULL, 1)
    error = caught.value
    assert error.error_code == "CURRENT_AND_RULES_EXCEED_INPUT_BUDGET"
    assert error.unit == "utf8_bytes"
    assert error.numbers == {"units": size(ContextWindow()), "limit": 1}
    assert str(error) == "The newest message and the rules alone exceed the input budget."


@given(st.sampled_from(["tokens", "bytes", "", "UTF8_BYTES", None, 5]))
def test_another_unit_is_never_compared(unit):
    """Where the units differ nothing is measured, whatever the numbers would say (13)."""
    scale = Scale()
    with pytest.raises(UnitMismatch) as caught:
        run(FULL, 10**9, measure=scale, unit=unit)
    assert scale.requests == []
    assert caught.value.error_code == "COUNTER_UNIT_MISMATCH"
    assert caught.value.numbers == {"counter": str(unit), "budget": "utf8_bytes"}
    assert refused_for(caught.value) == {"counter_unit_mismatch"}


@given(
    st.one_of(st.none(), st.booleans(), st.floats(), st.text(), st.integers(max_value=-1)).filter(
        lambda answer: type(answer) is not int or answer < 0
    )
)
def test_an_answer_that_is_no_count_is_never_zero(answer):
    """None, bool, float, text and negative numbers are refused; unknown is not zero (13)."""
    with pytest.raises(InvalidCount) as caught:
        run(FULL, 10**9, measure=answering(answer))
    assert caught.value.error_code == "INVALID_COUNTER_RESULT"
    assert refused_for(caught.value) == {"invalid_counter_result"}


def test_zero_is_a_count():
    """A counter may say zero."""
    assert run(FULL, 1, measure=answering(0)).tries == (0,)


def test_a_counter_that_fails_refuses_the_request_and_leaks_nothing():
    """Whatever a counter raises becomes one code; its own words go nowhere (3)."""
    quoted = "a secret of the request"

    async def measure(_window):
        raise RuntimeError(quoted)

    with pytest.raises(CounterFailed) as caught:
        run(FULL, 10_000, measure=measure)
    error = caught.value
    assert error.error_code == "COUNT_UNAVAILABLE"
    assert error.numbers == {"cause": "RuntimeError"}
    assert error.__cause__ is None
    assert error.__context__ is None
    assert "secret" not in "".join(traceback.format_exception(error))
    assert refused_for(error) == {"count_unavailable"}


def test_a_refusal_from_within_passes_as_it_is():
    """A ContextError of the counter keeps its identity and learns what it did to the context."""
    own = UnsupportedContext()
    told = CounterFailed(blocks=(Block("request", "request", Action.REFUSED, "timeout"),))

    async def raises_own(_window):
        raise own

    async def raises_told(_window):
        raise told

    with pytest.raises(UnsupportedContext) as caught:
        run(FULL, 10_000, measure=raises_own)
    assert caught.value is own
    assert refused_for(own) == {"unsupported_public_context"}
    with pytest.raises(CounterFailed) as caught_told:
        run(FULL, 10_000, measure=raises_told)
    assert refused_for(caught_told.value) == {"timeout"}


def test_a_cancelled_turn_stays_cancelled():
    """Cancellation is no failure of the counter and is not turned into one."""

    async def measure(_window):
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run(FULL, 10_000, measure=measure)


def test_a_window_outside_the_schema_is_not_measured():
    """What the schema does not admit is refused before anybody counts it (5)."""
    scale = Scale()
    with pytest.raises(UnsupportedContext):
        run(ContextWindow((Projection("weather"),)), 10_000, measure=scale)
    with pytest.raises(InvalidSetting):
        run(FULL, 10_000, max_turns=-1, measure=scale)
    assert scale.requests == []


def refused_for(error: ContextError) -> set[str]:
    assert all(block.action is Action.REFUSED for block in error.blocks)
    assert error.blocks[-1].id == "request"
    return {block.reason for block in error.blocks}


def test_a_fit_is_frozen():
    """A decision does not change after it was made."""
    result = run(FULL, 10_000)
    assert isinstance(result, Fit)
    with pytest.raises(AttributeError):
        result.units = 0  # type: ignore[misc]  # that it cannot is what is tested


def test_a_list_is_explained_too():
    """The list of a tool is kept, dropped or refused with a reason of its own (16)."""
    schema = ContextSchema({"food": Topic("food")}, listings={"find": Listing("name")})
    window = ContextWindow((schema.project("food"),), listed=(Entry("", "Sino"),))
    whole, bare = size(window, schema), size(window.keep(0, schema), schema) - 3

    def of_list(result):
        return [(b.action, b.reason) for b in result.blocks if b.id == "list"]

    assert of_list(run(window, whole, schema=schema)) == [(Action.KEPT, "within_budget")]
    assert of_list(run(window, bare, schema=schema)) == [(Action.DROPPED, "over_budget")]
    with pytest.raises(InvalidCount) as caught:
        run(window, whole, schema=schema, measure=answering(None))
    assert of_list(caught.value) == [(Action.REFUSED, "invalid_counter_result")]
