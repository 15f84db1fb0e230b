"""The ledger keeps the thread: each value once, where it belongs, as long as it matters."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callbacks.context.errors import UnsupportedContext
from callbacks.context.grounds import check_grounds, grounds_of
from callbacks.context.ledger import MAX_AGE, MAX_TOPICS, Ledger
from callbacks.context.listing import MAX_ENTRIES, Entry, Listing
from callbacks.context.projecting import project_fields
from callbacks.context.projection import Projection
from callbacks.context.render import parse, render
from callbacks.context.schema import ContextSchema, Topic
from callbacks.context.slot import Slot
from callbacks.context.window import ContextWindow
from tests.unit.context.worlds import projections, schemas

TRIP = ContextSchema(
    {
        "hotel": Topic("hotel"),
        "food": Topic("food"),
        "help": Topic("help", sticky=False),
    },
    {
        "city": Slot.closed(["Rome", "Pisa"]),
        "date": Slot.date(topics=["hotel", "food"]),
        "nights": Slot.number(1, 30, topics=["hotel"]),
        "place": Slot.grounded("find", "name", topics=["food"]),
        "hotel_name": Slot.grounded("other", "name", topics=["hotel"]),
    },
    listings={"find": Listing("name", id="id", slot="place")},
)


def talk(*exchanges: tuple[str, Mapping[str, object]], max_turns: int = 0) -> str:
    window = ContextWindow()
    for topic, slots in exchanges:
        window = window.append(TRIP.project(topic, slots), TRIP, max_turns)
    text = render(window, TRIP)
    assert parse(text, TRIP) == window
    assert ContextWindow.from_json(window.to_json(TRIP), TRIP) == window
    return text


def test_topics_have_values_of_their_own():
    """A hotel's date is not a restaurant's; what is shared moves on with the goal."""
    assert talk(
        ("hotel", {"date": "2026-03-01", "city": "Rome"}),
        ("food", {"date": "2026-03-02"}),
    ) == ("[earlier]\n*hotel|date=2026-03-01\n*food|city=Rome|date=2026-03-02")


def test_a_superseded_value_is_only_known_to_be_changed():
    """The newest value stands there with a mark, the older one nowhere (4)."""
    said: list[tuple[str, dict[str, object]]]
    said = [("hotel", {"city": "Pisa"}), ("", {"city": "Rome"}), ("", {"city": "Rome"})]
    for max_turns in range(4):
        text = talk(*said, max_turns=max_turns)
        assert text.splitlines()[-1].endswith("city>Rome")
        assert ("Pisa" in text) == (max_turns == 3)


def test_what_was_said_before_its_topic_moves_to_it():
    """A slot named in passing, or before any topic, goes to the first topic that has it."""
    assert talk(("", {"city": "Rome"})) == "[earlier]\n*|city=Rome"
    assert talk(("", {"date": "2026-03-01"}), ("food", {})) == "[earlier]\n*food|date=2026-03-01"
    assert talk(("food", {"nights": 3}), ("hotel", {})) == "[earlier]\n*hotel|nights=3"
    assert talk(("hotel", {"nights": 2}), ("food", {"nights": 3, "city": "Rome"})) == (
        "[earlier]\n*hotel|nights>3\n*food|city=Rome"
    )
    assert talk(("help", {"city": "Rome"}), ("hotel", {})) == "[earlier]\n*hotel|city=Rome"


def test_an_exchange_without_a_tool_finds_its_topic():
    """Slots that only one topic has name it; otherwise the exchange goes on with the goal."""
    assert (
        talk(("food", {}), ("", {"nights": 3}), max_turns=2) == "[earlier]\n-food\n-hotel|nights=3"
    )
    assert talk(("food", {}), ("", {"date": "2026-03-01"}), max_turns=2) == (
        "[earlier]\n-food\n-|date=2026-03-01"
    )
    assert TRIP.topic_for(["city"], "") == ""
    assert TRIP.topic_for(["date"], "") == ""
    assert TRIP.topic_for(["nights", "place"], "food") == ""


def test_nothing_is_said_twice():
    """What a newer turn says leaves the ledger, in its own topic and not in another's."""
    assert (
        talk(
            ("hotel", {"date": "2026-03-01", "nights": 2}),
            ("food", {"date": "2026-03-02"}),
            ("food", {"date": "2026-03-03", "nights": 4}),
            max_turns=1,
        )
        == "[earlier]\n*hotel|date=2026-03-01\n*food\n-food|date>2026-03-03|nights>4"
    )


def test_values_nobody_comes_back_to_are_dropped():
    """A value goes after so many exchanges, a topic when too many have come since (15)."""
    ledger = Ledger().absorb(TRIP.project("hotel", {"nights": 3}), TRIP)
    for _ in range(MAX_AGE):
        ledger = ledger.absorb(TRIP.project("food"), TRIP)
    assert ledger.line("hotel") is not None
    ledger = ledger.absorb(TRIP.project("food"), TRIP)
    assert ledger.line("hotel") is None
    assert ledger.goal == "food"
    names = [f"t{number:02d}" for number in range(MAX_TOPICS + 3)]
    many = ContextSchema({name: Topic(name) for name in names}, {"date": Slot.date(topics=names)})
    ledger = Ledger()
    for name in names:
        ledger = ledger.absorb(many.project(name, {"date": "2026-03-01"}), many)
    assert [line.topic for line in ledger.lines] == names[3:]


@given(schemas().flatmap(lambda s: st.tuples(st.just(s), st.lists(projections(s), max_size=30))))
def test_every_slot_keeps_its_newest_value_and_where_it_came_from(case):
    """However topics change, each slot's newest value and its source are kept (4, 15)."""
    schema, exchanges = case
    ledger = Ledger()
    newest: dict[str, tuple[str, str]] = {}
    for projection in exchanges:
        ledger = ledger.absorb(projection, schema)
        newest.update({n: (v, projection.sources[n]) for n, v in projection.slots.items()})
        ledger.check(schema)
    kept = {n: (v, line.sources[n]) for line in ledger.lines for n, v in line.slots.items()}
    values = [(name, value) for line in ledger.lines for name, value in line.slots.items()]
    assert set(kept) == set(newest)
    for name, (value, source) in newest.items():
        assert (name, value) in values
        if not schema.slots[name].topics:
            assert kept[name] == (value, source)


@pytest.mark.parametrize(
    "ledger",
    [
        Ledger((Projection("hotel"), Projection("hotel"))),
        Ledger((Projection("hotel"), Projection("", {"city": "Rome"}))),
        Ledger((Projection(""),)),
        Ledger((Projection("help", {"city": "Rome"}),)),
    ],
)
def test_a_ledger_out_of_order_is_refused(ledger: Ledger):
    """A ledger that no conversation leaves is not taken (5)."""
    with pytest.raises(UnsupportedContext):
        ledger.check(TRIP)


ROWS = {
    "note": "x",
    "results": [
        {"id": 7, "name": "Sino"},
        {"id": 8},
        {"id": "x" * 33, "name": "long id"},
        {"name": "B" * 60},
        *({"id": n, "name": f"shop {n}"} for n in range(9)),
    ],
}


def test_a_list_is_kept_while_its_topic_is_the_goal():
    """Ids and names of the last list stand in the block, bounded, until the goal changes."""
    listed = TRIP.listings["find"].read(ROWS)
    assert listed[:3] == (Entry("7", "Sino"), Entry("", "B" * 40), Entry("0", "shop 0"))
    assert len(listed) == MAX_ENTRIES
    window = ContextWindow().append(TRIP.project("food"), TRIP, listed=listed[:1])
    assert render(window, TRIP) == "[earlier]\n-food\n#7=Sino"
    again = window.append(TRIP.project("", {"city": "Rome"}), TRIP)
    assert again.listed == listed[:1]
    assert window.append(TRIP.project("hotel"), TRIP).listed == ()
    assert Listing("name", rows="none").read(ROWS) == ()
    assert Listing("name").read({"a": [1], "results": "x"}) == ()


def test_a_list_goes_before_the_ledger_and_after_the_turns():
    """Cuts give up turns into the ledger, then the list, then the ledger."""
    window = ContextWindow().append(TRIP.project("food"), TRIP, listed=[Entry("", "Sino")])
    steps = []
    smaller: ContextWindow | None = window
    while smaller is not None:
        steps.append(render(smaller, TRIP))
        smaller = smaller.trim_oldest(TRIP)
    assert steps == ["[earlier]\n-food\n#=Sino", "[earlier]\n*food\n#=Sino", "[earlier]\n*food", ""]
    alone = ContextWindow((), Ledger(), (Entry("", "Sino"),))
    assert alone.trim_oldest(TRIP) == ContextWindow()


@pytest.mark.parametrize(
    "entries",
    [
        [Entry("", "x")] * (MAX_ENTRIES + 1),
        [Entry("x" * 33, "x")],
        [Entry("", "x" * 41)],
        [Entry("", " x")],
        [Entry(" x", "x")],
        [Entry("", "a\nb")],
    ],
)
def test_a_list_that_no_tool_gave_is_refused(entries):
    """Entries are bounded, canonical and printable, whoever wrote the window (5)."""
    with pytest.raises(UnsupportedContext):
        ContextWindow((), Ledger(), tuple(entries)).check(TRIP)


def test_a_grounded_value_stands_in_a_result():
    """A value is grounded in this turn's results, in an earlier value, or in the last list (5)."""
    grounds = grounds_of(TRIP, "find", {**ROWS, "name": None})
    assert "Sino" in grounds["place"]
    assert set(grounds) == {"place"}
    place = TRIP.project("food", {"place": "Sino", "city": "Rome"})
    check_grounds(place, TRIP, grounds, ContextWindow())
    with pytest.raises(UnsupportedContext):
        check_grounds(place, TRIP, {}, ContextWindow())
    check_grounds(place, TRIP, {}, ContextWindow().append(place, TRIP))
    check_grounds(place, TRIP, {}, ContextWindow((), Ledger(), (Entry("1", "Sino"),)))


def test_fields_make_a_projector():
    """A projector by fields reads the result, its one row and the arguments, as far as admitted."""
    projector = project_fields("hotel", {"city": "town", "nights": "n", "date": "day"})

    def project(arguments, result):
        return projector.project(TRIP, arguments, result)

    found = project({"town": "Pisa", "n": 99, "day": "2026-03-01"}, {"town": "Rome", "n": ""})
    assert found == TRIP.project("hotel", {"city": "Rome", "date": "2026-03-01"})
    one = project({"town": "Pisa", "n": 5}, {"rows": [{"town": "Paris", "n": 3}]})
    assert one == TRIP.project("hotel", {"city": "Pisa", "nights": 3})
    two = project({"town": "Pisa"}, {"rows": [{"town": "Rome"}, {"town": "Rome"}]})
    assert two == TRIP.project("hotel", {"city": "Pisa"})
    assert project({"town": "Pisa"}, {"error_code": "X"}) is None
    with pytest.raises(UnsupportedContext):
        project_fields("hotel", {"weather": "w"}).project(TRIP, {}, {})


@pytest.mark.parametrize(
    "build",
    [
        lambda: Listing(""),
        lambda: Listing("name", id=5),  # type: ignore[arg-type]  # what is tested
        lambda: ContextSchema({"a": Topic("a")}, listings={"find": Listing("name", slot="none")}),
        lambda: ContextSchema(
            {"a": Topic("a")}, {"when": Slot.date()}, listings={"find": Listing("n", slot="when")}
        ),
    ],
)
def test_a_listing_that_makes_no_sense_is_refused(build):
    """A listing names fields and, if any, a grounded slot."""
    with pytest.raises(ValueError, match=r".+"):
        build()
    assert "#" in TRIP.rules()
