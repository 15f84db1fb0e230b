"""Times: whole milliseconds since 1970 in UTC inside, one UTC text outside."""

import re
from datetime import UTC, datetime, timedelta, timezone

from callbacks.evidence.errors import EvidenceError

_LATEST_MS = 253_370_764_799_999  # the end of the year 9998, which every zone can still write
_TEXT = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3})0*)?)?"
    r"\s?(Z|UTC|[+-]\d{2}:?\d{2})",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def utc(at_ms: int) -> str:
    """Return the one text of a time: ``2026-07-21T02:14:03Z``, with milliseconds where it has some.

    Raises:
        EvidenceError: The time is outside the years 1970 to 9998.
    """
    if not 0 <= at_ms <= _LATEST_MS:
        raise EvidenceError("A time is outside the years that have a text form.")
    moment = _EPOCH + timedelta(milliseconds=at_ms)
    rest = at_ms % 1000
    return moment.strftime("%Y-%m-%dT%H:%M:%S") + (f".{rest:03d}Z" if rest else "Z")


def local(at_ms: int, offset_minutes: int) -> str:
    """Return a time as people at a fixed offset read it: ``2026-07-21 10:14:03``.

    Args:
        at_ms: Milliseconds since 1970 in UTC.
        offset_minutes: Minutes east of UTC.
    """
    utc(at_ms)
    zone = timezone(timedelta(minutes=offset_minutes))
    moment = (_EPOCH + timedelta(milliseconds=at_ms)).astimezone(zone)
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def parse(text: str) -> int | None:
    """Return the milliseconds of a text that names a time with its zone, or None.

    The whole text must be a time: what follows or precedes it makes it none.
    """
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    offset = 0
    if zone[0] in "+-":
        digits = zone[1:].replace(":", "")
        offset = (int(digits[:2]) * 60 + int(digits[2:])) * (1 if zone[0] == "+" else -1)
    try:
        moment = datetime(
            int(year), int(month), int(day), int(hour), int(minute), int(second or 0), tzinfo=UTC
        )
    except ValueError:
        return None
    whole = (moment - _EPOCH) // timedelta(milliseconds=1)
    at_ms = whole + int((fraction or "0").ljust(3, "0")) - offset * 60_000
    return at_ms if 0 <= at_ms <= _LATEST_MS else None
