"""Refusals carry a code and numbers as data, and one sentence without either."""

import copy
import pickle
import traceback

import pytest

from callbacks.adk.beside import EventHidden
from callbacks.context import errors
from callbacks.context.errors import BudgetExceeded, ContextError, InvalidSchema
from callbacks.context.slot import Slot
from callbacks.context.trace import Action, Block
from stores.errors import StoreError, StoreUnavailable
from stores.inbox import LeaseLost

CODES = {
    "ContextError": "CONTEXT_INVALID",
    "InvalidSchema": "CONTEXT_SCHEMA_INVALID",
    "InvalidSetting": "CONTEXT_SETTING_INVALID",
    "UnsupportedContext": "UNSUPPORTED_PUBLIC_CONTEXT",
    "SchemaChanged": "UNSUPPORTED_PUBLIC_CONTEXT",
    "UnitMismatch": "COUNTER_UNIT_MISMATCH",
    "CounterFailed": "COUNT_UNAVAILABLE",
    "InvalidCount": "INVALID_COUNTER_RESULT",
    "BudgetExceeded": "CURRENT_AND_RULES_EXCEED_INPUT_BUDGET",
}
KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, ContextError)
]


def test_the_codes_are_the_documented_ones():
    """Each kind of refusal has its code, and none is missing here."""
    assert {kind.__name__: kind.error_code for kind in KINDS} == CODES


@pytest.mark.parametrize("kind", KINDS)
def test_a_refusal_is_one_sentence(kind):
    """The message is a sentence of its own, without digits or content."""
    message = str(kind())
    assert message.endswith(".")
    assert message.count(".") == 1
    assert not any(character.isdigit() for character in message)


def test_a_refusal_carries_data():
    """Numbers and blocks stand beside the sentence, and survive copying and pickling."""
    block = Block("request", "request", Action.REFUSED, "over_budget")
    error = BudgetExceeded(units=9, limit=8, unit="tokens", blocks=(block,))
    assert "9" not in str(error)
    for other in (error, copy.copy(error), pickle.loads(pickle.dumps(error))):  # noqa: S301 - our own bytes
        assert other.numbers == {"units": 9, "limit": 8}
        assert other.unit == "tokens"
        assert other.blocks == (block,)
        assert str(other) == str(error)


@pytest.mark.parametrize("kind", [*KINDS, StoreError, StoreUnavailable, LeaseLost, EventHidden])
def test_a_traceback_says_the_code(kind):
    """The code that docs/codes.md explains stands in a traceback once, and not in the sentence."""
    error = kind(["its_name"]) if kind is EventHidden else kind()
    for one in (error, copy.copy(error)):
        told = "".join(traceback.format_exception(one)).splitlines()
        assert told.count(f"error_code: {kind.error_code}") == 1
        assert kind.error_code not in str(one)


def test_a_schemas_author_is_told_which_word_is_wrong():
    """The author's own words stand in the data and in a traceback, not in the sentence."""
    with pytest.raises(InvalidSchema) as caught:
        Slot.closed(["花壇鄉", "彰化市"], aliases={"花壇": "花壇鄉", "花壇 ": "彰化市"})
    assert str(caught.value) == "An alias stands for two values."
    assert caught.value.numbers == {"alias": "花壇"}
    assert "alias: '花壇'" in "".join(traceback.format_exception(caught.value))


def test_a_block_is_plain_data_for_a_record():
    """A block names a piece of context, what became of it and why."""
    block = Block("turn-1", "turns", Action.SUMMARIZED, "over_budget")
    assert block.as_json() == {
        "id": "turn-1",
        "channel": "turns",
        "action": "summarized",
        "reason": "over_budget",
    }
