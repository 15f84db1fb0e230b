"""A budget from a model's window and what is kept free of it."""

import pytest

from callbacks.context.budget import Budget
from callbacks.context.errors import InvalidSetting


def test_the_reserves_are_taken_off_the_window():
    """A request gets what the answer and the safety margin leave."""
    assert Budget.of(window=32_000, output_reserve=2_000, safety=500) == Budget(29_500, "tokens")
    assert Budget.of(window=100, output_reserve=0, unit="utf8_bytes") == Budget(100, "utf8_bytes")


@pytest.mark.parametrize(
    "numbers",
    [
        {"window": 100, "output_reserve": 100},
        {"window": 100, "output_reserve": 60, "safety": 40},
        {"window": -1, "output_reserve": 0},
        {"window": 100, "output_reserve": -1},
        {"window": 100, "output_reserve": 1, "safety": -1},
        {"window": True, "output_reserve": 0},
        {"window": 100.0, "output_reserve": 0},
    ],
)
def test_reserves_that_leave_nothing_are_refused(numbers):
    """Nonsense is refused where it is written, not in a turn."""
    with pytest.raises(InvalidSetting):
        Budget.of(**numbers)
