"""report.json: what the walk came to, and the checks that it must pass."""

from __future__ import annotations

from typing import Any

from callbacks.evidence.instant import local
from callbacks.evidence.packet import EvidencePacket, Section
from examples.procurement.assistant import LIMIT, Asked
from examples.procurement.case import OPEN
from examples.procurement.walk import MAIL, QUESTION, Walk

OFFSET_MINUTES = 480
"""Times are shown in UTC+8."""


def report(found: Walk, replayed: bool) -> dict[str, Any]:
    """Return the report.

    Args:
        found: What was seen.
        replayed: Whether the packet was made again, byte for byte, from the store alone.
    """
    packet, released = found.packet, found.asked.released
    checks = _checks(found, replayed)
    return {
        "passed": all(check["ok"] for check in checks),
        "question": QUESTION,
        "generation": packet.spec.generation,
        "claims": [_claim(packet, section) for section in packet.spec.sections],
        "conflicts": [one.as_json() for one in packet.spec.conflicts],
        "unknowns": [one.id for one in packet.spec.unknowns],
        "excluded": [{"id": one.id, "reason": one.reason} for one in packet.spec.excluded],
        "channels": [
            {"name": name, "tokens": size, "limit": packet.contract.limit(name)}
            for name, size in (released.assembly.sizes if released else ())
        ],
        "packet_units": released.assembly.units if released else None,
        "input_units": found.asked.requests[-1].units,
        "limit": LIMIT,
        "unit": "tokens",
        "measured_as": "upper bound: a token a UTF-8 byte at most; no tokenizer was asked",
        "answer": found.asked.answer,
        "gate": _gate(found.asked),
        "after_expiry": {
            "at": "10:20:00",
            "refreshed": _after(found.refreshed),
            "removed": _after(found.removed),
        },
        "after_amount_change": {
            "rebuilt": list(found.changed.rebuilt),
            "kept": list(found.changed.kept),
            "sources_asked": list(found.changed.fetched),
            "answer": found.changed.asked.answer,
        },
        "stopped_tool_calls": [one.as_json() for one in found.stopped],
        "degraded": {
            "ledger_down": _after(found.down),
            "history_down": _after(found.without_history),
            "other_contract": _after(found.other_contract),
            "budget_too_small": _after(found.too_small),
        },
        "wrong_answer": {**_gate(found.wrong), "answer": found.wrong.answer},
        "replayed": replayed,
        "model": "offline-evidence-reader",
        "checks": checks,
    }


def _claim(packet: EvidencePacket, section: Section) -> dict[str, Any]:
    claim = packet.claim(section.claim)
    items = [packet.item(placed.item) for placed in section.items]
    until = packet.expires_at_ms(section.claim)
    return {
        "id": section.claim,
        "kind": claim.kind if claim else "",
        "outcome": section.outcome.value,
        "applies": section.applies,
        "evidence": [
            {
                "id": item.id,
                "role": placed.role,
                "source": item.source,
                "citation": " ".join(part for part in (item.entity, item.citation) if part),
                "facts": [
                    f"{fact.subject} {fact.predicate} {fact.comparator.value} "
                    + (fact.value.text() if fact.value.kind == "money" else _plain(fact.value))
                    for fact in item.facts
                ],
                "text": item.text,
                "as_of": None if item.as_of_ms is None else local(item.as_of_ms, OFFSET_MINUTES),
            }
            for placed, item in zip(section.items, items, strict=True)
        ],
        "valid_until": None if until is None else local(until, OFFSET_MINUTES),
    }


def _plain(value: Any) -> str:
    return str(getattr(value, "word", value.kind))


def _gate(asked: Asked) -> dict[str, Any]:
    released = asked.released
    return {
        "released": released is not None and released.verdict.released,
        "ending": released.note.ending if released else None,
        "problems": [list(pair) for pair in released.note.problems] if released else [],
        "expired": list(released.note.expired) if released else [],
        "error_code": asked.error_code or None,
        "handed_over": len(asked.handed_over),
    }


def _after(asked: Asked) -> dict[str, Any]:
    released = asked.released
    balance = None
    if released is not None:
        section = released.assembly.packet.section("C4")
        items = (
            [released.assembly.packet.item(one.item) for one in section.items] if section else []
        )
        if items and items[0].as_of_ms is not None:
            balance = local(items[0].as_of_ms, OFFSET_MINUTES)
    return {
        "released": not asked.error_code,
        "generation": released.note.generation if released else None,
        "balance_as_of": balance,
        "old_balance_shown": "截至 2026-07-21 10:14:03" in asked.answer,
        "answer": asked.answer,
        "error_code": asked.error_code or None,
        "model_calls": len(asked.sent),
    }


def _checks(found: Walk, replayed: bool) -> list[dict[str, Any]]:
    packet, asked = found.packet, found.asked
    reasons = {one.id: one.reason for one in packet.spec.excluded}
    sent = "".join(request.canonical().decode() for request in asked.sent)
    policy, balance = packet.item("PROC-AUTH-2025-v1/4.2"), packet.item("FIN-B991")
    sizes = asked.released.assembly.sizes if asked.released else ()
    c2, c4 = packet.section("C2"), packet.section("C4")
    named = {
        "the claims are C1 to C4": [one.claim for one in packet.spec.sections]
        == ["C1", "C2", "C3", "C4"],
        "C2 is more than 500,000 CNY, by the group committee, with its definition": c2 is not None
        and [placed.item for placed in c2.items] == [policy.id, "PROC-AUTH-2025-v1/2"]
        and policy.facts[0].comparator.value == "gt"
        and policy.facts[0].subject == "group_committee",
        "C4 is 1,200,000 as of 10:14:03 until 10:19:00": c4 is not None
        and local(balance.as_of_ms or 0, OFFSET_MINUTES).endswith("10:14:03")
        and local(packet.expires_at_ms("C4") or 0, OFFSET_MINUTES).endswith("10:19:00")
        and "1,200,000 CNY" in asked.answer,
        "nothing contradicts": packet.spec.conflicts == (),
        "four things are unknown": {one.id for one in packet.spec.unknowns} == set(OPEN),
        "L17 is superseded": reasons.get("L17") == "superseded",
        "the mail is untrusted": reasons.get("MAIL-9") == "untrusted",
        "the appendix is denied, and named nowhere": reasons.get("not-available")
        == "not_available_to_you"
        and "APPX" not in sent,
        "the answer is conditional and approves nothing": packet.spec.outcome.value == "conditional"
        and "不構成核准" in asked.answer
        and "已核准" not in asked.answer,
        "every channel is within its limit": bool(sizes)
        and all(size <= packet.contract.limit(name) for name, size in sizes),
        "the limits add up to the input budget": sum(
            channel.limit for channel in packet.contract.channels
        )
        == LIMIT,
        "every request was measured and fits": all(
            record.units is not None and record.units <= LIMIT for record in asked.requests
        ),
        "what leaves is rendered, not the model's": not any("{" in text for text in asked.texts),
        "at 10:20 a new balance is shown": "截至 2026-07-21 10:20:00" in found.refreshed.answer
        and "10:14:03" not in found.refreshed.answer,
        "at 10:20, without the ledger, no balance is": "1,200,000" not in found.removed.answer
        and not found.removed.error_code,
        "a changed amount rebuilds what depends on it alone": found.changed.rebuilt
        == ("C2", "C3", "C4")
        and found.changed.kept == ("C1",)
        and "C1" in found.changed.same
        and "hotel_master" not in found.changed.fetched,
        "the new amount is the one that is judged": "920,000 CNY" in found.changed.asked.answer
        and "860,000" not in found.changed.asked.answer,
        "no tool ran for the mail": {one.reason for one in found.stopped}
        == {"only_untrusted_origin", "tool_not_in_contract"}
        and not found.gullible.error_code,
        "at least is not more than": found.wrong.error_code == "ANSWER_NOT_RELEASED"
        and len(found.wrong.handed_over) == 1
        and "500,000" not in found.wrong.answer,
        "without the ledger there is no balance, and that is said": found.down.answer.endswith(
            "[C4] 可用預算；資料已過期或暫時無法取得，不顯示數值；請更新後再問。"
        )
        and "9,990,000" not in found.down.answer,
        "a history nobody needs may be down": "決策紀錄目前無法取得"
        in found.without_history.answer,
        "another contract is not run": found.other_contract.error_code == "CONTRACT_MISMATCH"
        and found.other_contract.sent == (),
        "what does not fit is refused": found.too_small.error_code == "EVIDENCE_INSUFFICIENT"
        and found.too_small.sent == (),
        "the mail is in no packet": MAIL not in packet.text and "evil.example" not in packet.text,
        "the packet is made again from the store alone": replayed,
    }
    return [{"name": name, "ok": bool(ok)} for name, ok in named.items()]
