"""Dates in Chinese and English text: read as one value, or found inside a message."""

import re
from collections.abc import Iterator
from datetime import date, timedelta

from callbacks.context.numerals import CHINESE, whole
from callbacks.context.span import Span

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
_MONTH = "(?P<name>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\b"
_DIGITS = rf"[0-9{CHINESE}]"
_FORMS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<![\d/.-])(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})(?![\d/-])",
        rf"(?:(?P<year>\d{{4}})\s*年\s*)?(?<!\d)(?P<month>{_DIGITS}{{1,3}})\s*月\s*(?P<day>{_DIGITS}{{1,3}})\s*[日號号]",
        rf"\b{_MONTH}\s+(?:the\s+)?{_DAY}(?:,?\s+(?P<year>\d{{4}})\b)?",
        rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}(?:,?\s+(?P<year>\d{{4}})\b)?",
    )
)
_YEAR = re.compile(r"\d{4}")
_DAYS = re.compile(r"\d|月")
_RELATIVE = {
    "今天": 0,
    "明天": 1,
    "後天": 2,
    "后天": 2,
    "大後天": 3,
    "大后天": 3,
    "today": 0,
    "tomorrow": 1,
    "day after tomorrow": 2,
}
_NEAR = re.compile(r"大?[後后]天|[今明]天|\b(?:day after tomorrow|tomorrow|today)\b", re.IGNORECASE)


def read_date(text: str) -> str | None:
    """Return the ISO form of a text that is one date with its year, or None."""
    for form in _FORMS:
        match = form.fullmatch(text)
        if match and match["year"]:
            return _iso(match, None)
    return None


def find_dates(text: str, today: date | None = None) -> Iterator[Span]:
    """Yield the dates a message plainly names, each with its place.

    Args:
        text: The message.
        today: The day it was written. Without it only dates with a year are found; with it, a
            month and a day mean the next such day, and words such as "tomorrow" count.
    """
    folded = text.lower()
    # Without today only a year makes a date; looking for one is far cheaper than for every form.
    if _YEAR.search(text) if today is None else _DAYS.search(folded):
        for form in _FORMS:
            for match in form.finditer(text):
                value = _iso(match, today)
                if value is not None:
                    yield Span(match.start(), match.end(), value)
    if today is not None and ("天" in text or "today" in folded or "tomorrow" in folded):
        for match in _NEAR.finditer(text):
            day = today + timedelta(days=_RELATIVE[match[0].lower()])
            yield Span(match.start(), match.end(), day.isoformat())


def _iso(match: re.Match[str], today: date | None) -> str | None:
    groups = match.groupdict()
    month = _MONTHS[groups["name"].lower()] if groups.get("name") else whole(groups["month"])
    day = whole(groups["day"])
    if month is None or day is None:
        return None
    try:
        if groups["year"]:
            return date(int(groups["year"]), month, day).isoformat()
        if today is None:
            return None
        this_year = date(today.year, month, day)
        return (this_year if this_year >= today else date(today.year + 1, month, day)).isoformat()
    except ValueError:  # no such day in that month
        return None
