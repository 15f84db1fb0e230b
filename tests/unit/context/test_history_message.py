"""A kept message: what it may hold, and its way to JSON and back."""

import json
from typing import Any

import pytest
from hypothesis import given

from callbacks.context.history_message import HistoryMessage, InvalidHistory
from tests.unit.context.histories import SECRET, messages

GOOD: dict[str, Any] = {"id": "m-1", "role": "user", "text": "VPN", "sensitivity": "public"}


@given(messages())
def test_a_message_survives_json(message: HistoryMessage):
    """Invariant 12: equal messages have equal JSON, and reading it back gives the same message."""
    text = message.to_json()
    assert HistoryMessage.from_json(text) == message
    assert HistoryMessage.from_json(text).to_json() == text
    assert HistoryMessage.from_mapping(message.as_json()) == message


def test_defaults_are_the_cautious_ones():
    """A message is open and has no summary; its sensitivity must be said."""
    message = HistoryMessage.from_mapping(GOOD)
    assert (message.status, message.safe_summary, message.topics) == ("open", None, ())


@pytest.mark.parametrize(
    "change",
    [
        {"id": ""},
        {"id": "a b"},
        {"id": "#1"},
        {"id": "history-summary"},
        {"id": "x" * 65},
        {"id": "id\n"},
        {"id": 1},
        {"role": "system"},
        {"role": None},
        {"text": " \n"},
        {"text": None},
        {"text": "\ud800"},
        {"sensitivity": "private"},
        {"sensitivity": None},
        {"status": "closed"},
        {"safe_summary": ""},
        {"safe_summary": "x" * 301},
        {"safe_summary": 1},
        {"topics": ("vpn",)},
        {"topics": ["x" * 65]},
        {"topics": [""]},
        {"topics": [1]},
        {"topics": ["a"] * 17},
        {"topics": "vpn"},
        {"unknown": 1},
    ],
)
def test_what_is_no_message_is_refused(change):
    """An unknown field or a value outside its range is refused, and never quoted."""
    with pytest.raises(InvalidHistory) as refused:
        HistoryMessage.from_mapping(GOOD | change)
    assert refused.value.error_code == "HISTORY_INVALID"
    assert refused.value.numbers == {}


@pytest.mark.parametrize("field", GOOD)
def test_a_missing_field_is_refused(field):
    """Id, role, text and sensitivity must be given."""
    with pytest.raises(InvalidHistory):
        HistoryMessage.from_mapping({name: value for name, value in GOOD.items() if name != field})


def test_tags_are_a_tuple_in_code():
    """A message made in code holds its tags in a tuple, so that it cannot change."""
    unusual: dict[str, Any] = {"topics": ["vpn"]}
    with pytest.raises(InvalidHistory):
        HistoryMessage(**GOOD, **unusual)


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{", '{"id":"a","id":"b"}', None, "[" * 100_000]
)
def test_what_is_no_json_of_a_message_is_refused(text):
    """Broken JSON, another form and a name that stands twice are refused alike."""
    with pytest.raises(InvalidHistory) as refused:
        HistoryMessage.from_json(text)
    assert refused.value.__context__ is None


def test_a_message_does_not_show_its_text():
    """Neither text nor summary stands in a message's repr, where a log would quote it."""
    message = HistoryMessage.from_mapping(GOOD | {"text": SECRET, "safe_summary": SECRET})
    assert SECRET not in repr(message)
    assert json.loads(message.to_json())["text"] == SECRET
