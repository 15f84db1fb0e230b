"""The same decision in four allowed arrangements: the same selection, the same verdicts."""

import json
import random
from collections import Counter
from typing import Any

from benchmarks.evidence.mutations import CHECKED_AT, MUTATIONS
from benchmarks.evidence.worlds import BOOK, right_answer, world
from callbacks.evidence.arrangement import Inner, build, reorder
from callbacks.evidence.fence import read_lines
from callbacks.evidence.gate import check_text
from callbacks.evidence.packet import EvidencePacket


def measure_order(questions: int = 60) -> dict[str, Any]:
    """Return for how many questions the arrangement changed nothing but the order.

    Args:
        questions: How many questions, each in four arrangements.
    """
    same_selection = same_verdicts = same_lines = 0
    worst = 4
    kinds = sorted(MUTATIONS)
    for number in range(questions):
        here = world(1_000 + number)
        source = random.Random(number)  # noqa: S311 - makes cases, not secrets
        packets = arrangements(here.packet, source)
        answers = [json.dumps(right_answer(here.packet), ensure_ascii=False)]
        for kind in source.sample(kinds, 6):
            data = right_answer(here.packet)
            if MUTATIONS[kind](data, here, source):
                data.pop("_now", None)
                answers.append(data.pop("_text", None) or json.dumps(data, ensure_ascii=False))
        items = {tuple(sorted(packet.spec.item_ids())) for packet in packets}
        verdicts = Counter(tuple(_verdict(text, packet) for text in answers) for packet in packets)
        same_selection += len(items) == 1
        same_verdicts += len(verdicts) == 1
        worst = min(worst, max(verdicts.values()))
        same_lines += len({_lines(packet) for packet in packets}) == 1
    return {
        "questions": questions,
        "arrangements": 4,
        "same_selection": round(same_selection / questions, 4),
        "same_verdicts": round(same_verdicts / questions, 4),
        "same_data_lines": round(same_lines / questions, 4),
        "worst_agreeing_arrangements": worst,
    }


def arrangements(packet: EvidencePacket, source: random.Random) -> list[EvidencePacket]:
    """Return a packet in its own order and in three others.

    Args:
        packet: The packet.
        source: Draws the orders.
    """
    claims = [section.claim for section in packet.spec.sections]
    shuffled = claims[:]
    source.shuffle(shuffled)
    orders: list[tuple[list[str], Inner]] = [
        (claims, "evidence_first"),
        (claims[::-1], "evidence_first"),
        (claims[1:] + claims[:1], "conditions_first"),
        (shuffled, "conditions_first"),
    ]
    return [
        build(packet.contract, reorder(packet.spec, tuple(order), inner), packet.by_id)
        for order, inner in orders
    ]


def _verdict(text: str, packet: EvidencePacket) -> tuple[bool, tuple[str, ...]]:
    verdict = check_text(text, packet, BOOK, now_ms=CHECKED_AT)
    return verdict.released, tuple(
        sorted(
            sentence.text
            for sentence in verdict.sentences
            if not sentence.about.startswith("claim")
        )
    )


def _lines(packet: EvidencePacket) -> tuple[str, ...]:
    return tuple(sorted(line.text for line in read_lines(packet.text) if line.kind == "data"))
