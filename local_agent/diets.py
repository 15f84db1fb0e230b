"""The diets LOCAL knows, what people call them, and which places suit which diet.

Six values may be remembered. `any` says "no filter this time"; it is never stored. 蛋素 has no
value of its own and counts as 素食, the wider word; 鍋邊素 and 方便素 are satisfied with a dish at
an ordinary place: 素食友善.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from local_agent.mentions import Lexicon, Mention, Said, Word

#: What may be remembered, and what a place may offer.
DIETS: tuple[str, ...] = ("vegetarian", "vegan", "lacto", "ovo_lacto", "allium", "friendly")

#: "No filter": valid as a tool argument, never stored.
ANY = "any"

#: What people are shown.
LABELS: Mapping[str, str] = MappingProxyType(
    {
        "vegetarian": "素食",
        "vegan": "全素",
        "lacto": "奶素",
        "ovo_lacto": "蛋奶素",
        "allium": "五辛素",
        "friendly": "素食友善",
        ANY: "不限",
    }
)

#: Spellings of each value, the labels included.
ALIASES: Mapping[str, str] = MappingProxyType(
    {
        **{label: diet for diet, label in LABELS.items() if diet != ANY},
        **dict.fromkeys(
            (
                *("吃素", "茹素", "蔬食", "素菜", "素餐", "素便當", "素麵", "素料", "素齋", "素粽"),
                *("蛋素", "素的", "吃齋", "吃早齋", "素自助餐", "素羹", "素粥", "素小吃"),
            ),
            "vegetarian",
        ),
        **dict.fromkeys(("純素", "全植物", "維根", "純植物"), "vegan"),
        **dict.fromkeys(("奶蛋素", "蛋奶素食", "奶蛋素食"), "ovo_lacto"),
        **dict.fromkeys(("奶素食",), "lacto"),
        **dict.fromkeys(("植物五辛素", "五辛", "吃蔥蒜的素"), "allium"),
        **dict.fromkeys(("鍋邊素", "方便素", "友善素食", "有素食選項", "葷素皆有"), "friendly"),
        **dict.fromkeys(("全素食", "純素食"), "vegan"),
    }
)

_ANY_WORDS = (
    "吃葷",
    "葷食",
    "葷的",
    "不限",
    "葷素不拘",
    "葷素都可以",
    "葷素都吃",
    "什麼都吃",
    "都可以吃",
)

#: 因素的, 元素的, 要素的確: 素的 inside other words.
_NOT_AFTER: Mapping[str, tuple[str, ...]] = {
    "素的": ("因", "元", "毒", "色", "激", "酵", "生", "維", "味", "樸", "質", "語"),
    "素食": ("和米",),
    "蔬食": ("手作",),
}

#: For each diet, the offers that suit it. A person whose diet allows more is served by a stricter
#: kitchen. A plain 素食 leaves alliums out (onion, garlic), the cautious reading; only 素食友善
#: accepts a place that merely has a dish.
SUITS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "vegan": frozenset({"vegan"}),
        "lacto": frozenset({"lacto", "vegan"}),
        "ovo_lacto": frozenset({"ovo_lacto", "lacto", "vegan", "vegetarian"}),
        "vegetarian": frozenset({"vegetarian", "vegan", "lacto", "ovo_lacto"}),
        "allium": frozenset({"allium", "vegetarian", "vegan", "lacto", "ovo_lacto"}),
        "friendly": frozenset(DIETS),
    }
)


def _words() -> Iterator[Word]:
    for text, diet in ALIASES.items():
        yield Word(text, diet, not_after=_NOT_AFTER.get(text, ()))
    for diet in DIETS:
        yield Word(diet, diet)
    yield Word(ANY, ANY, not_after=("m", "comp"), not_before=("o", "t", "w"))
    for text in _ANY_WORDS:
        yield Word(text, ANY)


_LEXICON = Lexicon(_words())


def find_diets(text: str) -> tuple[Mention, ...]:
    """Return the diets a message names, left to right, by longest match."""
    return _LEXICON.find(text)


def said_diet(text: str) -> Said:
    """Return the diet a message asks for.

    「不吃素」 asks for no filter (`any`): the person spoke about it, so nothing remembered may
    take its place.
    """
    said = _LEXICON.said(text)
    if said.value is None and said.denied:
        return Said(ANY, said.denied)
    return said


def canonical_diet(text: str) -> str | None:
    """Return the value of a diet given alone (a code or a spelling), `any` included, or None."""
    return _LEXICON.exact(text)


def suits(offered: frozenset[str], diet: str) -> bool:
    """Tell whether a place that offers these diets suits a person with this one.

    Args:
        offered: What the place offers; empty for an ordinary place.
        diet: One of `DIETS`, or `any`, which every place suits.

    Raises:
        KeyError: The diet is unknown.
    """
    return diet == ANY or bool(SUITS[diet] & offered)
