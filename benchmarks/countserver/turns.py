"""Whole prompts: turn markers around texts, calls and results."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from benchmarks.countserver.structures import STRUCTURES, Render

PICTURE_TOKENS = 258
"""What one picture costs here, whatever its bytes."""


@dataclass(frozen=True, slots=True)
class TurnStyle:
    """How a service marks turns, calls and results.

    Attributes:
        opening: Before a content; ``{role}`` is its role.
        closing: After it.
        last: At the end, where the model goes on after a person's content.
        joint: Between two parts of a content.
        call: Around a call; ``{name}``, ``{id}`` and ``{tree}`` stand for its pieces.
        response: Around a result, likewise.
    """

    opening: str
    closing: str
    last: str
    joint: str
    call: str
    response: str


TURNS: Mapping[str, TurnStyle] = {
    "gemma": TurnStyle(
        "<start_of_turn>{role}\n",
        "<end_of_turn>\n",
        "<start_of_turn>model\n",
        "",
        '```tool_code\n{{"id": "{id}", "name": "{name}", "args": {tree}}}\n```',
        '```tool_outputs\n{{"name": "{name}", "response": {tree}}}\n```',
    ),
    "chat": TurnStyle(
        "<|im_start|>{role}\n",
        "<|im_end|>\n",
        "<|im_start|>assistant\n",
        "\n",
        "<tool_call>\n{name} {tree}\n</tool_call>",
        "<tool_response>\n{tree}\n</tool_response>",
    ),
    "script": TurnStyle(
        "{role}: ", "\n\n", "model:", " ", "{name}({tree}) #{id}", "{name} #{id} -> {tree}"
    ),
    "tags": TurnStyle(
        '<turn role="{role}">',
        "</turn>",
        "",
        "</part><part>",
        "<function={name}>{tree}</function={name}>",
        '<result name="{name}" call="{id}">{tree}</result>',
    ),
}


class Rendered(NamedTuple):
    """A prompt, and what its media cost beside it."""

    text: str
    media_tokens: int


def style_names() -> list[str]:
    """Return every structure in every turn style, as ``structure-turns``."""
    return [f"{structure}-{turns}" for structure in STRUCTURES for turns in TURNS]


def render(style: str, body: Mapping[str, Any]) -> Rendered:
    """Spell out a request.

    Args:
        style: A name from `style_names`.
        body: A generateContent request, as on the wire.
    """
    structure, _, turns = style.rpartition("-")
    spell, turn = STRUCTURES[structure], TURNS[turns]
    pieces: list[str] = []
    media = 0
    instruction = body.get("systemInstruction")
    declared = [
        declaration
        for tool in body.get("tools") or ()
        for declaration in tool.get("functionDeclarations") or ()
    ]
    settings = {
        key: body["generationConfig"][key]
        for key in ("responseSchema", "responseJsonSchema")
        if key in (body.get("generationConfig") or {})
    }
    if instruction or declared or settings:
        texts = [part.get("text", "") for part in (instruction or {}).get("parts") or ()]
        described = [
            json.dumps(each, ensure_ascii=False) for each in (*declared, *settings.values())
        ]
        pieces.append(turn.opening.format(role="system") + "\n".join([*texts, *described]))
        pieces.append(turn.closing)
    role = ""
    for content in body.get("contents") or ():
        role = content.get("role", "user")
        spelled = []
        for part in content.get("parts") or ():
            text, cost = _part(part, turn, spell)
            spelled.append(text)
            media += cost
        pieces.extend((turn.opening.format(role=role), turn.joint.join(spelled), turn.closing))
    if role == "user":
        pieces.append(turn.last)
    return Rendered("".join(pieces), media)


def _part(part: Mapping[str, Any], turn: TurnStyle, spell: Render) -> tuple[str, int]:
    if "text" in part:
        return str(part["text"]), 0
    for kind, pattern, tree in (
        ("functionCall", turn.call, "args"),
        ("functionResponse", turn.response, "response"),
    ):
        if kind in part:
            value = part[kind]
            filled = pattern.format(
                name=value.get("name", ""),
                id=value.get("id") or "",
                tree=spell(value.get(tree) or {}),
            )
            return filled, 0
    if "inlineData" in part:
        return "", PICTURE_TOKENS
    return json.dumps(part), 0
