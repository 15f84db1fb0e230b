"""From a tool's result to what a person is shown: fixed templates, no model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from local_agent import templates
from local_agent.search import EventResults, PlaceResults
from stores.records import Card, CardAction


@dataclass(frozen=True)
class Shown:
    """What one result says to the person.

    Attributes:
        text: The words.
        card: A consent card that belongs to them, if one was made.
        error_code: Why the tool gave nothing, where it gave nothing.
    """

    text: str
    card: Card | None = None
    error_code: str | None = None


def present(tool: str, result: Mapping[str, Any]) -> Shown:
    """Return what to show for a tool's result.

    Args:
        tool: The tool's name; one that LOCAL does not have reads as an internal error.
        result: What it returned: its data, or an `error_code`.
    """
    code = result.get("error_code")
    if isinstance(code, str):
        return Shown(templates.refusal(code), error_code=code)
    if tool == "search_local_places":
        return Shown(templates.places(PlaceResults.model_validate(_data(result))))
    if tool == "search_local_events":
        return Shown(templates.events(EventResults.model_validate(_data(result))))
    if tool == "show_local_help":
        return Shown(templates.show_help(str(result.get("reason", ""))))
    if "card" in result:
        card = Card.model_validate_json(result["card"])
        words = (
            templates.forget_card()
            if card.action is CardAction.FORGET
            else templates.propose_card(str(result["value"]))
        )
        return Shown(words.as_text(), card=card)
    if "remembered" in result:
        return Shown(templates.preferences(result["remembered"]))
    return Shown(templates.refusal("INTERNAL_ERROR"), error_code="INTERNAL_ERROR")


def _data(result: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name != "text"}
