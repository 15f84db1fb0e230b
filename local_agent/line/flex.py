"""Flex messages of LOCAL: large type, high contrast, one thing under the other, large buttons.

Colours keep a contrast of at least 7 : 1 (WCAG 2.2, 1.4.6). Texts scale with the font size that a
person has set on their telephone. The same arguments make the same object; all of it is pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from local_agent import templates
from local_agent.areas import AREAS
from local_agent.line import words
from local_agent.line.buttons import Act, Press, data_of
from local_agent.line.splitting import shorten
from local_agent.search import EventResults, PlaceResults
from local_agent.templates import CardText

Json = dict[str, Any]

INK: Final = "#1A1A1A"
PAPER: Final = "#FFFFFF"
STRONG: Final = "#0B4F2E"
"""Of the button that does something; white on it has a contrast of 9.7 : 1."""
QUIET: Final = "#E8E8E8"

ALT_UNITS: Final = 400
"""Longest alternative text, in UTF-16 units: what every version of LINE shows."""

QUICK_LABEL_UNITS: Final = 20
DISPLAY_UNITS: Final = 300


def card(asks: CardText, token: str) -> Json:
    """Return a consent card; its token stands in the buttons alone.

    Args:
        asks: The card's words.
        token: What names the card and proves it.
    """
    body = [_text(asks.title, size="xl", bold=True), _text(asks.body, margin="lg")]
    footer = [
        _button(asks.confirm, _postback(asks.confirm, Press(Act.APPROVE, token)), strong=True),
        _button(asks.decline, _postback(asks.decline, Press(Act.CANCEL, token))),
    ]
    return _message(asks.as_text(), _bubble(body, footer))


def remembered(text: str) -> Json:
    """Return what is remembered of a person, with a button that forgets it."""
    forget = _postback(words.FORGET_DIET, Press(Act.FORGET))
    return _message(text, _bubble([_text(text)], [_button(words.FORGET_DIET, forget)]))


def places(found: PlaceResults) -> Json:
    """Return places, each with a button that calls it where its number is known."""
    heading = templates.places_heading(found)
    body = [_text(heading, size="xl", bold=True)]
    for number, place in enumerate(found.places, start=1):
        body += [_line(), *_entry(templates.place_lines(number, place))]
        if place.phone:
            uri = f"tel:{place.phone.replace('-', '')}"
            body.append(_button(words.CALL, {"type": "uri", "label": words.CALL, "uri": uri}))
    body += [_line(), _text(templates.places_closing(found), size="md")]
    names = [place.name for place in found.places]
    return _message(words.summary(heading, names), _bubble(body))


def events(found: EventResults) -> Json:
    """Return events, each with its day and place."""
    heading = templates.events_heading(found)
    body = [_text(heading, size="xl", bold=True)]
    for number, hit in enumerate(found.events, start=1):
        body += [_line(), *_entry(templates.event_lines(number, hit))]
    body += [_line(), _text(templates.events_closing(found), size="md")]
    names = [hit.event.name for hit in found.events]
    return _message(words.summary(heading, names), _bubble(body))


def areas(text: str, *, about_events: bool) -> Json:
    """Return the county's towns as buttons, two in a row.

    Args:
        text: What is asked.
        about_events: Whether the answer will be about events; about places otherwise.
    """
    act = Act.EVENTS if about_events else Act.PLACES
    buttons = [
        _button(
            town or words.WHOLE_COUNTY,
            _postback(
                town or words.WHOLE_COUNTY,
                Press(act, town=town),
                shown=words.ask_about(town, events=about_events),
            ),
        )
        for town in AREAS
    ]
    rows = [_row(buttons[at : at + 2]) for at in range(0, len(buttons), 2)]
    county = _button(
        words.WHOLE_COUNTY,
        _postback(words.WHOLE_COUNTY, Press(act), shown=words.ask_about("", events=about_events)),
    )
    body = [_text(text, size="xl", bold=True), *rows, county]
    return _message(text, _bubble(body))


def text(words_of_it: str) -> Json:
    """Return a plain text message."""
    return {"type": "text", "text": words_of_it}


def with_quick_replies(message: Json, actions: Sequence[Json]) -> Json:
    """Return the message with buttons under it; LINE shows those of the last message alone."""
    items = [{"type": "action", "action": action} for action in actions]
    return {**message, "quickReply": {"items": items}}


def help_actions() -> list[Json]:
    """Return what may be pressed under a help text: examples, and what needs no typing."""
    asked = [
        {"type": "message", "label": shorten(text, QUICK_LABEL_UNITS), "text": text}
        for text in words.EXAMPLES
    ]
    return [*asked, _postback(words.INSPECT, Press(Act.INSPECT))]


def _entry(lines: Sequence[str]) -> list[Json]:
    return [_text(lines[0], size="xl", bold=True), *(_text(line) for line in lines[1:])]


def _message(alt: str, bubble: Json) -> Json:
    return {"type": "flex", "altText": shorten(alt, ALT_UNITS), "contents": bubble}


def _bubble(body: Sequence[Json], footer: Sequence[Json] = ()) -> Json:
    bubble: Json = {"type": "bubble", "size": "giga", "body": _box(body)}
    if footer:
        bubble["footer"] = _box(footer)
    return bubble


def _box(contents: Sequence[Json]) -> Json:
    return {
        "type": "box",
        "layout": "vertical",
        "spacing": "md",
        "backgroundColor": PAPER,
        "contents": list(contents),
    }


def _row(buttons: Sequence[Json]) -> Json:
    return {"type": "box", "layout": "horizontal", "spacing": "md", "contents": list(buttons)}


def _text(content: str, *, size: str = "lg", bold: bool = False, margin: str = "sm") -> Json:
    return {
        "type": "text",
        "text": content,
        "size": size,
        "weight": "bold" if bold else "regular",
        "color": INK,
        "wrap": True,
        "scaling": True,
        "margin": margin,
    }


def _line() -> Json:
    return {"type": "separator", "margin": "lg"}


def _button(label: str, action: Json, *, strong: bool = False) -> Json:
    """Return a large button: a box that can be pressed, for a button's own text stays small."""
    return {
        "type": "box",
        "layout": "vertical",
        "backgroundColor": STRONG if strong else QUIET,
        "cornerRadius": "md",
        "paddingAll": "lg",
        "flex": 1,
        "action": action,
        "contents": [
            {
                "type": "text",
                "text": label,
                "size": "xl",
                "weight": "bold",
                "color": PAPER if strong else INK,
                "align": "center",
                "wrap": True,
                "scaling": True,
            }
        ],
    }


def _postback(label: str, press: Press, *, shown: str | None = None) -> Json:
    return {
        "type": "postback",
        "label": shorten(label, QUICK_LABEL_UNITS),
        "data": data_of(press),
        "displayText": shorten(shown or label, DISPLAY_UNITS),
    }
