"""Searching the catalogue: pure, in a fixed order, bounded.

Order: real rows before sample rows, exact offers before ones that merely suit, then the county's
order of towns, then name. The diet that was searched is not part of a result: it may be a
consented one, and results travel.
"""

from __future__ import annotations

from datetime import date, timedelta

from pydantic import BaseModel, ConfigDict

from local_agent import dates
from local_agent.areas import AREAS, canonical_area, is_county
from local_agent.catalog import Catalog, Event, Place, Source
from local_agent.diets import ANY, canonical_diet, suits
from local_agent.mentions import normalize

#: How many rows a result shows.
MAX_RESULTS = 5

#: Words that describe the search itself; as a keyword they would only hide results.
_GENERIC = frozenset(
    {
        *("吃", "吃的", "好吃", "好吃的", "美食", "餐廳", "店", "店家", "小店", "食物", "東西"),
        *("素食", "素", "吃素", "活動", "表演", "推薦", "餐飲", "附近", "地方"),
    }
)


class QueryError(Exception):
    """A search was asked for something that does not exist.

    Attributes:
        error_code: `UNKNOWN_AREA` or `UNKNOWN_DIET`.
        numbers: Always empty; the argument itself is never repeated.
    """

    def __init__(self, error_code: str, message: str) -> None:
        """Store the code and the sentence."""
        super().__init__(message)
        self.error_code = error_code
        self.numbers: dict[str, int | str] = {}


class _Result(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    area: str
    total: int
    updated: date
    sources: tuple[Source, ...]


class PlaceResults(_Result):
    """Places found.

    Attributes:
        area: Official name of the town searched; empty for the whole county.
        total: How many match; more than shown means the list was cut.
        updated: The day of the catalogue.
        sources: Sources of the rows shown.
        places: The first `MAX_RESULTS` of them.
    """

    places: tuple[Place, ...]

    @property
    def cut(self) -> bool:
        """Whether more match than are shown."""
        return self.total > len(self.places)


class EventHit(BaseModel):
    """An event and the next day it takes place within what was searched."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    event: Event
    day: date


class EventResults(_Result):
    """Events found.

    Attributes:
        area: As in `PlaceResults`.
        first: First day searched.
        last: Last day searched, or None for "from then on".
        date_understood: False if a date was given that could not be read; then all coming events
            were searched.
        total: As in `PlaceResults`.
        updated: As in `PlaceResults`.
        sources: As in `PlaceResults`.
        events: The first `MAX_RESULTS`, the soonest first.
    """

    first: date
    last: date | None
    date_understood: bool
    events: tuple[EventHit, ...]

    @property
    def cut(self) -> bool:
        """Whether more match than are shown."""
        return self.total > len(self.events)


def search_places(
    catalog: Catalog,
    *,
    area: str = "",
    diet: str = ANY,
    keyword: str = "",
    limit: int = MAX_RESULTS,
) -> PlaceResults:
    """Find places.

    Args:
        catalog: What to search.
        area: A town by any of its names; empty or 彰化縣 for the whole county.
        diet: One of the diets or a spelling; `any` or empty for no filter.
        keyword: Words that must all occur in name, address or tags; empty for none.
        limit: Most rows shown.

    Raises:
        QueryError: The area or the diet is unknown.
    """
    town = _town(area)
    wanted = _diet(diet)
    terms = _terms(keyword)
    found = [
        place
        for place in catalog.places
        if (not town or place.area == town)
        and suits(frozenset(place.diets), wanted)
        and _has(terms, place.name, place.address, place.tags)
    ]
    found.sort(
        key=lambda place: (
            place.sample,
            wanted != ANY and wanted not in place.diets,
            AREAS.index(place.area),
            place.name,
            place.id,
        )
    )
    shown = tuple(found[:limit])
    return PlaceResults(
        area=town,
        total=len(found),
        updated=catalog.updated,
        sources=_sources(catalog, tuple(place.source for place in shown)),
        places=shown,
    )


def search_events(
    catalog: Catalog,
    *,
    today: date,
    area: str = "",
    day: str = "",
    keyword: str = "",
    limit: int = MAX_RESULTS,
) -> EventResults:
    """Find events that are not over.

    Args:
        catalog: What to search.
        today: The current day in LOCAL's time zone.
        area: As in `search_places`.
        day: A day as said (2026-10-10, 10/10, 明天, 週末); empty for all that is to come.
        keyword: As in `search_places`.
        limit: Most rows shown.

    Raises:
        QueryError: The area is unknown.
    """
    town = _town(area)
    terms = _terms(keyword)
    days = dates.resolve(day, today) if day.strip() else None
    first, last = (today, None) if days is None else days
    hits = [
        EventHit(event=event, day=when)
        for event in catalog.events
        if (not town or event.area == town)
        and _has(terms, event.name, event.address, event.tags)
        and (when := next_day(event, first, last)) is not None
    ]
    hits.sort(
        key=lambda hit: (
            hit.event.sample,
            hit.day,
            AREAS.index(hit.event.area),
            hit.event.name,
            hit.event.id,
        )
    )
    shown = tuple(hits[:limit])
    return EventResults(
        area=town,
        total=len(hits),
        updated=catalog.updated,
        sources=_sources(catalog, tuple(hit.event.source for hit in shown)),
        first=first,
        last=last,
        date_understood=days is not None or not day.strip(),
        events=shown,
    )


def next_day(event: Event, first: date, last: date | None) -> date | None:
    """Return the first day from `first` to `last` on which the event takes place, or None."""
    day = max(first, event.starts)
    if event.weekdays:
        day += timedelta(days=min((weekday - day.weekday()) % 7 for weekday in event.weekdays))
    end = event.ends if last is None else min(last, event.ends)
    return day if day <= end else None


def _town(area: str) -> str:
    if is_county(area):
        return ""
    town = canonical_area(area)
    if town is None:
        raise QueryError("UNKNOWN_AREA", "The area is not a town of Changhua County.")
    return town


def _diet(diet: str) -> str:
    if not diet.strip():
        return ANY
    value = canonical_diet(diet)
    if value is None:
        raise QueryError("UNKNOWN_DIET", "The diet is not one LOCAL knows.")
    return value


def _terms(keyword: str) -> tuple[str, ...]:
    return tuple(term for term in normalize(keyword).split() if term not in _GENERIC)


def _has(terms: tuple[str, ...], name: str, address: str, tags: tuple[str, ...]) -> bool:
    text = normalize("\n".join((name, address, *tags)))
    return all(term in text for term in terms)


def _sources(catalog: Catalog, identifiers: tuple[str, ...]) -> tuple[Source, ...]:
    return tuple(source for source in catalog.sources if source.id in identifiers)
