"""Searching the catalogue."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent.areas import ALIASES, AREAS
from local_agent.catalog import load_catalog
from local_agent.diets import ANY, DIETS, suits
from local_agent.search import (
    MAX_RESULTS,
    EventResults,
    PlaceResults,
    QueryError,
    next_day,
    search_events,
    search_places,
)

CATALOG = load_catalog()
TODAY = date(2026, 11, 30)
TOWNS = st.sampled_from(("", "彰化縣", *AREAS, *ALIASES))
WANTED = st.sampled_from(("", ANY, *DIETS))
KEYWORDS = st.sampled_from(("", "麵", "便當 麵", "餐廳", "素食")) | st.text(max_size=10)


def test_a_real_place_comes_first():
    """In 花壇 a vegetarian finds 和米素食 before any sample row."""
    found = search_places(CATALOG, area="花壇", diet="vegetarian")
    assert found.area == "花壇鄉"
    assert [place.name for place in found.places] == ["和米素食", "範例素自助餐（花壇）"]


def test_no_filter_finds_ordinary_places_too():
    """`any` and an empty diet filter nothing."""
    anything = search_places(CATALOG, area="花壇鄉", diet=ANY)
    assert anything == search_places(CATALOG, area="花壇鄉", diet="")
    assert "範例麵店（花壇）" in [place.name for place in anything.places]


def test_a_long_list_is_cut_and_says_so():
    """At most five rows are shown, and the whole number is told."""
    found = search_places(CATALOG)
    assert len(found.places) == MAX_RESULTS
    assert found.total == len(CATALOG.places)
    assert found.cut
    assert not search_places(CATALOG, limit=100).cut


def test_an_exact_offer_comes_before_one_that_suits():
    """For 蛋奶素 a place that says so stands before a vegan one of the same town."""
    found = search_places(CATALOG, area="彰化市", diet="ovo_lacto", limit=100).places
    exact = ["ovo_lacto" in place.diets for place in found if place.sample]
    assert exact == sorted(exact, reverse=True)
    assert not all(exact)


def test_words_about_the_search_itself_hide_nothing():
    """A keyword such as 餐廳 or 素食 describes the search and is not looked for."""
    assert search_places(CATALOG, keyword="餐廳 素食") == search_places(CATALOG)
    assert [p.name for p in search_places(CATALOG, area="花壇", keyword="便當").places] == [
        "範例素自助餐（花壇）"
    ]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [({"area": "火星"}, "UNKNOWN_AREA"), ({"diet": "keto"}, "UNKNOWN_DIET")],
)
def test_an_unknown_argument_is_refused_by_code(arguments, code):
    """An unknown town or diet is an error that does not repeat it, never an unfiltered search."""
    with pytest.raises(QueryError) as caught:
        search_places(CATALOG, **arguments)
    assert caught.value.error_code == code
    assert not caught.value.numbers
    assert next(iter(arguments.values())) not in str(caught.value)


def test_events_of_an_unknown_town_are_refused():
    """A search for events checks its town as well."""
    with pytest.raises(QueryError):
        search_events(CATALOG, today=TODAY, area="火星")


@given(TOWNS, WANTED, KEYWORDS)
def test_a_search_is_pure_and_bounded(area, diet, keyword):
    """Invariant 12: the same search gives the same bytes; every row fits what was asked."""
    first = search_places(CATALOG, area=area, diet=diet, keyword=keyword)
    again = search_places(CATALOG, area=area, diet=diet, keyword=keyword)
    assert first.model_dump_json() == again.model_dump_json()
    assert PlaceResults.model_validate(first.model_dump(mode="json")) == first
    assert len(first.places) == min(first.total, MAX_RESULTS)
    assert {source.id for source in first.sources} == {place.source for place in first.places}
    for place in first.places:
        assert first.area in {"", place.area}
        assert suits(frozenset(place.diets), diet or ANY)


@given(st.dates(date(2026, 1, 1), date(2036, 12, 31)), TOWNS, st.sampled_from(("", "週末", "今天")))
def test_events_are_coming_and_in_order(today, area, day):
    """No event shown is over; each takes place on the day named beside it, the soonest first."""
    found = search_events(CATALOG, today=today, area=area, day=day)
    assert found == search_events(CATALOG, today=today, area=area, day=day)
    assert EventResults.model_validate(found.model_dump(mode="json")) == found
    days = [hit.day for hit in found.events]
    assert days == sorted(days)
    for hit in found.events:
        assert found.first <= hit.day <= (found.last or hit.event.ends)
        assert hit.event.starts <= hit.day <= hit.event.ends
        assert not hit.event.weekdays or hit.day.weekday() in hit.event.weekdays


@given(st.sampled_from(CATALOG.events), st.dates(date(2026, 1, 1), date(2036, 1, 1)))
def test_the_next_day_is_the_first_one(event, first):
    """No earlier day would do: the answer is what trying day after day finds."""
    day, steps = first, 0
    while day <= event.ends and steps < 500:
        if day >= event.starts and (not event.weekdays or day.weekday() in event.weekdays):
            break
        day += timedelta(days=1)
        steps += 1
    found = next_day(event, first, None)
    assert found == (day if day <= event.ends else None) or steps == 500


def test_a_day_that_cannot_be_read_searches_on_and_says_so():
    """An unreadable date is not silently taken for another one."""
    found = search_events(CATALOG, today=TODAY, day="改天")
    assert not found.date_understood
    assert found.events == search_events(CATALOG, today=TODAY).events
    assert search_events(CATALOG, today=TODAY, day="12/12").date_understood
    assert found.cut
