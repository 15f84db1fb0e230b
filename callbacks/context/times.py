"""Times of day in Chinese and English text: read as one value, or found inside a message.

A time that could be morning or evening ("at 3:30", 「三點」) is no value: nothing is guessed.
"""

import re
from collections.abc import Iterator

from callbacks.context.numerals import CHINESE, whole
from callbacks.context.span import Span

_EN_HALF = r"(?:in the (?P<part>morning|afternoon|evening)|(?P<half>[ap])\.?\s?m\b\.?)"
_CHINESE = re.compile(
    rf"(?P<part>凌晨|清晨|早上|上午|中午|下午|傍晚|晚上)\s*(?P<hour>\d{{1,2}}|[{CHINESE}]{{1,3}})"
    r"(?:[:：](?P<minute2>\d{2})|\s*[點点时時](?:(?P<word>半)|(?P<quarter>[一三])刻|"
    rf"(?P<minute>\d{{1,2}}|[{CHINESE}]{{1,3}})分|(?![\d{CHINESE}])))"
)
_ENGLISH = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<![\d:.])(?P<hour>\d{{1,2}})(?:[:.](?P<minute>\d{{2}}))?\s*(?:o'clock\s*)?{_EN_HALF}",
        rf"\b(?P<word>half past|quarter past|quarter to) (?P<hour>\d{{1,2}})\s*{_EN_HALF}",
    )
)
_CLOCK = re.compile(
    r"(?<![\d:.])(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::00)?(?![\d:])(?!\s*[ap]\.?m)", re.IGNORECASE
)
_NAMED = re.compile(r"\b(?:noon|midnight)\b|正午", re.IGNORECASE)
_CUE = re.compile(r"\d ?[ap]\.?m|in the [aem]", re.IGNORECASE)
_MARK = re.compile("[點点时時:：]")
_AFTERNOON = {"afternoon", "evening", "下午", "傍晚", "晚上"}
_WORDS = {"half past": 30, "quarter past": 15, "quarter to": -15, "半": 30}


def read_time(text: str) -> str | None:
    """Return ``HH:MM`` (24 hours) for a text that is one time, or None.

    Here digits alone are taken as a 24-hour clock, as programs write it.
    """
    clock = _CLOCK.fullmatch(text)
    if clock:
        return _clock(int(clock["hour"]) * 60 + int(clock["minute"]), int(clock["minute"]))
    return next(
        (span.value for span in find_times(text) if span.end - span.start == len(text)), None
    )


def find_times(text: str) -> Iterator[Span]:
    """Yield the times a message plainly names, each with its place."""
    # Cheap looks for what each form cannot do without; most messages name no time at all.
    forms = (*(_ENGLISH if _CUE.search(text) else ()), *((_CHINESE,) if _MARK.search(text) else ()))
    for form in forms:
        for match in form.finditer(text):
            value = _value(match)
            if value is not None:
                yield Span(match.start(), match.end(), value)
    if ":" in text:
        for match in _CLOCK.finditer(text):
            hour, minute = int(match["hour"]), int(match["minute"])
            # "3:30" may be either half of the day; "03:30" and "15:30" are of the 24-hour clock.
            value = _clock(hour * 60 + minute, minute)
            if value is not None and (hour > 12 or match["hour"].startswith("0")):
                yield Span(match.start(), match.end(), value)
    folded = text.lower()
    if "noon" in folded or "midnight" in folded or "正午" in text:
        for match in _NAMED.finditer(text):
            named = "00:00" if match[0].lower() == "midnight" else "12:00"
            yield Span(match.start(), match.end(), named)


def _value(match: re.Match[str]) -> str | None:
    groups = match.groupdict()
    hour = whole(groups["hour"])
    minute = whole(groups.get("minute") or groups.get("minute2") or "0")
    part = (groups.get("part") or "").lower()
    if hour is None or minute is None or minute > 59:
        return None
    if groups.get("quarter"):
        minute = 15 if groups["quarter"] == "一" else 45
    if groups.get("word"):
        minute = _WORDS[groups["word"].lower()]
    if groups.get("half") or part in {"morning", "afternoon", "evening"}:
        if not 1 <= hour <= 12:
            return None
        late = (groups.get("half") or "").lower() == "p" or part in _AFTERNOON
        hour = hour % 12 + (12 if late else 0)
    elif part in _AFTERNOON:
        # 晚上12點 is midnight to some and a slip to others: no value.
        if hour in {0, 12}:
            return None
        hour += 12 if hour < 12 else 0
    elif part == "中午":
        if hour not in {11, 12, 1}:
            return None
        hour += 12 if hour == 1 else 0
    elif hour > 12:
        return None
    elif part in {"凌晨", "清晨"} and hour == 12:
        hour = 0
    return _clock(hour * 60 + minute, minute % 60)


def _clock(minutes: int, minute: int) -> str | None:
    if minute > 59 or not 0 <= minutes < 24 * 60:
        return None
    return f"{minutes // 60:02d}:{minutes % 60:02d}"
