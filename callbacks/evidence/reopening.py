"""Opens the originals of a generation again: a new check of access each time, for whoever looks.

That somebody may see a record does not mean that they may read what is behind it: a dashboard shows
ids, kinds, sizes and reasons. And that a reader could read an original when the packet was made
does not mean that they may read it now.
"""

from collections.abc import Callable
from dataclasses import dataclass

from callbacks.evidence.admission import Reader
from callbacks.evidence.errors import RecordMismatch
from callbacks.evidence.item import EvidenceItem
from callbacks.evidence.record import Fetch, GenerationRecord

StillReadable = Callable[[EvidenceItem, Reader], bool]
"""Asks whoever keeps access lists now; the list an item was made with is asked in any case."""


@dataclass(frozen=True, slots=True)
class Reopened:
    """What a reader may see of a generation's originals.

    Attributes:
        items: What they may read, in the packet's order.
        withheld: How many they may not; which, nobody is told.
    """

    items: tuple[EvidenceItem, ...]
    withheld: int


def reopen(
    record: GenerationRecord,
    fetch: Fetch,
    reader: Reader,
    *,
    still: StillReadable | None = None,
) -> Reopened:
    """Return the originals that a reader may see now.

    Args:
        record: The record.
        fetch: Reads what is stored under a hash.
        reader: Who looks, with every name verified for this very look.
        still: Whether access still stands; None where the lists of the items are all there is.

    Raises:
        RecordMismatch: An original is not stored, or is not what its hash says.
    """
    found: list[EvidenceItem] = []
    for kept in record.items:
        item = EvidenceItem.from_json(_stored(kept.sha256, fetch))
        if item.digest() != kept.sha256:
            raise RecordMismatch
        if reader.names.isdisjoint(item.access) or not (still is None or still(item, reader)):
            continue
        found.append(item)
    return Reopened(tuple(found), len(record.items) - len(found))


def _stored(sha256: str, fetch: Fetch) -> bytes:
    try:
        return fetch(sha256)
    except KeyError:
        pass
    raise RecordMismatch("A part of the generation is not stored.")
