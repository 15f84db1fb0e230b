"""Two tool calls of one exchange leave one projection."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callbacks.context.errors import UnsupportedContext
from callbacks.context.projection import Projection
from tests.unit.context.worlds import LOCAL, projections, schemas


@pytest.mark.parametrize(
    ("earlier", "later", "topic"),
    [
        ("places", "events", "events"),
        ("places", "help", "places"),
        ("help", "places", "places"),
        ("help", "memory", "memory"),
    ],
)
def test_a_topic_that_does_not_stick_never_replaces_one_that_does(earlier, later, topic):
    """The later topic counts, unless it does not stick and the earlier one does."""
    assert LOCAL.project(earlier).merge(LOCAL.project(later), LOCAL).topic == topic


@given(schemas().flatmap(lambda schema: st.tuples(st.just(schema), *[projections(schema)] * 3)))
def test_merging_unites_slots_and_the_later_value_wins(case):
    """A merge holds the values of both, the later ones first in right, in any grouping (5)."""
    schema, one, two, three = case
    merged = one.merge(two, schema)
    assert merged.slots == {**one.slots, **two.slots}
    schema.check(merged)
    assert merged.merge(three, schema) == one.merge(two.merge(three, schema), schema)


def test_merging_needs_topics_of_the_schema():
    """A projection from elsewhere cannot be merged in (5)."""
    with pytest.raises(UnsupportedContext):
        LOCAL.project("places").merge(Projection("weather"), LOCAL)
    with pytest.raises(UnsupportedContext):
        Projection("weather").merge(LOCAL.project("places"), LOCAL)


@pytest.mark.parametrize("topic", [" a", "e\u0301", "\ud800", "x" * 65, None, 5])
def test_a_topic_is_canonical_text(topic):
    """Whatever is not canonical, writable, bounded text is no topic."""
    with pytest.raises(UnsupportedContext):
        Projection(topic)


def test_a_projection_is_frozen_and_hashable():
    """A projection does not change and may be a key."""
    projection = LOCAL.project("places", {"area": "花壇"})
    with pytest.raises(AttributeError):
        projection.topic = "events"  # type: ignore[misc]  # that it cannot is what is tested
    assert {projection: 1}[Projection("places", {"area": "花壇鄉"})] == 1


def test_marks_given_as_any_set_are_frozen():
    """A projection is hashable whatever kind of set its marks were given as (12)."""
    marked = Projection("places", {"area": "x"}, changed={"area"})  # type: ignore[arg-type]  # on purpose
    assert marked.changed == frozenset({"area"})
    assert hash(marked) == hash(Projection("places", {"area": "x"}, changed=frozenset({"area"})))
