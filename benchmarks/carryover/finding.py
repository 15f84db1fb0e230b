"""How fast the message finder is with a vocabulary of 10,000 names."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import islice, product
from typing import Any

from callbacks.context.finder import MessageFinder
from callbacks.context.schema import ContextSchema, Topic
from callbacks.context.slot import Slot

NAMES = 10_000
_ROUNDS = 5
_HAN = ("花田和永北溪社二大埔伸秀", "壇中美靖斗湖頭林村鹽港水", "鄉鎮里莊寮厝", "店館坊屋堂樓園")
_LATIN = (
    ("bel", "cor", "dan", "el", "fair", "glen", "har", "jas", "kel", "lin", "mar", "nor", "oak"),
    ("amo", "bury", "crest", "dale", "erton", "ford", "gate", "hurst", "ingham", "ness"),
    ("falls", "park", "springs", "heights", "grove", "village", "ridge", "harbor", "hills"),
    ("east", "west", "north", "south", "upper", "lower", "old", "new"),
)


def vocabulary() -> list[str]:
    """Return 10,000 made-up names, half in Chinese and half in English, none from any data."""
    han = ["".join(parts) for parts in islice(product(*_HAN), NAMES // 2)]
    latin = [
        f"{head}{tail} {kind} {side}".title()
        for head, tail, kind, side in islice(product(*_LATIN), NAMES // 2)
    ]
    return (han + latin)[:NAMES]


def finder_figures(messages: Sequence[str]) -> dict[str, Any]:
    """Return the finder's speed on messages, every tenth of which gets a name of the vocabulary.

    The finder is the whole one, with a date, a time and denials to look for beside the names; the
    best of five rounds is told, in time of the processor.
    """
    names = vocabulary()
    schema = ContextSchema(
        {"any": Topic("any")},
        {"place": Slot.closed(names), "date": Slot.date(), "time": Slot.time()},
    )
    finder = MessageFinder(schema)
    said = [
        f"{message} {names[number * 7 % len(names)]}" if number % 10 == 0 else message
        for number, message in enumerate(messages)
    ]
    best, found = float("inf"), 0
    for _ in range(_ROUNDS):
        started = time.process_time()
        found = sum("place" in finder.find(message) for message in said)
        best = min(best, time.process_time() - started)
    size = sum(len(message.encode()) for message in said)
    return {
        "vocabulary": len(names),
        "messages": len(said),
        "us_per_message": round(best / len(said) * 1e6, 2) if said else None,
        "mb_per_s": round(size / best / 1e6, 2) if said else None,
        "names_put_in": len(said[::10]),
        "names_found": found,
    }
