"""From a tool's result to what a person is shown: fixed templates, no model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from local_agent import templates
from local_agent.search import EventResults, PlaceResults
from local_agent.templates import CardText
from stores.records import Card, CardAction


@dataclass(frozen=True)
class Shown:
    """What one result says to the person.

    Attributes:
        text: The words.
        card: A consent card that belongs to them, if one was made.
        error_code: Why the tool gave nothing, where it gave nothing.
        found: What was found, for a surface that lays it out itself.
        asks: The card's words in their parts, for a surface with buttons.
        help_reason: Why help is shown, where it is.
        about_memory: Whether it tells or asks about what is remembered: for that person alone.
    """

    text: str
    card: Card | None = None
    error_code: str | None = None
    found: PlaceResults | EventResults | None = None
    asks: CardText | None = None
    help_reason: str | None = None
    about_memory: bool = False


MEMORY_TOOLS = frozenset({"propose_dietary_memory", "request_memory_management"})
"""Tools about what is remembered of a person."""


def present(tool: str, result: Mapping[str, Any]) -> Shown:
    """Return what to show for a tool's result.

    Args:
        tool: The tool's name; one that LOCAL does not have reads as an internal error.
        result: What it returned: its data, or an `error_code`.
    """
    code = result.get("error_code")
    if isinstance(code, str):
        return Shown(templates.refusal(code), error_code=code, about_memory=tool in MEMORY_TOOLS)
    if tool == "search_local_places":
        places = PlaceResults.model_validate(_data(result))
        return Shown(templates.places(places), found=places)
    if tool == "search_local_events":
        events = EventResults.model_validate(_data(result))
        return Shown(templates.events(events), found=events)
    if tool == "show_local_help":
        reason = str(result.get("reason", ""))
        return Shown(templates.show_help(reason), help_reason=reason)
    if "card" in result:
        card = Card.model_validate_json(result["card"])
        words = (
            templates.forget_card()
            if card.action is CardAction.FORGET
            else templates.propose_card(str(result["value"]))
        )
        return Shown(words.as_text(), card=card, asks=words, about_memory=True)
    if "remembered" in result:
        return Shown(templates.preferences(result["remembered"]), about_memory=True)
    return Shown(templates.refusal("INTERNAL_ERROR"), error_code="INTERNAL_ERROR")


def _data(result: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name != "text"}
