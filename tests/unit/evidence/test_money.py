"""Amounts are read whole or not at all, and what is said vaguely stays a range."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callbacks.evidence.errors import EvidenceError
from callbacks.evidence.instant import local, parse, utc
from callbacks.evidence.money import EXPONENTS, Money, Tax, compare, currency_of, parse_money
from callbacks.evidence.numeral import exact, last_place, same, scaled


@pytest.mark.parametrize(
    "text",
    [
        "86萬", "86 萬", "860,000", "８６０，０００", "860000", "860000.00", "86万", "86萬元",
        "CNY 860,000", "860,000 CNY", "RMB 860,000", "人民幣86萬元", "86萬元人民幣",
        "人民币 86万元",
        "八十六萬", "0.86 million", "860k", "860 thousand", "cn¥860,000", "86萬元整",
    ],
)  # fmt: skip
def test_the_same_amount_in_many_forms(text):
    """860,000 CNY is the same amount however it is written."""
    assert parse_money(text, "CNY") == Money(low=86_000_000, high=86_000_000, currency="CNY")


@pytest.mark.parametrize(
    "text",
    [
        "1.200.000", "1,20", "86萬元以上", "50萬元以上（不含）", "超過 500,000", "500,000-600,000",
        "500,000 或 600,000", "", "萬", "86萬萬元x", "86 萬 美元", "1e6", "０x10", "八六萬", "一二",
        "約86萬左右x", "0.001", "--5", "9" * 50, "約86萬多",
    ],
)  # fmt: skip
def test_what_is_not_wholly_an_amount_is_none(text):
    """A text that holds an amount and something else is no amount (1.200.000 is not 0)."""
    assert parse_money(text, "CNY") is None


def test_an_amount_without_a_currency_is_none():
    """A currency is never guessed: not for bare numbers, and not for a sign two of them share."""
    assert parse_money("860,000") is None
    assert parse_money("860,000元") is None
    assert parse_money("¥860,000") is None
    assert parse_money("860,000", "blorp") is None
    assert parse_money("USD 5", "CNY") is None
    assert parse_money("CNY 5 USD") is None
    assert parse_money("860,000元", "元") is None
    assert currency_of("美元") == "USD"


def test_vague_amounts_stay_ranges():
    """86 萬左右 is a range around it, 86 萬多 one above it; neither equals 86 萬."""
    about, more = parse_money("86 萬左右", "CNY"), parse_money("86萬多", "CNY")
    assert about is not None
    assert more is not None
    assert (about.low, about.high) == (77_400_000, 94_600_000)
    assert (more.low, more.high) == (86_000_000, 87_000_000)
    assert not about.exact
    assert about.text() == "774,000-946,000 CNY"
    assert parse_money("約86萬", "CNY") == about


@given(st.integers(-(10**12), 10**12), st.sampled_from(sorted(EXPONENTS)))
def test_what_is_shown_reads_back(minor, currency):
    """Every amount is shown in a form that reads back as the same minor units (12)."""
    money = Money(low=minor, high=minor, currency=currency)
    assert parse_money(money.text()) == money


def test_comparison_knows_what_it_does_not_know():
    """Overlapping ranges, other currencies and contradicting tax states are not compared."""

    def cny(low, high, tax=Tax.UNKNOWN):
        return Money(low=low, high=high, currency="CNY", tax=tax)

    assert compare(cny(5, 5), cny(5, 5)) == 0
    assert compare(cny(5, 6), cny(7, 7)) == -1
    assert compare(cny(8, 9), cny(7, 7)) == 1
    assert compare(cny(6, 8), cny(7, 7)) is None
    assert compare(cny(5, 5), Money(low=5, high=5, currency="USD")) is None
    assert compare(cny(5, 5, Tax.INCLUDED), cny(4, 4, Tax.EXCLUDED)) is None
    with pytest.raises(ValueError, match="range"):
        cny(2, 1)


def test_numbers_keep_their_value():
    """Numbers are exact: digits and a scale, never a float."""
    assert exact("1,234.50") == (12345, 1)
    assert exact("-3") == (-3, 0)
    assert exact("兩千零五") == (2005, 0)
    assert exact("十二億三千萬") == (1_230_000_000, 0)
    assert exact("x") is None
    assert same((10, 1), (1, 0))
    assert scaled((15, 1), 0) is None
    assert scaled((15, 1), 2) == 150
    assert last_place("86.5") == (1, 1)
    assert last_place("0") == (1, 0)
    assert last_place("x") is None


@given(st.integers(0, 253_370_764_799_999))
def test_times_have_one_text(at_ms):
    """A time's text reads back as the time, from any zone (12)."""
    assert parse(utc(at_ms)) == at_ms
    shown = local(at_ms, 480).replace(" ", "T") + f".{at_ms % 1000:03d}+08:00"
    assert parse(shown) == at_ms


@pytest.mark.parametrize(
    "text",
    ["2026-07-21", "2026-07-21T10:14:03", "2026-02-30T00:00:00Z", "at 2026-07-21T10:14Z", ""],
)
def test_a_time_without_a_zone_is_none(text):
    """What does not name one moment is no time."""
    assert parse(text) is None


def test_times_outside_the_text_form_are_refused():
    """Only the years 1970 to 9998 have a text."""
    with pytest.raises(EvidenceError):
        utc(-1)
    assert parse("1960-01-01T00:00:00Z") is None
