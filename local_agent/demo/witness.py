"""Witnesses: what the model really got, and whether anybody called the network.

The measurements of the demo are taken here, at the model itself, the same way for all ways of
keeping history; the plugin's own counts are only compared with them.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps.app import App
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from pydantic import InstanceOf

from callbacks.counting.request import CountRequest
from local_agent.context import SCHEMA
from local_agent.offline_model import OfflineModel

_NETWORK = frozenset({"socket.connect", "socket.getaddrinfo", "socket.sendto"})


@dataclass
class Seen:
    """The requests that reached a model, in order."""

    requests: list[CountRequest] = field(default_factory=list)

    def since(self, calls: int) -> tuple[CountRequest, ...]:
        """Return the requests after the first `calls` ones."""
        return tuple(self.requests[calls:])


class WitnessedModel(OfflineModel):
    """The offline rules, with somebody taking down each request on its way in."""

    seen: InstanceOf[Seen]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Take the request down as it is now, then answer."""
        request = CountRequest(
            llm_request.model or "", llm_request.config, tuple(llm_request.contents)
        )
        request.canonical()  # encoded now: contents may be changed after the answer
        self.seen.requests.append(request)
        async for response in super().generate_content_async(llm_request, stream):
            yield response


def witness(app: App) -> Seen:
    """Put a witness into the app's one agent and return what it will see.

    Raises:
        TypeError: The app's root is no agent with a model.
    """
    agent = app.root_agent
    if not isinstance(agent, LlmAgent):
        raise TypeError("Only an agent with a model can be witnessed.")
    seen = Seen()
    agent.model = WitnessedModel(history_schema=SCHEMA, seen=seen)
    return seen


class _Watch:
    """Counts attempts to reach the network; Python cannot take an audit hook away again."""

    def __init__(self) -> None:
        self.watching = False
        self.attempts = 0
        sys.addaudithook(self._hear)

    def _hear(self, event: str, _: tuple[Any, ...]) -> None:
        if self.watching and event in _NETWORK:
            self.attempts += 1


_watch: list[_Watch] = []


@contextmanager
def network_attempts() -> Iterator[_Watch]:
    """Count, while open, every name looked up and every connection begun in this process."""
    if not _watch:
        _watch.append(_Watch())
    watch = _watch[0]
    watch.attempts, watch.watching = 0, True
    try:
        yield watch
    finally:
        watch.watching = False
