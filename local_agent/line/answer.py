"""From what LOCAL's service replies to the messages of a plan. Pure: same reply, same bytes."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final

from local_agent import templates
from local_agent.intents import EVENTS, subject_of
from local_agent.line import flex, words
from local_agent.line.flex import Json
from local_agent.line.plan import MOST_MESSAGES, Plan
from local_agent.line.splitting import TEXT_UNITS, shorten, split, units
from local_agent.presenting import Shown
from local_agent.search import PlaceResults
from local_agent.service import Reply

_KEPT_CONTROLS: Final = "\n\t"

_TEXT_BYTES: Final = 60_000
"""Most UTF-8 bytes of the texts of a plan: a kept plan has at most 65,536 (stores.inbox)."""


def plan_of(reply: Reply, *, asked: str = "") -> Plan:
    """Return what to send for a reply.

    Args:
        reply: Of the service.
        asked: What the person wrote, to know what a town is asked for.
    """
    shown = reply.shown or (Shown(reply.text, error_code=reply.error_code),)
    messages = _merged([message for part in shown for message in _part(part, asked)])
    if len(messages) > MOST_MESSAGES:
        cards = [_card(part) for part in shown if part.card is not None][: MOST_MESSAGES - 1]
        messages = [*text_messages(reply.text, MOST_MESSAGES - len(cards)), *cards]
    if any(part.help_reason not in {None, "which_area"} for part in shown):
        messages[-1] = flex.with_quick_replies(messages[-1], flex.help_actions())
    return Plan(
        messages=tuple(messages),
        personal=is_personal(reply),
        revision=reply.revision,
        refused=reply.error_code is not None and not reply.shown,
    )


def said(text: str, *, help_below: bool = False) -> Plan:
    """Return the plan of a sentence of ours.

    Args:
        text: The sentence.
        help_below: Whether examples to press stand below it.
    """
    messages = text_messages(text)
    if help_below:
        messages[-1] = flex.with_quick_replies(messages[-1], flex.help_actions())
    return Plan(messages=tuple(messages))


def towns(question: str) -> Plan:
    """Return the plan that asks for a town to look for places in."""
    return Plan(messages=(flex.areas(question, about_events=False),))


def is_personal(reply: Reply) -> bool:
    """Tell whether a reply shows, or was found with, something a person had remembered."""
    filled = reply.report is not None and any(
        call.preference_origin == "consented_memory" for call in reply.report.tool_calls
    )
    about = any(part.about_memory and part.error_code is None for part in reply.shown)
    return filled or about or reply.card is not None


def text_messages(text: str, most: int = MOST_MESSAGES) -> list[Json]:
    """Return a text as messages; what does not fit into them is left out, and that is said.

    Args:
        text: Any text. What cannot be sent (lone surrogates, control characters) is replaced or
            left out; of a blank one a refusal is made, for LINE takes no blank message.
        most: How many messages there may be.
    """
    parts = [part for part in split(_sendable(text)) if _has_ink(part)]
    while len("".join(parts[:most]).encode()) > _TEXT_BYTES:
        most -= 1
    if len(parts) > most:
        room = TEXT_UNITS - units(words.CUT) - 1
        parts = [*parts[: most - 1], f"{shorten(parts[most - 1], room)}\n{words.CUT}"]
    return [flex.text(part) for part in parts or [templates.refusal("MODEL_FAILED")]]


def _part(part: Shown, asked: str) -> list[Json]:
    if part.card is not None and part.asks is not None:
        return [_card(part)]
    if isinstance(part.found, PlaceResults) and part.found.places:
        return [flex.places(part.found)]
    if part.found is not None and not isinstance(part.found, PlaceResults) and part.found.events:
        return [flex.events(part.found)]
    if part.help_reason == "which_area":
        return [flex.areas(words.ASK_AREA, about_events=subject_of(asked) == EVENTS)]
    if part.about_memory and part.error_code is None and part.text != templates.preferences(None):
        return [flex.remembered(part.text)]
    return text_messages(part.text)


def _card(part: Shown) -> Json:
    if part.card is None or part.asks is None:
        return flex.text(part.text)
    return flex.card(part.asks, part.card.token)


def _merged(messages: Sequence[Json]) -> list[Json]:
    """Return the messages with texts that follow each other in one, as long as they fit."""
    merged: list[Json] = []
    for message in messages:
        last = merged[-1] if merged else None
        if last is not None and last["type"] == message["type"] == "text":
            both = f"{last['text']}\n\n{message['text']}"
            if units(both) <= TEXT_UNITS:
                merged[-1] = flex.text(both)
                continue
        merged.append(message)
    return merged


def _sendable(text: str) -> str:
    return "".join(
        "\ufffd" if "\ud800" <= character <= "\udfff" else character
        for character in text
        if character in _KEPT_CONTROLS or unicodedata.category(character) != "Cc"
    )


def _has_ink(text: str) -> bool:
    return any(
        not character.isspace() and unicodedata.category(character) not in {"Cf", "Mn"}
        for character in text
    )
