"""Makes evidence smaller without losing what decides: dedupe, extract, aggregate, check."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from callbacks.evidence.canonical import digest, text_digest
from callbacks.evidence.errors import EvidenceError
from callbacks.evidence.frozen import Frozen, Id
from callbacks.evidence.item import EvidenceItem
from callbacks.evidence.trust import Trust

EXTRACT_RULE, SUM_RULE, SUMMARY_RULE = "extract-1", "sum-1", "summary-1"
"""Names of the rules by which items are derived, with their versions."""

_SENTENCE = re.compile(r"[^。！？；.!?;\n]*(?:[.](?=\d)[^。！？；.!?;\n]*)*[。！？；.!?;\n]*")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?|[〇零一二兩三四五六七八九十百千萬億]{2,}")
_UNIT = re.compile(
    r"%|‰|元|萬|万|億|亿|公斤|公里|日|天|週|周|個月|月|年|小時|分鐘|人|間|"
    r"\b(?:cny|rmb|twd|usd|eur|kg|km|days?|weeks?|months?|years?|hours?|minutes?|percent)\b"
)
_NEGATION = re.compile(
    r"不得|不可|不能|不是|不含|不需|不由|不在|不屬|並非|并非|沒有|没有|未|無|无|非|勿|禁止|"
    r"\b(?:not|no|never|none|without|nor|cannot|neither)\b|n't\b"
)
_COMPARATOR = re.compile(
    r"超過|超过|高於|高于|大於|大于|以上|至少|不低於|不低于|低於|低于|小於|小于|未達|未达|以下|至多|不超過|"
    r"不超过|[<>≤≥]=?|\b(?:more than|over|above|at least|less than|under|below|at most|up to)\b"
)
_CONDITION = re.compile(
    r"如果|若|倘|除非|除外|例外|但書|但|惟|僅限|仅限|前提|經.{0,8}核准|"
    r"\b(?:if|unless|except|excluding|provided|only|subject to|but|however)\b"
)
_OBLIGATION = re.compile(
    r"應|应|須|须|必需|必要|務必|务必|義務|义务|\b(?:must|shall|required|obliged|have to|has to)\b"
)
_LEANS = re.compile(
    r"除外|例外|除非|^但|^惟|^若|不在此限|"
    r"\b(?:unless|except|excluding|excepted|provided that)\b|^(?:but|however|only|if)\b"
)
_RULES = {
    "number": _NUMBER,
    "unit": _UNIT,
    "negation": _NEGATION,
    "obligation": _OBLIGATION,
    "comparator": _COMPARATOR,
    "condition": _CONDITION,
}


@dataclass(frozen=True, slots=True)
class Merge:
    """Why an item is represented by another.

    Attributes:
        dropped: Id of the item that is not kept.
        kept: Id of the item that stands for it.
        reason: ``same_span`` or ``inside_span``.
    """

    dropped: str
    kept: str
    reason: Literal["same_span", "inside_span"]


def dedupe(items: Iterable[EvidenceItem]) -> tuple[tuple[EvidenceItem, ...], tuple[Merge, ...]]:
    """Keep one item for each span of a document; equal text elsewhere is another piece of evidence.

    An item inside another's span is dropped only if the other asserts all that it asserts and may
    be read by all who may read it, holds wherever and whenever it holds, and counts for as much.

    Args:
        items: Items in any order.

    Returns:
        The items that stay, by id, and what was merged into which.
    """
    kept: list[EvidenceItem] = []
    merges: list[Merge] = []
    ordered = sorted(items, key=_widest_then_shortest)
    for item in ordered:
        stands = next((one for one in kept if _stands_for(one, item)), None)
        if stands is None:
            kept.append(item)
            continue
        same = (stands.lineage.start, stands.lineage.end) == (item.lineage.start, item.lineage.end)
        merges.append(Merge(item.id, stands.id, "same_span" if same else "inside_span"))
    return tuple(sorted(kept, key=lambda one: one.id)), tuple(merges)


def extract(text: str, needles: Iterable[str]) -> str:
    """Return the sentences that hold a needle, with those their conditions stand in.

    The original comes back where a needle is in no sentence, so that nothing is lost silently.

    Args:
        text: The original.
        needles: What must stay, as it stands in the original, whatever its case.
    """
    sentences = split(text)
    wanted = [needle for needle in needles if needle]
    folded = [sentence.casefold() for sentence in sentences]
    keep: set[int] = set()
    for needle in wanted:
        places = [at for at, one in enumerate(folded) if needle.casefold() in one]
        if not places:
            return text
        keep.add(min(places, key=lambda at: (len(sentences[at]), at)))
    for at in range(len(sentences)):
        # "Except ..." says nothing without the sentence before it, and that one lies without it.
        leans = _LEANS.search(_fold(sentences[at]).strip())
        if leans and at and at - 1 in keep:
            keep.add(at)
        if leans and at in keep:
            keep.add(max(0, at - 1))
    # Neighbours stay joined as they were, so that a quote over both is still verbatim.
    pieces = [("" if at - 1 in keep else " ") + sentences[at] for at in sorted(keep)]
    return "".join(pieces).strip() or text


def split(text: str) -> tuple[str, ...]:
    """Return the sentences of a text; together they are the text."""
    return tuple(found for found in _SENTENCE.findall(text) if found)


def losses(original: str, shorter: str, parties: Iterable[str] = ()) -> tuple[str, ...]:
    """Return what a shorter text says less, or more, than the sentences it stands for.

    Each number must keep its own company: the units, negations, comparators and conditions of the
    sentence it stands in. ``>`` is not ``≥``: comparators are compared as they are written.

    Args:
        original: The original.
        shorter: What is to stand for it.
        parties: Names that must not get lost.

    Returns:
        ``number``, ``unit``, ``negation``, ``obligation``, ``comparator``, ``condition``,
        ``party`` as they apply, sorted; nothing where nothing is lost.
    """
    found: set[str] = set()
    for kind, pattern in _RULES.items():
        if _marks(pattern, shorter) != _marks(pattern, original):
            found.add(kind)
    whole, part = _fold(original), _fold(shorter)
    if any(_fold(name) in whole and _fold(name) not in part for name in parties):
        found.add("party")
    return tuple(sorted(found))


def tells(sentence: str, parties: Iterable[str] = ()) -> bool:
    """Say whether a sentence holds anything that a shorter text may not lose.

    Args:
        sentence: The sentence.
        parties: Names that must not get lost.
    """
    clean = _fold(sentence)
    return any(pattern.search(clean) for pattern in _RULES.values()) or any(
        _fold(name) in clean for name in parties
    )


def shortened(item: EvidenceItem, needles: Iterable[str], *, new_id: str) -> EvidenceItem | None:
    """Return an item with only the sentences that hold the needles, or None where it is no shorter.

    It is a new item, derived from the first; it proves what its source proves, because its words
    are its source's own.

    Args:
        item: The original.
        needles: What must stay.
        new_id: Id of the derived item.
    """
    text = extract(item.text, needles)
    if len(text) >= len(item.text):
        return None
    return item.model_copy(
        update={
            "id": new_id,
            "text": text,
            "content_sha256": text_digest(text),
            "lineage": item.lineage.model_copy(
                update={"derived_from": made_from(item), "rule": EXTRACT_RULE}
            ),
        }
    )


def made_from(item: EvidenceItem) -> tuple[str, ...]:
    """Return what something made of an item is derived from: the item and all it was made from.

    The item itself does not stay beside it, so what it goes back to would be lost with it: two
    witnesses would be one, and the fall of a source would not be noticed.
    """
    return tuple(dict.fromkeys((item.id, *item.lineage.derived_from)))


def summary(
    item: EvidenceItem, text: str, *, new_id: str, parties: Iterable[str] = ()
) -> EvidenceItem:
    """Return a prepared summary as background, or the original where something would be lost.

    Args:
        item: The original.
        text: The summary somebody prepared.
        new_id: Id of the derived item.
        parties: Names that must not get lost.
    """
    if losses(item.text, text, parties):
        return item
    return item.model_copy(
        update={
            "id": new_id,
            "trust": Trust.PREPARED,
            "facts": (),
            "text": text,
            "content_sha256": text_digest(text),
            "lineage": item.lineage.model_copy(
                update={"derived_from": made_from(item), "rule": SUMMARY_RULE}
            ),
        }
    )


class Aggregate(Frozen):
    """A sum over rows that anybody with the rows can compute again.

    Attributes:
        formula: How it was computed.
        where: Which rows count: pairs of a column and the value it must have, sorted.
        column: The column that is summed, in minor units.
        currency: Its currency.
        included: Ids of the rows that count, sorted.
        excluded: Ids of the rows that do not, sorted.
        rows_sha256: Hash of all rows.
        total: The sum, in minor units.
    """

    formula: Literal["sum"] = "sum"
    where: tuple[tuple[Id, str], ...]
    column: Id
    currency: str
    included: tuple[Id, ...]
    excluded: tuple[Id, ...]
    rows_sha256: str
    total: int


def aggregate(
    rows: Iterable[Mapping[str, object]],
    *,
    where: Mapping[str, str],
    column: str,
    currency: str,
) -> Aggregate:
    """Sum a column over the rows that match.

    Args:
        rows: Rows with an ``id``, a ``currency``, text columns and whole minor units.
        where: Which rows count.
        column: The column to sum.
        currency: The currency every counted row must have.

    Raises:
        EvidenceError: Two rows share an id, or a counted row has another currency or no whole
            number in the column.
    """
    ordered = sorted((dict(row) for row in rows), key=lambda row: str(row["id"]))
    ids = [str(row["id"]) for row in ordered]
    if len(set(ids)) != len(ids):
        raise EvidenceError("Rows of an aggregate have ids of their own.")
    counted = [row for row in ordered if all(row.get(key) == want for key, want in where.items())]
    total = 0
    for row in counted:
        amount = row.get(column)
        if type(amount) is not int or row.get("currency") != currency:
            raise EvidenceError("A row of an aggregate has no whole amount in its currency.")
        total += amount
    included = tuple(str(row["id"]) for row in counted)
    return Aggregate(
        where=tuple(sorted(where.items())),
        column=column,
        currency=currency,
        included=included,
        excluded=tuple(one for one in ids if one not in set(included)),
        rows_sha256=digest(ordered),
        total=total,
    )


def aggregate_row(known: Aggregate, fields: Mapping[str, object]) -> dict[str, object]:
    """Return the raw row of an item that stands for an aggregate.

    Its text is the aggregate's canonical JSON: filter, ids of the rows, formula, currency, hash.

    Args:
        known: The aggregate.
        fields: Every other field of the item; its facts are the caller's, who knows what a sum of
            these rows means.

    Raises:
        EvidenceError: The item would not go back to the rows that count.
    """
    lineage = fields.get("lineage")
    document = lineage.get("document") if isinstance(lineage, Mapping) else None
    if not known.included:
        raise EvidenceError("A sum of no rows is no evidence.")
    text = known.canonical().decode()
    return {
        **fields,
        "text": text,
        "content_sha256": text_digest(text),
        "lineage": {"document": document, "derived_from": list(known.included), "rule": SUM_RULE},
    }


def aggregate_of(item: EvidenceItem) -> Aggregate | None:
    """Return the aggregate an item stands for; None where it says none, or not this one."""
    try:
        known = Aggregate.from_json(item.text.encode("utf-8"))
    except EvidenceError:
        return None
    return known if item.lineage.derived_from == known.included else None


def still_holds(known: Aggregate, rows: Iterable[Mapping[str, object]]) -> bool:
    """Say whether an aggregate is still what its rows give; any changed row makes it fall."""
    again = aggregate(rows, where=dict(known.where), column=known.column, currency=known.currency)
    return again == known


def _widest_then_shortest(item: EvidenceItem) -> tuple[int, int, str]:
    return (item.lineage.start - item.lineage.end, len(item.text), item.id)


def _stands_for(one: EvidenceItem, other: EvidenceItem) -> bool:
    first, second = one.lineage, other.lineage
    return (
        (first.document, first.section) == (second.document, second.section)
        and first.end > first.start
        and first.start <= second.start
        and second.end <= first.end
        and second.end > second.start
        and set(other.facts) <= set(one.facts)
        and set(other.access) <= set(one.access)
        and set(other.links) <= set(one.links)
        and (one.kind, one.source, one.scope, one.status, one.trust)
        == (other.kind, other.source, other.scope, other.status, other.trust)
        and (one.valid_from_ms, one.valid_until_ms, one.as_of_ms, one.ttl_ms)
        == (other.valid_from_ms, other.valid_until_ms, other.as_of_ms, other.ttl_ms)
    )


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _marks(pattern: re.Pattern[str], text: str) -> list[str]:
    return sorted(found.replace(",", "") for found in pattern.findall(_fold(text)))
