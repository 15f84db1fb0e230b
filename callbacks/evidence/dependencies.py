"""Follows approved links from an item to what it cannot be read without.

A chain is taken whole or not at all: a threshold without the definition it stands on misleads more
than no threshold.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from callbacks.evidence.frozen import Frozen, Id
from callbacks.evidence.item import EvidenceItem

MAX_CHAIN = 12
"""Most items a chain may have, the first one included."""


class Hop(Frozen):
    """One link that was followed.

    Attributes:
        claim: The claim for which.
        source: From which item.
        relation: Along which relation.
        target: To which item.
        version: Version of the target.
        units: What the target adds, in the counter's unit; 0 where it is in the chain already.
        cycle: Whether the target leads back to an item on the way to it.
    """

    claim: Id
    source: Id
    relation: Id
    target: Id
    version: str
    units: int
    cycle: bool


@dataclass(frozen=True, slots=True)
class Chain:
    """An item with everything it needs.

    Attributes:
        items: Ids, the first item first, each once.
        hops: The links that were followed, in order.
        whole: Whether nothing is missing; what is not whole is not taken.
        reason: Why it is not whole: ``target_not_admitted`` or ``chain_too_long``.
    """

    items: tuple[str, ...]
    hops: tuple[Hop, ...]
    whole: bool
    reason: str = ""


def chain(
    start: str,
    *,
    claim_id: str,
    claim_kind: str,
    items: Mapping[str, EvidenceItem],
    units: Mapping[str, int],
    bound: int = MAX_CHAIN,
) -> Chain:
    """Follow the links of an item that matter for a kind of claim.

    Args:
        start: Id of the item.
        claim_id: The claim for which, for the record.
        claim_kind: Its kind: links meant for other kinds are not followed.
        items: Admitted items by id.
        units: Size of each item, in the counter's unit.
        bound: Most items the chain may have.
    """
    found: list[str] = [start]
    hops: list[Hop] = []
    # Breadth first, each with the path to it, so that a cycle is told from a shared target.
    waiting: list[tuple[str, tuple[str, ...]]] = [(start, (start,))]
    while waiting:
        current, path = waiting.pop(0)
        for link in items[current].links:
            if link.claims and claim_kind not in link.claims:
                continue
            target = items.get(link.target)
            if target is None:
                return Chain(tuple(found), tuple(hops), whole=False, reason="target_not_admitted")
            new = link.target not in found
            hops.append(
                Hop(
                    claim=claim_id,
                    source=current,
                    relation=link.relation,
                    target=link.target,
                    version=target.version,
                    units=units[link.target] if new else 0,
                    cycle=link.target in path,
                )
            )
            if not new:
                continue
            if len(found) == bound:
                return Chain(tuple(found), tuple(hops), whole=False, reason="chain_too_long")
            found.append(link.target)
            waiting.append((link.target, (*path, link.target)))
    return Chain(tuple(found), tuple(hops), whole=True)
