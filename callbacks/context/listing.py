"""The last list a tool gave, so that "the second one" means something: ids and public names."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from callbacks.context.errors import InvalidSchema, UnsupportedContext
from callbacks.context.slot import grounded_text
from callbacks.context.values import MAX_NAME, schema_text

MAX_ENTRIES = 5
"""Longest list kept."""

MAX_ID = 32
MAX_TITLE = 40
_MAX_ROWS = 200


class Entry(NamedTuple):
    """One thing of a list.

    Attributes:
        id: What a tool knows it by; empty where the tool has no such field.
        name: What people call it.
    """

    id: str
    name: str


@dataclass(frozen=True)
class Listing:
    """Says where a tool's result has a list that people may refer to by order.

    Attributes:
        name: The field of a row with the public name.
        id: The field of a row with the id; empty for none.
        rows: The field of the result that holds the rows; empty for the first list of rows.
        slot: The slot that a reference by order sets to the name (``grounded``); empty for none.
    """

    name: str
    id: str = ""
    rows: str = ""
    slot: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", schema_text(self.name, MAX_NAME))
        for attribute in ("id", "rows", "slot"):
            if not isinstance(getattr(self, attribute), str):
                raise InvalidSchema("The fields of a listing are text.")

    def canonical_json(self) -> dict[str, object]:
        """Return the listing as plain data in a fixed order."""
        return {"name": self.name, "id": self.id, "rows": self.rows, "slot": self.slot}

    def read(self, result: Mapping[str, Any]) -> tuple[Entry, ...]:
        """Return the first entries of a result's list; a row without a fit name is left out."""
        entries: list[Entry] = []
        for row in rows_of(result, self.rows):
            try:
                name = grounded_text(row.get(self.name))[:MAX_TITLE].strip()
                given = grounded_text(row[self.id]) if row.get(self.id) is not None else ""
            except UnsupportedContext:
                continue
            if len(given) <= MAX_ID:
                entries.append(Entry(given, name))
            if len(entries) == MAX_ENTRIES:
                break
        return tuple(entries)


def rows_of(result: Mapping[str, Any], field: str = "") -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a result: of the named field, or of its first list of rows."""
    given = [result.get(field)] if field else result.values()
    for value in given:
        if isinstance(value, list | tuple) and any(isinstance(row, Mapping) for row in value):
            yield from [row for row in value[:_MAX_ROWS] if isinstance(row, Mapping)]
            return
