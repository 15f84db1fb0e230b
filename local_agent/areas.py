"""The 26 towns of Changhua County and the names people use for them.

彰化 alone is not a town: it may mean the county, so it is no alias of 彰化市 and a search with it
covers the whole county. Short forms that are also ordinary words (和美食, 稻田中, 大城市, 花壇 as
a flower bed) are kept apart by their neighbours, and 花壇路 is a street, which may lie in another
town.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from local_agent.mentions import Lexicon, Mention, Said, Word, normalize

#: Official names, cities first, then urban and rural townships (Changhua County Government).
AREAS: tuple[str, ...] = (
    "彰化市",
    "員林市",
    "鹿港鎮",
    "和美鎮",
    "北斗鎮",
    "溪湖鎮",
    "田中鎮",
    "二林鎮",
    "線西鄉",
    "伸港鄉",
    "福興鄉",
    "秀水鄉",
    "花壇鄉",
    "芬園鄉",
    "大村鄉",
    "埔鹽鄉",
    "埔心鄉",
    "永靖鄉",
    "社頭鄉",
    "二水鄉",
    "田尾鄉",
    "埤頭鄉",
    "芳苑鄉",
    "大城鄉",
    "竹塘鄉",
    "溪州鄉",
)

#: Towns whose bare name means something larger.
_NO_SHORT_FORM = frozenset({"彰化市"})

#: 員林 was an urban township until 2015-08-08; people still write the old name.
_FORMER_NAMES = {"員林鎮": "員林市"}

#: Short forms and former names to the official name.
ALIASES: Mapping[str, str] = MappingProxyType(
    {name[:-1]: name for name in AREAS if name not in _NO_SHORT_FORM} | _FORMER_NAMES
)

#: Ways to say the whole county.
COUNTY_NAMES: frozenset[str] = frozenset({"彰化", "彰化縣", "全縣", "整個彰化", "全彰化"})

_ROADS = ("街", "巷", "大道", "路")
_BLANK = "\u30fb"
_NOT_ROADS = ("街上", "街頭", "路邊", "路上", "路口")

_NOT_AFTER: Mapping[str, tuple[str, ...]] = {
    "和美": ("溫", "柔", "祥", "謙", "平"),
    "田中": ("稻", "水", "農", "麥", "菜", "瓜"),
    "田尾": ("稻", "水"),
    "大城": ("座", "個"),
    "大村": ("個", "座"),
    "二水": ("第", "十"),
    "二林": ("第", "十"),
    "花壇": ("個", "座", "圓", "形", "造", "校園"),
    "秀水": ("山", "明"),
    "員林": ("人", "警", "店", "職", "學", "會", "委", "演", "官", "議", "隊", "球", "社", "成"),
    "線西": ("路", "沿", "支", "海岸"),
    "社頭": ("報", "旅行", "通訊"),
    "北斗": ("滿天",),
}
_NOT_BEFORE: Mapping[str, tuple[str, ...]] = {
    "和美": ("食", "味", "好", "術", "麗", "女", "國", "景", "式", "感"),
    "田中": ("央", "間"),
    "大城": ("市", "鎮", "堡"),
    "大村": ("莊", "落"),
    "北斗": ("七星", "星", "衛星"),
    "線西": ("側", "段", "部", "邊"),
    "社頭": ("條", "版"),
    "彰化市": ("場", "集", "面", "價"),
}


def _words() -> Iterator[Word]:
    for name in AREAS:
        yield Word(name, name, not_before=_NOT_BEFORE.get(name, ()))
    for short, name in ALIASES.items():
        yield Word(
            short,
            name,
            not_after=_NOT_AFTER.get(short, ()),
            not_before=_NOT_BEFORE.get(short, ()),
        )


_LEXICON = Lexicon(_words())

_COUNTY = Lexicon(
    Word(name, "county", not_before=tuple(area[2:] for area in AREAS if area.startswith(name)))
    for name in COUNTY_NAMES
)

#: Counties and cities LOCAL has no data on; 彰化縣's neighbours and the rest.
_ELSEWHERE = Lexicon(
    Word(name, name)
    for name in (
        *("台北", "臺北", "新北", "桃園", "台中", "臺中", "台南", "臺南", "高雄", "基隆", "新竹"),
        *("苗栗", "南投", "雲林", "嘉義", "屏東", "宜蘭", "花蓮", "台東", "臺東", "澎湖"),
        *("金門", "馬祖"),
    )
)


def find_areas(text: str) -> tuple[Mention, ...]:
    """Return the towns a message names, left to right, by longest match.

    Args:
        text: A message; offsets refer to the folded text (`mentions.normalize`).
    """
    return _LEXICON.find(_without_roads(text))


def said_area(text: str) -> Said:
    """Return the town a message asks about, minding 「不是花壇，是彰化市」."""
    return _LEXICON.said(_without_roads(text))


def canonical_area(text: str) -> str | None:
    """Return the official name of a town given alone, with or without 彰化縣 before it.

    Args:
        text: An argument such as 花壇, 花壇鄉 or 彰化縣花壇鄉.

    Returns:
        The official name, or None when it is no town of the county.
    """
    folded = normalize(text).strip()
    return _LEXICON.exact(folded) or _LEXICON.exact(folded.removeprefix("彰化縣").strip())


def is_county(text: str) -> bool:
    """Tell whether an argument means the whole county; an empty one does."""
    folded = normalize(text).strip()
    return not folded or folded in COUNTY_NAMES


def names_county(text: str) -> bool:
    """Tell whether a message speaks of the county as a whole."""
    return bool(_COUNTY.find(text))


def names_elsewhere(text: str) -> bool:
    """Tell whether a message names another county or city of Taiwan and no town of ours."""
    return bool(_ELSEWHERE.find(text)) and not find_areas(text) and not names_county(text)


def _without_roads(text: str) -> str:
    """Return the folded text with short forms that name a road (花壇路) blanked, offsets kept."""
    folded = normalize(text)
    for mention in _LEXICON.find(folded):
        rest = folded[mention.end :]
        is_road = rest.startswith(_ROADS) and not rest.startswith(_NOT_ROADS)
        if is_road and folded[mention.start : mention.end] not in AREAS:
            blank = _BLANK * (mention.end - mention.start)
            folded = folded[: mention.start] + blank + folded[mention.end :]
    return folded
