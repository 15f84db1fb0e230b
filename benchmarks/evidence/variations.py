"""Right answers said in other ways: format, order, language, the width of digits."""

import random
from typing import Any

from benchmarks.evidence.worlds import WORDS
from callbacks.evidence.instant import local, parse

Data = dict[str, Any]
"""An answer as plain data."""


def vary(data: Data, source: random.Random) -> None:
    """Write the same answer in another format, order and language."""
    for said in data["statements"]:
        for name in ("subject", "predicate"):
            if said.get(name):
                said[name] = name_of(said[name], source)
        if said.get("exceptions"):
            said["exceptions"] = [name_of(one, source) for one in said["exceptions"]]
            source.shuffle(said["exceptions"])
        source.shuffle(said["citations"])
        if said.get("unit") == "CNY":
            said["value"], said["unit"] = _money(said["value"], source)
        elif said.get("unit"):
            said["value"], said["unit"] = _quantity(said["value"], said["unit"], source)
        elif said.get("value") in WORDS:
            said["value"] = name_of(said["value"], source)
        elif said.get("value"):
            said["value"] = _time(said["value"], source)
        if said.get("as_of"):
            said["as_of"] = _time(said["as_of"], source)
    for name in ("statements", "unknowns", "conflicts"):
        source.shuffle(data[name])


def name_of(word: str, source: random.Random) -> str:
    """Return one of a word's names; the word itself where it has none."""
    if word not in WORDS:
        return word
    zh, en = WORDS[word]
    return source.choice((word, zh, en, en.title(), f" {zh} "))


def _money(value: str, source: random.Random) -> tuple[str, str | None]:
    amount = int(value.replace(",", ""))
    forms = [f"{amount:,}", str(amount), _wide(f"{amount:,}"), f"{amount}.00", f"{amount:,} 元"]
    if amount % 10_000 == 0:
        forms += [f"{amount // 10_000}萬", f"{amount // 10_000} 萬元", f"{amount // 10_000}万"]
    number = source.choice(forms)
    if source.random() < 0.5:
        return number, source.choice(("CNY", "人民幣", "RMB", "cny"))
    bare = number.removesuffix("元").strip()
    tail = "元" if "萬" in number else ""
    return source.choice((f"CNY {bare}", f"{bare} CNY", f"人民幣{bare}{tail}", f"RMB {bare}")), None


def _quantity(value: str, unit: str, source: random.Random) -> tuple[str, str | None]:
    number = source.choice((value, value.replace(",", ""), _wide(value)))
    if source.random() < 0.5:
        return number, name_of(unit, source)
    return f"{number} {WORDS[unit][0]}", None


def _wide(text: str) -> str:
    return "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in text)


def _time(text: str, source: random.Random) -> str:
    at_ms = parse(text)
    if at_ms is None:
        return text
    here = local(at_ms, 480)
    return source.choice((text, here.replace(" ", "T") + "+08:00", here + "+08:00"))
