"""Counts are kept between processes, and a cache that fails says so with a code."""

import sqlite3

import pytest

from callbacks.context.errors import CounterFailed
from callbacks.counting.cache import MemoryCountCache, SqliteCountCache
from callbacks.counting.learned import Learned


@pytest.fixture(params=["memory", "sqlite"])
def cache(request, tmp_path):
    return MemoryCountCache() if request.param == "memory" else SqliteCountCache(tmp_path / "c.db")


def test_a_cache_gives_back_what_was_put(cache):
    """The last value put under a key is the one there; other keys have none."""
    assert cache.get("a") is None
    cache.put("a", b"1")
    cache.put("a", b"2")
    assert cache.get("a") == b"2"
    assert cache.get("b") is None


def test_reading_makes_no_file(tmp_path):
    """A cache that was never written to leaves nothing behind."""
    assert SqliteCountCache(tmp_path / "c.db").get("a") is None
    assert list(tmp_path.iterdir()) == []


def test_a_broken_file_refuses_without_its_path(tmp_path):
    """A file that is no database is a failure with a code, and its path is not told."""
    path = tmp_path / "secret-name.db"
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(CounterFailed) as caught:
        SqliteCountCache(path).get("a")
    assert caught.value.numbers == {"cause": "count_cache"}
    assert "secret-name" not in repr(caught.value)
    assert caught.value.__context__ is None


def test_a_locked_file_refuses(tmp_path):
    """Another process's lock is waited for only so long."""
    path = tmp_path / "c.db"
    SqliteCountCache(path).put("a", b"1")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(CounterFailed):
        SqliteCountCache(path, busy_timeout_s=0.01).put("a", b"2")
    holder.close()


def _learned(cache, clock=lambda: 0.0):
    return Learned(cache, identity="i", max_age_s=1000, clock=clock)


@pytest.mark.parametrize("value", [b"", b"nonsense", b"[1]", b'["x", "y"]', b"null"])
def test_what_cannot_be_read_is_as_good_as_absent(value: bytes):
    """A damaged entry is learned anew instead of being believed."""

    class Damaged(MemoryCountCache):
        def get(self, key):
            return value

    assert _learned(Damaged()).costs("m") is None
    assert _learned(Damaged()).envelope("e") is None


def test_costs_of_another_version_are_learned_anew():
    """Costs with other fields than today's are not used."""
    cache = MemoryCountCache()
    learned = _learned(cache)
    learned.put_costs("m", None)
    [key] = cache._values
    cache.put(key, b'[0, "{\\"version\\": 99}"]')
    assert _learned(cache).costs("m") is None
    assert not _learned(cache).unprovable("m")


def test_another_process_is_heard_within_a_minute():
    """What was absent is looked for again, so that another process's news arrive."""
    cache = MemoryCountCache()
    now = [0.0]
    here, there = _learned(cache, lambda: now[0]), _learned(cache, lambda: now[0])
    assert not here.distrusts_envelope("e")
    there.distrust("m", "e", frozenset({"user:text"}))
    assert not here.distrusts_envelope("e")
    now[0] = 61.0
    assert here.distrusts_envelope("e")
    assert here.distrusts_shapes("m") == {"user:text"}


def test_keys_and_values_hold_no_names():
    """A cache holds hashes and numbers, so that its file may be kept anywhere."""
    cache = MemoryCountCache()
    _learned(cache).put_envelope("花壇", 7)
    [(key, value)] = cache._values.items()
    assert len(key) == 64
    assert "花壇" not in value.decode()
