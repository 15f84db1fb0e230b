"""From a plan and candidates to a packet: admit, support, cover, select, arrange, measure.

Measuring is handed in. With a counter that must be awaited, `drafts` gives each draft away and
takes its sizes back; over a limit it goes back to selection, never to anybody's truncation.
"""

from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from callbacks.evidence.admission import Admission, Asked, Reader, Row, admit, telling
from callbacks.evidence.arrangement import build, channel_texts, item_lines, parts
from callbacks.evidence.authority import AuthorityMatrix, Support, support
from callbacks.evidence.case import CaseState
from callbacks.evidence.conflict import (
    Conflict,
    Duty,
    Lookup,
    Resolution,
    Unknown,
    find_conflicts,
    resolve,
    unknown_fields,
    unknown_of,
)
from callbacks.evidence.contract import CHANNELS, Outcome, TaskContract
from callbacks.evidence.cover import Cover, cover
from callbacks.evidence.dependencies import MAX_CHAIN, Hop
from callbacks.evidence.errors import EvidenceInsufficient
from callbacks.evidence.item import EvidenceItem
from callbacks.evidence.money import Money, compare
from callbacks.evidence.packet import EvidencePacket, PacketSpec, Placed, Section, Task
from callbacks.evidence.plan import Claim, ClaimPlan
from callbacks.evidence.selection import (
    DEFAULT_NODES,
    Candidate,
    Need,
    Problem,
    Selection,
    select,
)

Estimate = Callable[[str], int]
"""Says how large a text is, at once and without I/O, in the counter's unit."""

Sizes = Mapping[str, int]
"""Measured size of each channel's text, by channel."""

MAX_ROUNDS = 8
"""How often a packet that measured too large goes back to selection."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything a packet is made from.

    Attributes:
        generation: Id of the generation.
        contract: The contract.
        approved_sha256: Hash of the contract that was approved.
        plan: The claims.
        rows: Candidates as plain data.
        reader: Who asks, with every verified name.
        reader_id: Who asks, by an id for the packet.
        asked: What is asked and of which time.
        matrix: Who decides what.
        case: The case.
        duties: Who answers for which kind of claim or field.
        lookups: What became of asking for kinds of claims.
        resolutions: Owners' decisions about conflicts.
        fallen: Ids of items whose life has ended.
        conflict_due_ms: By when owners are to decide conflicts.
        language: In which language the answer is rendered.
        nodes: How many nodes selection may search.
        chain: Most items a chain of dependencies may have.
    """

    generation: str
    contract: TaskContract
    approved_sha256: str
    plan: ClaimPlan
    rows: Iterable[Row]
    reader: Reader
    reader_id: str
    asked: Asked
    matrix: AuthorityMatrix
    case: CaseState
    duties: tuple[Duty, ...] = ()
    lookups: tuple[Lookup, ...] = ()
    resolutions: tuple[Resolution, ...] = ()
    fallen: tuple[str, ...] = ()
    conflict_due_ms: int | None = None
    language: Literal["zh-Hant", "en"] = "zh-Hant"
    nodes: int = DEFAULT_NODES
    chain: int = MAX_CHAIN


@dataclass(frozen=True, slots=True)
class Assembly:
    """A packet and how it came about.

    Attributes:
        packet: The packet.
        selection: What was chosen, by which method, how sure.
        sizes: Measured size of each channel.
        rounds: How often selection ran.
        reasons: Why an admitted item is not in the packet: pairs of id and reason, by id.
        hops: Links followed for what was chosen.
        cuts: Claims whose ways were too many to expand.
        excluded: What was not admitted: pairs of id and reason; the packet names some of it.
    """

    packet: EvidencePacket
    selection: Selection
    sizes: tuple[tuple[str, int], ...]
    rounds: int
    reasons: tuple[tuple[str, str], ...]
    hops: tuple[Hop, ...]
    cuts: tuple[str, ...]
    excluded: tuple[tuple[str, str], ...]

    @property
    def units(self) -> int:
        """Size of the whole packet, the sum of its channels."""
        return sum(size for _, size in self.sizes)


@dataclass(frozen=True, slots=True)
class Draft:
    """A packet that waits to be measured.

    Attributes:
        packet: The packet.
        texts: The serialized text of each channel.
    """

    packet: EvidencePacket
    texts: Mapping[str, str]


def assemble(inputs: Inputs, *, measure: Estimate, estimate: Estimate | None = None) -> Assembly:
    """Make a packet with a counter that answers at once.

    Args:
        inputs: Everything it is made from.
        measure: Measures a channel's text.
        estimate: Estimates an item's text; ``measure`` where it is not given.

    Raises:
        ContractMismatch: The contract is not the approved one.
        EvidenceInsufficient: A claim that may not stay open has no evidence, or the evidence does
            not fit.
        EvidenceError: A row or the plan is not usable.
    """
    steps = drafts(inputs, estimate or measure)
    draft = next(steps)
    while True:
        try:
            draft = steps.send({name: measure(text) for name, text in draft.texts.items()})
        except StopIteration as done:
            return _done(done)


async def assemble_async(
    inputs: Inputs, *, measure: Callable[[str], Awaitable[int]], estimate: Estimate
) -> Assembly:
    """Make a packet with a counter that must be awaited; see ``assemble``."""
    steps = drafts(inputs, estimate)
    draft = next(steps)
    while True:
        sizes = {name: await measure(text) for name, text in draft.texts.items()}
        try:
            draft = steps.send(sizes)
        except StopIteration as done:
            return _done(done)


def _done(done: StopIteration) -> Assembly:
    result: Assembly = done.value
    return result


@dataclass(slots=True)
class _Found:
    """What is known before selection."""

    admission: Admission
    items: dict[str, EvidenceItem]
    units: dict[str, int]
    supports: dict[str, Support] = field(default_factory=dict)
    conflicts: dict[str, tuple[Conflict, ...]] = field(default_factory=dict)
    covers: dict[str, Cover] = field(default_factory=dict)


def drafts(inputs: Inputs, estimate: Estimate) -> Generator[Draft, Sizes, Assembly]:
    """Yield drafts to be measured; send the sizes of their channels back.

    Args:
        inputs: Everything a packet is made from.
        estimate: Estimates the size of an item's text.

    Returns:
        The assembly, when a draft measured within every limit.

    Raises:
        ContractMismatch: The contract is not the approved one.
        EvidenceInsufficient: See ``assemble``.
    """
    inputs.contract.require(inputs.approved_sha256)
    inputs.case.check()
    found = _find(inputs, estimate)
    _refuse_unproven(inputs, found)
    contract = inputs.contract
    caps: dict[str, int] = {name: contract.limit(name) for name in CHANNELS}
    for round_ in range(1, MAX_ROUNDS + 1):
        selection = _select(inputs, found, caps)
        if selection.uncovered:
            raise EvidenceInsufficient(
                "The evidence does not fit the budget; narrow the question or answer in stages."
                if selection.proven
                else "No set within the budget was found; narrow the question.",
                numbers={
                    "uncovered": len(selection.uncovered),
                    "proven": int(selection.proven),
                    "reason": "over_budget",
                    "limit": contract.input_limit,
                },
            )
        spec = _spec(inputs, found, selection)
        packet = build(contract, spec, found.items)
        sizes = yield Draft(packet, channel_texts(parts(contract, spec, found.items)))
        over = {name: size - contract.limit(name) for name, size in sizes.items()}
        too_large = [name for name in CHANNELS if over.get(name, 0) > 0]
        if not too_large:
            return _assembly(inputs, found, selection, packet, sizes=sizes, rounds=round_)
        for name in too_large:
            if name in {"contract", "task", "plan", "output"}:
                # Nothing here can be left out: it decides what the answer may be.
                raise EvidenceInsufficient(
                    "What must stand in every packet is over its limit.",
                    numbers={"channel": name, "units": sizes[name], "limit": contract.limit(name)},
                )
            names = [item.id for item in packet.items if contract.route(item.kind) == name]
            _learn(found, names, sizes[name])
    raise EvidenceInsufficient(
        "The evidence did not fit the budget in the rounds there are.",
        numbers={"rounds": MAX_ROUNDS, "reason": "over_budget"},
    )


def _learn(found: _Found, names: list[str], measured: int) -> None:
    """Raise estimates that were too low, so that the same choice does not fit a second time.

    What a channel really measured is shared among its items by the bytes of their texts.
    """
    lengths = {name: len("\n".join(item_lines(found.items[name], "")).encode()) for name in names}
    for name in names:
        share = -(-lengths[name] * measured // sum(lengths.values()))
        found.units[name] = max(found.units[name], share)


def _find(inputs: Inputs, estimate: Estimate) -> _Found:
    admission = admit(
        inputs.rows,
        reader=inputs.reader,
        asked=inputs.asked,
        plan=inputs.plan,
        fallen=inputs.fallen,
    )
    items = {item.id: item for item in admission.items}
    units = {
        key: max(1, estimate("\n".join(item_lines(item, "condition"))))
        for key, item in items.items()
    }
    found = _Found(admission, items, units)
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


def _refuse_unproven(inputs: Inputs, found: _Found) -> None:
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


def _select(inputs: Inputs, found: _Found, caps: Mapping[str, int]) -> Selection:
    names = sorted({one for cover_ in found.covers.values() for way in cover_.ways for one in way})
    place = {name: at for at, name in enumerate(names)}
    candidates = tuple(
        Candidate(
            name,
            found.units[name],
            _risk(found.items[name], inputs.asked.now_ms),
            inputs.contract.route(found.items[name].kind),
        )
        for name in names
    )
    needs = tuple(
        Need(
            claim.id,
            tuple(frozenset(place[one] for one in way) for way in found.covers[claim.id].ways),
            claim.required,
        )
        for claim in inputs.plan.claims
        if found.covers[claim.id].ways
    )
    limits = tuple((name, max(0, caps[name])) for name in CHANNELS)
    return select(Problem(candidates, needs, limits), inputs.nodes)


def _risk(item: EvidenceItem, now_ms: int) -> int:
    """Return how stale an observation is, in thousandths of its time to live."""
    if item.as_of_ms is None or item.ttl_ms is None:
        return 0
    return max(0, (now_ms - item.as_of_ms) * 1000 // item.ttl_ms)


def _spec(inputs: Inputs, found: _Found, selection: Selection) -> PacketSpec:
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
    )


def _section(inputs: Inputs, found: _Found, selection: Selection, claim: Claim) -> Section:
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
    applies: Literal["yes", "no", "open"] | None = None
    outcome = Outcome.CONFLICT if conflicts else Outcome.SUPPORTED
    if claim.compares:
        applies = _applies(inputs.case, claim, found.supports[claim.id], way)
        fact = inputs.case.fact(claim.compares)
        doubtful = (
            fact is not None and fact.value.kind == "money" and fact.value.tax.value == "unknown"
        )
        if outcome is Outcome.SUPPORTED and (applies == "open" or doubtful):
            outcome = Outcome.CONDITIONAL
    return Section(
        claim=claim.id,
        outcome=outcome,
        items=tuple(sorted(placed, key=lambda one: (rank[one.role], one.item))),
        applies=applies,
    )


def _applies(
    case: CaseState, claim: Claim, speaks: Support, way: frozenset[str]
) -> Literal["yes", "no", "open"]:
    fact = case.fact(claim.compares or "")
    proof = next((one for one in speaks.proofs if one.item in way), None)
    if fact is None or proof is None:
        return "open"
    if not isinstance(fact.value, Money) or not isinstance(proof.fact.value, Money):
        return "open"
    sign = compare(fact.value, proof.fact.value)
    if sign is None:
        return "open"
    holds = {
        "eq": sign == 0, "gt": sign > 0, "ge": sign >= 0, "lt": sign < 0, "le": sign <= 0,
    }[proof.fact.comparator.value]  # fmt: skip
    return "yes" if holds else "no"


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


def _assembly(
    inputs: Inputs,
    found: _Found,
    selection: Selection,
    packet: EvidencePacket,
    *,
    sizes: Sizes,
    rounds: int,
) -> Assembly:
    inside = {item.id for item in packet.items}
    reasons: dict[str, str] = {}
    for name in found.items:
        if name not in inside:
            reasons[name] = "not_needed"
    for speaks in found.supports.values():
        for name in speaks.leads:
            reasons[name] = "outside_its_duty" if name not in inside else ""
        for name in speaks.background:
            reasons[name] = "lower_rank_or_older" if name not in inside else ""
    for cover_ in found.covers.values():
        for name, reason in cover_.broken:
            reasons[name] = reason if name not in inside else ""
    return Assembly(
        packet=packet,
        selection=selection,
        sizes=tuple((name, sizes[name]) for name in CHANNELS),
        rounds=rounds,
        reasons=tuple(sorted((name, why) for name, why in reasons.items() if why)),
        hops=tuple(
            hop
            for claim in inputs.plan.claims
            for hop in found.covers[claim.id].hops
            if hop.source in inside
        ),
        cuts=tuple(cover_.claim for cover_ in found.covers.values() if cover_.cut),
        excluded=found.admission.excluded,
    )
