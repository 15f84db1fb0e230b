"""One message of a kept history, with what is known about it besides its text."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from callbacks.context.errors import ContextError
from callbacks.context.values import writable

Role = Literal["user", "model"]
Sensitivity = Literal["public", "internal", "secret"]
Status = Literal["open", "resolved"]

SUMMARY_ID = "history-summary"
"""The block of stable facts; no message may have this id."""

MAX_SUMMARY = 300
"""Longest prepared summary of one message, in characters."""

MAX_TAGS = 16
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")


class InvalidHistory(ContextError):
    """A message of the history is not what it must be; its position is among the numbers."""

    error_code = "HISTORY_INVALID"
    sentence = "A message of the history is not usable."


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """A message as the application kept it, with metadata that the application gave it.

    Nothing here is guessed from the text: who calls a message safe answers for it. Neither text
    nor summary is in its ``repr``, so that a log or traceback cannot quote a secret one.

    Attributes:
        id: A name of 1 to 64 letters, digits and ``. _ : -``. It may stand in traces: it is not
            content.
        role: Who said it, ``user`` or ``model``.
        text: What was said, whole.
        sensitivity: ``public``, ``internal`` or ``secret``. A secret message leaves before anything
            looks at it. There is no default: what nobody classified cannot be kept.
        status: Whether its matter is ``open`` or ``resolved``.
        safe_summary: A stable fact that was prepared from it for models to see; None for none.
        topics: Tags that count as words of it when it is ranked.

    Raises:
        InvalidHistory: A field is not what it must be.
    """

    id: str
    role: Role
    text: str = field(repr=False)
    sensitivity: Sensitivity
    status: Status = "open"
    safe_summary: str | None = field(default=None, repr=False)
    topics: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not is_id(self.id):
            raise InvalidHistory("The id of a message is a short name of letters and digits.")
        if self.role not in get_args(Role):
            raise InvalidHistory("The role of a message is user or model.")
        if self.sensitivity not in get_args(Sensitivity):
            raise InvalidHistory("The sensitivity of a message is public, internal or secret.")
        if self.status not in get_args(Status):
            raise InvalidHistory("The status of a message is open or resolved.")
        if not _is_text(self.text):
            raise InvalidHistory("The text of a message is not blank and has an UTF-8 form.")
        summary = self.safe_summary
        if summary is not None and not (_is_text(summary) and len(summary) <= MAX_SUMMARY):
            raise InvalidHistory("A safe summary is a short text that is not blank.")
        tags: object = self.topics
        if not isinstance(tags, tuple) or len(tags) > MAX_TAGS or not all(map(_is_tag, tags)):
            raise InvalidHistory("The topics of a message are a few short tags.")

    def as_json(self) -> dict[str, object]:
        """Return the message as plain data. It holds the text, a secret one's too."""
        return {
            "id": self.id,
            "role": self.role,
            "text": self.text,
            "sensitivity": self.sensitivity,
            "status": self.status,
            "safe_summary": self.safe_summary,
            "topics": list(self.topics),
        }

    def to_json(self) -> str:
        """Return the message as compact JSON, the same for equal messages (invariant 12)."""
        return json.dumps(self.as_json(), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_mapping(cls, content: object) -> "HistoryMessage":
        """Read a message from plain data.

        Raises:
            InvalidHistory: A field is unknown, missing or not what it must be.
        """
        if not isinstance(content, Mapping) or not set(content) <= set(cls.__slots__):
            raise InvalidHistory("A message has a field that is not known.")
        if not {"id", "role", "text", "sensitivity"} <= set(content):
            raise InvalidHistory("A message lacks a field.")
        fields = dict(content)
        topics = fields.get("topics", [])
        if not isinstance(topics, list):
            raise InvalidHistory("The topics of a message are a few short tags.")
        # What the fields really are is checked where a message is made.
        return cls(**cast("dict[str, Any]", fields | {"topics": tuple(topics)}))

    @classmethod
    def from_json(cls, text: str) -> "HistoryMessage":
        """Read a message back, trusting nothing.

        Raises:
            InvalidHistory: It is no JSON object of a message, or a name stands twice.
        """
        content = None
        # Refused outside the handler: the decoder's error keeps the whole text.
        with suppress(TypeError, ValueError, RecursionError):
            content = json.loads(text, object_pairs_hook=_without_repeats)
        return cls.from_mapping(content)


def check_history(history: object) -> tuple[HistoryMessage, ...]:
    """Return a history as a tuple, oldest first.

    Raises:
        InvalidHistory: Something in it is no message, or an id stands twice.
    """
    if not isinstance(history, list | tuple):
        raise InvalidHistory("A history is a sequence of messages.")
    seen: set[str] = set()
    for position, message in enumerate(history):
        if not isinstance(message, HistoryMessage):
            raise InvalidHistory(
                "Something in the history is no message.", numbers={"position": position}
            )
        if message.id in seen:
            raise InvalidHistory(
                "Two messages of the history have the same id.", numbers={"position": position}
            )
        seen.add(message.id)
    return tuple(history)


def is_id(name: object) -> bool:
    """Say whether a message may have this id."""
    return isinstance(name, str) and _ID.fullmatch(name) is not None and name != SUMMARY_ID


def _is_text(text: object) -> bool:
    return isinstance(text, str) and bool(text.strip()) and writable(text)


def _is_tag(tag: object) -> bool:
    return _is_text(tag) and isinstance(tag, str) and len(tag) <= 64


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("A name stands twice.")
    return fields
