"""Events as a session may hold them, whole and broken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from google.adk.events.event import Event
from google.genai import types


def asked(text: str, turn: str) -> Event:
    """What the person said."""
    content = types.Content(role="user", parts=[types.Part(text=text)])
    return Event(author="user", invocation_id=turn, content=content)


def said(text: str, turn: str, author: str = "root") -> Event:
    """What the model said."""
    content = types.Content(role="model", parts=[types.Part(text=text)])
    return Event(author=author, invocation_id=turn, content=content)


def called(
    *ids: str | None, turn: str, waiting: bool = False, name: str = "look", signature: bytes = b""
) -> Event:
    """Calls in one event; `waiting` marks them as long-running, a signature stands on the first."""
    parts = [
        types.Part(
            function_call=types.FunctionCall(id=i, name=name, args={"q": i or "none"}),
            thought_signature=signature if signature and not number else None,
        )
        for number, i in enumerate(ids)
    ]
    return Event(
        author="root",
        invocation_id=turn,
        long_running_tool_ids={i for i in ids if i} if waiting else None,
        content=types.Content(role="model", parts=parts),
    )


def answers(*ids: str | None, value: Any = "found", name: str = "look") -> types.Content:
    """Answers as a message."""
    return types.Content(
        role="user",
        parts=[
            types.Part(
                function_response=types.FunctionResponse(id=i, name=name, response={"v": value})
            )
            for i in ids
        ],
    )


def answered(
    *ids: str | None, turn: str, value: Any = "found", author: str = "root", name: str = "look"
) -> Event:
    """Answers in one event."""
    return Event(author=author, invocation_id=turn, content=answers(*ids, value=value, name=name))


def chat(turns: Iterable[int]) -> list[Event]:
    """Turns in which nothing is called."""
    return [e for n in turns for e in (asked(f"zebra {n}", f"c{n}"), said(f"zebras {n}", f"c{n}"))]


def shape(contents: Sequence[types.Content]) -> list[str]:
    """Contents in short: `user:text`, `model:call(id)`, `user:answer(id)=value`."""
    return [
        f"{content.role}:" + "+".join(_part(part) for part in content.parts or [])
        for content in contents
    ]


def unpaired(contents: Sequence[types.Content]) -> list[str]:
    """What a model would refuse: calls not answered by exactly the next content, and the like."""
    wrong = []
    open_calls: list[str | None] = []
    for number, content in enumerate(contents):
        parts = content.parts or []
        found = [p.function_response.name for p in parts if p.function_response]
        if sorted(map(str, found)) != sorted(map(str, open_calls)):
            wrong.append(f"{number}: {found} for {open_calls}")
        open_calls = [p.function_call.name for p in parts if p.function_call]
    if open_calls:
        wrong.append(f"end: {open_calls}")
    return wrong


def neighbours(contents: Sequence[types.Content]) -> list[int]:
    """Where two neighbouring contents have the same role."""
    roles = [content.role for content in contents]
    return [i for i in range(1, len(roles)) if roles[i] == roles[i - 1]]


def _part(part: types.Part) -> str:
    if part.function_call is not None:
        return f"call({part.function_call.id})"
    if part.function_response is not None:
        response = part.function_response.response or {}
        return f"answer({part.function_response.id})={response.get('v', response)}"
    return part.text or "?"
