"""Days as people say them."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent.dates import find, resolve

MONDAY = date(2026, 11, 30)
SATURDAY = date(2026, 12, 5)
DAYS = st.dates(min_value=date(2020, 1, 1), max_value=date(2090, 12, 31))


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("今天", MONDAY, MONDAY),
        ("tomorrow", date(2026, 12, 1), date(2026, 12, 1)),
        ("明天", date(2026, 12, 1), date(2026, 12, 1)),
        ("後天", date(2026, 12, 2), date(2026, 12, 2)),
        ("大後天", date(2026, 12, 3), date(2026, 12, 3)),
        ("週末", SATURDAY, date(2026, 12, 6)),
        ("周末", SATURDAY, date(2026, 12, 6)),
        ("下週末", date(2026, 12, 12), date(2026, 12, 13)),
        ("這週", MONDAY, date(2026, 12, 6)),
        ("下週", date(2026, 12, 7), date(2026, 12, 13)),
        ("星期六", SATURDAY, SATURDAY),
        ("禮拜天", date(2026, 12, 6), date(2026, 12, 6)),
        ("這週六", SATURDAY, SATURDAY),
        ("下星期六", date(2026, 12, 12), date(2026, 12, 12)),
        ("12/5", SATURDAY, SATURDAY),
        ("12月5日", SATURDAY, SATURDAY),
        ("10/10", date(2027, 10, 10), date(2027, 10, 10)),
        ("2026-12-05", SATURDAY, SATURDAY),
        ("2026年12月5日", SATURDAY, SATURDAY),
        ("民國115年12月5日", SATURDAY, SATURDAY),
        ("\uff11\uff12/\uff15", SATURDAY, SATURDAY),
    ],
)
def test_a_day_as_said(text, first, last):
    """A day is what its words mean on the day they are said; weeks start on Monday."""
    assert resolve(text, MONDAY) == (first, last)
    assert resolve(find(f"花壇{text}有什麼活動"), MONDAY) == (first, last)


@pytest.mark.parametrize("text", ["", "改天", "2026-13-40", "2/30", "13/45", "花壇"])
def test_what_is_no_day_is_none(text):
    """Words that name no day, or a day that does not exist, give nothing."""
    assert resolve(text, MONDAY) is None


def test_the_weekend_on_a_sunday_is_that_day():
    """A weekend that has begun lasts from today to Sunday."""
    sunday = SATURDAY + timedelta(days=1)
    assert resolve("週末", sunday) == (sunday, sunday)


@given(DAYS, DAYS)
def test_an_iso_day_is_itself(day, today):
    """A full date means the same on every day."""
    assert resolve(day.isoformat(), today) == (day, day)


@given(st.sampled_from(("今天", "明天", "週末", "星期三", "下週", "3/1")), DAYS)
def test_a_day_to_come_is_never_past(words, today):
    """What people say about days to come never resolves to a day before today."""
    days = resolve(words, today)
    assert days is not None
    assert today <= days.first <= days.last


@given(st.text(max_size=40), DAYS)
def test_any_text_is_safe(text, today):
    """No text makes the reading of days fail."""
    days = resolve(text, today)
    assert days is None or days.first <= days.last
