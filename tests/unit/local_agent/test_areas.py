"""The towns of the county and the names people use for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent.areas import (
    ALIASES,
    AREAS,
    canonical_area,
    find_areas,
    is_county,
    names_county,
    names_elsewhere,
    said_area,
)
from local_agent.mentions import normalize

SURFACES = (*AREAS, *ALIASES)
SEPARATORS = st.sampled_from(("，", "、", " ", "。", "跟", "還有"))


def test_there_are_26_towns_two_of_them_cities():
    """The county has 2 cities, 6 urban and 18 rural townships, each listed once."""
    kinds = [name[-1] for name in AREAS]
    assert len(set(AREAS)) == 26
    assert (kinds.count("市"), kinds.count("鎮"), kinds.count("鄉")) == (2, 6, 18)


@pytest.mark.parametrize("surface", SURFACES)
def test_every_name_leads_to_its_town(surface):
    """A full name, short form or former name alone is its town, with or without the county."""
    town = ALIASES.get(surface, surface)
    assert town in AREAS
    assert canonical_area(surface) == town
    assert canonical_area(f" 彰化縣{surface} ") == town
    assert said_area(surface).value == town


@pytest.mark.parametrize("text", ["", "彰化", "火星", "花壇鄉鄉", "花壇鄉的店", "台中"])
def test_what_is_no_town_alone_is_none(text):
    """An argument that is no town of the county leads to nothing."""
    assert canonical_area(text) is None


@pytest.mark.parametrize("text", ["彰化", "彰化縣", "", "  ", "全縣"])
def test_changhua_alone_is_the_county(text):
    """彰化 alone means the county, never 彰化市."""
    assert is_county(text)
    assert said_area(f"{text}有什麼好吃的").value is None


def test_the_city_is_not_the_county():
    """彰化市 is a town; a market of 彰化 (彰化市集, 彰化市場) does not say so."""
    assert said_area("彰化市有什麼").value == "彰化市"
    assert not names_county("彰化市有什麼")
    assert said_area("彰化市集在哪裡").value is None
    assert said_area("彰化市場在哪裡").value is None


@pytest.mark.parametrize(
    "text",
    [
        *("炒飯和美食", "溫和美好", "和美味的湯", "稻田中", "田中央", "大城市", "大村莊"),
        *("北斗七星", "第二水", "校園花壇", "山明秀水", "人員林先生", "沿線西側", "報社頭條"),
        *("花壇路", "鹿港街", "田中巷", "員林大道"),
    ],
)
def test_a_short_form_inside_another_word_is_no_town(text):
    """A short form that is part of a longer word or the name of a road names no town."""
    assert find_areas(text) == ()


@pytest.mark.parametrize(
    ("text", "town"),
    [
        ("花壇和美食", "花壇鄉"),
        ("和美美食", "和美鎮"),
        ("鹿港街上", "鹿港鎮"),
        ("花壇路邊攤", "花壇鄉"),
        ("田中的店", "田中鎮"),
        ("花壇市場", "花壇鄉"),
        ("員林市場", "員林市"),
        ("田尾公路花園", "田尾鄉"),
        ("花壇、彰化市", "花壇鄉"),
        ("花壇，喔不對，彰化市", "彰化市"),
        ("不是花壇，是彰化市", "彰化市"),
        ("我不要找花壇的，要鹿港的", "鹿港鎮"),
        ("花壇不要，彰化市好了", "彰化市"),
        ("除了花壇，員林也可以", "員林市"),
        ("是不是花壇有", "花壇鄉"),
        ("花壇有沒有", "花壇鄉"),
        ("不是不去花壇", "花壇鄉"),
        ("花壇不要太遠", "花壇鄉"),
        ("花壇路那家不要，改找鹿港", "鹿港鎮"),
    ],
)
def test_the_town_that_is_meant(text, town):
    """The town a message asks for is the first one not denied, or the one after a correction."""
    assert said_area(text).value == town


@pytest.mark.parametrize("text", ["不是花壇", "花壇以外", "除了花壇還有哪裡", "花壇不行"])
def test_a_denied_town_is_not_meant(text):
    """A town that is ruled out is reported as denied and not as meant."""
    said = said_area(text)
    assert (said.value, said.denied) == (None, frozenset({"花壇鄉"}))


def test_elsewhere_is_told_from_here():
    """Another county is noticed unless the message also names a town of ours."""
    assert names_elsewhere("台中有什麼好吃的")
    assert not names_elsewhere("鹿港有台南小吃嗎")
    assert not names_elsewhere("花壇有什麼")


@given(st.text(max_size=60) | st.lists(st.sampled_from((*SURFACES, "不", "的", "路"))).map("".join))
def test_mentions_are_known_words_in_order(text):
    """Every mention is a listed spelling, and mentions never overlap."""
    folded = normalize(text)
    end = 0
    for mention in find_areas(text):
        assert mention.start >= end
        assert canonical_area(folded[mention.start : mention.end]) == mention.value
        end = mention.end


@given(st.lists(st.sampled_from(AREAS), min_size=1, max_size=6), SEPARATORS)
def test_full_names_are_found_whole(names, separator):
    """No short form is found inside a full name, and no town across two."""
    found = find_areas(separator.join(names))
    assert [mention.value for mention in found] == names
    assert [mention.end - mention.start for mention in found] == [3] * len(names)


@given(st.sampled_from(sorted(ALIASES)), SEPARATORS)
def test_a_denied_town_gives_way_to_the_other(short, separator):
    """「不是 A，是 B」 is B for every pair of towns."""
    other = next(name for name in AREAS if name != ALIASES[short])
    assert said_area(f"不是{short}，是{other}{separator}").value == other
