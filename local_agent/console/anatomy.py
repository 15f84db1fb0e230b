"""A request taken apart, from its own bytes: what is shown is what was sent.

Sizes are bytes of the canonical JSON; the parts of a request add up to the whole.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from callbacks.context.errors import ContextError
from callbacks.context.render import ACK, parse
from callbacks.context.schema import ContextSchema

_LEDGER_MARK = "*"


@dataclass(frozen=True)
class Piece:
    """One part of one content.

    Attributes:
        role: `user` or `model`, as in the request.
        text: What it says; a call or a result as JSON.
        tool: The tool's name, where it is a call or a result.
    """

    role: str
    text: str
    tool: str | None = None


@dataclass(frozen=True)
class Anatomy:
    """The layers of a request.

    Attributes:
        instruction: The system instruction.
        tools: The tool declarations, as readable JSON.
        newest: This turn's own contents, in order.
        window: Lines of the history block about the newest exchanges.
        ledger: Lines of the history block about what came before.
        sizes: Bytes by layer: `rules`, `window`, `ledger`, `newest`; they add up to `size`.
        size: Bytes of the whole request.
    """

    instruction: str
    tools: str
    newest: tuple[Piece, ...]
    window: tuple[str, ...]
    ledger: tuple[str, ...]
    sizes: Mapping[str, int]
    size: int


def dissect(canonical: bytes, schema: ContextSchema) -> Anatomy:
    """Take a request apart.

    Args:
        canonical: `CountRequest.canonical()`.
        schema: How its history block is written.

    Raises:
        ValueError: It is no JSON object with config and contents.
    """
    request = json.loads(canonical)
    config, contents = request.get("config", {}), request["contents"]
    block = _block(contents, schema)
    own = contents[2:] if block else contents
    lines = block[1:]
    ledger = tuple(line for line in lines if line.startswith(_LEDGER_MARK))
    newest_bytes = len(_compact(own)) - len(b"[]")
    # With the comma behind it: so the rules are of one size with and without a past.
    past_bytes = len(_compact(contents)) - len(b"[]") - newest_bytes
    ledger_bytes = sum(len(line.encode()) for line in ledger)
    return Anatomy(
        instruction=_text(config.get("systemInstruction")),
        tools=json.dumps(config.get("tools", []), ensure_ascii=False, indent=2),
        newest=tuple(piece for content in own for piece in _pieces(content)),
        window=tuple(line for line in lines if not line.startswith(_LEDGER_MARK)),
        ledger=ledger,
        sizes={
            "rules": len(canonical) - past_bytes - newest_bytes,
            "window": past_bytes - ledger_bytes,
            "ledger": ledger_bytes,
            "newest": newest_bytes,
        },
        size=len(canonical),
    )


def _block(contents: Sequence[Mapping[str, Any]], schema: ContextSchema) -> list[str]:
    """Return the lines of the history block, if the request begins with one and its answer."""
    if len(contents) < 2 or _text(contents[1]) != ACK[schema.language]:
        return []
    text = _text(contents[0])
    try:
        parse(text, schema)
    except ContextError:  # the person's own words
        return []
    return text.split("\n")


def _pieces(content: Mapping[str, Any]) -> list[Piece]:
    role = str(content.get("role", ""))
    found = []
    for part in content.get("parts") or []:
        if "functionCall" in part:
            call = part["functionCall"]
            found.append(Piece(role, _readable(call.get("args", {})), str(call.get("name"))))
        elif "functionResponse" in part:
            answer = part["functionResponse"]
            found.append(Piece(role, _readable(answer.get("response", {})), str(answer["name"])))
        else:
            found.append(Piece(role, str(part.get("text", _readable(part)))))
    return found


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        parts = content.get("parts") or []
        return "\n".join(str(part["text"]) for part in parts if part.get("text"))
    if isinstance(content, list):
        return "\n".join(_text(part) for part in content)
    return ""


def _readable(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _compact(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
