"""Makes admitted evidence smaller before anything is chosen, in a fixed order, each step checked.

Same spans once; then the sentences that say something that counts; then aggregates, as long as
their rows still give them; prepared summaries last, for background alone. Whatever would lose a
number, unit, negation, obligation, comparator or condition stays as it was.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from callbacks.evidence.canonical import digest
from callbacks.evidence.compression import (
    EXTRACT_RULE,
    SUM_RULE,
    SUMMARY_RULE,
    Aggregate,
    aggregate_of,
    dedupe,
    losses,
    made_from,
    shortened,
    split,
    still_holds,
    tells,
)
from callbacks.evidence.errors import EvidenceError
from callbacks.evidence.frozen import ID_MAX
from callbacks.evidence.item import EvidenceItem, Fact
from callbacks.evidence.plan import ClaimPlan
from callbacks.evidence.trust import Trust
from callbacks.evidence.value import Literally, Vocabulary, Word

Table = tuple[Mapping[str, object], ...]
"""Rows behind an aggregate, as they are now."""

WHOLE = frozenset({"condition", "definition", "exception", "procedure", "tool_result"})
"""Kinds that are never shortened: every word of them is there to be relied upon."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """What is left to choose from.

    Attributes:
        items: Items by id, some of them derived from what was admitted.
        reasons: Why an admitted item is not among them as it was: pairs of id and reason, by id.
    """

    items: tuple[EvidenceItem, ...]
    reasons: tuple[tuple[str, str], ...]


def reduce_items(
    items: Sequence[EvidenceItem],
    plan: ClaimPlan,
    *,
    tables: Mapping[str, Table],
    vocabulary: Vocabulary,
) -> Reduction:
    """Reduce admitted items.

    A span inside another's stays to be chosen from: selection takes the smallest that will do.

    Args:
        items: What was admitted.
        plan: The claims; a summary may stand only for what decides none of them.
        tables: Rows behind aggregates, by the aggregate's id.
        vocabulary: Names that must not get lost.
    """
    reasons: dict[str, str] = {}
    # What something leads to is known by its id; it stays as it is.
    targets = {link.target for item in items for link in item.links}
    kept = [item for item in items if not _fallen(item, tables, reasons)]
    kept = _same_spans(kept, targets, reasons)
    summaries = {
        item.lineage.derived_from[0]: item
        for item in kept
        if item.trust is Trust.PREPARED
        and item.lineage.rule == SUMMARY_RULE
        and len(item.lineage.derived_from) == 1
    }
    background = {claim.kind for claim in plan.claims} - {
        claim.kind for claim in plan.claims if claim.critical
    }
    found: dict[str, EvidenceItem] = {}
    for item in kept:
        made: EvidenceItem | None = None
        if item.id not in targets and item.trust in _PROVING:
            made = _extracted(item, vocabulary)
            if made is not None:
                reasons[item.id] = "extracted"
            if item.id in summaries and {fact.claim for fact in item.facts} <= background:
                summarized = _summarized(item, summaries[item.id], vocabulary)
                if summarized is not None and len(summarized.text) < len((made or item).text):
                    made = summarized
                    reasons[item.id] = "summarized"
        found[(made or item).id] = made or found.get(item.id, item)
    ordered = tuple(found[name] for name in sorted(found))
    return Reduction(ordered, tuple(sorted(reasons.items())))


_PROVING = frozenset({Trust.AUTHORITATIVE, Trust.OBSERVED})


def _fallen(item: EvidenceItem, tables: Mapping[str, Table], reasons: dict[str, str]) -> bool:
    if item.lineage.rule != SUM_RULE:
        return False
    known = aggregate_of(item)
    if known is None:
        reasons[item.id] = "not_recomputable"
    elif item.id in tables and not _holds(known, tables[item.id]):
        reasons[item.id] = "rows_changed"
    return item.id in reasons


def _holds(known: Aggregate, rows: Table) -> bool:
    try:
        return still_holds(known, rows)
    except EvidenceError:  # rows that cannot be summed any more give no sum
        return False


def _same_spans(
    items: Iterable[EvidenceItem], targets: set[str], reasons: dict[str, str]
) -> list[EvidenceItem]:
    held = list(items)
    _, merges = dedupe(held)
    for merge in merges:
        if merge.reason == "same_span" and merge.dropped not in targets:
            reasons[merge.dropped] = "same_span"
    return [item for item in held if reasons.get(item.id) != "same_span"]


def _extracted(item: EvidenceItem, vocabulary: Vocabulary) -> EvidenceItem | None:
    sentences, parties = split(item.text), vocabulary.names
    said = [_said(fact, item.text, vocabulary) for fact in item.facts]
    if item.kind in WHOLE or len(sentences) < 2 or not said or None in said:
        return None
    needles = [one.strip() for one in sentences if tells(one, parties)]
    needles.extend(one for one in said if one)
    made = shortened(item, needles, new_id=_derived_id(item.id, EXTRACT_RULE))
    if made is None or losses(item.text, made.text, parties):
        return None
    return made


def _said(fact: Fact, text: str, vocabulary: Vocabulary) -> str | None:
    """Return what of a fact's value must stay in a text; empty where a number keeps it there.

    None where it is not seen how the text says it: then nobody can tell what may go.
    """
    if isinstance(fact.value, Literally):
        return fact.value.words if fact.value.words.casefold() in text.casefold() else None
    if isinstance(fact.value, Word):
        names = vocabulary.names_of(fact.value.word)
        return next((name for name in names if name.casefold() in text.casefold()), None)
    return ""


def _summarized(
    item: EvidenceItem, prepared: EvidenceItem, vocabulary: Vocabulary
) -> EvidenceItem | None:
    """Return an item that reads as its summary says; what it asserts stays its own."""
    if len(prepared.text) >= len(item.text) or losses(item.text, prepared.text, vocabulary.names):
        return None
    return item.model_copy(
        update={
            "id": prepared.id,
            "access": tuple(name for name in item.access if name in prepared.access),
            "text": prepared.text,
            "content_sha256": prepared.content_sha256,
            "lineage": item.lineage.model_copy(
                update={"derived_from": made_from(item), "rule": SUMMARY_RULE}
            ),
        }
    )


def _derived_id(name: str, rule: str) -> str:
    """Return the id of what a rule made of an item; a long name is told by its hash."""
    made = f"{name}/{rule}"
    return made if len(made) <= ID_MAX else f"{digest(name)[:32]}/{rule}"
