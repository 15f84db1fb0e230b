"""References by order: "the second one", 「第二家」, against the last list that a tool gave."""

import re
from collections.abc import Sequence

from callbacks.context.denial import denied
from callbacks.context.listing import Entry

_MEASURES = "家個个間间項项筆笔場场位部首款棟栋班"
_CHINESE = re.compile(
    rf"第\s*([一二兩两三四五1-5])\s*[{_MEASURES}]|最[後后]一?[{_MEASURES}]|倒[數数]第一[{_MEASURES}]"
)
_ENGLISH = re.compile(
    r"\bthe (first|1st|second|2nd|third|3rd|fourth|4th|fifth|5th|last) "
    r"(?:one|option|place|restaurant|hotel|shop|result|choice|event)\b",
    re.IGNORECASE,
)
_ORDER = {
    "一": 0, "1": 0, "first": 0, "1st": 0,
    "二": 1, "兩": 1, "两": 1, "2": 1, "second": 1, "2nd": 1,
    "三": 2, "3": 2, "third": 2, "3rd": 2,
    "四": 3, "4": 3, "fourth": 3, "4th": 3,
    "五": 4, "5": 4, "fifth": 4, "5th": 4,
}  # fmt: skip


def referred(text: str, listed: Sequence[Entry]) -> Entry | None:
    """Return the one entry that a message refers to by order.

    None where it names none or several, where the list is shorter, and where the message says no.
    """
    if not listed:
        return None
    places = {
        _ORDER.get((match[1] or "").lower(), len(listed) - 1)
        for pattern in (_CHINESE, _ENGLISH)
        for match in pattern.finditer(text)
    }
    if len(places) != 1 or denied(text):
        return None
    place = places.pop()
    return listed[place] if place < len(listed) else None
