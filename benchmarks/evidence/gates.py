"""The release gate against answers that are wrong in one thing, right ones, and edited ones."""

import copy
import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from benchmarks.evidence.worlds import BOOK, NOW_MS, ROLES, WORDS, World, right_answer, world
from callbacks.evidence.edited import check_edited
from callbacks.evidence.gate import check, check_text
from callbacks.evidence.instant import local, parse
from callbacks.evidence.statements import read_answer

Data = dict[str, Any]
Mutation = Callable[[Data, World, random.Random], bool]
"""Changes an answer in place and says whether it could."""

CHECKED_AT = NOW_MS + 30_000


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
        _vary(data, source)
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
        _vary(data, source)
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


def _vary(data: Data, source: random.Random) -> None:
    """Write the same answer in another format, order and language."""
    for said in data["statements"]:
        for name in ("subject", "predicate"):
            if said.get(name):
                said[name] = _name(said[name], source)
        if said.get("exceptions"):
            said["exceptions"] = [_name(one, source) for one in said["exceptions"]]
            source.shuffle(said["exceptions"])
        source.shuffle(said["citations"])
        if said.get("unit") == "CNY":
            said["value"], said["unit"] = _money(said["value"], source)
        elif said.get("unit"):
            said["value"], said["unit"] = _quantity(said["value"], said["unit"], source)
        elif said.get("value") in WORDS:
            said["value"] = _name(said["value"], source)
        elif said.get("value"):
            said["value"] = _time(said["value"], source)
        if said.get("as_of"):
            said["as_of"] = _time(said["as_of"], source)
    for name in ("statements", "unknowns", "conflicts"):
        source.shuffle(data[name])


def _name(word: str, source: random.Random) -> str:
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
        return number, _name(unit, source)
    return f"{number} {WORDS[unit][0]}", None


def _wide(text: str) -> str:
    return "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in text)


def _time(text: str, source: random.Random) -> str:
    at_ms = parse(text)
    if at_ms is None:
        return text
    here = local(at_ms, 480)
    return source.choice((text, here.replace(" ", "T") + "+08:00", here + "+08:00"))


def _stated(data: Data, source: random.Random, *needs: str) -> Data | None:
    found = [
        one
        for one in data["statements"]
        if one.get("value") and all(one.get(name) for name in needs)
    ]
    return source.choice(found) if found else None


def _set(name: str, change: Callable[[Any, random.Random], Any], *needs: str) -> Mutation:
    def mutate(data: Data, _world: World, source: random.Random) -> bool:
        said = _stated(data, source, *(needs or (name,)))
        if said is None:
            return False
        before = copy.deepcopy(said[name])
        said[name] = change(said[name], source)
        return bool(said[name] != before)

    return mutate


def _on_money(change: Callable[[int, random.Random], str]) -> Mutation:
    def mutate(data: Data, here: World, source: random.Random) -> bool:
        plain = {one["claim"]: one for one in right_answer(here.packet)["statements"]}
        found = [one for one in data["statements"] if plain[one["claim"]].get("unit") == "CNY"]
        if not found:
            return False
        said = source.choice(found)
        amount = int(plain[said["claim"]]["value"].replace(",", ""))
        said["value"], said["unit"] = change(amount, source), "CNY"
        return True

    return mutate


def _other_currency(data: Data, here: World, source: random.Random) -> bool:
    done = _on_money(lambda amount, _source: f"{amount:,}")(data, here, source)
    for said in data["statements"]:
        if done and said.get("unit") == "CNY":
            said["unit"] = source.choice(("TWD", "USD", "HKD"))
    return done


def _role_inversion(data: Data, here: World, source: random.Random) -> bool:
    plain = {one["claim"]: one for one in right_answer(here.packet)["statements"]}
    found = [one for one in data["statements"] if plain[one["claim"]].get("subject") in ROLES]
    if not found:
        return False
    said = source.choice(found)
    others = sorted(set(ROLES) - {plain[said["claim"]]["subject"]})
    said["subject"] = _name(source.choice(others), source)
    return True


def _swap(*names: str) -> Mutation:
    """Put what is right under one claim under another."""

    def mutate(data: Data, _world: World, source: random.Random) -> bool:
        found = [one for one in data["statements"] if one.get("value")]
        if len(found) < 2:
            return False
        one, other = source.sample(found, 2)
        # The same word in another language is no change, so words are compared by what they mean.
        before = [_meant(one.get(name)) for name in names]
        for name in names:
            one[name], other[name] = other.get(name), one.get(name)
        return before != [_meant(one.get(name)) for name in names]

    return mutate


def _meant(text: str | None) -> str | None:
    return text and (BOOK.vocabulary.find(text) or text)


def _outcome_up(data: Data, _world: World, source: random.Random) -> bool:
    found = [one for one in data["statements"] if one["outcome"] != "supported"]
    if not found:
        return False
    source.choice(found)["outcome"] = "supported"
    return True


def _answer_outcome(data: Data, _world: World, source: random.Random) -> bool:
    others = [one for one in ("supported", "conditional", "unknown") if one != data["outcome"]]
    data["outcome"] = source.choice(others)
    return True


def _drop(name: str) -> Mutation:
    def mutate(data: Data, _world: World, source: random.Random) -> bool:
        if not data[name]:
            return False
        data[name].pop(source.randrange(len(data[name])))
        return True

    return mutate


def _take_side(data: Data, here: World, source: random.Random) -> bool:
    """Answer a conflict with one of its sides."""
    if not here.packet.spec.conflicts:
        return False
    conflict = source.choice(here.packet.spec.conflicts)
    item = here.packet.item(source.choice(conflict.sides))
    fact = item.facts[0]
    said = next(one for one in data["statements"] if one["claim"] == conflict.claim)
    said |= {
        "subject": fact.subject,
        "predicate": fact.predicate,
        "comparator": fact.comparator.value,
        "value": fact.value.text() if fact.value.kind == "money" else "x",
        "exceptions": list(fact.exceptions),
        "citations": source.choice(([item.id], list(conflict.sides))),
        "outcome": source.choice(("supported", "conditional", "conflict")),
    }
    return True


def _fill_unknown(data: Data, _world: World, source: random.Random) -> bool:
    found = [one for one in data["statements"] if one["outcome"] == "unknown"]
    if not found:
        return False
    source.choice(found).update(value="0", comparator="eq")
    return True


def _cite_other(data: Data, _world: World, source: random.Random) -> bool:
    found = [one for one in data["statements"] if one["citations"]]
    if len(found) < 2:
        return False
    one, other = source.sample(found, 2)
    one["citations"] = list(other["citations"])
    return True


def _cite(change: Callable[[list[str]], list[str]]) -> Mutation:
    def mutate(data: Data, _world: World, source: random.Random) -> bool:
        found = [one for one in data["statements"] if one["citations"]]
        if not found:
            return False
        said = source.choice(found)
        said["citations"] = change(said["citations"])
        return True

    return mutate


def _quote(data: Data, here: World, source: random.Random) -> bool:
    said = _stated(data, source)
    if said is None:
        return False
    text = here.packet.item(said["citations"][0]).text
    said["quote"] = text[:-1] + source.choice(("！", " 不", "除外"))
    return True


def _extra(data: Data, _world: World, source: random.Random) -> bool:
    target = source.choice((data, source.choice(data["statements"])))
    target[source.choice(("action", "tool_call", "arguments", "note"))] = "approve"
    return True


def _more(data: Data, _world: World, source: random.Random) -> bool:
    said = copy.deepcopy(source.choice(data["statements"]))
    said["claim"] = source.choice(("C0", "C99", said["claim"]))
    data["statements"].append(said)
    return True


def _prose(data: Data, _world: World, source: random.Random) -> bool:
    text = json.dumps(data, ensure_ascii=False)
    data["_text"] = source.choice((f"好的：{text}", f"{text}\n已經核准。", f"```json\n{text}\n```"))
    return True


def _late(data: Data, here: World, source: random.Random) -> bool:
    if all(item.ttl_ms is None for item in here.packet.items):
        return False
    data["_now"] = NOW_MS + 240_000 + source.randint(0, 3_600_000)
    return True


def _except_other(exceptions: list[str], source: random.Random) -> list[str]:
    return [*exceptions, source.choice(("hotel_b", "leased", "person"))]


MUTATIONS: dict[str, Mutation] = {
    "comparator_boundary": _set(
        "comparator",
        lambda one, _s: {"gt": "ge", "ge": "gt", "lt": "le", "le": "lt", "eq": "ge"}[one],
    ),
    "comparator_direction": _set(
        "comparator",
        lambda one, _s: {"gt": "lt", "ge": "le", "lt": "gt", "le": "ge", "eq": "gt"}[one],
    ),
    "comparator_in_value": _on_money(
        lambda amount, source: (
            f"{amount:,}元" + source.choice(("以上", "以上（不含）", "以下", "起"))
        )
    ),
    "value_digit": _on_money(lambda amount, source: f"{amount + source.choice((1, -1, 9)):,}"),
    "value_magnitude": _on_money(lambda amount, source: f"{amount * source.choice((10, 100)):,}"),
    "value_ambiguous": _on_money(lambda amount, _s: f"{amount:,}".replace(",", ".")),
    "value_vague": _on_money(
        lambda amount, source: source.choice((f"約{amount:,}", f"{amount:,}左右", f"{amount:,}多"))
    ),
    "value_two_numbers": _on_money(lambda amount, _s: f"{amount:,} 或 {amount * 2:,}"),
    "value_ten_thousand": _on_money(lambda amount, _s: f"{amount}萬"),
    "value_word": _set("value", lambda _one, source: source.choice(("無上限", "已核准", "yes"))),
    "currency": _other_currency,
    "polarity": _set("polarity", lambda one, _s: "denied" if one == "affirmed" else "affirmed"),
    "exception_dropped": _set("exceptions", lambda one, _s: one[1:]),
    "exception_added": _set("exceptions", _except_other, "claim"),
    "exception_direction": _set("exceptions", lambda one, _s: [f"{one[0]}同樣適用", *one[1:]]),
    "role_inversion": _role_inversion,
    "subject_of_other": _swap("subject"),
    "predicate_of_other": _swap("predicate"),
    "value_under_other_claim": _swap("value", "unit"),
    "statement_under_other_claim": _swap("claim"),
    "as_of_dropped": _set("as_of", lambda _one, _s: None),
    "as_of_shifted": _set("as_of", lambda one, _s: one[:-7] + "59" + one[-5:]),
    "as_of_invented": _set(
        "as_of", lambda one, _s: None if one else "2026-07-21T02:14:03Z", "value"
    ),
    "expired": _late,
    "outcome_of_claim": _outcome_up,
    "outcome_of_answer": _answer_outcome,
    "unknown_dropped": _drop("unknowns"),
    "unknown_filled": _fill_unknown,
    "conflict_dropped": _drop("conflicts"),
    "conflict_decided": _take_side,
    "claim_omitted": _drop("statements"),
    "claim_added": _more,
    "citation_of_other": _cite_other,
    "citation_dropped": _cite(lambda one: one[1:]),
    "citation_invented": _cite(lambda one: [*one, "POLICY-0"]),
    "quote_altered": _quote,
    "action_parameters": _extra,
    "prose_around": _prose,
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
