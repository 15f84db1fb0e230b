"""The release gate against answers that are wrong in one thing, right ones, and edited ones."""

import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from benchmarks.evidence.mutations import CHECKED_AT, MUTATIONS
from benchmarks.evidence.variations import Data, vary
from benchmarks.evidence.worlds import BOOK, World, right_answer, world
from callbacks.evidence.edited import check_edited
from callbacks.evidence.gate import check, check_text
from callbacks.evidence.statements import read_answer


def measure_gate(mutations: int = 5_000, right: int = 1_000, edits: int = 60) -> Data:
    """Return the share of wrong answers stopped, of right ones stopped, and what edits come to.

    Args:
        mutations: How many wrong answers.
        right: How many right answers in various forms.
        edits: How many edited answers of each kind.
    """
    worlds = [world(seed) for seed in range(80)]
    source = random.Random(7)  # noqa: S311 - makes cases, not secrets
    tried: Counter[str] = Counter()
    stopped: Counter[str] = Counter()
    kinds = sorted(MUTATIONS)
    number = 0
    while sum(tried.values()) < mutations:
        kind = kinds[number % len(kinds)]
        here = worlds[source.randrange(len(worlds))]
        number += 1
        data = right_answer(here.packet)
        vary(data, source)
        if not MUTATIONS[kind](data, here, source):
            continue
        text = data.get("_text") or json.dumps(data, ensure_ascii=False)
        now_ms = data.pop("_now", CHECKED_AT)
        if "_now" in text:
            text = json.dumps(data, ensure_ascii=False)
        tried[kind] += 1
        stopped[kind] += not check_text(text, here.packet, BOOK, now_ms=now_ms).released
    false_stops = 0
    for at in range(right):
        here = worlds[at % len(worlds)]
        data = right_answer(here.packet)
        vary(data, source)
        text = json.dumps(data, ensure_ascii=False)
        false_stops += not check_text(text, here.packet, BOOK, now_ms=CHECKED_AT).released
    return {
        "mutations": sum(tried.values()),
        "stopped": round(sum(stopped.values()) / sum(tried.values()), 4),
        "right_answers": right,
        "false_stops": round(false_stops / right, 4),
        "by_kind": {
            kind: {"tried": tried[kind], "stopped": round(stopped[kind] / tried[kind], 4)}
            for kind in kinds
        },
        "edited": _edited(worlds, edits, source),
    }


def _line_edit(change: Callable[[str, random.Random], str], only: str = "[C") -> Any:
    def edit(text: str, source: random.Random) -> str | None:
        lines = text.split("\n")
        places = [at for at, line in enumerate(lines) if line.startswith(only)]
        source.shuffle(places)
        for at in places:
            new = change(lines[at], source)
            if new != lines[at]:
                lines[at] = new
                return "\n".join(lines)
        return None

    return edit


def _reversed_lines(text: str, _source: random.Random) -> str:
    return "\n".join(reversed(text.split("\n")))


def _in_ten_thousands(line: str, _source: random.Random) -> str:
    for word in line.split():
        number = word.replace(",", "")
        if number.isdigit() and int(number) % 10_000 == 0 and "," in word:
            return line.replace(f"{word} CNY", f"{int(number) // 10_000}萬 CNY", 1)
    return line


EDITS: dict[str, tuple[bool, Any]] = {
    "nothing": (False, lambda text, _s: text),
    "order_of_lines": (False, _reversed_lines),
    "number_format": (False, _line_edit(_in_ten_thousands)),
    "space_and_width": (False, _line_edit(lambda line, _s: line.replace("，", ", ") + " ")),
    "paraphrase": (False, _line_edit(lambda line, _s: line.replace("審批", "負責審批"))),
    "number_changed": (True, _line_edit(lambda line, _s: line.replace("00,000 CNY", "10,000 CNY"))),
    "comparator": (
        True,
        _line_edit(lambda line, _s: line.replace("超過", "達到").replace("（不含）", "")),
    ),
    "negation": (True, _line_edit(lambda line, _s: line.replace("由", "不由", 1))),
    "role": (True, _line_edit(lambda line, _s: line.replace("集團委員會", "區域總經理"))),
    "exception_removed": (True, _line_edit(lambda line, _s: _without(line, "例外："))),
    "time_removed": (True, _line_edit(lambda line, _s: _without(line, "截至 "))),
    "source_removed": (True, _line_edit(lambda line, _s: _without(line, "依據："))),
    "condition_removed": (True, _line_edit(lambda line, _s: line.replace("（附條件）", ""))),
    "unknown_removed": (True, lambda text, _s: _without_line(text, "待確認")),
    "headline_changed": (True, lambda text, _s: "可以直接採購。\n" + text.partition("\n")[2]),
    "sentence_added": (True, lambda text, _s: text + "\n本案已核准，可以付款。"),
}
"""Edits by name: whether they change the meaning, and what they do."""


def _without(line: str, mark: str) -> str:
    before, found, after = line.partition(mark)
    if not found:
        return line
    ends = [after.find(end) for end in ("；", "）") if end in after]
    return before + after[min(ends) :] if ends else line


def _without_line(text: str, start: str) -> str | None:
    lines = text.split("\n")
    kept = [line for line in lines if not line.startswith(start)]
    return None if kept == lines else "\n".join(kept)


def _edited(worlds: list[World], count: int, source: random.Random) -> Data:
    table: Data = {}
    wrongly = 0
    for kind, (changes_meaning, edit) in EDITS.items():
        steps: Counter[str] = Counter()
        for here in worlds:
            if sum(steps.values()) == count:
                break
            answer = read_answer(json.dumps(right_answer(here.packet)))
            verdict = check(answer, here.packet, BOOK, now_ms=CHECKED_AT)
            text = edit(verdict.text, source)
            if text is None:
                continue
            result = check_edited(text, answer, here.packet, BOOK, now_ms=CHECKED_AT)
            steps[result.step] += 1
            wrongly += changes_meaning and result.step != "person"
        total = sum(steps.values())
        table[kind] = {
            "changes_meaning": changes_meaning,
            "tried": total,
            **{
                step: round(steps[step] / max(1, total), 4)
                for step in ("release", "retyped", "person")
            },
        }
    return {"released_with_changed_meaning": wrongly, "by_kind": table}
