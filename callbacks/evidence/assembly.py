"""From a plan and candidates to a packet: admit, support, cover, select, arrange, measure.

Measuring is handed in. With a counter that must be awaited, `drafts` gives each draft away and
takes its sizes back; over a limit it goes back to selection, never to anybody's truncation.
"""

from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass

from callbacks.evidence.ancestry import lineage_of
from callbacks.evidence.arrangement import build, channel_texts, item_lines, parts
from callbacks.evidence.contract import CHANNELS
from callbacks.evidence.dependencies import Hop
from callbacks.evidence.errors import EvidenceInsufficient
from callbacks.evidence.findings import Estimate, Findings, find, refuse_unproven
from callbacks.evidence.inputs import Inputs
from callbacks.evidence.item import EvidenceItem
from callbacks.evidence.packet import EvidencePacket
from callbacks.evidence.selection import Candidate, Need, Problem, Selection, select
from callbacks.evidence.specification import specify

Sizes = Mapping[str, int]
"""Measured size of each channel's text, by channel."""

MAX_ROUNDS = 8
"""How often a packet that measured too large goes back to selection."""


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
        lineage: What each item of the packet was made from, and what that was, by id.
        lineage: What the packet's items, and what they go back to, were made from, by id.
    """

    packet: EvidencePacket
    selection: Selection
    sizes: tuple[tuple[str, int], ...]
    rounds: int
    reasons: tuple[tuple[str, str], ...]
    hops: tuple[Hop, ...]
    cuts: tuple[str, ...]
    excluded: tuple[tuple[str, str], ...]
    lineage: Mapping[str, tuple[str, ...]]

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
    found = find(inputs, estimate)
    refuse_unproven(inputs, found)
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
        spec = specify(inputs, found, selection)
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


def _learn(found: Findings, names: list[str], measured: int) -> None:
    """Raise estimates that were too low, so that the same choice does not fit a second time.

    What a channel really measured is shared among its items by the bytes of their texts.
    """
    lengths = {name: len("\n".join(item_lines(found.items[name], "")).encode()) for name in names}
    for name in names:
        share = -(-lengths[name] * measured // sum(lengths.values()))
        found.units[name] = max(found.units[name], share)


def _select(inputs: Inputs, found: Findings, caps: Mapping[str, int]) -> Selection:
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
    return select(Problem(candidates, needs, limits, inputs.total), inputs.nodes)


def _risk(item: EvidenceItem, now_ms: int) -> int:
    """Return how stale an observation is, in thousandths of its time to live."""
    if item.as_of_ms is None or item.ttl_ms is None:
        return 0
    return max(0, (now_ms - item.as_of_ms) * 1000 // item.ttl_ms)


def _assembly(
    inputs: Inputs,
    found: Findings,
    selection: Selection,
    packet: EvidencePacket,
    *,
    sizes: Sizes,
    rounds: int,
) -> Assembly:
    made = {item.id: item.lineage.derived_from for item in packet.items}
    inside = made.keys()
    reasons: dict[str, str] = {}
    for name in found.items:
        if name not in inside:
            reasons[name] = "not_needed"
    reasons.update(found.reduced)
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
        lineage=lineage_of(inside, {**found.admission.lineage, **made}),
    )
