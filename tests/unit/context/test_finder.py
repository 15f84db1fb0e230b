"""The finder takes what a message plainly contains, and nothing where there is a doubt."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callbacks.context.finder import MAX_MESSAGE, MessageFinder
from callbacks.context.listing import Entry, Listing
from callbacks.context.schema import ContextSchema, Topic
from callbacks.context.slot import Slot
from tests.unit.context.worlds import World, worlds

SCHEMA = ContextSchema(
    {"food": Topic("food"), "stay": Topic("stay"), "bus": Topic("bus")},
    {
        "area": Slot.closed(
            ["花壇鄉", "彰化市", "鹿港鎮", "San Jose", "York", "New York", "moderate", "2"],
            aliases={"花壇": "花壇鄉", "彰化": "彰化市", "鹿港": "鹿港鎮", "é": "York"},
        ),
        "from": Slot.closed(["Taipei", "Tainan"], topics=["bus"]),
        "to": Slot.closed(["Taipei", "Tainan"], topics=["bus"]),
        "city": Slot.closed(["Taipei", "Keelung"], topics=["stay"]),
        "date": Slot.date(),
        "open": Slot.time(topics=["food"]),
        "leave": Slot.time(topics=["bus"]),
        "people": Slot.number(1, 20, "人"),
        "far": Slot.number(0, 90, "km"),
        "rooms": Slot.number(1, 9, "間", topics=["stay"]),
        "tables": Slot.number(1, 9, "間", topics=["food"]),
        "price": Slot.number(0, 100),
        "shop": Slot.grounded("search", "name"),
    },
    listings={"search": Listing("name", id="id", slot="shop")},
)
FINDER = MessageFinder(SCHEMA)
LISTED = (Entry("1", "阿草"), Entry("2", "村口"), Entry("", "Sino"))
TODAY = date(2026, 3, 5)


def found(text: str, goal: str = "food") -> dict[str, str]:
    return FINDER.find(text, goal=goal, listed=LISTED, today=TODAY)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("花壇有什麼吃的？", {"area": "花壇鄉"}),
        ("花壇鄉有什麼吃的？", {"area": "花壇鄉"}),
        ("不是花壇，是彰化", {"area": "彰化市"}),
        ("不要花壇，改成鹿港", {"area": "鹿港鎮"}),
        ("要不要去花壇？", {"area": "花壇鄉"}),
        ("花壇特別好", {"area": "花壇鄉"}),
        ("find food in san jose.", {"area": "San Jose"}),
        ("in New York please", {"area": "New York"}),
        ("Not York, but San Jose please", {"area": "San Jose"}),
        ("York, York", {"area": "York"}),
        ("no problem, York", {"area": "York"}),
        ("San Jose Friday", {"area": "San Jose"}),
        ("Friday York", {"area": "York"}),
        ("Yes. Visit York", {"area": "York"}),
        ("moderate", {"area": "moderate"}),
        ("明天下午三點，3人", {"date": "2026-03-06", "open": "15:00", "people": "3人"}),
        ("大後天", {"date": "2026-03-08"}),
        ("the day after tomorrow at 19:30", {"date": "2026-03-07", "open": "19:30"}),
        ("March 7th, half past 6 in the evening", {"date": "2026-03-07", "open": "18:30"}),
        ("3月1日", {"date": "2027-03-01"}),
        ("2月30日", {}),
        ("五個人 5人", {"people": "5人"}),
        ("5 km away", {"far": "5 km"}),
        ("一間", {"tables": "1間"}),
        ("第二家幾點開", {"shop": "村口"}),
        ("the LAST one", {"shop": "Sino"}),
        ("最後一家", {"shop": "Sino"}),
        ("the third place", {"shop": "Sino"}),
    ],
)
def test_what_is_plain_is_found(text: str, values: dict[str, str]):
    """Names with their aliases, dates, times, amounts and references by order are found."""
    assert found(text) == values


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "x" * MAX_MESSAGE + " York",
        "花壇還是彰化",
        "花壇或員林",
        "York or Leeds",
        "Leeds or York",
        "不是花壇是彰化",
        "不要花壇，彰化",
        "除了花壇",
        "花壇就不用了",
        "彰化，不要彰化",
        "I don't want York",
        "anywhere but not York, San Jose",
        "花壇國小旁邊",
        "花壇車站",
        "新花壇",
        "Yorkshire",
        "Duke of York's",
        "New Yorker",
        "San Jose Mercury",
        "the West York line",
        "York-based",
        "pre-York",
        "Taipei",
        "3:30",
        "三點",
        "下午三點20",
        "3月7日 3月8日",
        "21人",
        "3人或5人",
        "12345678901234567人",
        "5 kmh",
        "costs 50",
        "第九家",
        "第四家",
        "第一家和第二家",
        "不要第二家",
        "2",
        "é",
    ],
)
def test_where_there_is_a_doubt_nothing_is_taken(text: str):
    """Two values, a denial, a longer name, a half of the day: nothing is guessed (5)."""
    assert found(text) == {}


def test_the_goal_tells_which_slot_is_meant():
    """Of slots with the same values, the running topic's own counts; without one, none does."""
    assert found("06:30 pm", "bus") == {"leave": "18:30"}
    assert found("06:30 pm", "") == {}
    assert found("Taipei", "stay") == {"city": "Taipei"}
    assert found("Taipei", "bus") == {}
    assert found("兩間", "stay") == {"rooms": "2間"}
    assert found("兩間", "") == {}


def test_without_a_day_only_dates_with_their_year_are_found():
    """A date without a year means nothing where the day is unknown (12)."""
    assert FINDER.find("明天 tomorrow 3月7日 March 7") == {}
    assert FINDER.find("March 7, or on 2026/3/8") == {"date": "2026-03-08"}
    assert FINDER.find("March 7, 2026") == FINDER.find("2026/3/7") == {"date": "2026-03-07"}


def test_references_need_a_list_and_a_slot():
    """Without a list, or a slot that takes the reference, "the second one" means nothing."""
    assert FINDER.find("the second one") == {}
    plain = ContextSchema({"a": Topic("a")}, listings={"search": Listing("name")})
    assert MessageFinder(plain).find("the second one", listed=LISTED) == {}


@given(worlds(), st.text(max_size=60), st.booleans())
def test_what_is_found_is_what_the_schema_admits(world: World, text: str, as_value: bool):
    """Whatever a message is, a found value is one of its slot's, in its one form (5)."""
    schema = world.schema
    values = [v for slot in schema.slots.values() for v in getattr(slot, "values", ())]
    message = text + (" ".join(values) if as_value else "")
    finder = MessageFinder(schema)
    settled = finder.find(message, goal=world.window.goal(schema), listed=world.window.listed)
    schema.check_values(settled)
    assert finder.find(message, goal=world.window.goal(schema)) == settled
