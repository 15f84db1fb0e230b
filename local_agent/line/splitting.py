"""Cutting a text into messages that LINE takes, where a reader would pause.

Lengths are UTF-16 code units, as LINE counts them. A cut never falls inside a surrogate pair, and
never between a character and what is drawn onto it (combining marks, variation selectors, joined
emoji, flags), unless such a pile alone is longer than a message. Everything here is pure.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

TEXT_UNITS: Final = 5_000
"""Longest text message, in UTF-16 code units (LINE Messaging API)."""

_PARAGRAPH = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(r"[。！？!?…][」』）)”’\"']*|\.(?=\s)|\n")
_CLAUSE = re.compile(r"[，、；：,;:]|\s")
_JOINER = "\u200d"
_PILE_MAX: Final = 64
"""How far back a boundary between characters is looked for, in code points."""


def units(text: str) -> int:
    """Return how many UTF-16 code units a text has."""
    return len(text) + sum(character > "\uffff" for character in text)


def split(text: str, limit: int = TEXT_UNITS) -> list[str]:
    """Return the text in parts of at most `limit` units; joined, they are the text.

    A part ends at the end of a paragraph, else of a sentence, else of a clause, as long as it is at
    least half full; else between two characters.

    Args:
        text: Any text; the empty one has no parts.
        limit: At least 2, for one character may take two units.
    """
    parts = []
    start = 0
    while start < len(text):
        end = _reach(text, start, limit)
        if end < len(text):
            end = _pause(text, start, end)
        parts.append(text[start:end])
        start = end
    return parts


def shorten(text: str, limit: int, mark: str = "…") -> str:
    """Return the text if it has at most `limit` units, else its beginning with a mark after it."""
    if units(text) <= limit:
        return text
    end = _between(text, 0, _reach(text, 0, limit - units(mark)))
    return text[:end] + mark


def _reach(text: str, start: int, limit: int) -> int:
    """Return how far a part from `start` may go, in code points of the text."""
    end = min(len(text), start + limit)
    over = units(text[start:end]) - limit
    while over > 0:
        end -= 1
        over -= 2 if text[end] > "\uffff" else 1
    return end


def _pause(text: str, start: int, end: int) -> int:
    """Return the best place to cut at or before `end`, and after `start`."""
    half = start + (end - start + 1) // 2
    for pattern in (_PARAGRAPH, _SENTENCE, _CLAUSE):
        # What follows counts as well (closing quotes, marks), so the search sees past `end`.
        ends = [
            hit.end()
            for hit in pattern.finditer(text, start, min(len(text), end + 8))
            if half <= hit.end() <= end and not _joins(text, hit.end())
        ]
        if ends:
            return ends[-1]
    return _between(text, start, end)


def _between(text: str, start: int, end: int) -> int:
    """Return the last place between two characters at or before `end`."""
    for place in range(end, max(start, end - _PILE_MAX), -1):
        if not _joins(text, place):
            return place
    return end


def _joins(text: str, place: int) -> bool:
    """Tell whether the code points around a place are drawn as one character."""
    if not 0 < place < len(text):
        return False
    before, after = text[place - 1], text[place]
    if before == "\r" and after == "\n":
        return True
    if _JOINER in (before, after) or _extends(after):
        return True
    if _is_jamo(before) and _is_jamo(after):
        return True
    return _is_flag_half(before) and _is_flag_half(after) and _halves_before(text, place) % 2 == 1


def _extends(character: str) -> bool:
    """Tell whether a code point is drawn onto the one before it."""
    return (
        unicodedata.category(character) in {"Mn", "Me", "Mc"}
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= character <= "\U000e007f"  # tags of regional flags
    )


def _is_jamo(character: str) -> bool:
    """Tell whether a code point is a piece of a Korean syllable."""
    return "\u1100" <= character <= "\u11ff" or "\ua960" <= character <= "\ua97f"


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _halves_before(text: str, place: int) -> int:
    count = 0
    while count < place and count < _PILE_MAX and _is_flag_half(text[place - 1 - count]):
        count += 1
    return count
