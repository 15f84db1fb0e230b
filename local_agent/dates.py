"""Days as people say them: 今天, 週末, 下週六, 10/10, 2026-10-10.

`find` picks the words out of a message without knowing today; `resolve` turns them into days where
today is known, which is in the tool, never in a model. Weeks start on Monday.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date, timedelta
from typing import NamedTuple

_WEEKDAYS = {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6}
_SATURDAY = 5
_ROC_EPOCH = 1911

_DAY_WORDS = {
    **dict.fromkeys(("今天", "今日", "今晚", "today"), 0),
    **dict.fromkeys(("明天", "明日", "明晚", "tomorrow"), 1),
    "後天": 2,
    "大後天": 3,
}
_WEEKEND_WORDS = ("這個週末", "這週末", "本週末", "週末", "假日", "weekend")
_NEXT_WEEKEND_WORDS = ("下個週末", "下週末")
_WEEK_WORDS = ("這個星期", "這星期", "這禮拜", "這個禮拜", "這週", "本週")
_NEXT_WEEK_WORDS = ("下個星期", "下星期", "下禮拜", "下個禮拜", "下週")

_FULL = re.compile(r"(?<!\d)(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})(?!\d)日?")
_ROC = re.compile(r"民國(\d{2,3})[-/.年](\d{1,2})[-/.月](\d{1,2})(?!\d)日?")
_SHORT = re.compile(r"(?<![\d/.-])(\d{1,2})(?:/|月)(\d{1,2})(?![\d/])[日號]?")
_WEEKDAY = re.compile(r"(下個?|這個?|本)?(?:星期|禮拜|週)([一二三四五六日天])")
_WORDS = re.compile(
    "|".join(
        sorted(
            (*_DAY_WORDS, *_WEEKEND_WORDS, *_NEXT_WEEKEND_WORDS, *_WEEK_WORDS, *_NEXT_WEEK_WORDS),
            key=lambda word: (-len(word), word),
        )
    )
)


class DateRange(NamedTuple):
    """Whole days, both ends included."""

    first: date
    last: date


def find(text: str) -> str:
    """Return the first day a message names, as it was said, or an empty string."""
    folded = _fold(text)
    hits = [
        hit
        for pattern in (_ROC, _FULL, _SHORT, _WEEKDAY, _WORDS)
        if (hit := pattern.search(folded)) is not None
    ]
    if not hits:
        return ""
    first = min(hits, key=lambda hit: (hit.start(), -len(hit.group())))
    return first.group()


def resolve(text: str, today: date) -> DateRange | None:
    """Return the days that were meant, or None when they cannot be told.

    Args:
        text: A day as said, for example 明天, 下週六, 10/10 or 2026-10-10.
        today: The day it was said on, in the person's time zone.
    """
    said = find(text)
    if not said:
        return None
    if (numbers := _FULL.fullmatch(said)) is not None:
        return _one_day(int(numbers[1]), int(numbers[2]), int(numbers[3]))
    if (numbers := _ROC.fullmatch(said)) is not None:
        return _one_day(int(numbers[1]) + _ROC_EPOCH, int(numbers[2]), int(numbers[3]))
    if (numbers := _SHORT.fullmatch(said)) is not None:
        return _next_such_day(int(numbers[1]), int(numbers[2]), today)
    if (weekday := _WEEKDAY.fullmatch(said)) is not None:
        return _weekday(weekday[1], _WEEKDAYS[weekday[2]], today)
    return _word(said, today)


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().replace("周", "週")


def _one_day(year: int, month: int, day: int) -> DateRange | None:
    try:
        only = date(year, month, day)
    except ValueError:  # 2026-13-40 is no day
        return None
    return DateRange(only, only)


def _next_such_day(month: int, day: int, today: date) -> DateRange | None:
    """Return the next 10/10: this year's, or next year's once it has passed."""
    this_year = _one_day(today.year, month, day)
    if this_year is not None and this_year.first >= today:
        return this_year
    return _one_day(today.year + 1, month, day)


def _weekday(which: str | None, weekday: int, today: date) -> DateRange:
    monday = today - timedelta(days=today.weekday())
    if which is not None and which.startswith("下"):
        only = monday + timedelta(days=7 + weekday)
    elif which is None:
        only = today + timedelta(days=(weekday - today.weekday()) % 7)
    else:
        only = monday + timedelta(days=weekday)
    return DateRange(only, only)


def _word(said: str, today: date) -> DateRange:
    monday = today - timedelta(days=today.weekday())
    sunday = monday + timedelta(days=6)
    if said in _DAY_WORDS:
        only = today + timedelta(days=_DAY_WORDS[said])
        return DateRange(only, only)
    if said in _WEEKEND_WORDS:
        return DateRange(max(today, monday + timedelta(days=_SATURDAY)), sunday)
    if said in _NEXT_WEEKEND_WORDS:
        return DateRange(monday + timedelta(days=7 + _SATURDAY), sunday + timedelta(days=7))
    if said in _NEXT_WEEK_WORDS:
        return DateRange(monday + timedelta(days=7), sunday + timedelta(days=7))
    return DateRange(today, sunday)
