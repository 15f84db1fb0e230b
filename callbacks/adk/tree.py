"""Everything of an app that may call a model, found before the first turn.

A model is gated where an agent or a tool keeps it. What talks to a model of its own that cannot be
seen from here (a remote agent, a graph of another framework, an agent class with code of its own)
cannot be gated; it is named, so that the start can be refused (invariant 1).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.loop_agent import LoopAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.models.base_llm import BaseLlm
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.workflow import BaseNode

from callbacks.context.errors import ContextError

_KNOWN_AGENTS = (LlmAgent, LoopAgent, ParallelAgent, SequentialAgent)
_KINDS: tuple[tuple[type, str], ...] = (
    (BaseAgent, "agent"),
    (BaseNode, "node"),
    (BaseTool, "tool"),
    (BaseToolset, "toolset"),
    (BaseEventsSummarizer, "summarizer"),
    (BasePlugin, "plugin"),
)
_UPWARD = frozenset({"parent_agent"})


class WiringRefused(ContextError, ValueError):
    """An app cannot be wired as it is.

    The names are those of its agents and tools, its author's own words.
    """

    def __init__(self, names: Collection[str]) -> None:
        """Name what stands in the way."""
        listed = ", ".join(names)
        super().__init__(f"{self.sentence.removesuffix('.')}: {listed}.")
        self.numbers = {"names": listed}


class ModelNotGated(WiringRefused):
    """Something of an agent tree would call a model that nothing measures (invariant 1)."""

    error_code = "MODEL_NOT_GATED"
    sentence = "These call a model that cannot be measured."


class ToolNotGated(WiringRefused):
    """A tool's class allows no gate around its run (invariant 6)."""

    error_code = "TOOL_NOT_GATED"
    sentence = "These tools cannot be run behind the gate."


class PreferenceInPrompt(WiringRefused):
    """A preference would be filled into what asks a model (invariant 6)."""

    error_code = "PREFERENCE_IN_PROMPT"
    sentence = "A preference fills these, which ask a model, so its value would stand in a prompt."


class RawPastKept(WiringRefused):
    """Something of an app brings past sentences into requests (invariant 4)."""

    error_code = "RAW_PAST_KEPT"
    sentence = "These bring past sentences into requests."


@dataclass(frozen=True)
class Found:
    """One thing of a tree.

    Attributes:
        kind: `agent`, `node`, `tool`, `toolset`, `summarizer` or `plugin`.
        name: Its own name.
        below: The name of what holds it; empty for the root.
        models: Models it keeps, by the attribute they are kept under.
        ungated: Why a model of it cannot be gated; empty where all can.
    """

    kind: str
    name: str
    below: str
    models: tuple[str, ...] = ()
    ungated: str = ""


def gate_everything(
    root: object, gate: Callable[[BaseLlm], BaseLlm], without_model: Collection[str] = ()
) -> list[Found]:
    """Gate every model that can be reached from `root` and return all that was found.

    Args:
        root: An agent, a node, or an app.
        gate: Returns a model's gated twin.
        without_model: Names of agents with code of their own that call no model except through
            agents and models that ADK knows; the caller answers for them.
    """
    found: list[Found] = []
    seen: set[int] = set()
    waiting: list[tuple[object, str]] = [(root, "")]
    while waiting:
        thing, below = waiting.pop(0)
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        name = name_of(thing)
        models, ungated = _gate_one(thing, gate)
        if not ungated and not models and name not in without_model:
            ungated = _why_not(thing)
        if kind := _kind(thing):
            found.append(Found(kind, name, below, models, ungated))
        waiting.extend((inner, name) for inner in _inside(thing))
    return found


def name_of(thing: object) -> str:
    """Return a thing's name, or its class's where it has none."""
    name = getattr(thing, "name", None)
    return name if isinstance(name, str) and name else type(thing).__name__


def asks_model(tool: object) -> bool:
    """Tell whether a tool hands its arguments to an agent or a node as its input."""
    inner = (getattr(tool, "agent", None), getattr(tool, "node", None))
    return isinstance(tool, AgentTool) or any(isinstance(i, BaseAgent | BaseNode) for i in inner)


def _kind(thing: object) -> str:
    return next((kind for base, kind in _KINDS if isinstance(thing, base)), "")


def _why_not(thing: object) -> str:
    """Say why something may call a model that is kept nowhere; empty where it does not."""
    if isinstance(thing, _KNOWN_AGENTS):
        return ""
    module = type(thing).__module__
    if isinstance(thing, BaseAgent):
        if module.startswith("google.adk."):
            return "its model runs elsewhere"
        return "its class has code of its own"
    if isinstance(thing, BaseEventsSummarizer):
        return "it keeps no model that is known"
    if isinstance(thing, BaseNode) and not module.startswith("google.adk."):
        return "its class has code of its own"
    return ""


def _gate_one(thing: object, gate: Callable[[BaseLlm], BaseLlm]) -> tuple[tuple[str, ...], str]:
    """Gate what a thing keeps; return the attributes, and why one could not be gated."""
    gated: list[str] = []
    if isinstance(thing, LlmAgent):
        try:
            thing.model = gate(thing.canonical_model)
        except Exception as error:  # noqa: BLE001 - a model that cannot be made cannot be gated
            return (), f"its model cannot be made ({type(error).__name__})"
        gated.append("model")
    for attribute, value in _attributes(thing):
        if isinstance(thing, LlmAgent) and attribute == "model":
            continue
        try:
            if isinstance(value, BaseLlm):
                setattr(thing, attribute, gate(value))
                gated.append(attribute)
            elif isinstance(value, list | dict) and _gate_inside(value, gate):
                gated.append(attribute)
        except Exception as error:  # noqa: BLE001 - what cannot be replaced cannot be gated
            return tuple(gated), f"{attribute} cannot be replaced ({type(error).__name__})"
    return tuple(gated), ""


def _gate_inside(values: list[Any] | dict[Any, Any], gate: Callable[[BaseLlm], BaseLlm]) -> bool:
    places = enumerate(values) if isinstance(values, list) else values.items()
    models = [(place, value) for place, value in places if isinstance(value, BaseLlm)]
    for place, model in models:
        values[place] = gate(model)
    return bool(models)


def _attributes(thing: object) -> list[tuple[str, Any]]:
    private = getattr(thing, "__pydantic_private__", None) or {}
    public = getattr(thing, "__dict__", {})
    return [(k, v) for k, v in {**public, **private}.items() if k not in _UPWARD]


def _inside(thing: object) -> Iterator[object]:
    for _, value in _attributes(thing):
        yield from _members(value, depth=3)


def _members(value: object, depth: int) -> Iterator[object]:
    if _kind(value) or _is_adk_part(value):
        yield value
    elif depth and isinstance(value, Mapping):
        for item in value.values():
            yield from _members(item, depth - 1)
    elif depth and isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _members(item, depth - 1)


def _is_adk_part(value: object) -> bool:
    """Graphs, edges and app settings hold nodes and summarizers without being any."""
    return type(value).__module__.startswith(("google.adk.workflow.", "google.adk.apps."))
