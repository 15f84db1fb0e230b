"""The names of tools and arguments that an app's options hold: each must be one that it has.

A misspelt name would be noticed by nobody: a preference would fill nothing, a private result would
be shown. It is looked for only where all tools are known before the first turn; a toolset, or
code that may add tools to a request, makes them known at run time alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from google.adk.agents.llm_agent import LlmAgent
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.function_tool import FunctionTool
from google.adk.workflow import BaseNode

from callbacks.adk.beside import has_own
from callbacks.adk.injection import Preference
from callbacks.adk.noting import NOTE_CONTEXT
from callbacks.adk.toolgate import GatedTool
from callbacks.adk.tree import KNOWN_AGENTS, WiringRefused
from callbacks.context.nearest import nearest

Tools = Mapping[str, frozenset[str] | None]
"""Tool name -> its arguments; None where it may take any."""

Named = tuple[str, str, str | None]
"""The option that names it, a tool, and an argument of it or None."""

Tool = Callable[..., Any] | BaseTool

_BEFORE = ("on_user_message_callback", "before_run_callback", "before_agent_callback",
           "before_model_callback")  # fmt: skip
"""Callbacks that may give an agent or a request a tool before any model is asked."""

_ADDED = ("set_model_response", "transfer_to_agent", NOTE_CONTEXT)
"""Tools that ADK and this layer add to a request."""


class UnknownName(WiringRefused):
    """An option names a tool or an argument that no agent of the app has."""

    error_code = "TOOL_UNKNOWN"
    sentence = "These name a tool or an argument that the app does not have."


def names_in(
    preferences: Sequence[Preference],
    by_tool: Mapping[str, Collection[str]],
    unchecked: Collection[str],
) -> list[Named]:
    """Return what an app's options name.

    Args:
        preferences: What fills arguments.
        by_tool: Option -> the tools that it names.
        unchecked: Tools for which their author answers.
    """
    named: list[Named]
    named = [(option, tool, None) for option, names in by_tool.items() for tool in sorted(names)]
    named += [(f"preference {p.key}", *pair) for p in preferences for pair in p.fills.items()]
    return [one for one in named if one[1] not in unchecked]


def check_names(named: Iterable[Named], root: object, plugins: Iterable[BasePlugin]) -> None:
    """Look for every tool and argument that is named, where all tools are known.

    Args:
        named: What options name.
        root: The app's root agent.
        plugins: The app's plugins, without ours.

    Raises:
        UnknownName: One is not there; it is named, with the nearest that is.
    """
    tools = known_tools(root, plugins)
    if tools is not None and (unknown := list(_unknown(named, tools))):
        raise UnknownName(unknown)


def known_tools(root: object, plugins: Iterable[BasePlugin]) -> Tools | None:
    """Return what an app's agents have; None where that is known at run time alone."""
    if any(has_own(plugin, hook) for plugin in plugins for hook in _BEFORE):
        return None
    tools: dict[str, frozenset[str] | None] = dict.fromkeys(_ADDED)
    waiting: list[object] = [root]
    seen: set[int] = set()
    while waiting:
        agent = waiting.pop()
        if id(agent) in seen:
            continue
        seen.add(id(agent))
        if not isinstance(agent, KNOWN_AGENTS) or any(
            getattr(agent, hook, None) for hook in _BEFORE
        ):
            return None
        if isinstance(agent, LlmAgent) and _is_own(type(agent), "canonical_tools"):
            return None
        waiting += agent.sub_agents
        for tool in agent.tools if isinstance(agent, LlmAgent) else ():
            if isinstance(tool, AgentTool):
                waiting.append(tool.agent)
            if isinstance(tool, BaseToolset | BaseNode) or not _is_fixed(tool):
                return None
            name, arguments = _read(tool)
            taken = tools.get(name, arguments)  # agents may have tools of one name
            tools[name] = None if taken is None or arguments is None else taken | arguments
    return tools


def _is_own(kind: type, method: str) -> bool:
    """Tell whether a class has a method that is not ADK's."""
    return not getattr(kind, method).__module__.startswith("google.adk.")


def _is_fixed(tool: Tool) -> bool:
    """Tell whether a tool adds to a request no more than itself."""
    return (
        not isinstance(tool, BaseTool)
        or type(tool).process_llm_request is BaseTool.process_llm_request
    )


def _read(tool: Tool) -> tuple[str, frozenset[str] | None]:
    """Return a tool's name and arguments; those of a function alone are all that it takes."""
    if not isinstance(tool, BaseTool):
        tool = FunctionTool(tool)
    # A tool that ran in another app of its author's stands behind the gate, in a class of ours.
    kind = next(one for one in type(tool).__mro__ if not issubclass(one, GatedTool))
    if not isinstance(tool, FunctionTool) or any(
        _is_own(kind, method) for method in ("run_async", "_get_declaration")
    ):
        return tool.name, None
    parameters = inspect.signature(tool.func).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return tool.name, None
    return tool.name, frozenset(one.name for one in parameters)


def _unknown(named: Iterable[Named], tools: Tools) -> Iterator[str]:
    for option, tool, argument in named:
        if tool not in tools:
            yield f"{option}: {tool}{nearest(tool, tools)}"
        elif argument is not None and (known := tools[tool]) is not None and argument not in known:
            yield f"{option}: {tool}({argument}){nearest(argument, known)}"
