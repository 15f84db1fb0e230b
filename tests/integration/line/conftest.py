"""What tests of LOCAL on LINE start: its worker on a file, and its conversation."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.line import peer_of
from tests.support.line_worker import Clock, Gate, line_of
from tests.support.line_world import World


@pytest.fixture
def gate(monkeypatch):
    return Gate(monkeypatch)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
async def peer(clock):
    async with peer_of(clock=clock) as started:
        yield started


@pytest.fixture
async def app(tmp_path, peer, clock):
    async with line_of(tmp_path, peer, clock) as found:
        yield found


@pytest.fixture
async def idle(tmp_path, peer, clock):
    """A gateway whose events nobody works on, unless a test makes a worker."""
    async with line_of(tmp_path, peer, clock, processing="elsewhere") as found:
        yield found


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    yield made
    await made.service.close()


@pytest.fixture
async def frugal(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path, daily_turns=2)
    yield made
    await made.service.close()
