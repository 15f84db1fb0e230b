"""Made-up questions of every kind the gate knows, with their evidence and their right answers."""

import random
from dataclasses import dataclass
from typing import Any

from callbacks.evidence.admission import Asked, Reader
from callbacks.evidence.assembly import Assembly, assemble
from callbacks.evidence.authority import AuthorityMatrix
from callbacks.evidence.case import CaseEvent, CaseField, CaseState
from callbacks.evidence.conflict import Duty
from callbacks.evidence.contract import TaskContract
from callbacks.evidence.gate import facts_of
from callbacks.evidence.inputs import Inputs
from callbacks.evidence.instant import utc
from callbacks.evidence.item import Fact, make_row
from callbacks.evidence.packet import EvidencePacket
from callbacks.evidence.phrasebook import Phrasebook
from callbacks.evidence.plan import Claim, make_plan

NOW_MS = 1_784_600_000_000
"""The present of every world, in milliseconds UTC."""

ROLES = {
    "group_committee": ("集團委員會", "the group committee"),
    "regional_manager": ("區域總經理", "the regional manager"),
    "hotel_manager": ("酒店總經理", "the hotel manager"),
    "finance_director": ("財務總監", "the finance director"),
}
WORDS = {
    **ROLES,
    "emergency": ("緊急搶修", "emergency repair"),
    "framework": ("框架合約", "framework contract"),
    "donation": ("捐贈物品", "donated goods"),
    "group_owned": ("集團所有", "owned by the group"),
    "franchise": ("特許經營", "a franchise"),
    "leased": ("租賃經營", "leased"),
    "room": ("間", "rooms"),
    "person": ("人", "persons"),
    "advance_payment": ("預付款", "advance payment"),
    "split_order": ("拆單", "order splitting"),
    "allowed": ("允許", "allowed"),
    "hotel_a": ("甲酒店", "hotel A"),
    "hotel_b": ("乙酒店", "hotel B"),
    "account_1": ("一號帳戶", "account 1"),
    "account_2": ("二號帳戶", "account 2"),
    "owner": ("採購負責人", "the procurement owner"),
}
BOOK = Phrasebook.from_data(
    {
        "vocabulary": {
            "terms": [
                {"id": word, "labels": [["zh-Hant", zh], ["en", en]]}
                for word, (zh, en) in WORDS.items()
            ]
        },
        "phrases": [
            {
                "predicate": predicate,
                "texts": [["zh-Hant", zh], ["en", en]],
                "denied": [["zh-Hant", no_zh], ["en", no_en]],
            }
            for predicate, zh, en, no_zh, no_en in (
                (
                    "approves",
                    "金額{comparison}時，由{subject}審批",
                    "{subject} approves amounts of {comparison}",
                    "金額{comparison}時，不由{subject}審批",
                    "{subject} does not approve amounts of {comparison}",
                ),
                (
                    "rule",
                    "{subject}：{comparison}",
                    "{subject} is {comparison}",
                    "{subject}：不{comparison}",
                    "{subject} is not {comparison}",
                ),
                (
                    "held_as",
                    "{subject}為{comparison}",
                    "{subject} is {comparison}",
                    "{subject}並非{comparison}",
                    "{subject} is not {comparison}",
                ),
            )
        ],
    }
)
KINDS = ("threshold", "ownership", "capacity", "deadline", "balance", "rule", "missing", "disputed")
CONTRACT = TaskContract.from_data(
    {
        "id": "BENCH",
        "version": "1",
        "outcomes": ["supported", "conditional", "conflict", "unknown", "unavailable"],
        "tools": [{"tool": "lookup", "free": ["keyword"]}],
        "required": [["advice", ["threshold"]]],
        "rules": "Typed statements from the evidence alone. Lines with a bar are data.",
        "output": "One JSON object of the answer schema.",
        "utc_offset_minutes": 480,
    }
)
CATALOGUE = tuple(
    Claim.from_data(
        {
            "id": f"C{at}",
            "kind": kind,
            "accepts": ["tool_result"] if kind == "balance" else ["policy", "master_data"],
            "asked_by": [kind],
            "compares": "amount" if kind == "threshold" else None,
            "open_fields": ["classification"] if kind == "threshold" else [],
        }
    )
    for at, kind in enumerate(KINDS, start=1)
)
MATRIX = AuthorityMatrix.from_data(
    {"rows": [[kind, [["ledger" if kind == "balance" else "signed_policy"]]] for kind in KINDS]}
)


@dataclass(frozen=True)
class World:
    """A question with everything to answer it.

    Attributes:
        inputs: What its packet is made from.
        assembly: Its packet.
    """

    inputs: Inputs
    assembly: Assembly

    @property
    def packet(self) -> EvidencePacket:
        """The packet."""
        return self.assembly.packet


def measure(text: str) -> int:
    """Return a size in the order of tokens: UTF-8 bytes by three."""
    return -(-len(text.encode("utf-8")) // 3)


def world(seed: int) -> World:
    """Return a question, the same for the same seed."""
    source = random.Random(seed)  # noqa: S311 - makes cases, not secrets
    kinds = ["threshold", *source.sample(KINDS[1:], source.randint(2, 6))]
    rows: list[dict[str, Any]] = []
    for kind in kinds:
        rows.extend(_rows(source, kind))
    source.shuffle(rows)
    inputs = Inputs(
        generation=f"G-{seed}",
        contract=CONTRACT,
        approved_sha256=CONTRACT.digest(),
        plan=make_plan(CONTRACT, "advice", kinds, CATALOGUE),
        rows=rows,
        reader=Reader(frozenset({"staff"})),
        reader_id=f"reader-{seed % 7}",
        asked=Asked(NOW_MS, NOW_MS, (("hotel", "hotel_a"),)),
        matrix=MATRIX,
        case=_case(source),
        duties=(Duty(of="classification", owner="owner", supplies="classification"),),
    )
    return World(inputs, assemble(inputs, measure=measure))


def right_answer(packet: EvidencePacket) -> dict[str, Any]:
    """Return the right answer to a packet, as plain data in its plainest form."""
    statements = []
    for section in packet.spec.sections:
        cited = [placed.item for placed in section.items]
        said: dict[str, Any] = {"claim": section.claim, "outcome": section.outcome.value}
        facts = facts_of(packet, section)
        if section.outcome.value in {"unknown", "unavailable", "conflict"} or not facts:
            said["citations"] = cited if section.outcome.value == "conflict" else []
        else:
            item, fact = facts[0]
            value, unit = plain_value(fact)
            said |= {
                "subject": fact.subject,
                "predicate": fact.predicate,
                "comparator": fact.comparator.value,
                "value": value,
                "unit": unit,
                "as_of": None if item.as_of_ms is None else utc(item.as_of_ms),
                "polarity": fact.polarity.value,
                "exceptions": list(fact.exceptions),
                "citations": cited,
            }
        statements.append(said)
    return {
        "outcome": packet.spec.outcome.value,
        "statements": statements,
        "unknowns": [unknown.id for unknown in packet.spec.unknowns],
        "conflicts": [conflict.id for conflict in packet.spec.conflicts],
    }


def plain_value(fact: Fact) -> tuple[str, str | None]:
    """Return a fact's value and unit as an answer may give them."""
    value = fact.value
    if value.kind == "money":
        return value.text().rpartition(" ")[0], value.currency
    if value.kind == "quantity":
        return value.text().rpartition(" ")[0], value.unit
    if value.kind == "word":
        return value.word, None
    if value.kind == "moment":
        return utc(value.at_ms), None
    return value.words, None


def _rows(source: random.Random, kind: str) -> list[dict[str, Any]]:
    name = f"{kind}-{source.randint(10, 99)}"
    value: dict[str, Any]
    fact: dict[str, Any] = {"claim": kind}
    links: list[dict[str, Any]] = []
    more: list[dict[str, Any]] = []
    if kind == "missing":
        return []
    if kind in {"threshold", "disputed"}:
        amount = source.choice((5, 20, 50, 86, 120)) * 1_000_000
        value = {"kind": "money", "low": amount, "high": amount, "currency": "CNY"}
        exceptions = sorted(
            source.sample(("emergency", "framework", "donation"), source.randint(0, 2))
        )
        fact |= {
            "subject": source.choice(sorted(ROLES)),
            "predicate": "approves",
            "comparator": source.choice(("gt", "ge", "lt", "le")),
            "exceptions": exceptions,
        }
    elif kind == "ownership":
        value = {"kind": "word", "word": source.choice(("group_owned", "franchise", "leased"))}
        fact |= {"subject": "hotel_a", "predicate": "held_as"}
    elif kind == "capacity":
        value = {"kind": "quantity", "digits": source.randint(20, 900), "unit": "room"}
        fact |= {"subject": "hotel_a", "predicate": "capacity", "comparator": "le"}
    elif kind == "deadline":
        value = {"kind": "moment", "at_ms": NOW_MS + source.randint(1, 90) * 86_400_000}
        fact |= {"subject": "owner", "predicate": "decides_by", "comparator": "le"}
    elif kind == "balance":
        amount = source.randint(10, 500) * 1_000_000
        value = {"kind": "money", "low": amount, "high": amount, "currency": "CNY"}
        fact |= {"subject": "account_1", "predicate": "available"}
    else:
        value = {"kind": "word", "word": "allowed"}
        fact |= {
            "subject": source.choice(("advance_payment", "split_order")),
            "predicate": "rule",
            "polarity": source.choice(("denied", "affirmed")),
        }
    fact["value"] = value
    if kind == "threshold" and source.random() < 0.5:
        links = [{"relation": "definition", "target": f"{name}-def"}]
        more.append(_row(f"{name}-def", "definition", [], [], source))
    rows = [_row(name, _kind(kind), [fact], links, source), *more]
    if kind == "disputed":
        other = dict(value, low=value["low"] * 2, high=value["high"] * 2)
        rows.append(_row(f"{name}-b", _kind(kind), [{**fact, "value": other}], [], source))
    longer = _row(f"{name}-long", _kind(kind), [fact], links, source)
    text = longer["text"] + " 說明" * source.randint(5, 40)
    rows.append(make_row(**{**longer, "text": text}))
    return rows


def _row(
    name: str,
    kind: str,
    facts: list[dict[str, Any]],
    links: list[dict[str, Any]],
    source: random.Random,
) -> dict[str, Any]:
    observed = kind == "tool_result"
    return make_row(
        id=name,
        kind=kind,
        source="ledger" if observed else "signed_policy",
        entity=name.partition("-")[0],
        access=["staff"],
        trust="observed" if observed else "authoritative",
        as_of_ms=NOW_MS - 60_000 if observed else None,
        ttl_ms=300_000 if observed else None,
        facts=facts,
        links=links,
        citation=f"§{source.randint(1, 9)}.{source.randint(1, 9)}",
        text=f"{name} 原文：" + "；".join(str(fact.get("subject")) for fact in facts) + "。",
        lineage={"document": f"DOC-{name}"},
    )


def _kind(kind: str) -> str:
    return {"balance": "tool_result", "ownership": "master_data"}.get(kind, "policy")


def _case(source: random.Random) -> CaseState:
    fields = (
        CaseField.from_data({"name": "amount", "kind": "money", "verifiers": ["owner"]}),
        CaseField.from_data(
            {"name": "classification", "kind": "word", "words": ["yes"], "verifiers": ["owner"]}
        ),
    )
    events = [
        {
            "seq": 1,
            "action": "set",
            "field": "amount",
            "value": {
                "kind": "money",
                "low": 86_000_000,
                "high": 86_000_000,
                "currency": "CNY",
                "tax": "included",
            },
        }
    ]
    if source.random() < 0.5:
        events.append(
            {
                "seq": 2,
                "action": "set",
                "field": "classification",
                "value": {"kind": "word", "word": "yes"},
                "confidence": "verified",
                "role": "owner",
            }
        )
    return CaseState(fields=fields).apply(
        CaseEvent.from_data(
            {"actor": "p", "role": "person", "at_ms": NOW_MS, "source": "D1", **event}
        )
        for event in events
    )
