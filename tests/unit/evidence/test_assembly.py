"""The case from end to end: claims, exclusions, unknowns, limits, and what a change rebuilds."""

import asyncio
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.evidence.orders import measure_order
from benchmarks.evidence.worlds import world
from callbacks.evidence.arrangement import build, reorder
from callbacks.evidence.assembly import MAX_ROUNDS, assemble, assemble_async
from callbacks.evidence.conflict import Lookup
from callbacks.evidence.contract import Outcome
from callbacks.evidence.errors import (
    CaseMismatch,
    ContractMismatch,
    EvidenceError,
    EvidenceInsufficient,
)
from callbacks.evidence.item import make_row
from callbacks.evidence.plan import affected, make_plan
from tests.unit.evidence.procurement import (
    CASE,
    CATALOGUE,
    CONTRACT,
    OPEN,
    PLAN,
    ROWS,
    event,
    inputs,
    measure,
    money,
)  # fmt: skip


def section(made, claim):
    found = made.packet.section(claim)
    assert found is not None
    return found


def outcomes(made):
    return {one.claim: one.outcome.value for one in made.packet.spec.sections}


def test_the_packet_of_the_case():
    """C1 to C4 stand with their evidence, the rule with its definition; what is open is named."""
    made = assemble(inputs(), measure=measure)
    spec = made.packet.spec
    assert {one.claim: [placed.item for placed in one.items] for one in spec.sections} == {
        "C1": ["HOTEL-H117"],
        "C2": ["PROC-AUTH-2025-v1/4.2", "PROC-AUTH-2025-v1/2"],
        "C3": ["PROC-AUTH-2025-v1/5.1"],
        "C4": ["FIN-B991"],
    }
    assert outcomes(made) == {
        "C1": "conditional", "C2": "conditional", "C3": "conditional", "C4": "supported",
    }  # fmt: skip
    assert spec.outcome is Outcome.CONDITIONAL
    assert spec.sections[1].applies == "yes"
    assert tuple(unknown.id for unknown in spec.unknowns) == OPEN
    assert {unknown.owner for unknown in spec.unknowns} == {"procurement_owner"}
    assert spec.conflicts == ()
    assert [(one.id, one.reason) for one in spec.excluded] == [
        ("L17", "superseded"), ("MAIL-9", "untrusted"), ("not-available", "not_available_to_you"),
    ]  # fmt: skip
    assert made.reasons == (("D771", "outside_its_duty"),)
    assert made.selection.proven
    assert made.units <= CONTRACT.input_limit
    assert all(size <= CONTRACT.limit(name) for name, size in made.sizes)
    assert [(hop.source, hop.target, hop.cycle) for hop in made.hops] == [
        ("PROC-AUTH-2025-v1/4.2", "PROC-AUTH-2025-v1/2", False)
    ]


def test_order_is_contract_task_plan_claims_output():
    """The order is by claim; rules first, the form of the answer last."""
    text = assemble(inputs(), measure=measure).packet.text
    marks = ["[contract ", "[task ", "[plan ", "[claim C1 ", "[claim C2 ", "[claim C4 ", "[output]"]
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)
    assert text.endswith("[end-output]")


def test_a_changed_amount_rebuilds_only_what_depends_on_it():
    """92 萬: the claims that depend on the amount are built again, the others keep their bytes."""
    before = assemble(inputs(), measure=measure)
    case = CASE.apply([event(3, "amount", money(920_000), action="correct")])
    after = assemble(inputs(case=case), measure=measure)
    rebuilt = affected(PLAN, ["amount"])
    kept = [claim.id for claim in PLAN.claims if claim.id not in rebuilt]
    assert kept == ["C1"]
    for claim in kept:
        assert before.packet.section(claim) == after.packet.section(claim)
    assert "920,000" in after.packet.text
    assert "860,000" not in after.packet.text


def test_an_amount_that_straddles_the_limit_decides_nothing():
    """50 萬左右 is neither over nor under 50 萬: the claim stays open."""
    vague = {"kind": "money", "low": 45_000_000, "high": 55_000_000, "currency": "CNY"}
    change = event(3, "amount", vague, action="correct", confidence="confirmed")
    made = assemble(inputs(case=CASE.apply([change])), measure=measure)
    assert section(made, "C2").applies == "open"
    small = CASE.apply([event(3, "amount", money(500_000), action="correct")])
    assert section(assemble(inputs(case=small), measure=measure), "C2").applies == "no"
    none = CASE.apply([event(3, "amount", None, action="withdraw")])
    assert section(assemble(inputs(case=none), measure=measure), "C2").applies == "open"


def test_a_tool_that_is_down_leaves_no_balance_and_stops_nothing_else():
    """Without the ledger there is no balance; the packet says who can help and when."""
    rows = [row for row in ROWS if row["id"] != "FIN-B991"]
    down = Lookup(claim="available_budget", state="unavailable")
    made = assemble(inputs(rows=rows, lookups=(down,)), measure=measure)
    assert outcomes(made)["C4"] == "unavailable"
    unknown = made.packet.spec.unknowns[-1]
    assert (unknown.why, unknown.owner) == ("unavailable", "finance")
    assert unknown.retry_at_ms is not None
    assert "1,200,000" not in made.packet.text


def test_two_policies_in_force_that_differ_are_shown_as_a_conflict():
    """Both originals stand, and what needs the claim becomes conditional."""
    other = make_row(**{**ROWS[2], "id": "RIVAL", "text": "另一份通知。", "links": [], "facts": [
        {**ROWS[2]["facts"][0], "value": money(800_000)}]})  # fmt: skip
    made = assemble(inputs(rows=[*ROWS, other]), measure=measure)
    assert outcomes(made)["C2"] == "conflict"
    assert made.packet.spec.outcome is Outcome.CONFLICT
    assert {placed.item for placed in section(made, "C2").items} == {
        "PROC-AUTH-2025-v1/4.2", "PROC-AUTH-2025-v1/2", "RIVAL",
    }  # fmt: skip
    assert "conflict-" in made.packet.text


def test_a_claim_that_may_not_stay_open_refuses():
    """A required claim without evidence, whose outcomes allow no gap, ends in a proven refusal."""
    strict = PLAN.claims[0].model_copy(update={"outcomes": (Outcome.SUPPORTED,)})
    plan = PLAN.model_copy(update={"claims": (strict, *PLAN.claims[1:])})
    with pytest.raises(EvidenceInsufficient) as refusal:
        assemble(inputs(plan=plan, rows=ROWS[1:]), measure=measure)
    assert refusal.value.numbers["reason"] == "no_evidence"


def test_what_does_not_fit_is_refused_never_cut():
    """Evidence over its channel's limit is refused, and so is a packet whose frame is too large."""
    with pytest.raises(EvidenceInsufficient) as refusal:
        assemble(inputs(), measure=lambda text: len(text) * 100)
    assert refusal.value.error_code == "EVIDENCE_INSUFFICIENT"
    with pytest.raises(EvidenceInsufficient) as refusal:
        assemble(inputs(), measure=lambda text: len(text) * 8, estimate=lambda _text: 1)
    assert refusal.value.numbers["channel"] == "contract"


def test_over_a_limit_it_goes_back_to_selection():
    """When the real count is over, a dearer estimate with a smaller text is chosen instead."""
    cheap = make_row(
        **{
            **ROWS[3],
            "id": "SHORT",
            "text": "中央採購比價" + "，說明" * 3_000,
            "lineage": {"document": "PROC-AUTH-2025-v1", "section": "5"},
        }
    )

    def estimate(text):
        return 5 if "SHORT" in text else measure(text)

    made = assemble(inputs(rows=[*ROWS, cheap]), measure=measure, estimate=estimate)
    assert made.rounds == 2
    assert section(made, "C3").items[0].item == "PROC-AUTH-2025-v1/5.1"

    def never(text):
        return 7_001 if "[data PROC" in text else measure(text)

    with pytest.raises(EvidenceInsufficient) as refusal:
        assemble(inputs(), measure=never, estimate=lambda _text: 1)
    assert refusal.value.numbers["reason"] == "over_budget"
    assert MAX_ROUNDS > 2


def test_an_awaited_counter_gives_the_same_packet():
    """Sync and async counters settle on the same bytes (12)."""

    async def counted(text):
        return measure(text)

    made = asyncio.run(assemble_async(inputs(), measure=counted, estimate=measure))
    assert made == assemble(inputs(), measure=measure)


def test_a_case_that_is_not_its_replay_stops():
    """A mismatch between the stored state and its events stops the assembly."""
    with pytest.raises(CaseMismatch):
        assemble(inputs(case=CASE.model_copy(update={"facts": ()})), measure=measure)


@given(st.randoms())
def test_the_order_of_candidates_changes_no_byte(source):
    """Candidates in any order: the same packet (12)."""
    rows = list(ROWS)
    source.shuffle(rows)
    made = assemble(inputs(rows=rows), measure=measure)
    assert made.packet.sha256 == assemble(inputs(), measure=measure).packet.sha256


def test_another_hash_seed_changes_no_byte():
    """A fresh process with another hash seed makes the same packets (12)."""
    code = (
        "from benchmarks.evidence.worlds import world\n"
        "print(*(world(seed).packet.sha256 for seed in range(6)))"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert runs == {" ".join(world(seed).packet.sha256 for seed in range(6)) + "\n"}


def test_allowed_orders_change_no_verdict():
    """Claims and evidence in other places: the same items, the same data, the same verdicts."""
    found = measure_order(8)
    assert found["same_selection"] == found["same_verdicts"] == found["same_data_lines"] == 1.0


def test_an_order_names_every_claim_once():
    """An arrangement neither drops nor repeats a claim, and belongs to one contract."""
    packet = assemble(inputs(), measure=measure).packet
    for order in (("C1",), ("C1", "C1", "C2", "C3"), ("C1", "C2", "C3", "C9")):
        with pytest.raises(EvidenceError):
            reorder(packet.spec, order)
    turned = reorder(packet.spec, ("C4", "C3", "C2", "C1"), "conditions_first")
    again = build(CONTRACT, turned, packet.by_id)
    assert again.spec.sections[2].items[0].role == "condition"
    with pytest.raises(EvidenceError):
        build(CONTRACT, packet.spec, {})
    with pytest.raises(ContractMismatch):
        build(CONTRACT.model_copy(update={"rules": "other"}), packet.spec, packet.by_id)


def test_decisions_stand_after_the_claims():
    """An earlier decision is named in its claim and stands with the decisions."""
    plan = make_plan(CONTRACT, "purchase_advice", ("approval", "history"), CATALOGUE)
    decision = make_row(
        id="DEC-1", kind="decision", source="decision_log", entity="DEC-1", access=["group:staff"],
        trust="authoritative", text="去年由集團委員會審批。", lineage={"document": "DEC-1"},
        facts=[{"claim": "last_year", "subject": "group_committee", "predicate": "decided",
                "value": {"kind": "word", "word": "yes"}}],
    )  # fmt: skip
    made = assemble(replace(inputs(rows=[*ROWS, decision]), plan=plan), measure=measure)
    text = made.packet.text
    assert text.index("[decisions]") > text.index("[end-claim C5]") > text.index("- evidence DEC-1")
    assert dict(made.sizes)["history"] > 0
    missing = assemble(replace(inputs(), plan=plan), measure=measure)
    assert outcomes(missing)["C5"] == "unknown"
    assert missing.packet.spec.outcome is Outcome.CONDITIONAL
