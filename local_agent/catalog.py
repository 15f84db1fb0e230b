"""The catalogue: places and events LOCAL may name, each with its source and date.

A row that only shows how a search looks is marked `sample`, says 範例 in its name and carries no
telephone number, so that nobody is sent to a place that does not exist.
"""

from __future__ import annotations

from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from local_agent.areas import AREAS

Diet = Literal["vegetarian", "vegan", "lacto", "ovo_lacto", "allium", "friendly"]
Name = Annotated[str, StringConstraints(min_length=1, max_length=60, strip_whitespace=True)]
Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]

_SAMPLE_WORD = "範例"


class CatalogError(Exception):
    """The catalogue cannot be used.

    Attributes:
        error_code: `CATALOG_INVALID`.
        numbers: What is known about the fault, no content.
    """

    error_code = "CATALOG_INVALID"

    def __init__(self, message: str, **numbers: int | str) -> None:
        """Store the sentence and the data beside it."""
        super().__init__(message)
        self.numbers: dict[str, int | str] = dict(numbers)


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Source(_Record):
    """Where rows come from.

    Attributes:
        id: Key used by the rows.
        title: What people are shown.
        dated: The day the source was drawn up or last read.
        sample: Whether the rows are made up to show searches.
    """

    id: Identifier
    title: Name
    dated: date
    sample: bool = False


class _Row(_Record):
    id: Identifier
    name: Name
    area: str
    address: Annotated[str, StringConstraints(max_length=120)] = ""
    phone: Annotated[str, StringConstraints(pattern=r"^[0-9-]{0,20}$")] = ""
    tags: tuple[str, ...] = ()
    source: Identifier
    sample: bool = False

    @model_validator(mode="after")
    def _check_row(self) -> Self:
        if self.area not in AREAS:
            raise ValueError("area is not a town of Changhua County")
        if self.sample != (_SAMPLE_WORD in self.name):
            raise ValueError("sample rows, and only they, say so in their name")
        if self.sample and self.phone:
            raise ValueError("sample rows carry no telephone number")
        return self


class Place(_Row):
    """A place to eat. `diets` is what its source says it offers; empty for an ordinary place."""

    diets: tuple[Diet, ...] = ()


class Event(_Row):
    """Something on the days from `starts` to `ends`, only on `weekdays` if given (0 = Monday)."""

    starts: date
    ends: date
    weekdays: tuple[Annotated[int, Field(ge=0, le=6)], ...] = ()
    hours: Annotated[str, StringConstraints(max_length=40)] = ""

    @model_validator(mode="after")
    def _check_days(self) -> Self:
        if self.ends < self.starts:
            raise ValueError("an event ends no earlier than it starts")
        return self


class Catalog(_Record):
    """Everything LOCAL can find.

    Attributes:
        format: Version of the file's layout.
        updated: The day the file was put together.
        sources: Where the rows come from.
        places: Places to eat.
        events: Events.
    """

    format: Literal[1]
    updated: date
    sources: tuple[Source, ...]
    places: tuple[Place, ...]
    events: tuple[Event, ...]

    @model_validator(mode="after")
    def _check_catalog(self) -> Self:
        sources = {source.id: source for source in self.sources}
        rows: tuple[_Row, ...] = (*self.places, *self.events)
        if len(sources) != len(self.sources) or len({row.id for row in rows}) != len(rows):
            raise ValueError("ids are used once")
        for row in rows:
            if row.source not in sources:
                raise ValueError("every row names a source of the file")
            if row.sample != sources[row.source].sample:
                raise ValueError("sample rows have a sample source, other rows have not")
        return self

    def source(self, identifier: str) -> Source:
        """Return a source by its id.

        Raises:
            KeyError: There is no such source.
        """
        return {source.id: source for source in self.sources}[identifier]


def load_catalog(path: Path | None = None) -> Catalog:
    """Read a catalogue.

    Args:
        path: A JSON file, or None for the one that ships with the package.

    Raises:
        CatalogError: The file cannot be read or breaks a rule of the catalogue.
    """
    return _shipped() if path is None else _parse(_read(path))


@cache
def _shipped() -> Catalog:
    return _parse((files("local_agent") / "data" / "catalog.json").read_bytes())


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        raise CatalogError("The catalogue file named by LOCAL_CATALOG cannot be read.") from None


def _parse(raw: bytes) -> Catalog:
    try:
        return Catalog.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        raise CatalogError(
            "The catalogue file is not valid; the first fault is named beside this message.",
            where=".".join(str(step) for step in first["loc"]),
            faults=error.error_count(),
        ) from None
