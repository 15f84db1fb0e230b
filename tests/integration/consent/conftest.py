"""LOCAL itself, with somebody who forgets in the middle of a slow turn."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from local_agent.bootstrap import build
from local_agent.context import DIETARY_KEY
from local_agent.service import LocalService, Reply
from local_agent.settings import load_settings
from stores.open import open_store
from stores.records import Owner, Proposal

VALUE = "ovo_lacto"
PERSON = "ann"
SEARCH = "花壇有什麼吃的？"
KEY = "k" * 48


class Interrupted:
    """A store in front of the real one: at one point of a turn it is told to forget."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.before: dict[str, Callable[[], Awaitable[None]]] = {}
        self.after: dict[str, Callable[[], Awaitable[None]]] = {}

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if name not in ("snapshot", "preferences", "append", "propose"):
            return method

        async def call(*arguments: Any, **options: Any) -> Any:
            if (act := self.before.pop(name, None)) is not None:
                await act()
            result = await method(*arguments, **options)
            if (act := self.after.pop(name, None)) is not None:
                await act()
            return result

        return call


class World:
    """LOCAL over a file, and everything that came out of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now = 1_700_000_000_000
        self.requests: list[bytes] = []
        settings = load_settings({"consent_keys": KEY, "store_keys": KEY})
        self.owner = Owner(tenant=settings.tenant, person=PERSON)
        self.real = open_store(
            f"sqlite+aiosqlite:///{folder}/store.db",
            signing_keys=settings.signing_keys,
            store_keys=settings.ring_keys,
            synchronous="OFF",
        )
        self.store = Interrupted(self.real)
        self.service = LocalService(
            lambda sink: build(
                settings,
                store=self.store,
                clock=self.tick,
                on_report=sink,
                on_request=lambda request, _: self.requests.append(request.canonical()),
            )
        )

    def tick(self) -> int:
        self.now += 1
        return self.now

    async def remember(self) -> None:
        proposal = Proposal(key=DIETARY_KEY, purpose="to choose", value=VALUE)
        card = await self.real.propose(self.owner, proposal, now_ms=self.tick())
        await self.real.approve(self.owner, card.token, now_ms=self.tick())

    async def forget(self) -> None:
        assert (await self.real.forget(self.owner, None, now_ms=self.tick())).complete

    async def ask(self, message: str = SEARCH) -> Reply:
        return await self.service.answer(PERSON, message, event_id="the event")

    def files(self) -> bytes:
        return b"".join(path.read_bytes() for path in sorted(self.folder.glob("store.db*")))


@pytest.fixture(name="spans", scope="session")
def _spans() -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):  # a process has one; another test may have set it
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return exporter


@pytest.fixture(name="seen")
def _seen(
    spans: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> Callable[[], tuple[int, int]]:
    """How often the value stands in spans and in logs so far (rules and tools name it, too)."""
    caplog.set_level(logging.DEBUG)
    spans.clear()

    def count() -> tuple[int, int]:
        told = [json.dumps(dict(span.attributes or {})) for span in spans.get_finished_spans()]
        found = "".join(told).count(VALUE), caplog.text.count(VALUE)
        spans.clear()
        caplog.clear()
        return found

    return count


@pytest.fixture(name="world")
async def _world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path)
    yield world
    await world.service.close()
