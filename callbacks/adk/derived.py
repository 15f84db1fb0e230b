"""A schema and projectors read off an agent's tools, for an app that has neither."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from callbacks.adk.injection import Preference
from callbacks.adk.tools import Projector
from callbacks.context.derive import Derivation, derive
from callbacks.context.errors import UnsupportedContext
from callbacks.context.projection import Projection
from callbacks.context.schema import ContextSchema, Language, Topic

_FAILED = ("error", "error_code")


@dataclass(frozen=True)
class DerivedSchema:
    """What was read off an agent's tools.

    Attributes:
        schema: Topics and slots.
        projectors: Tool name -> what a call of it leaves behind.
        derivation: What became what, and what was left out and why; `derivation.text()`.
    """

    schema: ContextSchema
    projectors: Mapping[str, Projector]
    derivation: Derivation


def schema_from_tools(
    agent: object,
    *,
    private: Collection[str] = (),
    public: Collection[str] = (),
    preferences: Sequence[Preference] = (),
    language: Language = "en",
) -> DerivedSchema:
    """Read a first schema, with projectors, off the tools of an agent and of those below it.

    `ContextSchema.from_tools` gives the schema alone.

    Args:
        agent: The root agent.
        private: Parameters that never become a slot, by their names.
        public: Parameters that sound private and are not.
        preferences: What may be filled from memory; such arguments never become a slot.
        language: The language of the block.

    Raises:
        InvalidSchema: No tool could be read, or a name given is no parameter's.
    """
    filled = {pair for preference in preferences for pair in preference.fills.items()}
    derived = derive(agent, private=private, public=public, filled=filled)
    topics = {name: Topic(label, sticky) for name, (label, sticky) in derived.topics.items()}
    schema = ContextSchema(topics, derived.slots, language)
    projectors = {
        tool: field_projector(schema, tool, derived.fields.get(tool, {})) for tool in topics
    }
    return DerivedSchema(schema, projectors, derived)


def field_projector(schema: ContextSchema, tool: str, fields: Mapping[str, str]) -> Projector:
    """Return a projector that notes what a tool was asked: its topic, and what its slots admit.

    A value that its slot does not admit is left out, not refused: the model wrote it, and a tool
    may take more than a context holds. A grounded slot is not filled from here: what the model
    proposed proves nothing.

    Args:
        schema: The schema; the tool's name is a topic of it.
        tool: The tool's name.
        fields: Slot name -> the argument that holds its value.
    """

    def project(arguments: Mapping[str, Any], result: Mapping[str, Any]) -> Projection | None:
        if any(result.get(name) for name in _FAILED):
            return None
        admitted: dict[str, str] = {}
        for name, parameter in fields.items():
            slot = schema.slots[name]
            if slot.kind == "grounded":
                continue
            try:
                admitted[name] = slot.admit(arguments.get(parameter))
            except UnsupportedContext:
                continue
        return schema.project(tool, admitted)

    return project
