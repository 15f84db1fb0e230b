"""A budget is a positive whole number in a known unit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callbacks.context.budget import UNITS, Budget
from callbacks.context.errors import InvalidSetting


@given(st.integers(), st.text() | st.sampled_from(["tokens", "utf8_bytes", "bytes", "token"]))
def test_a_budget_has_a_positive_limit_and_one_of_two_units(limit, unit):
    """Any other limit or unit is refused where it is given (13)."""
    if limit >= 1 and unit in {"tokens", "utf8_bytes"}:
        assert Budget(limit, unit).unit == unit
    else:
        with pytest.raises(InvalidSetting):
            Budget(limit, unit)


@pytest.mark.parametrize("limit", [0, -1, True, 1.0, "8192", None])
def test_a_limit_is_a_whole_number(limit):
    """Stand-ins for a number are not taken for one."""
    with pytest.raises(InvalidSetting) as caught:
        Budget(limit, "tokens")
    assert caught.value.error_code == "CONTEXT_SETTING_INVALID"


def test_the_units_are_two():
    """There are tokens and bytes, and nothing that could be mistaken for both."""
    assert UNITS == ("tokens", "utf8_bytes")


@pytest.mark.parametrize("unit", ["characters", "bytes", ""])
def test_a_unit_is_one_of_two(unit):
    """Characters are no unit."""
    with pytest.raises(InvalidSetting):
        Budget(1, unit)
