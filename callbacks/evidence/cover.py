"""Turns claims and what speaks to them into ways to cover each: bundles for the search."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, product

from callbacks.evidence.authority import Proof, Support, agrees
from callbacks.evidence.conflict import Conflict
from callbacks.evidence.dependencies import MAX_CHAIN, Chain, Hop, chain
from callbacks.evidence.item import EvidenceItem

MAX_WAYS = 2_000
"""Most ways one claim is expanded into; beyond it the cheapest are kept and that is recorded."""


@dataclass(frozen=True, slots=True)
class Cover:
    """The ways to cover a claim.

    Attributes:
        claim: Id of the claim.
        ways: Each way as ids of items that must all be there, conditions and exceptions included.
        hops: Links followed on the way.
        broken: Items not offered because their chain is not whole, with the reason.
        cut: Whether there were more ways than are expanded.
    """

    claim: str
    ways: tuple[frozenset[str], ...]
    hops: tuple[Hop, ...]
    broken: tuple[tuple[str, str], ...]
    cut: bool = False


def cover(
    found: Support,
    conflicts: tuple[Conflict, ...],
    items: Mapping[str, EvidenceItem],
    units: Mapping[str, int],
    *,
    bound: int = MAX_CHAIN,
) -> Cover:
    """Return the ways to cover a claim.

    A contradiction is covered by both sides together, never by one of them.

    Args:
        found: What speaks to the claim.
        conflicts: Its open conflicts.
        items: Admitted items by id.
        units: Size of each item.
        bound: Most items a chain may have.
    """
    claim = found.claim
    chains: dict[str, Chain] = {}
    for item_id in sorted({proof.item for proof in found.proofs}):
        chains[item_id] = chain(
            item_id, claim_id=claim.id, claim_kind=claim.kind, items=items, units=units, bound=bound
        )
    whole = [proof for proof in found.proofs if chains[proof.item].whole]
    sides = {(one.subject, one.predicate): frozenset(one.sides) for one in conflicts}
    cut = False
    per_part: list[list[frozenset[str]]] = []
    for part in claim.parts or (None,):
        proofs = [one for one in whole if part is None or one.fact.predicate == part]
        ways = _ways(proofs, sides, claim.lineages, chains)
        per_part.append(ways)
    size = 1
    for ways in per_part:
        size *= len(ways)
    if size > MAX_WAYS:
        cut = True
        keep = max(1, int(MAX_WAYS ** (1 / len(per_part))))
        per_part = [
            sorted(ways, key=lambda way: (sum(units[one] for one in way), sorted(way)))[:keep]
            for ways in per_part
        ]
    together = {
        frozenset[str]().union(*(frozenset(chains[one].items) for way in choice for one in way))
        for choice in product(*per_part)
    }
    return Cover(
        claim=claim.id,
        ways=tuple(sorted(together, key=sorted)),
        hops=tuple(hop for item_id in chains for hop in chains[item_id].hops),
        broken=tuple((item_id, one.reason) for item_id, one in chains.items() if not one.whole),
        cut=cut,
    )


def _ways(
    proofs: list[Proof],
    sides: Mapping[tuple[str, str], frozenset[str]],
    lineages: int,
    chains: Mapping[str, Chain],
) -> list[frozenset[str]]:
    ways: set[frozenset[str]] = set()
    for about, both in sides.items():
        if any((one.fact.subject, one.fact.predicate) == about for one in proofs) and all(
            one in chains and chains[one].whole for one in both
        ):
            ways.add(both)
    if ways:
        # Where something contradicts, nothing else about the part would be the whole truth.
        return [frozenset[str]().union(*ways)]
    settled = [one for one in proofs if (one.fact.subject, one.fact.predicate) not in sides]
    for group in combinations(settled, lineages):
        first = group[0]
        same = all(
            agrees(first.fact, one.fact)
            and (one.fact.subject, one.fact.predicate) == (first.fact.subject, first.fact.predicate)
            for one in group
        )
        roots = [root for one in group for root in one.roots]
        if same and len(set(roots)) == len(roots):
            ways.add(frozenset(one.item for one in group))
    return sorted(ways, key=sorted)
