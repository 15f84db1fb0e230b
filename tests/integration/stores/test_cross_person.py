"""Nobody reaches another person: the benchmark's tries, a few of them."""

import asyncio

import pytest

from benchmarks.attacks.tries import attack
from benchmarks.line.database import dropped, emptied
from tests.support.postgres import OWNER


def sqlite_urls(tmp_path):
    return [f"sqlite+aiosqlite:///{tmp_path / name}.db" for name in ("attacked", "own")]


@pytest.fixture
def postgres_urls(server):
    """Two empty databases; who tries is their owner, whom row-level security does not hold."""
    url, names = server.url(user=OWNER), ("attacked", "own")
    yield [asyncio.run(emptied(url, name)) for name in names]
    for name in names:
        asyncio.run(dropped(url, name))


def check(report):
    assert (report.succeeded, report.told_apart, report.without_code) == (0, 0, 0)
    assert report.own_cards_work
    assert len(report.by_kind) == 9
    assert set(report.by_code) <= {"invalid", "stale", "already_applied", "STORE_UNAVAILABLE"}


def test_no_try_succeeds(tmp_path):
    """Foreign, replayed, cut, re-signed cards and swapped rows do nothing and tell nothing (11)."""
    check(asyncio.run(attack(*sqlite_urls(tmp_path), tries=1_000, seed=3)))


def test_no_try_succeeds_on_postgres(postgres_urls):
    """The same on a server (invariant 11)."""
    check(asyncio.run(attack(*postgres_urls, tries=1_000, seed=3)))
