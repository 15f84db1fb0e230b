"""`local-agent privacy` on servers: of somebody of whom nothing is held nothing is written."""

import asyncio
import json

import pytest
from google.cloud.firestore import AsyncClient

from local_agent import cli
from stores.open import open_store
from stores.records import Owner
from tests.support import firestore
from tests.support.logs import logging_restored

KEY = "a store key of these tests that is long enough"
ANN = "U0123456789abcdef0123456789abcde0"


@pytest.fixture
def postgres(database):
    """A store on PostgreSQL, and how many rows of people it has."""
    return database.url, lambda: database.server_value("SELECT count(*) FROM store_people")


@pytest.fixture
def documents(monkeypatch):
    """A store on Firestore, and how many documents its project has."""
    if firestore.jar() is None:
        pytest.skip(firestore.MISSING)

    async def count():
        bare = AsyncClient(project="strangers")
        found = await bare.collection_group("store_people").get()
        bare.close()
        return len(found)

    with firestore.emulator() as host:
        monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", host)
        yield "firestore://strangers/here", count


@pytest.mark.parametrize("backend", ["postgres", "documents"])
def test_a_stranger_leaves_no_row(backend, request, capsys, monkeypatch):
    """To look at, forget or erase a stranger writes nothing; to erase somebody else still does."""
    url, count = request.getfixturevalue(backend)
    monkeypatch.setenv("LOCAL_DATABASE_URL", url)
    monkeypatch.setenv("LOCAL_STORE_KEYS", KEY)
    monkeypatch.setenv("LOCAL_PSEUDONYM_KEY", "a pseudonym key of these tests, long enough")

    def run(*arguments):
        with logging_restored(), pytest.raises(SystemExit) as ended:
            cli.main(("privacy", *arguments))
        return ended.value.code, capsys.readouterr().out

    for who in (["nobodyhere"], ["--user", ANN]):
        for what in (["inspect"], ["forget", "--all"], ["erase", "--yes"], ["inspect"]):
            status, out = run(*what, *who)
            assert status == 0
            assert out.startswith("nothing ")
            assert " held of this person in the tenant local" in out
    assert asyncio.run(count()) == 0

    async def ask():
        async with open_store(url, store_keys=[KEY.encode()]) as store:
            await store.inbox("local").spend("ben", event_id="e", day="2026-01-01", most=9)
            owner = Owner(tenant="local", person="ben")
            return (await store.inspect(owner, now_ms=1)).known

    assert not asyncio.run(ask())
    status, out = run("erase", "ben", "--yes", "--json")
    assert (status, json.loads(out)["held"], json.loads(out)["complete"]) == (0, True, True)
    assert asyncio.run(count()) == 1
    assert "but the tombstone" in run("inspect", "ben")[1]
