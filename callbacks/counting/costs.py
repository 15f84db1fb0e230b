"""Costs of what a service's rendering adds, learned from the counts of probes.

All costs are in tokens and rounded up. Where a difference between probes holds characters of the
probe itself, some are left in: that is the slack for merges that come apart next to other
characters (counts are not subadditive).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import pydantic

from callbacks.counting import probes

_UNIT_ESCAPE = 6
r"""A UTF-16 unit as ``\uXXXX`` in bytes; what is spelled longer is not proven but asked."""
_SPECIAL = 8
"""Charged for an ASCII character that may be escaped; ``\\u0022`` and ``&#x27;`` are shorter."""

_SLACK = 2
"""Left in at each entry for merges that come apart: the letter of the probe's key is part of it."""


class _Costs(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")


class StringCosts(_Costs):
    """What a string costs within a tree.

    Attributes:
        repeat: How often the value is spelled, at least 1.
        special: Cost of an ASCII character that may be escaped; 0 is: ask.
        plain: Cost of other ASCII punctuation; 0 is: ask.
        raw: Whether other characters cost no more than their UTF-8 bytes.
        unit: Otherwise, the cost of one of their UTF-16 units; 0 is: ask.
    """

    repeat: int
    special: int
    plain: int
    raw: bool
    unit: int


class TreeCosts(_Costs):
    """What the arguments of a call, or a result, cost beyond their strings.

    Attributes:
        depth: The deepest level that was probed.
        root: A tree that is not empty.
        entry: A key with its leaf, without the key's and the leaf's own characters.
        item: An item of a list, likewise.
        container: An object or a list within another.
        key: How often a key is spelled.
        path: How often all keys above it are spelled at each entry and item.
        item_key: How often the key of its list is spelled at each item, beside that.
        number: As ``entry``, for numbers; ``true`` and ``null`` likewise.
    """

    depth: int
    root: int
    entry: int
    item: int
    container: int
    key: int
    path: int
    item_key: int
    number: int
    true: int
    null: int
    strings: StringCosts


class Costs(_Costs):
    """Everything learned about one model behind one backend.

    Attributes:
        turn: One content, without its text.
        part: One more text within a content.
        control: Whether control characters in texts cost no more than their bytes.
        exchange: A call and its response, both empty; 0 is: ask.
        name: How often the function's name is spelled in both together.
        call_id: Cost of an id in both together; None is: ask.
        id_repeat: How often its characters are spelled.
        call: Costs of arguments; None is: ask.
        response: Costs of results; None is: ask.
    """

    version: Literal[1] = 1
    turn: int
    part: int
    control: bool
    exchange: int
    name: int
    call_id: int | None
    id_repeat: int
    call: TreeCosts | None
    response: TreeCosts | None


def learn(counts: Mapping[str, int]) -> Costs | None:
    """Return what the probes' counts say; None where nothing may be proven.

    Args:
        counts: Name of a probe -> its exact count. Probes that the service would not count are
            missing; whatever depends on them is asked.
    """
    try:
        base = counts["turn/1"]
        if counts["text/64"] - base != 63:
            return None  # digits are not one token each: no probe is of known size
        if not all(_text_is_raw(counts, name, base) for name in ("marks", *probes.PLANES)):
            return None  # texts are not spelled as they are
        turn = max(
            counts["turn/2"] - base,
            counts["turn/3"] - counts["turn/2"],
            _up(counts["turn/3"] - base, 2),
            1,
        )
        part = max(counts["turn/parts"] - base, 1)
        control = "text/control" in counts and _text_is_raw(counts, "control", base)
    except KeyError:
        return None
    texts_only = Costs(
        turn=turn, part=part, control=control, exchange=0, name=0, call_id=None, id_repeat=0,
        call=None, response=None,
    )  # fmt: skip
    try:
        empty = counts["exchange"]
        long_name = counts["exchange/long_name"] - empty
    except KeyError:
        return texts_only
    call_id: int | None = None
    id_repeat = 0
    if "exchange/short_id" in counts and "exchange/long_id" in counts:
        call_id = max(counts["exchange/short_id"] - empty, 0)
        longer = counts["exchange/long_id"] - counts["exchange/short_id"]
        id_repeat = _up(longer, probes.LONG)
    return texts_only.model_copy(
        update={
            "exchange": max(empty - base, 1),
            "name": _up(long_name, probes.LONG - 1),
            "call_id": call_id,
            "id_repeat": id_repeat,
            "call": _tree(counts, "call", empty),
            "response": _tree(counts, "response", empty),
        }
    )


def _text_is_raw(counts: Mapping[str, int], name: str, base: int) -> bool:
    return counts[f"text/{name}"] - base <= len(probes.TEXTS[name].encode()) - 1


def _tree(counts: Mapping[str, int], where: str, empty: int) -> TreeCosts | None:
    own = {
        name.removeprefix(f"{where}/"): count
        for name, count in counts.items()
        if name.startswith(f"{where}/")
    }
    few, many = probes.FEW, probes.MANY
    more = many - few
    depth = probes.DEPTHS[where]
    entries, items, containers = [1], [1], [1]
    try:
        single = own["object/1/1"]
        before = dict.fromkeys((few, many), empty)
        for level in range(1, depth + 1):
            grown = {count: own[f"object/{level}/{count}"] - before[count] for count in before}
            entries.append(_up(grown[many] - grown[few], more))
            containers.append(grown[few] - (grown[many] - grown[few]) // more)
            before = {count: own[f"object/{level}/{count}"] for count in before}
        before = dict.fromkeys((few, many), empty)
        for level in range(2, depth + 1):
            grown = {count: own[f"list/{level}/{count}"] - before[count] for count in before}
            items.append(_up(grown[many] - grown[few], more))
            containers.append(grown[few] - (grown[many] - grown[few]) // more)
            before = {count: own[f"list/{level}/{count}"] for count in before}
        by_key = more * (probes.LONG - 1)

        def repeated(below: str, usual: int) -> int:
            grown_by_key = own[f"{below}/{many}"] - own[f"{below}/{few}"]
            return _up(grown_by_key - usual, by_key)

        # The second level alone: `object/2` has entries on its first level, too.
        second = own[f"object/2/{many}"] - own[f"object/2/{few}"]
        first = own[f"object/1/{many}"] - own[f"object/1/{few}"]
        path = repeated("below_object", second - first)
        item_key = repeated("below_list", own[f"list/2/{many}"] - own[f"list/2/{few}"])
        key = max(1, _up(own["long_key"] - single, probes.LONG - 1))
        kinds = {
            kind: _up(own[f"kind/{kind}"] - empty, many) for kind in ("number", "true", "null")
        }
        return TreeCosts(
            depth=depth,
            root=max(single - empty, 0),
            entry=max(1, max(entries) - (key + 1) + max(0, _SLACK - key)),
            item=max(items),
            container=max(containers),
            key=key,
            path=path,
            item_key=max(0, item_key - path),
            **kinds,
            strings=_strings(own, single),
        )
    except KeyError:
        return None


def _strings(own: Mapping[str, int], single: int) -> StringCosts:
    repeat = max(1, _up(own["string/long"] - single, len(probes.STRINGS["long"]) - 1))

    def added(name: str) -> int:
        known = (probes.number_of_digits(probes.STRINGS[name]) - 1) * repeat
        return own[f"string/{name}"] - single - known

    escapable = (("quotes", probes.QUOTES), ("markup", probes.MARKUP), ("lines", probes.LINES))
    special = _SPECIAL * repeat
    for name, characters in escapable:
        if added(name) > _UNIT_ESCAPE * repeat * len(characters) * probes.REPEATS:
            special = 0
    plain = repeat if added("plain") <= len(probes.PLAIN) * repeat else special
    raw = True
    unit = _UNIT_ESCAPE
    for name, character in probes.PLANES.items():
        raw = raw and added(name) <= len(character.encode()) * repeat * probes.REPEATS
        units = len(character.encode("utf-16-le")) // 2
        each = _up(added(name), repeat * probes.REPEATS * units)
        if each > _UNIT_ESCAPE:
            unit = 0
        elif unit:
            unit = max(unit, each + 1)
    return StringCosts(repeat=repeat, special=special, plain=plain, raw=raw, unit=unit * repeat)


def _up(amount: int, by: int) -> int:
    """Divide, rounded up; nothing costs less than nothing."""
    return max(0, -(-amount // by))
