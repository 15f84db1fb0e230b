"""Answers that are wrong in one thing, of every kind there is."""

import copy
import json
import random
from collections.abc import Callable
from typing import Any

from benchmarks.evidence.variations import Data, name_of
from benchmarks.evidence.worlds import BOOK, NOW_MS, ROLES, World, right_answer

Mutation = Callable[[Data, World, random.Random], bool]
"""Changes an answer in place and says whether it could."""

CHECKED_AT = NOW_MS + 30_000


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
    said["subject"] = name_of(source.choice(others), source)
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
