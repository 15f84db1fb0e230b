"""Numbers as people write them, in digits or Chinese, and their one canonical form."""

import re
from decimal import Decimal, InvalidOperation

CHINESE = "零〇一二兩两三四五六七八九十百千"
"""The characters of a Chinese number below ten thousand."""

_VALUES = {character: value for value, character in enumerate("零一二三四五六七八九")} | {
    "〇": 0,
    "兩": 2,
    "两": 2,
}
_PLACES = {"十": 10, "百": 100, "千": 1000}
_PLAIN = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,6})?", re.ASCII)
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3}){1,4}(?:\.\d{1,6})?", re.ASCII)


def read_number(text: str) -> Decimal | None:
    """Return the number a text is, or None; at most 15 digits before and 6 after the point."""
    if _PLAIN.fullmatch(text):
        return Decimal(text)
    if _GROUPED.fullmatch(text):
        return Decimal(text.replace(",", ""))
    number = _chinese(text)
    return None if number is None else Decimal(number)


def whole(text: str) -> int | None:
    """Return the whole number that digits or Chinese characters write, or None."""
    return int(text) if text.isascii() and text.isdigit() else _chinese(text)


def plain(number: Decimal) -> str:
    """Return a number's one form: no exponent, no grouping, no trailing zeros."""
    try:
        text = f"{number:f}"
    except (InvalidOperation, ValueError):  # pragma: no cover - finite numbers always have one
        return ""
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in {"-0", "+0"} else text


def is_finite(number: float | Decimal) -> bool:
    """Tell whether a number has a value at all."""
    return Decimal(str(number)).is_finite()


def _chinese(text: str) -> int | None:
    if not text or any(character not in CHINESE for character in text):
        return None
    if not any(character in _PLACES for character in text):
        return int("".join(str(_VALUES[character]) for character in text))
    total, digit, below = 0, None, 10_000
    for character in text:
        if character in _PLACES:
            place = _PLACES[character]
            if place >= below or digit == 0:
                return None
            # 十五 is fifteen; 百 and 千 need a digit before them, and so does 十 further in.
            if digit is None and (place != 10 or total):
                return None
            total += (1 if digit is None else digit) * place
            digit, below = None, place
        elif digit is not None and digit != 0:
            return None
        else:
            digit = _VALUES[character]
    return total + (digit or 0)
