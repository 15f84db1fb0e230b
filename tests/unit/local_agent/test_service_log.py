"""What a refused turn tells an operator."""

import logging

import pytest

from local_agent.service import _refused


@pytest.mark.parametrize(
    ("code", "level"),
    [
        ("PREFERENCE_CHANGED", logging.INFO),
        ("CONVERSATION_CHANGED", logging.INFO),
        ("STORE_KEY_MISSING", logging.WARNING),
        ("STORE_UNAVAILABLE", logging.WARNING),
        ("COUNT_UNAVAILABLE", logging.WARNING),
        ("MODEL_FAILED", logging.WARNING),
    ],
)
def test_what_an_operator_must_mend_is_a_warning(caplog, code, level):
    """What people bring about themselves is no alarm; anything else is."""
    with caplog.at_level(logging.INFO, logger="local_agent"):
        _refused(code)
    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (level, f"event=turn_refused error_code={code}")
