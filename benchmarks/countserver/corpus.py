"""Texts and trees to count: real ones, random ones, and every kind of character on its own."""

import base64
import json
import random
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from google.genai import types

from callbacks.counting.probes import exchange, said

DATA = Path("../shared/data")

Contents = tuple[types.Content, ...]

_RUN = 40
"""How often a character is repeated in the sweep: margins must not hide what each one costs."""

_SCRIPTS = (
    (0x20, 0x7E), (0xA1, 0x24F), (0x370, 0x3FF), (0x400, 0x4FF), (0x5D0, 0x5EA), (0x620, 0x64A),
    (0xE01, 0xE3A), (0x2010, 0x205E), (0x3041, 0x30FE), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3),
    (0xFB00, 0xFDFB), (0xFF01, 0xFF5E), (0x1F300, 0x1F6FF), (0x20000, 0x2A6DF), (0x0, 0x1F),
)  # fmt: skip
_JOINED = ("👨‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇹🇼", "e\u0301", "ก็", "\u202eabc\u202c", "क्षि")
_TOWN = (
    "花壇蔬食餐廳", "彰化縣花壇鄉中山路二段123號", "每日 11:00～20:30，週三公休",
    "純素、蛋奶素皆有", "永靖鄉老街導覽（免費）", "請先電話預約：", "親子友善",
    "有停車場與無障礙坡道", "鹿港小鎮手作市集", "現場報名，額滿為止。",
    "https://example.org/places/42?from=local", "open", "vegan", "2026-12-05",
)  # fmt: skip


class Corpus:
    """Draws contents from a seed; the same seed gives the same ones."""

    def __init__(self, seed: int, data: Path | None) -> None:
        """Read the real texts, where they are."""
        self._random = random.Random(seed)  # noqa: S311 - cases, not secrets
        self._texts, self._trees = _read(data)

    @property
    def real(self) -> int:
        """How many real texts there are to draw from."""
        return len(self._texts)

    def contents(self) -> Contents:
        """Draw the contents of one request."""
        draw = self._random
        opening = [said("user", self.text())]
        for _ in range(draw.choice((0, 0, 0, 1, 2))):
            opening = [said("user", self.text()), said("model", self.text()), *opening]
        if draw.random() < 0.15:
            opening[-1] = said("user", self.text(), self.text())
        if draw.random() < 0.35:
            return tuple(opening)
        for _ in range(draw.choice((1, 1, 1, 2))):
            name = draw.choice(("search_local_places", "find", "a" * 60))
            call_id = draw.choice((None, None, "adk-5f1d2c0e", "7"))
            args = {"area": self.text()[:80], "limit": draw.randint(0, 50)}
            opening += exchange(args, self.tree(), name=name, call_id=call_id)
        return tuple(opening)

    def text(self) -> str:
        """Draw a text that is not empty."""
        draw = self._random
        kind = draw.random()
        if self._texts and kind < 0.4:
            return draw.choice(self._texts)
        if kind < 0.55:
            return "".join(draw.choice(_TOWN) for _ in range(draw.randint(1, 12)))
        if kind < 0.7:
            scripts = [draw.choice(_SCRIPTS) for _ in range(draw.randint(1, 3))]
            return "".join(
                chr(draw.randint(*draw.choice(scripts))) for _ in range(draw.randint(1, 120))
            )
        if kind < 0.78:
            return "".join(draw.choice((*_JOINED, *_TOWN)) for _ in range(draw.randint(1, 30)))
        if kind < 0.86:
            return base64.b64encode(draw.randbytes(draw.randint(1, 300))).decode()
        if kind < 0.94:
            return json.dumps(self._grown(3), ensure_ascii=draw.random() < 0.5)
        return "".join(draw.choice("0123456789-./: ") for _ in range(draw.randint(1, 200)))

    def tree(self) -> dict[str, Any]:
        """Draw the result of a tool."""
        draw = self._random
        if self._trees and draw.random() < 0.5:
            return {"results": draw.choice(self._trees)}
        if draw.random() < 0.3:
            return {"places": [self.place() for _ in range(draw.randint(1, 12))]}
        return {f"part{i}": self._grown(4) for i in range(draw.randint(0, 4))}

    def place(self) -> dict[str, Any]:
        """Draw a place as LOCAL's catalogue has them."""
        draw = self._random
        return {
            "name": draw.choice(_TOWN[:1]) + str(draw.randint(1, 99)),
            "area": draw.choice(("花壇鄉", "鹿港鎮", "彰化市")),
            "address": _TOWN[1],
            "hours": _TOWN[2],
            "dietary_types": [draw.choice(_TOWN) for _ in range(draw.randint(0, 3))],
            "rating": round(draw.random() * 5, 1),
            "sample": True,
            "source": None,
        }

    def _grown(self, depth: int) -> Any:
        draw = self._random
        kind = draw.random()
        if depth and kind < 0.3:
            keys = ("name", "area", "opening_hours", "k", "x-y", "a.b", "地址", "tag")
            return {
                f"{draw.choice(keys)}{i}": self._grown(depth - 1) for i in range(draw.randint(0, 6))
            }
        if depth and kind < 0.45:
            return [self._grown(depth - 1) for _ in range(draw.randint(0, 6))]
        if kind < 0.6:
            numbers = (0, 1, -17, 3.5, 1e-5, -0.25, 10**12, 1e14, 2**53, 1e300)
            return draw.choice((None, True, False, *numbers))
        return self._texts_or_random()

    def _texts_or_random(self) -> str:
        draw = self._random
        if self._texts and draw.random() < 0.5:
            return draw.choice(self._texts)[:200]
        script = draw.choice(_SCRIPTS)
        return "".join(chr(draw.randint(*script)) for _ in range(draw.randint(0, 40)))


def character_classes() -> list[str]:
    """Return all of Latin-1 and, of every Unicode category and UTF-8 length, some characters."""
    found = [chr(code) for code in range(256)]
    seen: dict[tuple[str, int], int] = {}
    for code in range(256, sys.maxunicode + 1, 3):
        character = chr(code)
        category = unicodedata.category(character)
        if category == "Cs":
            continue
        key = (category, len(character.encode()))
        seen[key] = seen.get(key, 0) + 1
        if seen[key] <= 3:
            found.append(character)
    return [*found, "\u2028", "\u200d", "\ufdfa", "￿", "＂", "＜", "—", "€", "倒", "𠀀", "😀"]


def sweep() -> Iterator[Contents]:
    """Yield every class alone and between digits, as text, in a result and in arguments.

    And once more as many short values, so that what each entry costs next to it shows, too.
    """
    user = said("user", "7")
    for character in character_classes():
        entries = {f"k{chr(97 + index)}": character for index in range(_RUN // 2)}
        yield (user, *exchange({}, {"list": [character] * (_RUN // 2), **entries}))
        for text in (character * _RUN, "7" + f"{character}7" * _RUN):
            yield (said("user", text),)
            yield (user, *exchange({}, {"k": text}))
            yield (user, *exchange({"k": text}, {}))


def _read(data: Path | None) -> tuple[list[str], list[list[dict[str, Any]]]]:
    texts: list[str] = []
    trees: list[list[dict[str, Any]]] = []
    if data is None or not data.is_dir():
        return texts, trees
    for line in _lines(data / "sgd_dev.jsonl"):
        for spoken in json.loads(line)["exchanges"]:
            texts += [spoken["user"], spoken["system"]]
            if spoken["results"]:
                trees.append(spoken["results"])
    for line in _lines(data / "ramdocs_dev.jsonl"):
        texts += [document["text"][:1200] for document in json.loads(line)["documents"]]
    return [text for text in texts if text], trees


def _lines(path: Path) -> Sequence[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else ()
