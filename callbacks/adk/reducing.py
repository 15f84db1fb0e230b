"""Tool results of the running turn that are too big: shortened where that is declared, or refused.

Nothing is cut blindly: only the application knows what of a tool's result may go. What it declares
is asked only when even the smallest legal request would not fit, and what it returns says so.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from google.genai import types

from callbacks.context.errors import BudgetExceeded
from callbacks.context.fit import Fit
from callbacks.context.trace import Action, Block

Reducer = Callable[[Mapping[str, Any], int], Mapping[str, Any]]
"""(a tool's result, room in UTF-8 bytes of its JSON) -> a shorter result, with a visible marker."""

SMALLEST_ROOM = 256
"""The least room a reducer is asked to do with, in UTF-8 bytes."""

MARKER_KEY = "shortened"
"""Under this key a ready reducer says what it left out."""


def size(result: Mapping[str, Any]) -> int:
    """Return a result's size as JSON, in UTF-8 bytes."""
    return len(json.dumps(result, ensure_ascii=False, default=str, separators=(",", ":")).encode())


def first_entries(result: Mapping[str, Any], room: int) -> dict[str, Any]:
    """Keep the beginning of the longest list or text of a result; the ready reducer.

    Lists lose whole entries, texts end where a character ends, and `shortened` says how much of
    which field is left: ``{"rows": "3 of 400 entries"}``. Other fields stay as they are. A result
    with nothing to shorten comes back as it is, and is then refused.

    Args:
        result: A tool's result; not changed.
        room: The most it may take, in UTF-8 bytes of its JSON.
    """
    shortened: dict[str, str] = {}
    kept: dict[str, Any] = dict(result)
    while size(kept) > room:
        name = max(
            (n for n, v in result.items() if isinstance(v, list | str) and n not in shortened),
            key=lambda n: size({n: result[n]}),
            default=None,
        )
        if name is None:
            return kept
        value = result[name]
        unit = "entries" if isinstance(value, list) else "characters"

        def cut(length: int, name: str = name, value: Any = value, unit: str = unit) -> None:
            shortened[name] = f"{length} of {len(value)} {unit}"
            kept[name] = value[:length]
            kept[MARKER_KEY] = dict(shortened)

        low, high = 0, len(value)
        while low < high:
            middle = (low + high + 1) // 2
            cut(middle)
            low, high = (middle, high) if size(kept) <= room else (low, middle - 1)
        cut(low)
    return kept


class Reducers:
    """The declared reducers, applied to the contents of the running turn."""

    def __init__(self, reducers: Mapping[str, Reducer] | None = None) -> None:
        """Take tool name -> reducer."""
        self._reducers = dict(reducers or {})

    def rooms(self, contents: Sequence[types.Content]) -> list[int]:
        """Return what to try, largest first: half of the largest declared result, and so on."""
        sizes = [
            size(response.response or {})
            for content in contents
            for response in _responses(content)
            if response.name in self._reducers
        ]
        rooms: list[int] = []
        room = max(sizes, default=0) // 2
        while room >= SMALLEST_ROOM:
            rooms.append(room)
            room //= 2
        return rooms

    def reduced(
        self, contents: Sequence[types.Content], room: int
    ) -> tuple[list[types.Content], tuple[Block, ...]]:
        """Return the contents with every larger declared result in at most `room` bytes.

        Contents and parts without one are the same objects. A result that its reducer does not
        bring down stays as it was, for the budget to judge.

        Args:
            contents: The turn's own contents.
            room: In UTF-8 bytes of a result's JSON.

        Returns:
            New contents, and a block for every result that was shortened.
        """
        blocks: list[Block] = []
        result: list[types.Content] = []
        number = 0
        for content in contents:
            parts: list[types.Part] = []
            changed = False
            for part in content.parts or []:
                response = part.function_response
                if response is None:
                    parts.append(part)
                    continue
                number += 1
                shorter = self._shorter(response, room)
                if shorter is None:
                    parts.append(part)
                    continue
                changed = True
                parts.append(part.model_copy(update={"function_response": shorter}))
                blocks.append(
                    Block(f"result-{number}", "results", Action.SUMMARIZED, "over_budget")
                )
            result.append(content.model_copy(update={"parts": parts}) if changed else content)
        return result, tuple(blocks)

    def _shorter(
        self, response: types.FunctionResponse, room: int
    ) -> types.FunctionResponse | None:
        reducer = self._reducers.get(response.name or "")
        given = response.response or {}
        if reducer is None or size(given) <= room:
            return None
        # The session's own event holds the same dict.
        shorter = dict(reducer(deepcopy(given), room))
        if size(shorter) > room:
            return None
        return response.model_copy(update={"response": shorter})


async def fit_reduced(
    reducers: Reducers,
    own: Sequence[types.Content],
    fit_with: Callable[[Sequence[types.Content]], Awaitable[Fit]],
) -> tuple[Fit, tuple[Block, ...]]:
    """Fit the turn's own contents; where nothing fits, with declared results shortened.

    Args:
        reducers: What is declared.
        own: The turn's own contents.
        fit_with: Fits the window around given contents.

    Returns:
        The fit, and a block for every result that was shortened.

    Raises:
        BudgetExceeded: Nothing fits, however short.
        ContextError: Something could not be measured.
    """
    try:
        return await fit_with(own), ()
    except BudgetExceeded as error:
        exceeded = error
    for room in reducers.rooms(own):
        shorter, blocks = reducers.reduced(own, room)
        try:
            return await fit_with(shorter), blocks
        except BudgetExceeded as error:
            exceeded = error
    raise exceeded


def _responses(content: types.Content) -> list[types.FunctionResponse]:
    return [p.function_response for p in content.parts or [] if p.function_response is not None]
