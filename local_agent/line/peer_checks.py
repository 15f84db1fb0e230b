"""What LINE refuses in a message object: the checks of the loopback peer.

Written from LINE's Messaging API reference (message objects, actions, Flex components), apart from
what makes our messages, so that a fault in one is seen by the other. Not a copy of LINE's own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

MOST_MESSAGES: Final = 5
TEXT_UNITS: Final = 5_000
ALT_TEXT_UNITS: Final = 1_500
POSTBACK_DATA: Final = 300
DISPLAY_TEXT: Final = 300
QUICK_REPLIES: Final = 13
QUICK_REPLY_LABEL: Final = 20
BUTTON_LABEL: Final = 40
BUBBLE_BYTES: Final = 30_720
CAROUSEL_BYTES: Final = 51_200
CAROUSEL_BUBBLES: Final = 12

_COMPONENTS = frozenset(
    {"box", "button", "image", "icon", "text", "span", "separator", "filler", "video"}
)
_BLOCKS = ("header", "hero", "body", "footer")
_SIZE = re.compile(r"^(?:xxs|xs|sm|md|lg|xl|xxl|3xl|4xl|5xl|\d+px)$")
_COLOR = re.compile(r"^#(?:[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})$")
_URI = re.compile(r"^(?:https?|line|tel):.{1,1000}$")

Fault = tuple[str, str]
"""Where it is, and what it is."""


def faults(messages: Any) -> list[Fault]:
    """Return what is wrong with the messages of a request, in their order; nothing, if sendable."""
    if not isinstance(messages, list) or not 1 <= len(messages) <= MOST_MESSAGES:
        return [("messages", f"Size must be between 1 and {MOST_MESSAGES}")]
    found: list[Fault] = []
    for index, message in enumerate(messages):
        found += [(f"messages[{index}]{path}", what) for path, what in _message(message)]
    return found


def utf16_units(text: str) -> int:
    """Return how long LINE finds a text."""
    return len(text.encode("utf-16-le", errors="surrogatepass")) // 2


def _message(message: Any) -> Iterator[Fault]:
    if not isinstance(message, dict):
        yield "", "Must be an object"
        return
    kind = message.get("type")
    if kind == "text":
        yield from _text(message.get("text"), ".text", TEXT_UNITS)
    elif kind == "flex":
        yield from _text(message.get("altText"), ".altText", ALT_TEXT_UNITS)
        yield from _container(message.get("contents"), ".contents")
    else:
        yield ".type", "Must be one of the types that this peer knows: text, flex"
    if "quickReply" in message:
        yield from _quick_reply(message["quickReply"])


def _text(text: Any, path: str, most: int) -> Iterator[Fault]:
    if not isinstance(text, str) or not text.strip():
        yield path, "May not be empty"
    elif utf16_units(text) > most:
        yield path, f"Length must be between 0 and {most}"
    elif any("\ud800" <= character <= "\udfff" for character in text):
        yield path, "Must be valid Unicode"


def _quick_reply(quick: Any) -> Iterator[Fault]:
    items = quick.get("items") if isinstance(quick, dict) else None
    if not isinstance(items, list) or not 1 <= len(items) <= QUICK_REPLIES:
        yield ".quickReply.items", f"Size must be between 1 and {QUICK_REPLIES}"
        return
    for index, item in enumerate(items):
        path = f".quickReply.items[{index}]"
        if not isinstance(item, dict) or item.get("type") != "action":
            yield path, "Must be an action"
        else:
            yield from _action(item.get("action"), f"{path}.action", QUICK_REPLY_LABEL)


def _container(container: Any, path: str) -> Iterator[Fault]:
    if not isinstance(container, dict):
        yield path, "Must be an object"
    elif container.get("type") == "carousel":
        bubbles = container.get("contents")
        if not isinstance(bubbles, list) or not 1 <= len(bubbles) <= CAROUSEL_BUBBLES:
            yield f"{path}.contents", f"Size must be between 1 and {CAROUSEL_BUBBLES}"
            return
        if _size(container) > CAROUSEL_BYTES:
            yield path, "The carousel is too large"
        for index, bubble in enumerate(bubbles):
            yield from _bubble(bubble, f"{path}.contents[{index}]")
    else:
        yield from _bubble(container, path)


def _bubble(bubble: Any, path: str) -> Iterator[Fault]:
    if not isinstance(bubble, dict) or bubble.get("type") != "bubble":
        yield path, "Must be a bubble"
        return
    if _size(bubble) > BUBBLE_BYTES:
        yield path, "The bubble is too large"
    if not any(block in bubble for block in _BLOCKS):
        yield path, "At least one block must be specified"
    for block in _BLOCKS:
        if block in bubble:
            yield from _component(bubble[block], f"{path}.{block}")


def _component(component: Any, path: str) -> Iterator[Fault]:
    kind = component.get("type") if isinstance(component, dict) else None
    if kind not in _COMPONENTS:
        yield f"{path}.type", "Unknown component"
        return
    if kind == "text":
        if "contents" not in component:
            yield from _text(component.get("text"), f"{path}.text", TEXT_UNITS)
        if not _SIZE.match(str(component.get("size", "md"))):
            yield f"{path}.size", "Invalid size"
    if kind == "button" or "action" in component:
        yield from _action(component.get("action"), f"{path}.action", BUTTON_LABEL)
    for name in ("color", "backgroundColor", "borderColor"):
        if name in component and not _COLOR.match(str(component[name])):
            yield f"{path}.{name}", "Invalid color"
    if kind == "box":
        if component.get("layout") not in {"horizontal", "vertical", "baseline"}:
            yield f"{path}.layout", "Must be horizontal, vertical or baseline"
        inner = component.get("contents")
        if not isinstance(inner, list):
            yield f"{path}.contents", "Must be specified"
            return
        for index, child in enumerate(inner):
            yield from _component(child, f"{path}.contents[{index}]")


def _action(action: Any, path: str, most_label: int) -> Iterator[Fault]:
    if not isinstance(action, dict):
        yield path, "Must be specified"
        return
    label = action.get("label")
    if not isinstance(label, str) or not 1 <= utf16_units(label) <= most_label:
        yield f"{path}.label", f"Length must be between 1 and {most_label}"
    kind = action.get("type")
    if kind == "postback":
        data = action.get("data")
        if not isinstance(data, str) or not 1 <= utf16_units(data) <= POSTBACK_DATA:
            yield f"{path}.data", f"Length must be between 1 and {POSTBACK_DATA}"
        shown = action.get("displayText", "-")
        if not isinstance(shown, str) or not 1 <= utf16_units(shown) <= DISPLAY_TEXT:
            yield f"{path}.displayText", f"Length must be between 1 and {DISPLAY_TEXT}"
    elif kind == "message":
        yield from _text(action.get("text"), f"{path}.text", DISPLAY_TEXT)
    elif kind == "uri":
        if not _URI.match(str(action.get("uri", ""))):
            yield f"{path}.uri", "Invalid action URI"
    else:
        yield f"{path}.type", "Unknown action"


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
