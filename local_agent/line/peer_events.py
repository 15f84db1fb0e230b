"""Webhook events in LINE's own form, and the body and signature that carry them.

For the loopback peer. Ids are counted, so the same calls give the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

Event = dict[str, Any]
Source = Literal["user", "group", "room"]

_PREFIX: Final = {"user": "U", "group": "C", "room": "R"}


def line_id(kind: Source, number: int) -> str:
    """Return an id of LINE's form that is nobody's: a letter and 32 hexadecimal digits."""
    return f"{_PREFIX[kind]}{number:032x}"


def body_of(destination: str, events: Sequence[Event]) -> bytes:
    """Return a webhook's body."""
    return json.dumps(
        {"destination": destination, "events": list(events)}, ensure_ascii=False
    ).encode()


def signature_of(secret: str, body: bytes) -> str:
    """Return the value of `x-line-signature` for exactly these bytes."""
    return base64.b64encode(hmac.new(secret.encode(), body, hashlib.sha256).digest()).decode()


def redelivered(event: Event) -> Event:
    """Return the event as LINE sends it again: the same ids, marked."""
    return {**event, "deliveryContext": {"isRedelivery": True}}


class EventMaker:
    """Makes events; each has an id, and a reply token where LINE gives one.

    Attributes:
        issued: Reply tokens with the chat they answer in and when they were made.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        """Start counting.

        Args:
            clock: Milliseconds since the epoch.
        """
        self._clock = clock
        self._made = 0
        self.issued: dict[str, tuple[str, int]] = {}

    def text(
        self,
        text: str,
        *,
        user: str | None,
        group: str | None = None,
        mention_bot: str | None = None,
        quoted: str | None = None,
    ) -> Event:
        """Return a text message.

        Args:
            text: What was written, without the mention.
            user: Who wrote it; None where LINE does not tell, in a group.
            group: The group's or room's id; None for the one-to-one chat.
            mention_bot: How the bot is called: `@name ` is put before the text and marked as such.
            quoted: The id of a message that is quoted.
        """
        message: dict[str, Any] = {"type": "text", "quoteToken": f"quote-{self._made}"}
        if mention_bot is not None:
            called = f"@{mention_bot}"
            length = len(called.encode("utf-16-le")) // 2
            mentionee = {"index": 0, "length": length, "type": "user", "isSelf": True}
            message["mention"] = {"mentionees": [mentionee]}
            text = f"{called} {text}"
        message["text"] = text
        if quoted is not None:
            message["quotedMessageId"] = quoted
        return self.message(message, user=user, group=group)

    def message(
        self, content: dict[str, Any], *, user: str | None, group: str | None = None
    ) -> Event:
        """Return a message event around any content; its id is added."""
        event = self.event("message", user=user, group=group)
        event["message"] = {"id": self._number(), **content}
        return event

    def postback(self, data: str, *, user: str | None, group: str | None = None) -> Event:
        """Return the press of a button."""
        event = self.event("postback", user=user, group=group)
        event["postback"] = {"data": data}
        return event

    def unsend(self, message_id: str, *, user: str | None, group: str | None = None) -> Event:
        """Return that a message was taken back; LINE gives no reply token for it."""
        event = self.event("unsend", user=user, group=group, replies=False)
        event["unsend"] = {"messageId": message_id}
        return event

    def follow(self, *, user: str, unblocked: bool = False) -> Event:
        """Return that somebody added the bot, or took back that they had blocked it."""
        event = self.event("follow", user=user)
        event["follow"] = {"isUnblocked": unblocked}
        return event

    def unfollow(self, *, user: str) -> Event:
        """Return that somebody blocked the bot; LINE gives no reply token for it."""
        return self.event("unfollow", user=user, replies=False)

    def event(
        self, kind: str, *, user: str | None, group: str | None = None, replies: bool = True
    ) -> Event:
        """Return an event of any type without its own part."""
        source: dict[str, Any] = {"type": "user"}
        if group is not None:
            named = "group" if group.startswith("C") else "room"
            source = {"type": named, f"{named}Id": group}
        if user is not None:
            source["userId"] = user
        now = self._clock()
        event: Event = {
            "type": kind,
            "webhookEventId": f"01{int(self._number()):024d}",
            "deliveryContext": {"isRedelivery": False},
            "timestamp": now,
            "source": source,
            "mode": "active",
        }
        chat = group or user
        if replies and chat is not None:
            event["replyToken"] = token = hashlib.sha256(self._number().encode()).hexdigest()[:32]
            self.issued[token] = (chat, now)
        return event

    def _number(self) -> str:
        self._made += 1
        return f"{400_000_000_000_000_000 + self._made}"
