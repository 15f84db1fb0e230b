"""Stopwatches around what already exists: callbacks, the gate, the store.

One turn runs at a time while something is measured, so time between a call and its answer,
waiting included, belongs to that call.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from callbacks.adk.outgoing import OutgoingRequests
from callbacks.adk.plugin import ContextBudgetPlugin
from callbacks.adk.tools import ToolCalls
from stores.ports import ContextStore

_CALLBACKS = (
    "before_run_callback",
    "before_model_callback",
    "after_model_callback",
    "before_tool_callback",
    "after_tool_callback",
    "on_tool_error_callback",
    "on_event_callback",
    "after_run_callback",
)

_ABOUT_A_TOOL = "_run"


class Stopwatch:
    """Adds up the time spent in what it was put around, in milliseconds.

    Attributes:
        ms: By the clock on the wall, waiting for a lock or a processor included.
        cpu_ms: Processor time of the calling thread alone; says what the code costs where others
            use the machine too.
        running: Whether it runs now.
    """

    def __init__(self) -> None:
        """Start at zero."""
        self.ms = 0.0
        self.cpu_ms = 0.0
        self.running = False

    def around(
        self, method: Callable[..., Awaitable[Any]], *, within: Stopwatch | None = None
    ) -> Callable[..., Awaitable[Any]]:
        """Return the method with its time added up, whether it returns or raises.

        Args:
            method: What is timed; what it calls in its turn is timed once.
            within: Only while this one runs.
        """
        return self._counted(method, running=True, within=within)

    def outside(self, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        """Return the method with its time taken off again: what is timed around it is others'."""
        return self._counted(method, running=False)

    def _counted(
        self,
        method: Callable[..., Awaitable[Any]],
        *,
        running: bool,
        within: Stopwatch | None = None,
    ) -> Callable[..., Awaitable[Any]]:
        sign = 1000 if running else -1000

        @functools.wraps(method)
        async def timed(*args: Any, **kwargs: Any) -> Any:
            if self.running is running or not (within is None or within.running):
                return await method(*args, **kwargs)
            self.running = running
            started, cpu = time.perf_counter(), time.thread_time()
            try:
                return await method(*args, **kwargs)
            finally:
                self.ms += (time.perf_counter() - started) * sign
                self.cpu_ms += (time.thread_time() - cpu) * sign
                self.running = not running

        return timed

    def take(self) -> tuple[float, float]:
        """Return wall and processor time added up since the last take."""
        taken = self.ms, self.cpu_ms
        self.ms = self.cpu_ms = 0.0
        return taken


@contextmanager
def plugin_timed(watch: Stopwatch) -> Iterator[None]:
    """Time all of the plugin while open: callbacks, its gate's check, what stands about a tool.

    The tool itself is not the plugin's. A LOCAL that is measured is built inside, since the gate
    keeps the check it was built with.
    """
    places: list[tuple[type, str]] = [(ContextBudgetPlugin, name) for name in _CALLBACKS]
    places += [(OutgoingRequests, "check"), (ToolCalls, _ABOUT_A_TOOL)]
    before = [(owner, name, getattr(owner, name)) for owner, name in places]
    about_a_tool = getattr(ToolCalls, _ABOUT_A_TOOL)

    async def run(tools: ToolCalls, call: Any, tool: Any, *rest: Any) -> Any:
        return await about_a_tool(tools, call, watch.outside(tool), *rest)

    for owner, name, method in before:
        setattr(owner, name, watch.around(run if name == _ABOUT_A_TOOL else method))
    try:
        yield
    finally:
        for owner, name, method in before:
            setattr(owner, name, method)


def store_timed(store: ContextStore, watch: Stopwatch, plugin: Stopwatch) -> ContextStore:
    """Time the store's part of the plugin's; returns the same store."""
    for name in ("snapshot", "preferences", "append"):
        setattr(store, name, watch.around(getattr(store, name), within=plugin))
    return store
