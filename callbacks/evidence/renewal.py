"""What a changed fact of a case makes anew, and what stays: nobody asks for the rest again."""

from collections.abc import Iterable
from dataclasses import dataclass

from callbacks.evidence.admission import Row
from callbacks.evidence.packet import EvidencePacket
from callbacks.evidence.plan import affected


@dataclass(frozen=True, slots=True)
class Renewal:
    """How a packet is made anew after fields of its case have changed.

    Attributes:
        rebuilt: Claims to build again, in the plan's order.
        kept: Claims whose evidence stays, in the plan's order.
        kinds: Kinds of claims to ask sources for.
        rows: Rows of the evidence that stays; admission judges them again as it judges all.
    """

    rebuilt: tuple[str, ...]
    kept: tuple[str, ...]
    kinds: frozenset[str]
    rows: tuple[Row, ...]


def renewal(packet: EvidencePacket, fields: Iterable[str]) -> Renewal:
    """Return what to ask for and what stays.

    Args:
        packet: The packet before the change.
        fields: The fields of the case that have changed.
    """
    claims = packet.spec.plan.claims
    rebuilt = affected(packet.spec.plan, fields)
    kept = tuple(claim.id for claim in claims if claim.id not in rebuilt)
    names = {
        placed.item
        for section in packet.spec.sections
        if section.claim in kept
        for placed in section.items
    }
    return Renewal(
        rebuilt=rebuilt,
        kept=kept,
        kinds=frozenset(claim.kind for claim in claims if claim.id in rebuilt),
        rows=tuple(packet.item(name).as_json() for name in sorted(names)),
    )
