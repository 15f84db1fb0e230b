"""Who may see what, and what may count at all: decided before anything is ranked.

Raw rows are judged first and models are built for the survivors alone: of ten thousand candidates
one in a hundred counts, and building the others would cost ten times the judging.
"""

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any

from callbacks.evidence.ancestry import with_derived
from callbacks.evidence.errors import EvidenceError
from callbacks.evidence.frozen import ID_PATTERN, Frozen, Id
from callbacks.evidence.item import EvidenceItem, Status
from callbacks.evidence.plan import ClaimPlan
from callbacks.evidence.trust import Trust

_ID = re.compile(ID_PATTERN)

MAX_SHOWN = 12
"""Most exclusions a packet names; the record names all of them."""

SKEW_MS = 60_000
"""How far ahead of the present a source's clock may be; what was observed later is not true yet."""

Row = Mapping[str, Any]
"""An item as plain data, the way a store gives it."""

NOT_AVAILABLE = "not-available"
"""What stands for everything denied: the same words for one item as for a hundred."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Who asks, with every name that may stand in an access list, verified for this very turn."""

    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked, and of which time.

    Attributes:
        at_ms: The time the answer is about ("last March"); validity is judged there.
        now_ms: The present; observations age by it.
        scope: The task's value in each dimension.
    """

    at_ms: int
    now_ms: int
    scope: tuple[tuple[str, str], ...] = ()


class Exclusion(Frozen):
    """An item that does not count, and why."""

    id: Id
    reason: Id


@dataclass(frozen=True, slots=True)
class Admission:
    """What counts and what does not.

    Attributes:
        items: The survivors, by id.
        excluded: What the reader may see but does not count: pairs of id and reason, by id (plain
            pairs, for they are many); what was denied is one entry, the same whatever and however
            much it was.
        candidates: How many rows were judged. For the operator, not for packets: it counts denied
            rows also.
        lineage: What each row that the reader may see was made from, by its id.
    """

    items: tuple[EvidenceItem, ...]
    excluded: tuple[tuple[str, str], ...]
    candidates: int
    lineage: Mapping[str, tuple[str, ...]]


def telling(excluded: tuple[tuple[str, str], ...]) -> tuple[Exclusion, ...]:
    """Return the exclusions that a packet names: of what might otherwise be taken to count.

    What is about something or somewhere else says nothing to the reader of a packet.
    """
    found = [
        (name, reason)
        for name, reason in excluded
        if reason not in {"not_related", "out_of_scope"} and name != NOT_AVAILABLE
    ]
    denied = [pair for pair in excluded if pair[0] == NOT_AVAILABLE]
    return tuple(
        Exclusion(id=name, reason=reason) for name, reason in (*found[:MAX_SHOWN], *denied)
    )


def admit(
    rows: Iterable[Row],
    *,
    reader: Reader,
    asked: Asked,
    plan: ClaimPlan,
    fallen: Iterable[str] = (),
) -> Admission:
    """Judge raw rows: access, status, scope, validity, age, trust.

    Access is first, so that nothing else about a denied row is even looked at.

    Args:
        rows: Candidates as plain data, in any order.
        reader: Who asks.
        asked: What is asked and of which time.
        plan: The claims; what no claim accepts is not related.
        fallen: Ids of items whose life has ended; what was derived from them ends with them.

    Raises:
        EvidenceError: A row that the reader may see is no item, or two survivors share an id.
    """
    accepted = {kind for claim in plan.claims for kind in claim.accepts}
    scope, rows = dict(asked.scope), tuple(rows)
    lineage: dict[str, tuple[str, ...]] = {}
    for row in rows:
        if (made := _sources(row)) and isinstance(row.get("id"), str) and _readable(row, reader):
            lineage[row["id"]] = (*lineage.get(row["id"], ()), *made)
    gone = with_derived(fallen, lineage)
    survivors: dict[str, EvidenceItem] = {}
    excluded: dict[str, str] = {}
    aside: dict[str, Row] = {}
    denied, candidates = False, 0
    for row in rows:
        candidates += 1
        if not _readable(row, reader):
            denied = True
            continue
        reason = _judged(row, scope, asked, accepted, gone)
        if reason:
            excluded[row["id"]] = reason
            if reason == "not_related":
                aside[row["id"]] = row
            continue
        item = EvidenceItem.from_data(row)
        survivors[item.id] = item if item.id not in survivors else _same(item, survivors[item.id])
    for item in _linked(tuple(survivors.values()), aside):
        survivors[item.id] = item
        del excluded[item.id]
    out = sorted(excluded.items())
    if denied:
        out.append((NOT_AVAILABLE, "not_available_to_you"))
    items = tuple(survivors[key] for key in sorted(survivors))
    return Admission(items, tuple(out), candidates, lineage)


def _readable(row: Row, reader: Reader) -> bool:
    """Tell whether a reader may see a row; what has no list of names, nobody may."""
    access = row.get("access")
    names = access if isinstance(access, list | tuple | set | frozenset) else ()
    return not reader.names.isdisjoint(names)


def _judged(
    row: Row, scope: dict[str, str], asked: Asked, accepted: set[str], gone: Set[str]
) -> str:
    name = row.get("id")
    if isinstance(name, str) and _ID.fullmatch(name):
        try:
            return _reason(row, scope, asked, accepted, gone)
        except (KeyError, TypeError, ValueError):
            pass
    # Outside of the handler: the error would quote the row.
    raise EvidenceError("A row is no item.")


def _sources(row: Row) -> tuple[str, ...]:
    """Return what a row was made from; nothing of one that is no item, which is judged later."""
    lineage = row.get("lineage")
    sources = lineage.get("derived_from") if isinstance(lineage, Mapping) else None
    sources = sources if isinstance(sources, list | tuple) else ()
    return tuple(source for source in sources if isinstance(source, str))


def _reason(
    row: Row, scope: dict[str, str], asked: Asked, accepted: set[str], gone: Set[str]
) -> str:
    status = row.get("status", Status.IN_FORCE)
    if row["id"] in gone:
        return "invalidated"
    if status in {Status.DRAFT, Status.WITHDRAWN}:
        return str(status)
    for name, members in row.get("scope", ()):
        if scope.get(name) not in members:
            return "out_of_scope"
    if asked.at_ms < row.get("valid_from_ms", 0):
        return "not_yet_valid"
    until = row.get("valid_until_ms")
    if until is not None and asked.at_ms >= until:
        return "superseded" if status == Status.SUPERSEDED else "no_longer_valid"
    if until is None and status == Status.SUPERSEDED:
        return "superseded"
    as_of, ttl = row.get("as_of_ms"), row.get("ttl_ms")
    if as_of is not None and as_of > asked.now_ms + SKEW_MS:
        return "not_yet_observed"
    if as_of is not None and ttl is not None and asked.now_ms >= as_of + ttl:
        return "expired"
    if row["kind"] not in accepted:
        return "untrusted" if row["trust"] == Trust.UNTRUSTED else "not_related"
    return ""


def _linked(items: tuple[EvidenceItem, ...], aside: dict[str, Row]) -> list[EvidenceItem]:
    """Build what no claim asks for but what approved links of admitted items lead to."""
    found: dict[str, EvidenceItem] = {}
    waiting = list(items)
    while waiting:
        for link in waiting.pop().links:
            if link.target in aside and link.target not in found:
                found[link.target] = EvidenceItem.from_data(aside[link.target])
                waiting.append(found[link.target])
    return list(found.values())


def _same(item: EvidenceItem, other: EvidenceItem) -> EvidenceItem:
    if item != other:
        # Two contents under one id: nothing says which is meant, so nothing may be proven by it.
        raise EvidenceError("Two different items share an id.", numbers={"id": item.id})
    return item
