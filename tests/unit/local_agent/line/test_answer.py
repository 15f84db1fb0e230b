"""From replies to messages: what LINE takes, what people can read, the same bytes each time."""

import json
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from linebot.v3.messaging import FlexMessage, Message

from callbacks.adk.report import ToolRecord, TurnReport
from local_agent import templates
from local_agent.areas import AREAS
from local_agent.catalog import load_catalog
from local_agent.line import flex, words
from local_agent.line.answer import plan_of, said, text_messages, towns
from local_agent.line.buttons import Act, read
from local_agent.line.peer_checks import faults
from local_agent.line.plan import Plan
from local_agent.line.splitting import units
from local_agent.presenting import Shown, present
from local_agent.search import search_events, search_places
from local_agent.service import Reply
from stores.inbox import BODY_MAX_BYTES
from stores.records import TOKEN_MAX, Card, CardAction

TOKEN = "t" * TOKEN_MAX
CATALOG = load_catalog()


def card_of(action: CardAction, value: str | None) -> Shown:
    card = Card(
        card_id="c",
        action=action,
        key="dietary_type",
        purpose="p",
        revision=0,
        expires_at_ms=1,
        token=TOKEN,
    )
    return present("propose_dietary_memory", {"card": card.model_dump_json(), "value": value})


def found(tool: str, results: Any) -> Shown:
    return present(tool, results.model_dump(mode="json"))


PLACES = found("search_local_places", search_places(CATALOG, area="花壇鄉"))
COUNTY = found("search_local_places", search_places(CATALOG))
NO_PLACES = found("search_local_places", search_places(CATALOG, keyword="沒有這種店"))
EVENTS = found("search_local_events", search_events(CATALOG, today=CATALOG.updated))
NO_EVENTS = found("search_local_events", search_events(CATALOG, today=date(2999, 1, 1)))
REMEMBER = card_of(CardAction.REMEMBER, "vegetarian")
FORGET = card_of(CardAction.FORGET, None)
KNOWN = present("request_memory_management", {"remembered": "vegan"})
NOTHING = present("request_memory_management", {"remembered": None})
WHICH = present("show_local_help", {"reason": "which_area"})
HELP = present("show_local_help", {"reason": "features"})

EVERY = {
    "places": PLACES,
    "county": COUNTY,
    "no places": NO_PLACES,
    "events": EVENTS,
    "no events": NO_EVENTS,
    "remember": REMEMBER,
    "forget": FORGET,
    "known": KNOWN,
    "nothing": NOTHING,
    "which": WHICH,
    "help": HELP,
    "refused": Shown(templates.refusal("MODEL_FAILED"), error_code="MODEL_FAILED"),
    "text": Shown("您好。"),
}


def reply_of(*shown: Shown, report: TurnReport | None = None) -> Reply:
    return Reply(
        text="\n\n".join(part.text for part in shown),
        card=next((part.card for part in shown if part.card), None),
        shown=shown,
        report=report,
        revision=7,
    )


def inside(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from inside(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from inside(inner)


def actions(plan: Plan) -> list[dict[str, Any]]:
    return [one["action"] for one in inside(list(plan.messages)) if "action" in one]


def texts(plan: Plan) -> str:
    return "\n".join(
        str(one["text"]) for one in inside(list(plan.messages)) if one.get("type") == "text"
    )


@pytest.mark.parametrize("shown", EVERY.values(), ids=EVERY.keys())
def test_every_answer_is_one_that_line_takes(shown: Shown) -> None:
    """The SDK's models give each message back as it is, and the peer's checks find no fault."""
    plan = plan_of(reply_of(shown))
    assert faults(list(plan.messages)) == []
    for message in plan.messages:
        assert Message.from_dict(message).to_dict() == message
        if message["type"] == "flex":
            again = FlexMessage.from_dict(message)
            assert again.to_dict() == message


@pytest.mark.parametrize("shown", EVERY.values(), ids=EVERY.keys())
def test_the_same_reply_makes_the_same_bytes(shown: Shown) -> None:
    """Invariant 12: no clock and no chance in what is sent."""
    one, two = plan_of(reply_of(shown)), plan_of(reply_of(shown))
    assert one.model_dump_json() == two.model_dump_json()
    assert Plan.model_validate_json(one.model_dump_json()) == one
    assert len(one.model_dump_json().encode()) <= BODY_MAX_BYTES


@pytest.mark.parametrize("shown", [PLACES, COUNTY, EVENTS], ids=["places", "county", "events"])
def test_a_laid_out_list_says_all_that_its_text_says(shown: Shown) -> None:
    """Each line of the plain text stands in the Flex message, so nobody is told less."""
    plan = plan_of(reply_of(shown))
    assert plan.messages[0]["type"] == "flex"
    told = texts(plan)
    for line in shown.text.splitlines():
        assert line.strip("　").rstrip("：") in told


def test_a_place_with_a_number_can_be_called() -> None:
    """Its button dials the number that is written above it."""
    with_phone = [place for place in search_places(CATALOG).places if place.phone]
    calls = [action["uri"] for action in actions(plan_of(reply_of(COUNTY))) if "uri" in action]
    assert calls == [f"tel:{place.phone.replace('-', '')}" for place in with_phone]
    assert calls


def test_nothing_found_is_a_plain_sentence() -> None:
    """An empty result is told as text, not as an empty list."""
    for shown in (NO_PLACES, NO_EVENTS):
        plan = plan_of(reply_of(shown))
        assert plan.messages == ({"type": "text", "text": shown.text},)


@pytest.mark.parametrize("shown", [REMEMBER, FORGET], ids=["remember", "forget"])
def test_a_cards_token_stands_in_its_buttons_alone(shown: Shown) -> None:
    """Two buttons carry the token and what to do with it; no text and no alternative text does."""
    plan = plan_of(reply_of(shown))
    presses = [read(action["data"]) for action in actions(plan)]
    assert [(press.act, press.token) for press in presses if press] == [
        (Act.APPROVE, TOKEN),
        (Act.CANCEL, TOKEN),
    ]
    assert all(len(action["data"]) <= 300 for action in actions(plan))
    assert TOKEN not in texts(plan) + str(plan.messages[0]["altText"])
    assert all(TOKEN not in action["displayText"] for action in actions(plan))


@pytest.mark.parametrize("shown", [REMEMBER, FORGET], ids=["remember", "forget"])
def test_a_card_says_the_same_to_those_who_only_hear_it(shown: Shown) -> None:
    """The alternative text is the card's own words, with both choices."""
    assert plan_of(reply_of(shown)).messages[0]["altText"] == shown.text


def test_what_is_remembered_can_be_forgotten_with_one_press() -> None:
    """There is a button under what is remembered, and none where nothing is."""
    known = [read(action["data"]) for action in actions(plan_of(reply_of(KNOWN)))]
    assert [press.act for press in known if press] == [Act.FORGET]
    assert plan_of(reply_of(NOTHING)).messages == ({"type": "text", "text": NOTHING.text},)


@pytest.mark.parametrize(
    ("asked", "act"),
    [("那裡有什麼吃的", Act.PLACES), ("那邊週末有什麼活動", Act.EVENTS), ("", Act.PLACES)],
)
def test_asking_for_a_town_offers_all_of_them(asked: str, act: Act) -> None:
    """26 towns and the county, for what the person was asking about."""
    presses = [read(action["data"]) for action in actions(plan_of(reply_of(WHICH), asked=asked))]
    assert [(press.act, press.town) for press in presses if press] == [
        *((act, town) for town in AREAS),
        (act, ""),
    ]


def test_help_offers_what_to_press() -> None:
    """Examples stand under it; each asks what its label says."""
    items = plan_of(reply_of(HELP)).messages[-1]["quickReply"]["items"]
    labels = [item["action"]["label"] for item in items]
    assert labels == [*words.EXAMPLES, words.INSPECT]
    assert len(items) <= 13


@pytest.mark.parametrize("shown", EVERY.values(), ids=EVERY.keys())
def test_type_is_large_and_dark(shown: Shown) -> None:
    """For older readers: no text smaller than `md`, all of it wraps and scales, contrast 7 : 1."""
    for one in inside(list(plan_of(reply_of(shown)).messages)):
        if one.get("type") == "text" and "size" in one:
            assert one["size"] in {"md", "lg", "xl"}
            assert one["wrap"] is True
            assert one["scaling"] is True


@pytest.mark.parametrize(
    ("ink", "paper"),
    [(flex.INK, flex.PAPER), (flex.PAPER, flex.STRONG), (flex.INK, flex.QUIET)],
)
def test_colours_can_be_told_apart(ink: str, paper: str) -> None:
    """WCAG 2.2, 1.4.6: a contrast of at least 7 : 1."""
    light, dark = sorted((_luminance(ink), _luminance(paper)), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 7


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(
    ("shown", "personal"),
    [
        (REMEMBER, True),
        (FORGET, True),
        (KNOWN, True),
        (NOTHING, True),
        (PLACES, False),
        (HELP, False),
        (Shown("x", error_code="NOT_REMEMBERED", about_memory=True), False),
    ],
)
def test_cards_and_inspections_are_personal(shown: Shown, personal: bool) -> None:
    """What shows a remembered value is never stored; a refusal shows none."""
    plan = plan_of(reply_of(shown))
    assert plan.personal is personal
    assert plan.revision == 7


@pytest.mark.parametrize(
    ("origin", "personal"),
    [("consented_memory", True), ("this_turn", False), ("none", False)],
)
def test_what_was_filled_from_memory_is_personal(origin: Any, personal: bool) -> None:
    """A search that ran with a remembered diet implies it, so its answer is never stored."""
    report = TurnReport("i", "s", "e")
    report.tool_calls.append(ToolRecord("search_local_places", {}, {}, origin, 7))
    assert plan_of(reply_of(PLACES, report=report)).personal is personal


def test_texts_that_follow_each_other_are_one_message() -> None:
    """Two sentences of one turn do not ring twice."""
    plan = plan_of(reply_of(Shown("一。"), Shown("二。"), PLACES, Shown("三。")))
    assert [message["type"] for message in plan.messages] == ["text", "flex", "text"]
    assert plan.messages[0]["text"] == "一。\n\n二。"


def test_long_texts_are_not_put_together() -> None:
    """Two that would not fit into one message stay two."""
    plan = plan_of(reply_of(Shown("一" * 3_000), Shown("二" * 3_000)))
    assert [message["text"] for message in plan.messages] == ["一" * 3_000, "二" * 3_000]


def test_more_than_five_parts_keep_the_card() -> None:
    """Where a turn says too much, texts make room: the buttons must be there to be pressed."""
    plan = plan_of(reply_of(*[PLACES, Shown("間。")] * 4, REMEMBER))
    assert len(plan.messages) <= 5
    assert plan.messages[-1]["altText"] == REMEMBER.text
    assert faults(list(plan.messages)) == []


@given(st.text(max_size=300), st.integers(min_value=1, max_value=300))
def test_any_text_can_be_sent(text: str, times: int) -> None:
    """Whatever a model says, LINE takes what is made of it, and it can be kept in the inbox."""
    plan = said(text * times)
    assert faults(list(plan.messages)) == []
    assert len(plan.model_dump_json().encode()) <= BODY_MAX_BYTES
    json.dumps(plan.messages).encode()


@pytest.mark.parametrize("character", ["字", "a", "😀"])
def test_a_text_without_end_is_cut_and_says_so(character: str) -> None:
    """What does not fit into five messages is left out, and the last line tells."""
    messages = text_messages(character * 40_000)
    assert len(messages) <= 5
    assert messages[-1]["text"].endswith(words.CUT)
    assert all(units(message["text"]) <= 5_000 for message in messages)


@pytest.mark.parametrize("text", ["", " \n", "\u200b", "\x00\x01", "\u0301"])
def test_a_blank_answer_is_a_refusal(text: str) -> None:
    """LINE takes no blank message, and a person is not left without an answer."""
    assert text_messages(text) == [{"type": "text", "text": templates.refusal("MODEL_FAILED")}]


def test_labels_fit() -> None:
    """No label is shortened: quick replies have 20 characters."""
    labels = [*words.EXAMPLES, words.INSPECT, words.FORGET_DIET, words.CALL, words.WHOLE_COUNTY]
    assert all(units(label) <= 20 for label in [*labels, *AREAS])
    assert faults(list(towns(words.ASK_AREA).messages)) == []
