"""Probes: requests of known size, from whose counts costs are learned.

Every value in a probe is made of digits, which the byte-fallback tokenizers of Gemini's family
spell one token each and never merge with a neighbour (probe ``text/64`` checks that). So the
difference of two probes is exactly what the service's rendering adds. Nothing in a probe comes
from a conversation.
"""

import string
from collections.abc import Mapping, Sequence
from typing import Any

from google.genai import types

Tree = dict[str, Any]

DEPTHS: Mapping[str, int] = {"call": 3, "response": 6}
"""How deep a call's arguments and a response are probed; anything deeper is asked."""

LONG = 40
FEW, MANY = 1, 9

QUOTES = "\"\\'"
MARKUP = "<>&/=+`"
LINES = "\n\r\t"
SPECIAL = QUOTES + MARKUP + LINES
"""ASCII that renderings are known to escape."""
PLAIN = "".join(c for c in string.punctuation + " " if c not in SPECIAL)
"""ASCII punctuation that renderings leave as it is, unless a probe says otherwise."""
CONTROL = "\x7f\x85\u2028"
PLANES: Mapping[str, str] = {"two": "é", "three": "倒", "four": "𠀀"}
"""A character of 2, 3 and 4 UTF-8 bytes each; their escapes are longer than they are."""
REPEATS = 8


def digits(count: int) -> str:
    """Return a string of so many digits."""
    return ("0123456789" * (count // 10 + 1))[:count]


def between(characters: str, repeats: int = 1) -> str:
    """Return each character alone between two digits, the whole row several times."""
    return "7" + "".join(f"{c}7" for c in characters * repeats)


def number_of_digits(text: str) -> int:
    """Return how many digits a probe's text holds."""
    return sum(c in string.digits for c in text)


STRINGS: Mapping[str, str] = {
    "quotes": between(QUOTES, REPEATS),
    "markup": between(MARKUP, REPEATS),
    "lines": between(LINES, REPEATS),
    "plain": between(PLAIN),
    **{plane: between(character, REPEATS) for plane, character in PLANES.items()},
    "long": digits(200),
}
TEXTS: Mapping[str, str] = {
    "marks": between(SPECIAL + PLAIN),
    "control": between(CONTROL, REPEATS),
    **{plane: between(character, REPEATS) for plane, character in PLANES.items()},
    "64": digits(64),
}


def nested(depth: int, leaves: int) -> Tree:
    """Return objects within objects, with so many string entries at each of the levels."""
    tree: Tree = {}
    for level in range(depth):
        entries: Tree = {f"k{i}": "7" for i in range(leaves)}
        tree = entries if level == 0 else {**entries, "k9": tree}
    return tree


def listed(depth: int, leaves: int, key: str = "k9") -> Tree:
    """Return lists within lists below one key, with so many strings in each of them.

    The outermost list's items are at depth 2, as its key is at depth 1.
    """
    items: list[Any] = []
    for level in range(depth - 1):
        inner = items
        items = ["7"] * leaves if level == 0 else [*["7"] * leaves, inner]
    return {key: items}


def trees(depth: int) -> dict[str, Tree]:
    """Return the trees that are sent as arguments and as results, by name."""
    long_key = "k" + digits(LONG)
    plan: dict[str, Tree] = {"long_key": {long_key: "7"}}
    for count in (FEW, MANY):
        for level in range(1, depth + 1):
            plan[f"object/{level}/{count}"] = nested(level, count)
        for level in range(2, depth + 1):
            plan[f"list/{level}/{count}"] = listed(level, count)
        plan[f"below_object/{count}"] = {long_key: nested(1, count)}
        plan[f"below_list/{count}"] = listed(2, count, long_key)
    kinds = {"number": 7, "true": True, "null": None}
    for kind, value in kinds.items():
        plan[f"kind/{kind}"] = {f"k{i}": value for i in range(MANY)}
    for name, text in STRINGS.items():
        plan[f"string/{name}"] = {"k0": text}
    return plan


def plan() -> dict[str, tuple[types.Content, ...]]:
    """Return the contents of every probe, by name."""
    user = said("user", "7")
    requests: dict[str, tuple[types.Content, ...]] = {
        "turn/1": (user,),
        "turn/2": (user, said("model", "7")),
        "turn/3": (user, said("model", "7"), user),
        "turn/parts": (said("user", "7", "7"),),
        "exchange": (user, *exchange({}, {})),
        "exchange/long_name": (user, *exchange({}, {}, name="f" + digits(LONG))),
        "exchange/short_id": (user, *exchange({}, {}, call_id="7")),
        "exchange/long_id": (user, *exchange({}, {}, call_id="7" + digits(LONG))),
    }
    for name, text in TEXTS.items():
        requests[f"text/{name}"] = (said("user", text),)
    for name, tree in trees(DEPTHS["call"]).items():
        requests[f"call/{name}"] = (user, *exchange(tree, {}))
    for name, tree in trees(DEPTHS["response"]).items():
        requests[f"response/{name}"] = (user, *exchange({}, tree))
    return requests


def said(role: str, *texts: str) -> types.Content:
    """Return a content of texts."""
    return types.Content(role=role, parts=[types.Part(text=text) for text in texts])


def exchange(
    args: Tree, result: Tree, *, name: str = "f7", call_id: str | None = None
) -> Sequence[types.Content]:
    """Return a call by the model and its response."""
    call = types.FunctionCall(id=call_id, name=name, args=args)
    response = types.FunctionResponse(id=call_id, name=name, response=result)
    return (
        types.Content(role="model", parts=[types.Part(function_call=call)]),
        types.Content(role="user", parts=[types.Part(function_response=response)]),
    )
