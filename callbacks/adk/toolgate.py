"""The tool gate: the innermost place around a running tool.

Callbacks, plugins, spans and logs see a call's arguments and result from outside. What must be
seen by the tool alone is therefore put in where it runs: the tool gets a subclass of its own class,
made on the spot, so that every check by type, its name and its declaration stay what they are.
Such a tool behaves as before until a call of it is armed, and then once (invariant 6).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine
from functools import cache
from types import new_class
from typing import Any
from weakref import WeakKeyDictionary

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from callbacks.adk.internals import NodeInterruptedError

RunTool = Callable[..., Coroutine[Any, Any, Any]]
"""A tool's own `run_async`."""

ArmedCall = Callable[[RunTool, dict[str, Any], ToolContext], Coroutine[Any, Any, Any]]
"""Runs one call: (the tool's own run_async, the arguments as they arrive, its context)."""

_armed: WeakKeyDictionary[ToolContext, tuple[BaseTool, ArmedCall]] = WeakKeyDictionary()


def arm(tool_context: ToolContext, tool: BaseTool, call: ArmedCall) -> None:
    """Let this tool's next run under this context go through `call`, whatever comes between.

    A callback may run another tool under the same context: what was meant for one is not its.
    """
    _armed[tool_context] = (tool, call)


def gate_tool(tool: BaseTool) -> bool:
    """Put the gate into a tool, in place, so that whoever holds the tool runs the gated one.

    Returns:
        Whether it could be; a class that allows no subclass or no change of class cannot, nor one
        that hands out a run of its own whatever its class is.
    """
    try:
        if not isinstance(tool, GatedTool):
            object.__setattr__(tool, "__class__", _gated_class(type(tool)))
        return bool(tool.run_async == object.__getattribute__(tool, "_run_gated"))
    except Exception:  # noqa: BLE001 - a class may refuse in any way; whoever asks says so
        return False


class GatedTool(BaseTool):
    """Mixed in before a tool's own class by `gate_tool`; never built by hand."""

    @property
    def run_async(self) -> RunTool:
        """The gated run. A property, so that one set on the object does not go round it."""
        return self._run_gated

    @run_async.setter
    def run_async(self, replacement: RunTool) -> None:
        vars(self)["run_async"] = replacement

    @run_async.deleter
    def run_async(self) -> None:
        del vars(self)["run_async"]

    async def _run_gated(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        own: RunTool = vars(self).get("run_async") or super().run_async
        armed = _armed.get(tool_context)
        if armed is None or armed[0] is not self:
            return await own(args=args, tool_context=tool_context)
        del _armed[tool_context]
        return await armed[1](own, args, tool_context)


@cache
def _gated_class(tool_class: type[BaseTool]) -> type[BaseTool]:
    # Under the tool's own name: spans say a tool's class.
    names = {key: getattr(tool_class, key) for key in ("__module__", "__qualname__", "__doc__")}
    return new_class(
        tool_class.__name__,
        (GatedTool, tool_class),
        exec_body=lambda namespace: namespace.update(names),
    )


class ToolStopped(BaseException):
    """A tool that was filled in raised what is no Exception; what it said is withheld."""

    error_code = "TOOL_FAILED"

    def __init__(self) -> None:
        """Say nothing but that."""
        super().__init__("The tool was stopped; its message is withheld.")


_SCOPE = re.compile(r"Cancelled (?:via|by) cancel scope [0-9a-f]+")
"""How anyio marks a cancellation as its own; without the mark it would not end its scope."""


def without_content(error: BaseException) -> BaseException | None:
    """Return what to raise instead of an error that may quote a value; None to answer instead.

    Whoever cancels, interrupts or ends something still recognises it by its type. A new object is
    given, for the error's cause, context and traceback hold the values as well.
    """
    if isinstance(error, Exception):
        return None
    if isinstance(error, asyncio.CancelledError):
        said = error.args[0] if error.args else None
        mark = _SCOPE.match(said) if isinstance(said, str) else None
        return asyncio.CancelledError(*([mark.group()] if mark else []))
    for plain in (KeyboardInterrupt, GeneratorExit, NodeInterruptedError):
        if isinstance(error, plain):
            return plain()
    return SystemExit(1) if isinstance(error, SystemExit) else ToolStopped()
