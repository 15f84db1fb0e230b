"""What the tools of a conversation have returned: what makes a value a grounded one."""

from collections.abc import Mapping
from typing import Any

from callbacks.context.errors import UnsupportedContext
from callbacks.context.listing import rows_of
from callbacks.context.projection import Projection
from callbacks.context.schema import ContextSchema
from callbacks.context.slot import GroundedSlot, grounded_text
from callbacks.context.window import ContextWindow

Grounds = Mapping[str, frozenset[str]]
"""Slot name -> the values that results gave it."""


def grounds_of(schema: ContextSchema, tool: str, result: Mapping[str, Any]) -> Grounds:
    """Return the values that a tool's result gives to the schema's grounded slots."""
    found: dict[str, frozenset[str]] = {}
    for name, slot in schema.slots.items():
        if isinstance(slot, GroundedSlot) and slot.tool == tool:
            places = [result, *rows_of(result)]
            found[name] = frozenset(_texts(place.get(slot.field) for place in places))
    return found


def check_grounds(
    projection: Projection, schema: ContextSchema, grounds: Grounds, window: ContextWindow
) -> None:
    """Refuse a grounded value that no tool of this conversation returned (invariant 5).

    Args:
        projection: What is about to be noted.
        schema: The schema it follows.
        grounds: What this turn's results gave.
        window: What earlier ones left: values of the same slot, and the last list.

    Raises:
        UnsupportedContext: A value stands in none of them.
    """
    for name, value in projection.slots.items():
        if not isinstance(schema.slots.get(name), GroundedSlot) or value in grounds.get(name, ()):
            continue
        earlier = {line.slots.get(name) for line in (*window.projections, *window.ledger.lines)}
        listed = {text for entry in window.listed for text in entry}
        if value not in earlier | listed:
            raise UnsupportedContext("A value stands in no result of this conversation.")


def _texts(values: Any) -> list[str]:
    texts = []
    for value in values:
        try:
            texts.append(grounded_text(value))
        except UnsupportedContext:
            continue
    return texts
