"""Nobody reaches another person: the benchmark's tries, a few of them."""

import asyncio

from benchmarks.attacks.tries import attack


def test_no_try_succeeds(tmp_path):
    """Foreign, replayed, cut, re-signed cards and swapped rows do nothing and tell nothing (11)."""
    report = asyncio.run(attack(tmp_path, tries=1_000, seed=3))
    assert (report.succeeded, report.told_apart, report.without_code) == (0, 0, 0)
    assert report.own_cards_work
    assert len(report.by_kind) == 9
    assert set(report.by_code) <= {"invalid", "stale", "already_applied", "STORE_UNAVAILABLE"}
