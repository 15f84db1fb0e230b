"""Everything of an app that may call a model, found before the first turn.

A model is gated where an agent, a tool or a function keeps it. What talks to a model of its own
that cannot be seen from here (a remote agent, a graph of another framework, an agent class with
code of its own) cannot be gated; it is named, so that the start can be refused (invariant 1). So
is what brings past sentences into requests (invariant 4).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.loop_agent import LoopAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.models.base_llm import BaseLlm
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.sessions.state import State
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.load_memory_tool import LoadMemoryTool
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.adk.workflow import BaseNode

from callbacks.adk.held import Place, is_function, places
from callbacks.context.errors import ContextError

KNOWN_AGENTS = (LlmAgent, LoopAgent, ParallelAgent, SequentialAgent)
"""Classes of agents that ADK itself runs: all that they call is what they keep."""

_KINDS: tuple[tuple[type, str], ...] = (
    (BaseAgent, "agent"),
    (BaseNode, "node"),
    (BaseTool, "tool"),
    (BaseToolset, "toolset"),
    (BaseEventsSummarizer, "summarizer"),
    (BasePlugin, "plugin"),
)
_MEMORY_TOOLS = (LoadMemoryTool, PreloadMemoryTool)
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
        kind: `agent`, `node`, `tool`, `toolset`, `summarizer` or `plugin`; `function` or `object`
            where one of those keeps a function or an object that keeps a model or a client.
        name: Its own name.
        below: The name of what holds it; empty for the root.
        models: Models it keeps, by the attribute they are kept under.
        ungated: Why a model of it cannot be gated; empty where all can.
        raw_past: How it brings past sentences into requests; empty where it does not.
        clients: Clients of model services it keeps; what it asks through them is not seen.
    """

    kind: str
    name: str
    below: str
    models: tuple[str, ...] = ()
    ungated: str = ""
    raw_past: str = ""
    clients: tuple[str, ...] = ()


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
        clients = tuple(place.name for place in _places(thing) if _is_client(place.value))
        kind = _kind(thing)
        if not kind and (models or ungated or clients):
            kind = "function" if is_function(thing) else "object"
        if kind:
            found.append(Found(kind, name, below, models, ungated, _raw_past(thing), clients))
        waiting.extend((inner, name) for inner in _inside(thing))
    return found


def asking(found: Iterable[Found], tools: Collection[str]) -> list[str]:
    """Return those of `tools` that turn out to ask a model with what they are given."""
    names: set[str] = set()
    for one in found:
        if one.kind in {"agent", "node"} or one.models:
            names |= {one.name, one.below} if one.kind in {"function", "object"} else {one.name}
    return sorted(names.intersection(tools))


def name_of(thing: object) -> str:
    """Return a thing's name, a function's own, or its class's where it has none."""
    thing = thing.func if isinstance(thing, partial) else thing
    name = getattr(thing, "__name__" if is_function(thing) else "name", None)
    return name if isinstance(name, str) and name else type(thing).__name__


def asks_model(tool: object) -> bool:
    """Tell whether a tool hands its arguments to an agent or a node as its input."""
    inner = (getattr(tool, "agent", None), getattr(tool, "node", None))
    return isinstance(tool, AgentTool) or any(isinstance(i, BaseAgent | BaseNode) for i in inner)


def _kind(thing: object) -> str:
    return next((kind for base, kind in _KINDS if isinstance(thing, base)), "")


def _why_not(thing: object) -> str:
    """Say why something may call a model that is kept nowhere; empty where it does not."""
    if isinstance(thing, KNOWN_AGENTS):
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


def _raw_past(thing: object) -> str:
    """Say how something brings past sentences into later requests."""
    key = getattr(thing, "output_key", None) if isinstance(thing, LlmAgent) else None
    if key and not key.startswith(State.TEMP_PREFIX):
        return "output_key keeps what the model said"
    return "it loads past text" if isinstance(thing, _MEMORY_TOOLS) else ""


def _gate_one(thing: object, gate: Callable[[BaseLlm], BaseLlm]) -> tuple[tuple[str, ...], str]:
    """Gate what a thing keeps; return the attributes, and why one could not be gated."""
    gated: list[str] = []
    if isinstance(thing, LlmAgent):
        try:
            thing.model = gate(thing.canonical_model)
        except ModelNotGated:
            return (), "the call of its model is replaced on the object"
        except Exception as error:  # noqa: BLE001 - a model that cannot be made cannot be gated
            return (), f"its model cannot be made ({type(error).__name__})"
        gated.append("model")
    for place in _places(thing):
        if isinstance(thing, LlmAgent) and place.name == "model":
            continue
        try:
            if isinstance(place.value, BaseLlm):
                place.replace(gate(place.value))
                gated.append(place.name)
            elif isinstance(place.value, list | dict) and _gate_inside(place.value, gate):
                gated.append(place.name)
        except ModelNotGated:
            return tuple(gated), f"the call of {place.name} is replaced on the object"
        except Exception as error:  # noqa: BLE001 - what cannot be replaced cannot be gated
            return tuple(gated), f"{place.name} cannot be replaced ({type(error).__name__})"
    return tuple(gated), ""


def _gate_inside(values: list[Any] | dict[Any, Any], gate: Callable[[BaseLlm], BaseLlm]) -> bool:
    places = enumerate(values) if isinstance(values, list) else values.items()
    models = [(place, value) for place, value in places if isinstance(value, BaseLlm)]
    for place, model in models:
        values[place] = gate(model)
    return bool(models)


def _places(thing: object) -> list[Place]:
    if is_function(thing):
        return list(places(thing))
    private = getattr(thing, "__pydantic_private__", None) or {}
    public = getattr(thing, "__dict__", {})
    return [
        Place(key, value, partial(setattr, thing, key))
        for key, value in {**public, **private}.items()
        if key not in _UPWARD
    ]


def _inside(thing: object) -> Iterator[object]:
    # What a function or a class of the application keeps may be any object; one level of those.
    own = is_function(thing) or (bool(_kind(thing)) and not _of(thing, "google."))
    for place in _places(thing):
        yield from _members(place.value, depth=3)
        if _is_plain(place.value) and (own or place.name == "func"):
            yield place.value


def _members(value: object, depth: int) -> Iterator[object]:
    if _of(value, "callbacks.adk."):
        return
    if _kind(value) or _is_adk_part(value) or is_function(value):
        yield value
    elif depth and isinstance(value, Mapping):
        for item in value.values():
            yield from _members(item, depth - 1)
    elif depth and isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _members(item, depth - 1)


def _of(value: object, *packages: str) -> bool:
    return type(value).__module__.startswith(packages)


def _is_plain(value: object) -> bool:
    """Tell whether a value is an object of the application that may keep things."""
    return (
        hasattr(value, "__dict__")
        and not isinstance(value, type | ModuleType | BaseLlm)
        and not is_function(value)
        and not _of(value, "google.", "callbacks.adk.")
    )


def _is_client(value: object) -> bool:
    return _of(value, "google.genai.client", "openai", "anthropic")


def _is_adk_part(value: object) -> bool:
    """Graphs, edges and app settings hold nodes and summarizers without being any."""
    return _of(value, "google.adk.workflow.", "google.adk.apps.")
