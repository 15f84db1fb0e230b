"""Reads a webhook body, whose signature was checked, into the events that LOCAL acts on.

A reading of its own, so that one odd event never spoils the batch; a contract test holds it to
line-bot-sdk's parser. The form: https://developers.line.biz/en/reference/messaging-api/#webhooks
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn, TypeGuard, get_args

from local_agent.line.incoming import Incoming, Kind

DUMMY_TOKENS: Final = frozenset({"0" * 32, "f" * 32})
"""Reply tokens of the events that LINE's console sends to verify a webhook."""

MOST_TEXT: Final = 10_000
"""Characters that are kept of a text. LINE sends 5,000 UTF-16 units at most; the rest of a longer
one would be refused as too long anyway, and an event must fit into the inbox."""

MOST_DATA: Final = 1_000
"""Characters that are kept of a postback's data; LINE sends 300 at most."""

_ID = re.compile(r"[!-~]{1,128}", re.ASCII)
_LONE = re.compile("[\ud800-\udfff]")
_MESSAGES: Final = frozenset({"text", "sticker", "location", "image", "video", "audio", "file"})
_OTHERS: Final = frozenset(get_args(Kind)) - _MESSAGES
_CHATS: Final = {"user": "userId", "group": "groupId", "room": "roomId"}


class BadBody(ValueError):
    """A body, signed as it should be, that is no webhook of LINE."""

    error_code = "BODY_INVALID"

    def __init__(self) -> None:
        super().__init__("The body is no webhook in JSON.")


@dataclass(frozen=True)
class Webhook:
    """A webhook body.

    Attributes:
        destination: The bot's user id; None where LINE does not say.
        events: What LOCAL acts on, in LINE's order.
        dropped: How many events were left out: unknown types, tests, a channel on standby.
    """

    destination: str | None
    events: tuple[Incoming, ...]
    dropped: int


def read_webhook(body: bytes, *, now_ms: int) -> Webhook:
    """Read a body.

    Args:
        body: UTF-8 JSON; escaped lone surrogates in texts become U+FFFD.
        now_ms: When it arrived.

    Raises:
        BadBody: It is no JSON object, or its events are no list.
    """
    try:
        # A constant such as NaN is no JSON; a number of 5,000 digits is a ValueError of Python's.
        root = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        root = None
    events = root.get("events") if isinstance(root, dict) else None
    if not isinstance(root, dict) or not isinstance(events, list | None):
        raise BadBody
    events = events or []
    read = tuple(found for event in events if (found := read_event(event, now_ms=now_ms)))
    return Webhook(_id(root.get("destination")), read, len(events) - len(read))


def read_event(event: object, *, now_ms: int) -> Incoming | None:
    """Return what a turn needs of an event; None for one that LOCAL does not act on.

    Args:
        event: As JSON gives it.
        now_ms: When it arrived.
    """
    if not isinstance(event, dict) or event.get("mode", "active") != "active":
        return None
    event_id, chat = _id(event.get("webhookEventId")), _chat(event.get("source"))
    token = _id(event.get("replyToken"))
    if event_id is None or chat is None or token in DUMMY_TOKENS:
        return None
    source, chat_id, user_id = chat
    fields = _content(event)
    if fields is None:
        return None
    said = event.get("timestamp")
    context = event.get("deliveryContext")
    return Incoming(
        event_id=event_id,
        source=source,
        chat_id=chat_id,
        user_id=user_id,
        reply_token=token,
        said_at_ms=said if _is_count(said) else now_ms,
        arrived_at_ms=now_ms,
        redelivered=isinstance(context, dict) and context.get("isRedelivery") is True,
        **fields,
    )


def _content(event: dict[str, Any]) -> dict[str, Any] | None:
    """Return kind and content; None for a type that LOCAL does not know, or a part amiss."""
    kind = event.get("type")
    if kind == "message":
        return _message(event.get("message"))
    if not isinstance(kind, str) or kind not in _OTHERS:
        return None
    if kind == "postback":
        data = _part(event, "postback", "data")
        return {"kind": kind, "data": _text(data)[:MOST_DATA]} if isinstance(data, str) else None
    if kind == "unsend":
        message_id = _id(_part(event, "unsend", "messageId"))
        return {"kind": kind, "message_id": message_id} if message_id else None
    return {"kind": kind}


def _message(message: object) -> dict[str, Any] | None:
    if not isinstance(message, dict):
        return None
    kind, message_id = message.get("type"), _id(message.get("id"))
    if not isinstance(kind, str) or kind not in _MESSAGES or message_id is None:
        return None
    fields: dict[str, Any] = {"kind": kind, "message_id": message_id}
    fields["quoted"] = _id(message.get("quotedMessageId"))
    if kind == "text":
        text = message.get("text")
        if not isinstance(text, str):
            return None
        spans = sorted(_spans_of_self(message.get("mention")))
        fields["addressed"] = bool(spans)
        fields["text"] = _text(_without(text, spans))[:MOST_TEXT]
    return fields


def _spans_of_self(mention: object) -> Iterator[tuple[int, int]]:
    """Return where the bot is mentioned: start and end in UTF-16 units."""
    mentionees = mention.get("mentionees") if isinstance(mention, dict) else None
    for one in mentionees if isinstance(mentionees, list) else ():
        if isinstance(one, dict) and one.get("isSelf") is True:
            start, length = one.get("index"), one.get("length")
            yield (start, start + length) if _is_count(start) and _is_count(length) else (0, 0)


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """Cut spans of UTF-16 units out of a text."""
    if not spans:
        return text
    units = text.encode("utf-16-le", "surrogatepass")
    kept, place = [], 0
    for start, end in spans:
        kept.append(units[2 * place : max(2 * place, 2 * start)])
        place = max(place, end)
    kept.append(units[2 * place :])
    parts = (part.decode("utf-16-le", "surrogatepass").strip() for part in kept)
    return " ".join(part for part in parts if part)


def _chat(source: object) -> tuple[Literal["user", "group", "room"], str, str | None] | None:
    if not isinstance(source, dict):
        return None
    kind: Any = source.get("type")
    chat_id = _id(source.get(_CHATS[kind])) if isinstance(kind, str) and kind in _CHATS else None
    return None if chat_id is None else (kind, chat_id, _id(source.get("userId")))


def _part(event: dict[str, Any], name: str, key: str) -> object:
    part = event.get(name)
    return part.get(key) if isinstance(part, dict) else None


def _id(value: object) -> str | None:
    """Return an id of LINE's; None for what cannot be one."""
    return value if isinstance(value, str) and _ID.fullmatch(value) else None


def _text(text: str) -> str:
    return _LONE.sub("\ufffd", text)


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _no_constant(_: str) -> NoReturn:
    raise ValueError
