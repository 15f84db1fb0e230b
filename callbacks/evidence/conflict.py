"""What contradicts and what is not known: both take room in a packet, in plain sight."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from callbacks.evidence.authority import Proof, Support, agrees
from callbacks.evidence.canonical import digest
from callbacks.evidence.frozen import Frozen, Id, Scope, covers
from callbacks.evidence.item import EvidenceItem
from callbacks.evidence.plan import Claim
from callbacks.evidence.trust import Use, allows
from callbacks.evidence.value import Label


class Conflict(Frozen):
    """Two or more sources of one rank that say different things about the same.

    Attributes:
        id: Name made from what contradicts, so that a decision can speak of it.
        claim: The claim.
        subject: About what.
        predicate: What is said about it.
        sides: Ids of items, one for each thing that is said, the shortest original each.
        rank: The rank the sides share.
        rule: How it was found.
        owner: Who is to decide.
        due_ms: By when, in milliseconds UTC; None where nobody set a time.
    """

    id: Id
    claim: Id
    subject: Id
    predicate: Id
    sides: tuple[Id, ...]
    rank: Annotated[int, Field(ge=0)]
    rule: Literal["same_rank_different_value"] = "same_rank_different_value"
    owner: Label
    due_ms: int | None = None


class Resolution(Frozen):
    """An owner's decision about a conflict, with the scope in which it decides.

    Attributes:
        conflict: Id of the conflict.
        prefers: Id of the item that stands.
        scope: Where the decision holds; elsewhere the conflict stays open.
    """

    conflict: Id
    prefers: Id
    scope: Scope = ()


class Duty(Frozen):
    """Who answers for a kind of claim or a field of the case.

    Attributes:
        of: The kind or the field.
        owner: Who can decide or supply it.
        supplies: What they can supply.
        retry_ms: How long to wait before asking again; None where waiting does not help.
    """

    of: Id
    owner: Label
    supplies: Label
    retry_ms: Annotated[int, Field(gt=0)] | None = None


class Unknown(Frozen):
    """Something that is not known, who can say it and when to ask again.

    Attributes:
        id: The claim's kind or the field of the case.
        claims: Claims that it leaves open, sorted.
        why: Why it is not known. ``absent`` alone proves that there is none.
        owner: Who can supply it.
        supplies: What they can supply.
        retry_at_ms: When to ask again, in milliseconds UTC; None where waiting does not help.
    """

    id: Id
    claims: tuple[Id, ...]
    why: Literal[
        "not_stated", "not_found", "absent", "unavailable", "partial", "not_available_to_you"
    ]
    owner: Label
    supplies: Label
    retry_at_ms: int | None = None


class Lookup(Frozen):
    """What became of asking a source for a kind of claim.

    Attributes:
        claim: The kind of claim.
        state: ``answered``, ``unavailable``, ``partial`` or ``denied``.
        complete: Whether the query looked at everything there is; only then does an empty
            answer prove that there is nothing.
    """

    claim: Id
    state: Literal["answered", "unavailable", "partial", "denied"] = "answered"
    complete: bool = False


def find_conflicts(
    found: Support,
    items: Mapping[str, EvidenceItem],
    units: Mapping[str, int],
    *,
    duties: Mapping[str, Duty],
    due_ms: int | None = None,
) -> tuple[Conflict, ...]:
    """Find what contradicts among the proofs of one claim.

    All of them hold where and when is asked (admission saw to that) and share the highest rank, so
    different values for one subject and predicate contradict.

    Args:
        found: The proofs.
        items: Admitted items by id.
        units: Size of each item.
        duties: Who answers for what.
        due_ms: By when the owner is to decide.
    """
    groups: dict[tuple[str, str], list[Proof]] = {}
    for proof in found.proofs:
        groups.setdefault((proof.fact.subject, proof.fact.predicate), []).append(proof)
    conflicts = []
    for (subject, predicate), proofs in sorted(groups.items()):
        sides: list[Proof] = []
        for proof in sorted(proofs, key=lambda one: (units[one.item], one.item)):
            # Sorted by size, so each thing that is said is held by its shortest original.
            if not any(agrees(proof.fact, side.fact) for side in sides):
                sides.append(proof)
        if len(sides) < 2:
            continue
        names = tuple(sorted({side.item for side in sides}))
        duty = duties.get(found.claim.kind)
        conflicts.append(
            Conflict(
                id="conflict-" + digest([found.claim.id, subject, predicate, names])[:16],
                claim=found.claim.id,
                subject=subject,
                predicate=predicate,
                sides=names,
                rank=sides[0].rank,
                owner=duty.owner if duty else _owner(names, items),
                due_ms=due_ms,
            )
        )
    return tuple(conflicts)


def _owner(sides: tuple[str, ...], items: Mapping[str, EvidenceItem]) -> str:
    """Return who answers for the sides; what a stranger's text says of itself names nobody."""
    vouched = (items[one].owner for one in sides if allows(items[one].trust, Use.PROVE))
    return next(vouched, "unknown")


def resolve(
    found: Support,
    conflicts: tuple[Conflict, ...],
    resolutions: tuple[Resolution, ...],
    scope: Mapping[str, str],
) -> tuple[Support, tuple[Conflict, ...]]:
    """Apply decisions that hold here: the preferred side stays, the conflict goes.

    Args:
        found: The proofs of the claim.
        conflicts: Its conflicts.
        resolutions: Decisions; one whose scope is elsewhere closes nothing here.
        scope: The task's value in each dimension.
    """
    decided = {one.conflict: one.prefers for one in resolutions if covers(one.scope, dict(scope))}
    proofs, open_ones = found.proofs, []
    for conflict in conflicts:
        prefers = decided.get(conflict.id)
        if prefers not in conflict.sides:
            open_ones.append(conflict)
            continue
        standing = next(
            one.fact
            for one in proofs
            if one.item == prefers
            and (one.fact.subject, one.fact.predicate) == (conflict.subject, conflict.predicate)
        )
        proofs = tuple(
            one
            for one in proofs
            if (one.fact.subject, one.fact.predicate) != (conflict.subject, conflict.predicate)
            or agrees(one.fact, standing)
        )
    return Support(found.claim, proofs, found.leads, found.background), tuple(open_ones)


def unknown_of(
    claim: Claim,
    lookup: Lookup | None,
    duties: Mapping[str, Duty],
    *,
    now_ms: int,
) -> Unknown:
    """Say why a claim is not proven, who can help and when to ask again.

    Args:
        claim: A claim without proof.
        lookup: What became of asking; None when nothing was asked.
        duties: Who answers for what.
        now_ms: The present, in milliseconds UTC.
    """
    why: Literal["not_found", "absent", "unavailable", "partial", "not_available_to_you"]
    if lookup is None:
        why = "not_found"
    elif lookup.state == "answered":
        why = "absent" if lookup.complete else "not_found"
    elif lookup.state == "denied":
        why = "not_available_to_you"
    else:
        why = lookup.state
    duty = duties.get(claim.kind)
    return Unknown(
        id=claim.kind,
        claims=(claim.id,),
        why=why,
        owner=duty.owner if duty else "unknown",
        supplies=duty.supplies if duty else claim.kind,
        retry_at_ms=now_ms + duty.retry_ms if duty and duty.retry_ms else None,
    )


def unknown_fields(
    claims: tuple[Claim, ...],
    known: frozenset[str],
    duties: Mapping[str, Duty],
) -> tuple[Unknown, ...]:
    """Return the fields of the case that claims leave open and nobody has stated, by name.

    Args:
        claims: The planned claims.
        known: Fields of the case that are verified.
        duties: Who answers for what.
    """
    waiting: dict[str, list[str]] = {}
    for claim in claims:
        for field in claim.open_fields:
            if field not in known:
                waiting.setdefault(field, []).append(claim.id)
    return tuple(
        Unknown(
            id=field,
            claims=tuple(sorted(names)),
            why="not_stated",
            owner=duties[field].owner if field in duties else "unknown",
            supplies=duties[field].supplies if field in duties else field,
        )
        for field, names in sorted(waiting.items())
    )
