"""A URL names a backend, or the error says what one looks like."""

import asyncio
import gc
import threading

import pytest

from stores.errors import InvalidInput, UnsupportedStoreUrl
from stores.open import open_store
from stores.ports import ContextStore
from stores.records import Owner

ANN = Owner(tenant="town", person="ann")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "store.db",
        "/store.db",
        "sqlite:///store.db",
        "sqlite+aiosqlite:store.db",
        "sqlite+aiosqlite:/store.db",
        "sqlite+aiosqlite://host/store.db",
        "sqlite+aiosqlite:///store.db?mode=ro",
        "sqlite+aiosqlite:///a\0b",
        "mysql://u:password@host/db",
        "postgresql+asyncpg:u:password@host/db",
        "postgresql+asyncpg://",
        "postgresql+asyncpg://u:password@host:port/db",
        "postgresql+asyncpg://u:password@host/db\0",
        "firestore://project",
        "firestore://project/a/b",
        "firestore://password@host/namespace",
        None,
        b"sqlite+aiosqlite:///store.db",
    ],
)
def test_an_unknown_url_is_refused(url):
    """What is no URL of a backend gets one sentence with an example, and not its own text."""
    with pytest.raises(UnsupportedStoreUrl) as caught:
        open_store(url)
    assert "sqlite+aiosqlite:///" in str(caught.value)
    assert "password" not in f"{caught.value}{caught.value.numbers}"


@pytest.mark.parametrize(
    "options",
    [
        {"signing_keys": [b"short"]},
        {"signing_keys": ["a string of more than sixteen characters"]},
        {"signing_keys": b"one key in place of a list of keys"},
        {"synchronous": "off; DROP TABLE"},
        {"synchronous": None},
        {"busy_timeout_ms": -1},
        {"busy_timeout_ms": True},
        {"busy_timeout_ms": 0.5},
    ],
)
def test_a_wrong_option_is_refused(options):
    """An option that cannot be meant is refused when the store is opened, not when it is used."""
    with pytest.raises(InvalidInput) as caught:
        open_store("sqlite+aiosqlite://", **options)
    assert caught.value.numbers["field"] == next(iter(options))


def test_opening_touches_nothing(tmp_path):
    """Opening a store makes no file and no thread; only its use does."""
    before = set(threading.enumerate())
    open_store(f"sqlite+aiosqlite:///{tmp_path}/store.db")
    new = [thread for thread in threading.enumerate() if thread not in before]
    assert list(tmp_path.iterdir()) == []
    assert [thread for thread in new if thread.name.startswith("store-")] == []


def test_paths_are_read_as_sqlalchemy_reads_them(tmp_path, monkeypatch):
    """Three slashes are relative, four absolute, and percent signs are decoded."""
    monkeypatch.chdir(tmp_path)

    async def use(url):
        async with open_store(url, synchronous="OFF") as store:
            await store.clear(ANN, now_ms=1)

    asyncio.run(use("sqlite+aiosqlite:///relative.db"))
    asyncio.run(use(f"sqlite+aiosqlite:///{tmp_path}/a%20b.db"))
    assert {path.name for path in tmp_path.iterdir()} == {"relative.db", "a b.db"}


def test_one_store_over_several_event_loops(tmp_path):
    """A store belongs to no event loop: it may be used in one after the other, then closed."""
    store = open_store(f"sqlite+aiosqlite:///{tmp_path}/store.db", synchronous="OFF")
    assert [asyncio.run(store.clear(ANN, now_ms=1)) for _ in range(3)] == [1, 2, 3]
    asyncio.run(store.close())


def test_a_forgotten_store_cleans_up(tmp_path):
    """A store that nobody closed lets its threads and its file go when it is collected."""
    before = set(threading.enumerate())
    store = open_store(f"sqlite+aiosqlite:///{tmp_path}/store.db", synchronous="OFF")
    asyncio.run(store.clear(ANN, now_ms=1))
    mine = [
        thread
        for thread in threading.enumerate()
        if thread.name.startswith("store-") and thread not in before
    ]
    assert mine
    del store
    gc.collect()
    for thread in mine:
        thread.join(60)
    assert [thread for thread in mine if thread.is_alive()] == []


def test_it_is_a_context_store():
    """What is opened has every method of the port."""
    store = open_store("sqlite+aiosqlite://")
    port: ContextStore = store
    for name in vars(ContextStore):
        if not name.startswith("_"):
            assert callable(getattr(port, name))


async def test_closing_before_use_is_fine():
    """A store that was never used closes, and refuses from then on."""
    store = open_store("sqlite+aiosqlite://")
    await store.close()
    with pytest.raises(Exception, match="closed"):
        await store.preferences(ANN, now_ms=1)
