"""The tool `note_context`: what the model notes of an exchange, as far as the schema admits it."""

from __future__ import annotations

from typing import Any

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from callbacks.adk.internals import invocation_of
from callbacks.adk.keeper import TurnKeeper
from callbacks.context.errors import UnsupportedContext
from callbacks.context.projection import Projection
from callbacks.context.schema import ContextSchema
from callbacks.context.slot import ClosedSlot, Slot

NOTE_CONTEXT = "note_context"
"""The tool's name."""

_TOPIC = "topic"
_MANY = 24
"""A vocabulary of at most so many values is declared as an enumeration."""


class NoteContext(BaseTool):
    """Takes values from the model, keeps those that the schema admits, explains the others.

    It changes nothing outside the turn's own projection and never ends a turn, so it may be called
    beside any other tool.
    """

    def __init__(self, schema: ContextSchema, keeper: TurnKeeper) -> None:
        """Declare the tool for a schema."""
        super().__init__(name=NOTE_CONTEXT, description=schema.wording.noting)
        self._schema = schema
        self._keeper = keeper
        self._slots = {name: s for name, s in schema.slots.items() if not s.never_kept}
        sticky = [name for name, topic in schema.topics.items() if topic.sticky]
        self._topics = sticky if len(sticky) > 1 and _TOPIC not in self._slots else []
        self._declaration = types.FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters=types.Schema(type=types.Type.OBJECT, properties=self._properties()),
        )

    def _get_declaration(self) -> types.FunctionDeclaration:
        # A request may extend what it is given; the declaration itself stays the same object.
        return self._declaration

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any]:
        """Keep what is admitted; one line says what was not, and what it should look like."""
        turn = self._keeper.find(invocation_of(tool_context))
        topic = args.get(_TOPIC) if self._topics else None
        refused: list[str] = []
        noted: list[str] = []
        if topic is not None and topic not in self._topics:
            refused.append(f"{_TOPIC} ({' / '.join(self._topics)})")
            topic = None
        kept = Projection(topic if isinstance(topic, str) else "")
        for name, value in args.items():
            slot = self._slots.get(name)
            if slot is None:
                # Only names of the schema are repeated; another one is the model's own text.
                refused += [] if name == _TOPIC and self._topics else ["no such item"]
                continue
            try:
                one = self._schema.project(kept.topic, {name: value}, "noted")
                if turn is not None and not one.is_empty:
                    self._keeper.check(turn, one)
            except UnsupportedContext:
                refused.append(f"{name} ({slot.hint})")
                continue
            if one.slots:
                noted.append(name)
                kept = kept.merge(one, self._schema)
        if turn is not None and not kept.is_empty:
            self._keeper.note(turn, kept, "noted")
        answer: dict[str, Any] = {"noted": noted}
        if refused:
            answer["not_noted"] = "; ".join(refused)
        return answer

    def _properties(self) -> dict[str, types.Schema]:
        properties = {name: _property(name, slot) for name, slot in self._slots.items()}
        if self._topics:
            properties[_TOPIC] = types.Schema(type=types.Type.STRING, enum=list(self._topics))
        return properties


def note_tools(schema: ContextSchema, keeper: TurnKeeper) -> list[BaseTool]:
    """Return the tool, or nothing where the schema has no slot to note."""
    if all(slot.never_kept for slot in schema.slots.values()):
        return []
    return [NoteContext(schema, keeper)]


def _property(name: str, slot: Slot) -> types.Schema:
    if isinstance(slot, ClosedSlot) and len(slot.values) <= _MANY:
        label = slot.label if slot.label != name else ""
        return types.Schema(
            type=types.Type.STRING, enum=list(slot.values), description=label or None
        )
    described = f"{slot.label}: {slot.hint}" if slot.label else slot.hint
    return types.Schema(type=types.Type.STRING, description=described)
