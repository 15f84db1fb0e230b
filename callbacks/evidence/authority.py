"""Who decides what: for each kind of claim its sources in order, no global score of trust."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import model_validator

from callbacks.evidence.frozen import Frozen, Id
from callbacks.evidence.item import EvidenceItem, Fact
from callbacks.evidence.money import Money, Tax, compare
from callbacks.evidence.plan import Claim
from callbacks.evidence.trust import Use, allows


class AuthorityMatrix(Frozen):
    """Kinds of claims with the sources that decide them, the highest first.

    Sources of equal rank stand in one group.
    """

    rows: tuple[tuple[Id, tuple[tuple[Id, ...], ...]], ...]

    @model_validator(mode="after")
    def _once(self) -> Self:
        kinds = [kind for kind, _ in self.rows]
        if len(set(kinds)) != len(kinds):
            raise ValueError("A kind of claim stands once in the matrix.")
        return self

    def rank(self, claim_kind: str, source: str) -> int | None:
        """Return a source's rank for a kind of claim, 0 the highest; None outside its duty."""
        for kind, groups in self.rows:
            if kind == claim_kind:
                return next((at for at, group in enumerate(groups) if source in group), None)
        return None


@dataclass(frozen=True, slots=True)
class Proof:
    """One fact of one item that may prove a claim.

    Attributes:
        item: Id of the item.
        fact: What it asserts.
        rank: Rank of the item's source for the claim.
        roots: The documents it goes back to.
    """

    item: str
    fact: Fact
    rank: int
    roots: frozenset[str]


@dataclass(frozen=True, slots=True)
class Support:
    """What speaks to one claim.

    Attributes:
        claim: The claim.
        proofs: Facts of the highest rank there is, by part.
        leads: Items outside their duty: a reason to ask, never a proof.
        background: Items of lower rank, or observations that a newer one replaces.
    """

    claim: Claim
    proofs: tuple[Proof, ...]
    leads: tuple[str, ...]
    background: tuple[str, ...]


def support(
    claim: Claim,
    items: Mapping[str, EvidenceItem],
    matrix: AuthorityMatrix,
    *,
    now_ms: int,
    offered: tuple[str, ...] | None = None,
) -> Support:
    """Find what may prove a claim.

    Args:
        claim: The claim.
        items: Admitted items by id.
        matrix: Who decides what.
        now_ms: The present, in milliseconds UTC; freshness is judged by it.
        offered: Ids to look at; None looks at all of them. An index saves time, nothing else.
    """
    proofs: list[Proof] = []
    leads: list[str] = []
    use = Use.QUOTE if claim.quotes else Use.PROVE
    for item_id in sorted(items) if offered is None else offered:
        item = items[item_id]
        if item.kind not in claim.accepts or not _fresh(item, claim, now_ms):
            continue
        if not set(dict(claim.scope)) <= set(dict(item.scope)) and claim.scope:
            continue
        facts = [fact for fact in item.facts if fact.claim == claim.kind and _about(fact, claim)]
        if not facts:
            continue
        rank = matrix.rank(claim.kind, item.source)
        if rank is None or not allows(item.trust, use):
            leads.append(item_id)
            continue
        roots = roots_of(item, items)
        proofs.extend(Proof(item_id, fact, rank, roots) for fact in facts)
    kept, background = _best(proofs, items)
    return Support(claim, kept, tuple(leads), background)


def roots_of(item: EvidenceItem, items: Mapping[str, EvidenceItem]) -> frozenset[str]:
    """Return the documents an item goes back to, through everything it was derived from.

    A policy, its summary and an answer derived from it go back to one document: one lineage. What
    it was derived from and is not here (not admitted, denied) is a root by its name, so that two
    answers made of it are no two witnesses.
    """
    found: set[str] = set()
    seen: set[str] = set()
    waiting = [item]
    while waiting:
        current = waiting.pop()
        if current.id in seen:
            continue
        seen.add(current.id)
        known = [items[at] for at in current.lineage.derived_from if at in items]
        missing = [at for at in current.lineage.derived_from if at not in items]
        if missing or not known:
            found.update((current.lineage.document, *missing))
        waiting.extend(known)
    return frozenset(found)


def agrees(one: Fact, other: Fact) -> bool:
    """Say whether two facts about the same thing say the same."""
    if (one.comparator, one.polarity, one.exceptions) != (
        other.comparator,
        other.polarity,
        other.exceptions,
    ):
        return False
    if isinstance(one.value, Money) and isinstance(other.value, Money):
        first, second = one.value, other.value
        return (first.low, first.high, first.currency) == (
            second.low,
            second.high,
            second.currency,
        ) and {first.tax, second.tax} != {Tax.INCLUDED, Tax.EXCLUDED}
    return one.value == other.value


def applies(amount: object, fact: Fact) -> Literal["yes", "no", "open"]:
    """Say whether a case's amount is what a fact's value bounds; open where that is not known.

    Args:
        amount: The case's value; anything but money is not compared.
        fact: The fact.
    """
    if not isinstance(amount, Money) or not isinstance(fact.value, Money):
        return "open"
    sign = compare(amount, fact.value)
    if sign is None:
        return "open"
    holds = {
        "eq": sign == 0, "gt": sign > 0, "ge": sign >= 0, "lt": sign < 0, "le": sign <= 0,
    }[fact.comparator.value]  # fmt: skip
    return "yes" if holds else "no"


def _about(fact: Fact, claim: Claim) -> bool:
    if claim.subject is not None and fact.subject != claim.subject:
        return False
    return not claim.parts or fact.predicate in claim.parts


def _fresh(item: EvidenceItem, claim: Claim, now_ms: int) -> bool:
    if claim.freshness_ms is None:
        return True
    return item.as_of_ms is not None and now_ms < item.as_of_ms + claim.freshness_ms


def _best(
    proofs: list[Proof], items: Mapping[str, EvidenceItem]
) -> tuple[tuple[Proof, ...], tuple[str, ...]]:
    """Keep the highest rank for a subject and predicate, and the newest of one observed thing."""
    best: dict[tuple[str, str], int] = {}
    newest: dict[tuple[str, str, str, str], int] = {}
    for proof in proofs:
        about = (proof.fact.subject, proof.fact.predicate)
        best[about] = min(best.get(about, proof.rank), proof.rank)
        as_of = items[proof.item].as_of_ms
        if as_of is not None:
            thing = (items[proof.item].source, items[proof.item].entity, *about)
            newest[thing] = max(newest.get(thing, as_of), as_of)
    kept: list[Proof] = []
    for proof in proofs:
        item = items[proof.item]
        about = (proof.fact.subject, proof.fact.predicate)
        thing = (item.source, item.entity, *about)
        if proof.rank == best[about] and (item.as_of_ms is None or item.as_of_ms == newest[thing]):
            kept.append(proof)
    proving = {proof.item for proof in kept}
    background = tuple(sorted({proof.item for proof in proofs} - proving))
    return tuple(kept), background
