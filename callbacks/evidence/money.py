"""Money: minor units, currency, tax state; an amount said vaguely stays a range."""

import re
from enum import StrEnum
from typing import Literal, Self

from pydantic import model_validator

from callbacks.evidence.frozen import Frozen
from callbacks.evidence.numeral import Exact, exact, fold, last_place, scaled

# ISO 4217: how many digits of the major unit are minor. Others are not taken rather than guessed.
EXPONENTS = {
    "CNY": 2,
    "TWD": 2,
    "USD": 2,
    "EUR": 2,
    "GBP": 2,
    "HKD": 2,
    "SGD": 2,
    "JPY": 0,
    "KRW": 0,
}
_NAMES = {
    "cny": "CNY", "rmb": "CNY", "人民幣": "CNY", "人民币": "CNY", "cn¥": "CNY",
    "twd": "TWD", "ntd": "TWD", "nt$": "TWD", "新臺幣": "TWD", "新台幣": "TWD", "新台币": "TWD",
    "usd": "USD", "us$": "USD", "美元": "USD", "eur": "EUR", "€": "EUR", "歐元": "EUR",
    "gbp": "GBP", "£": "GBP", "英鎊": "GBP", "hkd": "HKD", "hk$": "HKD", "港幣": "HKD",
    "港元": "HKD",
    "sgd": "SGD", "s$": "SGD", "jpy": "JPY", "日圓": "JPY", "日元": "JPY",
    "krw": "KRW", "韓元": "KRW",
}  # fmt: skip
# Words for a unit that leave the currency open; "¥" is Chinese as well as Japanese.
_OPEN = ("元整", "元", "圓", "块", "塊")
_ABOUT = (
    "左右",
    "上下",
    "around",
    "about",
    "approximately",
    "約莫",
    "大約",
    "大约",
    "大概",
    "約",
    "约",
    "~",
    "近",
)
_MORE = ("多", "餘", "余")
SPREAD_PERMILLE = 100
"""Half width of "about", in thousandths of the amount. A choice of this room: wide enough that a
threshold inside it is asked about instead of decided."""


class Tax(StrEnum):
    """Whether tax is in an amount."""

    INCLUDED = "included"
    EXCLUDED = "excluded"
    UNKNOWN = "unknown"


class Money(Frozen):
    """An amount of money, exact or a range.

    Attributes:
        low: Least amount, in minor units.
        high: Greatest amount, in minor units; equal to ``low`` when the amount is exact.
        currency: ISO 4217 code.
        tax: Whether tax is in it. Unknown is a state of its own, never taken for one of the others.
    """

    kind: Literal["money"] = "money"
    low: int
    high: int
    currency: Literal["CNY", "TWD", "USD", "EUR", "GBP", "HKD", "SGD", "JPY", "KRW"]
    tax: Tax = Tax.UNKNOWN

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low > self.high:
            raise ValueError("A range of money begins at its least amount.")
        return self

    @property
    def exact(self) -> bool:
        """Whether this is one amount and no range."""
        return self.low == self.high

    def text(self) -> str:
        """Return the amount as it is shown: ``500,000 CNY`` or ``774,000-946,000 CNY``."""
        low = _shown(self.low, self.currency)
        if self.exact:
            return f"{low} {self.currency}"
        return f"{low}-{_shown(self.high, self.currency)} {self.currency}"


def parse_money(text: str, unit: str | None = None, tax: Tax = Tax.UNKNOWN) -> Money | None:
    """Return the money that a text is, or None where the whole of it is none.

    Args:
        text: An amount, with or without its currency: ``86萬``, ``CNY 860,000``, ``86 萬左右``.
        unit: The currency said beside it; it must not contradict the text.
        tax: Whether tax is in the amount.
    """
    clean = fold(text)
    about = more = False
    for word in _ABOUT:
        if clean.startswith(word) or clean.endswith(word):
            clean = (
                clean.removeprefix(word) if clean.startswith(word) else clean.removesuffix(word)
            ).strip()
            about = True
            break
    clean, inside = _currency(clean)
    for word in _MORE:
        if clean.endswith(word):
            clean, more = clean.removesuffix(word).strip(), True
            break
    beside = currency_of(unit) if unit else None
    if unit and beside is None and fold(unit) not in _OPEN:
        return None
    if inside and beside and inside != beside:
        return None
    currency, number = inside or beside, exact(clean)
    if currency is None or number is None or (about and more):
        return None
    minor = scaled(number, EXPONENTS[currency])
    if minor is None:
        return None
    low = high = minor
    if about:
        low, high = (
            minor - abs(minor) * SPREAD_PERMILLE // 1000,
            minor + abs(minor) * SPREAD_PERMILLE // 1000,
        )
    if more:
        place: Exact | None = last_place(clean)
        step = scaled(place, EXPONENTS[currency]) if place else None
        high = minor + (step or 0)
    return Money.from_data({"low": low, "high": high, "currency": currency, "tax": tax})


def currency_of(name: str) -> str | None:
    """Return the ISO code that a name of a currency means, or None."""
    return _NAMES.get(re.sub(r"\s*元$", "", fold(name)) or "") or _NAMES.get(fold(name))


def compare(money: Money, other: Money) -> int | None:
    """Return -1, 0 or 1 as money is less, equal or greater; None where that is not known.

    Ranges that overlap, other currencies and contradicting tax states are not comparable.
    """
    if money.currency != other.currency:
        return None
    if {money.tax, other.tax} == {Tax.INCLUDED, Tax.EXCLUDED}:
        return None
    if money.exact and other.exact and money.low == other.low:
        return 0
    if money.high < other.low:
        return -1
    if money.low > other.high:
        return 1
    return None


def _currency(clean: str) -> tuple[str, str | None]:
    """Split an amount from the words for its currency, before or after it."""
    found: str | None = None
    for name in sorted(_NAMES, key=len, reverse=True):
        if clean.startswith(name):
            clean, found = clean.removeprefix(name).strip(), _NAMES[name]
            break
    for name in sorted((*_NAMES, *_OPEN), key=len, reverse=True):
        if clean.endswith(name) and len(clean) > len(name):
            code = _NAMES.get(name)
            if found and code and code != found:
                return clean, None
            clean, found = clean.removesuffix(name).strip(), found or code
            break
    for name in ("人民幣", "人民币", "新臺幣", "新台幣"):
        # "86 萬元人民幣": the unit word stands before the currency's name.
        if found == _NAMES[name]:
            clean = clean.removesuffix("元").strip()
    return clean, found


def _shown(minor: int, currency: str) -> str:
    exponent = EXPONENTS[currency]
    sign = "-" if minor < 0 else ""
    whole, rest = divmod(abs(minor), 10**exponent)
    return f"{sign}{whole:,}" + (f".{rest:0{exponent}d}" if rest else "")
