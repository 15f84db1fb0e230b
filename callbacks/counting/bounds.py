"""An upper bound of what contents cost, from learned costs; None is: ask.

Text costs at most a token a UTF-8 byte, as a byte-fallback tokenizer spends no more. A service
might normalize it (NFKC), so the longer of both spellings counts. Arguments and results are
priced by a walk over their tree. Whatever was not probed has no bound: media, files, code,
thoughts, signatures, parallel calls, unknown fields.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from google.genai import types

from callbacks.counting import probes
from callbacks.counting.costs import Costs, StringCosts, TreeCosts

MARGIN = 8
"""Tokens added for each content and part: count(xy) can exceed count(x) + count(y), by 5 seen."""

_FLOAT = 25
"""The longest spelling of a double: sign, 17 digits, point, exponent."""
_LARGEST_EXACT = 10**15
"""Larger integers become doubles on the way, and may be spelled otherwise."""
_SMALLEST = 1e-6
"""Below this, spellings without an exponent grow longer."""
_FALSE = 1
"""``false`` has one letter more than ``true``."""

_KEY = re.compile(r"[\w.-]+")
_JOINT = "0"
_STEADY = re.compile(
    "[\x00-\x7fÀ-ÖØ-öø-ıĴ-ľŁ-ňŊ-žΑ-ΡΣ-Ωα-ωА-яก-าิ-ู฿-๛"
    "、-〩ぁ-ゖァ-ヺー一-鿿가-힣！（-＊，-．０-９：；？Ａ-Ｚａ-ｚ\U0001f300-\U0001f64f\U0001f680-\U0001f6ff"
    "\U0001f900-\U0001f9ff–—‘’“”]*"
)
"""Characters that NFKC leaves, combines or shortens, and none of which it makes an escape of."""
_NO_LINES = {ord(c): None for c in probes.LINES}


@dataclass(frozen=True, slots=True)
class ContentsBound:
    """What contents cost at most.

    Attributes:
        units: Tokens, beyond the envelope's.
        shapes: The shapes that the proof rests on, such as ``user:text``.
    """

    units: int
    shapes: frozenset[str]


class _Ask(Exception):
    """This has no bound."""


def contents_bound(
    contents: Sequence[types.Content], costs: Costs, *, after_call: bool = False
) -> ContentsBound | None:
    """Return what contents add to an envelope at most; None where nobody can tell.

    Args:
        contents: All contents, or those after an anchor.
        costs: What was learned about the model.
        after_call: Whether the content before the first was a function call.
    """
    shapes: set[str] = set()
    total = 0
    try:
        for content in contents:
            shape, units = _content(content, costs, after_call=after_call)
            shapes.add(shape)
            total += units
            after_call = shape == "model:call"
    except (_Ask, UnicodeEncodeError):
        return None
    return ContentsBound(total, frozenset(shapes))


def _content(content: types.Content, costs: Costs, *, after_call: bool) -> tuple[str, int]:
    role = content.role
    parts = content.parts
    if not parts or role not in ("user", "model") or content.__pydantic_extra__:
        raise _Ask
    only = _sole_field(parts[0])
    if only == "text":
        if len(parts) > 1 and role == "model":
            raise _Ask  # only a person's content was probed with several texts
        units = costs.turn + MARGIN - costs.part
        for part in parts:
            if _sole_field(part) != "text":
                raise _Ask
            units += costs.part + MARGIN + _text(part.text or "", costs)
        return f"{role}:text", units
    if len(parts) > 1 or not costs.exchange:
        raise _Ask
    if only == "function_call" and role == "model":
        call = parts[0].function_call
        if costs.call is None or call is None or not _only(call, ("id", "name", "args")):
            raise _Ask
        spelled = _spelled(call.name, call.id, costs)
        units = costs.exchange + spelled + tree_bound(call.args or {}, costs.call)
        return "model:call", units + 2 * MARGIN
    if only == "function_response" and role == "user":
        answer = parts[0].function_response
        if (
            costs.response is None
            or answer is None
            or not _only(answer, ("id", "name", "response"))
        ):
            raise _Ask
        units = 0 if after_call else costs.exchange
        units += _spelled(answer.name, answer.id, costs)
        units += tree_bound(answer.response or {}, costs.response)
        return "user:response", units + 2 * MARGIN
    raise _Ask


def _sole_field(part: types.Part) -> str:
    """Return the one field that a part has; a part with more is of a shape never probed."""
    found = ""
    for field, value in part.__dict__.items():
        if value is not None:
            if found:
                raise _Ask
            found = field
    if part.__pydantic_extra__:
        raise _Ask
    return found


def _only(value: types.FunctionCall | types.FunctionResponse, fields: tuple[str, ...]) -> bool:
    return not value.__pydantic_extra__ and all(
        content is None or field in fields for field, content in value.__dict__.items()
    )


def _text(text: str, costs: Costs) -> int:
    if not text:
        raise _Ask  # no text at all was never probed
    if not costs.control and not text.translate(_NO_LINES).isprintable():
        raise _Ask
    if text.isascii():
        return len(text)
    size = len(text.encode())
    if not is_steady(text):
        size = max(size, len(unicodedata.normalize("NFKC", text).encode()))
    return size


def _spelled(name: str | None, call_id: str | None, costs: Costs) -> int:
    if not name or not name.isascii() or not _KEY.fullmatch(name):
        raise _Ask
    units = len(name) * costs.name
    if call_id is not None:
        if costs.call_id is None or not call_id.isascii() or not _KEY.fullmatch(call_id):
            raise _Ask
        units += costs.call_id + len(call_id) * costs.id_repeat
    return units


def tree_bound(tree: dict[str, Any], costs: TreeCosts) -> int:
    """Return what arguments or a result cost at most.

    Raises:
        _Ask: Something in it has no bound.
    """
    keys: list[str] = []
    texts: list[str] = []
    units = costs.root if tree else 0
    entry, item, container = costs.entry, costs.item, costs.container
    repeats = costs.path or costs.item_key
    # Node, depth, what the keys above cost at each of its children, what its own key does there.
    waiting: list[tuple[Any, int, int, int]] = [(tree, 1, 0, 0)]
    while waiting:
        node, depth, path, own = waiting.pop()
        leaves: list[Any]
        if depth > costs.depth and node:
            raise _Ask
        if type(node) is dict:
            units += (entry + path) * len(node)
            keys.extend(node)
            leaves = list(node.values())
            if repeats:
                for key, value in node.items():
                    if type(value) is dict or type(value) is list:
                        spelled = string_bound(key, costs.strings)
                        below = path + spelled * costs.path
                        units += container
                        waiting.append((value, depth + 1, below, spelled * costs.item_key))
                leaves = [v for v in leaves if type(v) is not dict and type(v) is not list]
        else:
            units += (item + path + own) * len(node)
            leaves = node
        for value in leaves:
            kind = type(value)
            if kind is str:
                texts.append(value)
            elif kind is dict or kind is list:
                units += container
                waiting.append((value, depth + 1, path, own))
            else:
                units += _scalar(value, costs)
    strings = costs.strings
    if keys:
        units += _keys_bound(keys, strings) * costs.key
    return units + strings_bound(texts, strings)


def _keys_bound(keys: list[str], strings: StringCosts) -> int:
    if not all(keys):
        raise _Ask  # no key at all was never probed
    try:
        joined = _JOINT.join(keys)
    except TypeError:
        raise _Ask from None  # a key that is no string
    if not _KEY.fullmatch(joined):
        raise _Ask
    return string_bound(joined, strings) - (len(keys) - 1) * strings.repeat


def _scalar(value: object, costs: TreeCosts) -> int:
    """Price a leaf that is no string, with what surrounds it."""
    if value is None:
        return max(costs.entry, costs.null)
    if isinstance(value, bool):
        return max(costs.entry, costs.true) + _FALSE * costs.strings.repeat
    around = max(costs.entry, costs.number)
    if type(value) is int and abs(value) < _LARGEST_EXACT:
        return around + len(str(value)) * costs.strings.repeat
    if type(value) is float and (value == 0 or _SMALLEST < abs(value) < _LARGEST_EXACT):
        return around + _FLOAT * costs.strings.repeat
    raise _Ask


def strings_bound(texts: Sequence[str], costs: StringCosts) -> int:
    """Return what strings within a tree cost at most, all together.

    Raises:
        _Ask: One of them has no bound.
        UnicodeEncodeError: One holds half a surrogate pair.
    """
    if not texts:
        return 0
    # Priced as one text, since characters are priced one by one; the digits between keep
    # normalization from combining across strings, and are taken off again.
    return string_bound(_JOINT.join(texts), costs) - (len(texts) - 1) * costs.repeat


def string_bound(text: str, costs: StringCosts) -> int:
    """Return what a string within a tree costs at most.

    Raises:
        _Ask: It has no bound.
        UnicodeEncodeError: It holds half a surrogate pair.
    """
    if not text.isprintable() and not text.translate(_NO_LINES).isprintable():
        raise _Ask  # renderings spell these in many ways
    size = _spelling(text, costs)
    if not is_steady(text):
        size = max(size, _spelling(unicodedata.normalize("NFKC", text), costs))
    return size


def is_steady(text: str) -> bool:
    """Tell quickly that normalization makes no text longer; False is: look closer.

    A service that applies NFKC makes three bytes of U+FDFA 33, but most text only gets shorter.
    """
    return text.isascii() or bool(_STEADY.fullmatch(text))


def _spelling(text: str, costs: StringCosts) -> int:
    special = sum(map(text.count, probes.SPECIAL))
    if special and not costs.special:
        raise _Ask
    others = len(text) - special
    units = special * costs.special
    if not text.isascii():
        in_ascii = len(text.encode("ascii", "ignore")) - special
        if costs.raw:
            units += (len(text.encode()) - special - in_ascii) * costs.repeat
        elif costs.unit:
            units += (len(text.encode("utf-16-le")) // 2 - special - in_ascii) * costs.unit
        else:
            raise _Ask
        others = in_ascii
    plain = 0 if costs.plain == costs.repeat else sum(map(text.count, probes.PLAIN))
    if plain and not costs.plain:
        raise _Ask
    return units + plain * costs.plain + (others - plain) * costs.repeat
