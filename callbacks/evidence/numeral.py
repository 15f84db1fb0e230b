"""Reads numbers as people write them, and only when the whole text is one number.

``1.200.000`` is no number here: read leniently it silently becomes something else.
"""

import re
import unicodedata

Exact = tuple[int, int]
"""Digits and scale: the number is digits / 10**scale, without zeros at its end."""

_PLAIN = re.compile(r"([+-]?)(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?", re.ASCII)
_TIMES = {
    "十": 1, "百": 2, "佰": 2, "千": 3, "仟": 3, "萬": 4, "万": 4, "億": 8, "亿": 8, "兆": 12,
    "k": 3, "thousand": 3, "million": 6, "billion": 9,
}  # fmt: skip
_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")}
_DIGITS.update({"〇": 0, "兩": 2, "两": 2})
_DIGITS.update({character: value for value, character in enumerate("壹貳參肆伍陸柒捌玖", start=1)})
_SMALL = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_LARGE = {"萬": 10**4, "万": 10**4, "億": 10**8, "亿": 10**8}
_LONGEST = 40  # characters; nobody writes a longer number by hand


def fold(text: str) -> str:
    """Return text as it is compared: full-width forms, case and space made one."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def exact(text: str) -> Exact | None:
    """Return the number a text is, or None where the whole of it is none.

    Understands thousands in groups of three, full-width digits, 萬 and 億 and their like, k,
    thousand, million, and Chinese numerals.
    """
    clean = fold(text).replace("\u2212", "-")
    if not clean or len(clean) > _LONGEST:
        return None
    return _with_multiplier(clean) or _chinese(clean)


def same(one: Exact, other: Exact) -> bool:
    """Say whether two numbers are the same number."""
    return bool(one[0] * 10 ** other[1] == other[0] * 10 ** one[1])


def scaled(number: Exact, scale: int) -> int | None:
    """Return a number in units of 10**-scale, or None where it is not whole in them."""
    digits, own = number
    if own <= scale:
        return int(digits * 10 ** (scale - own))
    quotient, rest = divmod(digits, 10 ** (own - scale))
    return None if rest else int(quotient)


def last_place(text: str) -> Exact | None:
    """Return the place of the last digit a text gives: 萬 for 86 萬, 0.1 萬 for 86.5 萬.

    Zeros before a decimal point say nothing about precision, so 860,000 has the place of 86 萬.
    """
    number = exact(text)
    if number is None:
        return None
    digits, scale = number
    if scale or not digits:
        return (1, scale)
    power = 0
    while digits % 10 == 0:
        digits //= 10
        power += 1
    return (10**power, 0)


def _with_multiplier(clean: str) -> Exact | None:
    match = _PLAIN.match(clean)
    if match is None:
        return None
    power = last = 0
    rest = clean[match.end() :].strip()
    while rest:
        word = next((word for word in _TIMES if rest.startswith(word)), None)
        # 百萬 and 萬萬 are said; 萬十 is 10,000 and ten to some, and ten times 10,000 to others.
        if word is None or _TIMES[word] < last or (_TIMES[word] == last and last != _TIMES["萬"]):
            return None
        last = _TIMES[word]
        power += last
        rest = rest[len(word) :].strip()
    sign, whole, fraction = match.groups()
    digits = int(whole.replace(",", "") + (fraction or "")) * (-1 if sign == "-" else 1)
    return _shortest(digits, len(fraction or "") - power)


def _shortest(digits: int, scale: int) -> Exact:
    if scale < 0:
        return digits * 10**-scale, 0
    while scale and digits % 10 == 0:
        digits //= 10
        scale -= 1
    return digits, scale


def _chinese(clean: str) -> Exact | None:
    total = section = 0
    digit: int | None = None
    last_small, last_large = 10**4, 10**12
    seen = False
    for character in clean:
        if character in _DIGITS:
            if digit not in {None, 0}:
                return None
            digit = _DIGITS[character]
        elif character in _SMALL:
            unit = _SMALL[character]
            if unit >= last_small or digit == 0:
                return None
            section += unit * (1 if digit is None else digit)
            digit, last_small = None, unit
        elif character in _LARGE:
            unit = _LARGE[character]
            section += digit or 0
            if unit >= last_large or not section:
                return None
            total += section * unit
            section, digit, last_small, last_large = 0, None, 10**4, unit
        else:
            return None
        seen = True
    return (total + section + (digit or 0), 0) if seen else None
