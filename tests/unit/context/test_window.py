"""A window keeps the newest exchanges, and its ledger what older ones settled."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callbacks.context.errors import InvalidSetting, SchemaChanged, UnsupportedContext
from callbacks.context.ledger import Ledger
from callbacks.context.projection import Projection
from callbacks.context.render import render
from callbacks.context.schema import ContextSchema, Topic
from callbacks.context.window import ContextWindow
from tests.unit.context.worlds import LOCAL, World, projections, schemas, worlds

PLACES, EVENTS, HELP = (LOCAL.project(topic) for topic in ("places", "events", "help"))
IN_HUATAN = LOCAL.project("places", {"area": "花壇"})


def conversation(size: int = 40):
    return schemas().flatmap(
        lambda schema: st.tuples(st.just(schema), st.lists(projections(schema), max_size=size))
    )


@given(conversation(12), st.integers(0, 4))
def test_the_newest_turns_stay_whole_and_older_ones_leave_the_newest_values(case, max_turns):
    """After any conversation the window shows its newest turns and each slot's last value (15)."""
    schema, exchanges = case
    window = ContextWindow()
    newest: dict[str, str] = {}
    topics: list[str] = []
    for projection in exchanges:
        goal = window.goal(schema)
        topics.append(projection.topic or schema.topic_for(projection.slots, goal))
        window = window.append(projection, schema, max_turns)
        newest.update(projection.slots)
    over = max(0, len(exchanges) - max_turns)
    assert [(p.topic, p.slots) for p in window.projections] == [
        (topic, p.slots) for topic, p in zip(topics[over:], exchanges[over:], strict=True)
    ]
    assert set(window.keep(0, schema).ledger.slots) == set(newest)
    shared = {name for name, slot in schema.slots.items() if not slot.topics}
    later = {name for p in window.projections for name in p.slots}
    assert not later & shared & set(window.ledger.slots)
    assert all(window.keep(0, schema).ledger.slots[n] == newest[n] for n in shared & set(newest))
    sticky = [topic for topic in topics if schema.is_sticky(topic)]
    assert window.goal(schema) == (sticky[-1] if sticky else "")


@given(conversation())
def test_a_long_conversation_costs_no_more_than_a_bounded_one(case):
    """The block stays under a bound that the schema alone sets, however long people talk (15)."""
    schema, exchanges = case
    longest = max(len(topic.label) for topic in schema.topics.values()) + sum(
        len(slot.label or name) + max(map(len, slot.canonical_json()["values"])) + 2
        for name, slot in schema.slots.items()
    )
    # Ten characters stand for one at most, when it is escaped.
    lines = 3 + len(schema.topics)
    bound = len(schema.wording.header) + lines * (2 + 10 * longest)
    window = ContextWindow()
    for projection in exchanges:
        window = window.append(projection, schema)
        assert len(window.projections) <= 2
        assert len(render(window, schema)) <= bound


def test_no_turns_kept_means_none():
    """With max_turns 0 every exchange goes straight into the ledger."""
    window = ContextWindow().append(IN_HUATAN, LOCAL, 0).append(EVENTS, LOCAL, max_turns=0)
    assert window == ContextWindow((), Ledger((Projection("events", {"area": "花壇鄉"}),)))


def test_the_goal_is_the_last_topic_that_sticks():
    """Asking for help leaves the goal as it was, and its slots count all the same."""
    help_in_changhua = LOCAL.project("help", {"area": "彰化市"})
    ledger = Ledger().absorb(HELP, LOCAL)
    assert ledger.is_empty
    ledger = ledger.absorb(IN_HUATAN, LOCAL).absorb(HELP, LOCAL).absorb(help_in_changhua, LOCAL)
    assert ledger == Ledger((Projection("places", {"area": "彰化市"}, frozenset({"area"})),))


def test_trimming_gives_up_the_oldest_turn_first_and_the_ledger_last():
    """Oldest turn, next turn, ledger, nothing: in this order and no other."""
    window = ContextWindow((EVENTS, HELP), Ledger((Projection("places", {"area": "花壇鄉"}),)))
    steps: list[ContextWindow] = []
    smaller: ContextWindow | None = window
    while smaller is not None:
        steps.append(smaller)
        smaller = smaller.trim_oldest(LOCAL)
    assert steps == [
        ContextWindow((EVENTS, HELP), Ledger((Projection("places", {"area": "花壇鄉"}),))),
        ContextWindow((HELP,), Ledger((Projection("events", {"area": "花壇鄉"}),))),
        ContextWindow((), Ledger((Projection("events", {"area": "花壇鄉"}),))),
        ContextWindow(),
    ]
    assert steps[-1].is_empty


@pytest.mark.parametrize("max_turns", [-1, True, 1.0, "2", None])
def test_the_number_of_turns_is_a_whole_number(max_turns):
    """A limit that is no whole number of at least zero is refused."""
    with pytest.raises(InvalidSetting):
        ContextWindow().append(PLACES, LOCAL, max_turns)


def test_only_projections_of_the_schema_enter():
    """A projection made past the schema enters neither window nor ledger (5)."""
    for stranger in (Projection("weather"), Projection("places", {"area": "台北市"})):
        with pytest.raises(UnsupportedContext):
            ContextWindow().append(stranger, LOCAL)
        with pytest.raises(UnsupportedContext):
            Ledger().absorb(stranger, LOCAL)


@given(worlds())
def test_a_window_survives_its_json(world: World):
    """Written and read back, a window is the same, and so is what it writes again (12)."""
    text = world.window.to_json(world.schema)
    again = ContextWindow.from_json(text, world.schema)
    assert again == world.window
    assert again.to_json(world.schema) == text
    text.encode()


def test_the_json_is_compact_and_holds_no_sentence():
    """The stored form is names and canonical values, and the schema's fingerprint."""
    window = ContextWindow().append(IN_HUATAN, LOCAL)
    assert window.to_json(LOCAL) == (
        '{"v":2,"schema":"' + LOCAL.fingerprint + '",'
        '"turns":[{"topic":"places","slots":{"area":"花壇鄉"}}],'
        '"ledger":[],"listed":[]}'
    )


def test_a_window_of_another_schema_is_told_apart():
    """A schema that changed meanwhile is reported as that, before anything is read."""
    other = ContextSchema({"places": Topic("找店家")}, language="zh-Hant")
    text = ContextWindow().append(PLACES, LOCAL).to_json(LOCAL)
    with pytest.raises(SchemaChanged) as caught:
        ContextWindow.from_json(text, other)
    assert caught.value.error_code == "UNSUPPORTED_PUBLIC_CONTEXT"
    with pytest.raises(SchemaChanged):
        ContextWindow.from_json(text.replace('"v":2', '"v":1'), LOCAL)


def _turn(**changes: object) -> dict[str, object]:
    return {"topic": "places", "slots": {"area": "花壇鄉"}, **changes}


def _stored(**changes: object) -> str:
    content = {
        "v": 2,
        "schema": LOCAL.fingerprint,
        "turns": [{"topic": "places", "slots": {"area": "花壇鄉"}}],
        "ledger": [{"topic": "events", "slots": {"area": "彰化市"}, "ages": {"area": 3}}],
        "listed": [],
    }
    return json.dumps({**content, **changes})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{",
        "[" * 100_000,
        None,
        5,
        _stored(extra=1),
        _stored(turns=None),
        _stored(turns={}),
        _stored(turns=[None]),
        _stored(turns=[{"topic": "places"}]),
        _stored(turns=[{"topic": "places", "slots": {}, "said": "我吃素"}]),
        _stored(turns=[{"topic": 5, "slots": {}}]),
        _stored(turns=[{"topic": "weather", "slots": {}}]),
        _stored(turns=[{"topic": "places", "slots": []}]),
        _stored(turns=[{"topic": "places", "slots": {"area": None}}]),
        _stored(turns=[{"topic": "places", "slots": {"area": ["花壇鄉"]}}]),
        _stored(turns=[{"topic": "places", "slots": {"area": "台北市"}}]),
        _stored(turns=[{"topic": "places", "slots": {"area": "花壇"}}]),
        _stored(turns=[{"topic": "places", "slots": {"diet": "vegan"}}]),
        _stored(turns=[{"topic": "places", "slots": {"area": "\ud800"}}]),
        _stored(turns=[{"topic": "", "slots": {}}]),
        _stored(turns=[_turn(changed=["diet"])]),
        _stored(turns=[_turn(changed="area")]),
        _stored(turns=[_turn(changed=[["area"]])]),
        _stored(turns=[_turn(sources={"area": "guessed"})]),
        _stored(turns=[_turn(sources={"diet": "tool"})]),
        _stored(turns=[_turn(sources=["area"])]),
        _stored(turns=[_turn(ages={"area": -1})]),
        _stored(turns=[_turn(ages={"area": True})]),
        _stored(turns=[_turn(ages={"diet": 1})]),
        _stored(ledger=None),
        _stored(ledger=[{"topic": "events"}]),
        _stored(ledger=[{"topic": 5, "slots": {}}]),
        _stored(ledger=[{"topic": "help", "slots": {"area": "彰化市"}}]),
        _stored(ledger=[{"topic": "weather", "slots": {}}]),
        _stored(ledger=[{"topic": "", "slots": {"area": "台北市"}}]),
        _stored(ledger=[{"topic": "", "slots": {}}]),
        _stored(ledger=[{"topic": "events", "slots": {}}] * 2),
        _stored(ledger=[{"topic": "events", "slots": {}}, {"topic": "", "slots": {}}]),
        _stored(listed=None),
        _stored(listed=[["1", "Sino"]]),
        _stored(listed=[["Sino"]]),
        _stored(listed=[[1, "Sino"]]),
        _stored(v=True),
        _stored(v="1"),
        _stored(schema=None),
        _stored()[:-1] + ',"v":2}',
        '{"turns":[]}',
    ],
)
def test_a_stored_window_is_not_trusted(text):
    """Unknown, missing, repeated or foreign content is refused as a whole (5)."""
    assert not ContextWindow.from_json(_stored(), LOCAL).is_empty
    with pytest.raises(UnsupportedContext):
        ContextWindow.from_json(text, LOCAL)


@pytest.mark.parametrize(
    "window",
    [
        ContextWindow((Projection("weather"),)),
        ContextWindow((), Ledger((Projection("", {"diet": "vegan"}),))),
    ],
)
def test_a_window_outside_the_schema_is_not_stored(window):
    """What could not be read back is not written (5)."""
    with pytest.raises(UnsupportedContext):
        window.to_json(LOCAL)


def test_a_window_is_frozen():
    """A list given to a window is copied; its parts do not change."""
    given_list = [PLACES]
    window = ContextWindow(given_list)  # type: ignore[arg-type]  # a list is what is tested
    given_list.append(HELP)
    assert window.projections == (PLACES,)
    with pytest.raises(AttributeError):
        window.ledger = Ledger()  # type: ignore[misc]  # that it cannot is what is tested


def test_what_was_set_long_ago_keeps_its_age():
    """A value that was set in an earlier exchange is stored with how many exchanges ago."""
    window = ContextWindow()
    for projection in (IN_HUATAN, HELP, HELP, HELP):
        window = window.append(projection, LOCAL, max_turns=1)
    assert "ages" in window.to_json(LOCAL)
    assert ContextWindow.from_json(window.to_json(LOCAL), LOCAL) == window


def test_where_a_value_came_from_is_stored():
    """A source that is not a tool is stored with the value."""
    noted = Projection("places", {"area": "花壇鄉"}, frozenset(), {"area": "found"})
    window = ContextWindow().append(noted, LOCAL)
    assert '"sources":{"area":"found"}' in window.to_json(LOCAL)
    assert ContextWindow.from_json(window.to_json(LOCAL), LOCAL) == window
