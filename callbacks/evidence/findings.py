"""What is known before anything is chosen: what counts, what it proves, how it covers claims."""

from collections.abc import Callable
from dataclasses import dataclass, field

from callbacks.evidence.admission import Admission, admit
from callbacks.evidence.arrangement import item_lines
from callbacks.evidence.authority import Support, support
from callbacks.evidence.conflict import Conflict, find_conflicts, resolve
from callbacks.evidence.contract import Outcome
from callbacks.evidence.cover import Cover, cover
from callbacks.evidence.errors import EvidenceInsufficient
from callbacks.evidence.inputs import Inputs
from callbacks.evidence.item import EvidenceItem
from callbacks.evidence.reduction import reduce_items

Estimate = Callable[[str], int]
"""Says how large a text is, at once and without I/O, in the counter's unit."""


@dataclass(slots=True)
class Findings:
    """What is known before selection.

    Attributes:
        admission: What counts and what does not.
        items: What may be chosen, by id, as small as it may be.
        units: Size of each.
        reduced: Why an admitted item stands in another form, or not at all: reason by id.
        supports: What speaks to each claim.
        conflicts: What contradicts.
        covers: The ways to cover each claim.
    """

    admission: Admission
    items: dict[str, EvidenceItem]
    units: dict[str, int]
    reduced: dict[str, str] = field(default_factory=dict)
    supports: dict[str, Support] = field(default_factory=dict)
    conflicts: dict[str, tuple[Conflict, ...]] = field(default_factory=dict)
    covers: dict[str, Cover] = field(default_factory=dict)


def find(inputs: Inputs, estimate: Estimate) -> Findings:
    """Judge, shorten and weigh what there is.

    Args:
        inputs: Everything a packet is made from.
        estimate: Estimates the size of an item's text.

    Raises:
        EvidenceError: A row is no item, or two items share an id.
    """
    admission = admit(
        inputs.rows,
        reader=inputs.reader,
        asked=inputs.asked,
        plan=inputs.plan,
        fallen=inputs.fallen,
    )
    reduction = reduce_items(
        admission.items, inputs.plan, tables=inputs.tables, vocabulary=inputs.vocabulary
    )
    items = {item.id: item for item in reduction.items}
    units = {
        key: max(1, estimate("\n".join(item_lines(item, "condition"))))
        for key, item in items.items()
    }
    found = Findings(admission, items, units, dict(reduction.reasons))
    duties = {duty.of: duty for duty in inputs.duties}
    index: dict[str, list[str]] = {}
    for key, item in items.items():
        for kind in {fact.claim for fact in item.facts}:
            index.setdefault(kind, []).append(key)
    for claim in inputs.plan.claims:
        offered = tuple(index.get(claim.kind, ()))
        speaks = support(claim, items, inputs.matrix, now_ms=inputs.asked.now_ms, offered=offered)
        conflicts = find_conflicts(
            speaks, items, units, duties=duties, due_ms=inputs.conflict_due_ms
        )
        speaks, conflicts = resolve(speaks, conflicts, inputs.resolutions, dict(inputs.asked.scope))
        found.supports[claim.id] = speaks
        found.conflicts[claim.id] = conflicts
        found.covers[claim.id] = cover(speaks, conflicts, items, units, bound=inputs.chain)
    return found


def refuse_unproven(inputs: Inputs, found: Findings) -> None:
    """Stop where a claim that may not stay open has no evidence at all.

    Raises:
        EvidenceInsufficient: With the number of such claims.
    """
    missing = [
        claim.id
        for claim in inputs.plan.claims
        if claim.required
        and not found.covers[claim.id].ways
        and not {Outcome.UNKNOWN, Outcome.UNAVAILABLE} & set(claim.outcomes)
    ]
    if missing:
        raise EvidenceInsufficient(
            numbers={"uncovered": len(missing), "proven": 1, "reason": "no_evidence"}
        )
