"""Decides what each claim comes to, what stays open and in which order things stand."""

from typing import Literal

from callbacks.evidence.admission import telling
from callbacks.evidence.authority import applies
from callbacks.evidence.conflict import Unknown, unknown_fields, unknown_of
from callbacks.evidence.contract import Outcome
from callbacks.evidence.findings import Findings
from callbacks.evidence.inputs import Inputs
from callbacks.evidence.money import Money, Tax
from callbacks.evidence.packet import PacketSpec, Placed, Section, Task
from callbacks.evidence.plan import Claim
from callbacks.evidence.selection import Selection


def specify(inputs: Inputs, found: Findings, selection: Selection) -> PacketSpec:
    """Return everything that is decided about a packet.

    Args:
        inputs: Everything it is made from.
        found: What is known.
        selection: What was chosen.
    """
    claims = inputs.plan.claims
    duties = {duty.of: duty for duty in inputs.duties}
    lookups = {one.claim: one for one in inputs.lookups}
    skipped = set(selection.skipped)
    open_fields = unknown_fields(claims, inputs.case.known(), duties)
    unknowns: list[Unknown] = list(open_fields)
    sections: dict[str, Section] = {}
    for claim in claims:
        if not found.covers[claim.id].ways or claim.id in skipped:
            unknown = unknown_of(claim, lookups.get(claim.kind), duties, now_ms=inputs.asked.now_ms)
            unknowns.append(unknown)
            gone = unknown.why in {"unavailable", "partial"}
            outcome = Outcome.UNAVAILABLE if gone else Outcome.UNKNOWN
            sections[claim.id] = Section(claim=claim.id, outcome=outcome)
            continue
        sections[claim.id] = _section(inputs, found, selection, claim)
    _make_conditional(claims, sections, {name for one in open_fields for name in one.claims})
    return PacketSpec(
        generation=inputs.generation,
        contract_sha256=inputs.contract.digest(),
        task=Task(
            reader=inputs.reader_id,
            scope=tuple(sorted(inputs.asked.scope)),
            asked_at_ms=inputs.asked.at_ms,
            now_ms=inputs.asked.now_ms,
            facts=inputs.case.current(),
            language=inputs.language,
        ),
        plan=inputs.plan,
        sections=tuple(sections[claim.id] for claim in claims),
        unknowns=tuple(unknowns),
        conflicts=tuple(one for claim in claims for one in found.conflicts[claim.id]),
        excluded=telling(found.admission.excluded),
        notices=inputs.notices,
    )


def _section(inputs: Inputs, found: Findings, selection: Selection, claim: Claim) -> Section:
    chosen = set(selection.chosen)
    ways = [way for way in found.covers[claim.id].ways if way <= chosen]
    # Of the ways that stand in the selection anyway, the smallest is the claim's.
    way = min(ways, key=lambda one: (sum(found.units[name] for name in one), sorted(one)))
    conflicts = found.conflicts[claim.id]
    sides = {side for one in conflicts for side in one.sides}
    proving = {proof.item for proof in found.supports[claim.id].proofs}
    placed = [
        Placed(
            item=name,
            role="counter" if name in sides else "evidence" if name in proving else "condition",
        )
        for name in way
    ]
    rank = {"evidence": 0, "counter": 1, "condition": 2}
    compared: Literal["yes", "no", "open"] | None = None
    outcome = Outcome.CONFLICT if conflicts else Outcome.SUPPORTED
    if claim.compares:
        fact = inputs.case.fact(claim.compares)
        case = fact.value if fact is not None else None
        facts = [one.fact for one in found.supports[claim.id].proofs if one.item in way]
        bounds = [one for one in facts if isinstance(one.value, Money)]
        # Parts of a claim, or several subjects of one item, may be bounded differently.
        results = {applies(case, one) for one in bounds}
        compared = results.pop() if len(results) == 1 else "open"
        amounts = [one for one in (case, *(one.value for one in bounds)) if isinstance(one, Money)]
        doubtful = any(one.tax is Tax.UNKNOWN for one in amounts)
        if outcome is Outcome.SUPPORTED and (compared == "open" or doubtful):
            outcome = Outcome.CONDITIONAL
    return Section(
        claim=claim.id,
        outcome=outcome,
        items=tuple(sorted(placed, key=lambda one: (rank[one.role], one.item))),
        applies=compared,
    )


def _make_conditional(
    claims: tuple[Claim, ...], sections: dict[str, Section], waiting: set[str]
) -> None:
    """What stands on something open is conditional, along prerequisites."""
    open_ones = set(waiting)
    growing = True
    while growing:
        growing = False
        for claim in claims:
            section = sections[claim.id]
            leans = claim.id in open_ones or any(
                sections[need].outcome is not Outcome.SUPPORTED
                for need in claim.needs
                if need in sections
            )
            if leans and section.outcome is Outcome.SUPPORTED:
                sections[claim.id] = section.model_copy(update={"outcome": Outcome.CONDITIONAL})
                growing = True
