"""Diets: spellings, denials, and which places suit whom."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent.diets import (
    ALIASES,
    ANY,
    DIETS,
    LABELS,
    SUITS,
    canonical_diet,
    find_diets,
    said_diet,
    suits,
)

OFFERS = st.frozensets(st.sampled_from(DIETS))


def test_six_values_may_be_remembered_and_any_is_none_of_them():
    """`any` is a way to search, never something to store."""
    assert len(DIETS) == 6
    assert ANY not in DIETS
    assert set(LABELS) == {*DIETS, ANY}
    assert set(ALIASES.values()) == set(DIETS)


@pytest.mark.parametrize("spelling", [*ALIASES, *DIETS])
def test_every_spelling_leads_to_its_value(spelling):
    """Each spelling alone is its value, as an argument and in a message."""
    value = ALIASES.get(spelling, spelling)
    assert canonical_diet(spelling) == value
    assert said_diet(spelling).value == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("今天想吃素", "vegetarian"),
        ("我吃蛋奶素", "ovo_lacto"),
        ("我吃奶素", "lacto"),
        ("有沒有全素", "vegan"),
        ("吃不吃素都行，五辛素也好", "vegetarian"),
        ("不是奶素，是全素", "vegan"),
        ("特別想吃素", "vegetarian"),
        ("別的素食店", "vegetarian"),
        ("VEGAN", "vegan"),
        ("我不吃素", ANY),
        ("不要素食", ANY),
        ("沒有吃素", ANY),
        ("素食以外的", ANY),
        ("葷素都可以", ANY),
        ("今天想吃葷", ANY),
        ("花壇有什麼吃的", None),
        ("company many", None),
    ],
)
def test_the_diet_that_is_meant(text, value):
    """A diet is taken as said; one that is denied asks for no filter."""
    assert said_diet(text).value == value


@pytest.mark.parametrize("text", ["因素", "元素的", "維生素的", "毒素", "和米素食在哪"])
def test_other_words_are_no_diet(text):
    """素 inside another word or a name is no diet."""
    assert find_diets(text) == ()


def test_any_suits_everybody():
    """Without a filter every place suits, also one that offers nothing special."""
    assert suits(frozenset(), ANY)
    assert not any(suits(frozenset(), diet) for diet in DIETS)


@given(st.sampled_from(DIETS), st.sampled_from(DIETS), st.sampled_from(DIETS))
def test_suiting_is_reflexive_and_transitive(first, second, third):
    """A diet suits itself, and what suits the diet that suits one suits that one too."""
    assert first in SUITS[first]
    if second in SUITS[first] and third in SUITS[second]:
        assert third in SUITS[first]


@given(OFFERS, OFFERS, st.sampled_from((*DIETS, ANY)))
def test_offering_more_never_suits_fewer(offered, more, diet):
    """A place that adds an offer keeps everybody it suited."""
    assert not suits(offered, diet) or suits(offered | more, diet)


def test_strict_diets_are_not_served_by_loose_kitchens():
    """Vegan is served by vegan alone; a dish at an ordinary place suits only who accepts that."""
    assert SUITS["vegan"] == {"vegan"}
    assert [diet for diet in DIETS if suits(frozenset({"friendly"}), diet)] == ["friendly"]
    assert not suits(frozenset({"allium"}), "vegetarian")


def test_an_unknown_diet_is_an_error():
    """A diet outside the list is never read as no filter."""
    with pytest.raises(KeyError):
        suits(frozenset(), "keto")
