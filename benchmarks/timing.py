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


class Stopwatch:
    """Adds up the time spent in what it was put around, in milliseconds.

    Attributes:
        ms: By the clock on the wall, waiting for a lock or a processor included.
        cpu_ms: Processor time of the calling thread alone; says what the code costs where others
            use the machine too.
    """

    def __init__(self) -> None:
        """Start at zero."""
        self.ms = 0.0
        self.cpu_ms = 0.0

    def around(self, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        """Return the method with its time added up, whether it returns or raises."""

        @functools.wraps(method)
        async def timed(*args: Any, **kwargs: Any) -> Any:
            started, cpu = time.perf_counter(), time.thread_time()
            try:
                return await method(*args, **kwargs)
            finally:
                self.ms += (time.perf_counter() - started) * 1000
                self.cpu_ms += (time.thread_time() - cpu) * 1000

        return timed

    def take(self) -> tuple[float, float]:
        """Return wall and processor time added up since the last take."""
        taken = self.ms, self.cpu_ms
        self.ms = self.cpu_ms = 0.0
        return taken


@contextmanager
def plugin_timed(watch: Stopwatch) -> Iterator[None]:
    """Time all of the plugin while open: its callbacks, and the check that its gate asks.

    A LOCAL that is measured is built inside, since the gate keeps the check it was built with.
    """
    places = [(ContextBudgetPlugin, name) for name in _CALLBACKS] + [(OutgoingRequests, "check")]
    before = [(owner, name, getattr(owner, name)) for owner, name in places]
    for owner, name, method in before:
        setattr(owner, name, watch.around(method))
    try:
        yield
    finally:
        for owner, name, method in before:
            setattr(owner, name, method)


def store_timed(store: ContextStore, watch: Stopwatch) -> ContextStore:
    """Time the store's part of a turn; returns the same store."""
    for name in ("snapshot", "preferences", "append"):
        setattr(store, name, watch.around(getattr(store, name)))
    return store
