"""Firestore keeps the port's promises, on the real emulator."""

import asyncio
import itertools

import pytest
from google.cloud.firestore import AsyncClient

from stores.conformance.inbox import arrival
from stores.conformance.scenario import (
    ANN,
    BEN,
    COFFEE,
    NOW,
    SIGNING_KEY,
    STORE_KEY,
    TEA,
    remember,
    write,
)
from stores.errors import SchemaTooNew, StoreUnavailable
from stores.firestore.documents import Documents
from stores.firestore.inbox_documents import InboxDocuments
from stores.open import open_store
from stores.testing import ContextStoreConformance, GenerationStoreConformance, InboxConformance
from tests.support import firestore

_names = itertools.count()


@pytest.fixture(scope="module")
def emulator():
    """The emulator's host and port; skips by name where there is no emulator."""
    if firestore.jar() is None:
        pytest.skip(firestore.MISSING)
    with firestore.emulator() as host:
        yield host


class TestFirestore(ContextStoreConformance, GenerationStoreConformance, InboxConformance):
    """A namespace of its own for each test."""

    def open(self, url, signing_keys=(SIGNING_KEY,), store_keys=(STORE_KEY,)):
        return open_store(url, signing_keys=signing_keys, store_keys=store_keys)

    @pytest.fixture
    def store_url(self, emulator, monkeypatch):
        monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", emulator)
        return f"firestore://project-of-tests/n{next(_names)}"


@pytest.fixture
def told(emulator, monkeypatch):
    """Opens the store of a new namespace, and a bare client beside it; tells a story in a loop."""
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", emulator)
    url = f"firestore://project-of-tests/n{next(_names)}"

    def run(story):
        async def tell():
            bare = AsyncClient(project="project-of-tests")
            store = open_store(url, signing_keys=[SIGNING_KEY], store_keys=[STORE_KEY])
            async with store:
                await story(store, bare.document("stores", url.rpartition("/")[2]))
            await bare._firestore_api.transport.close()

        return asyncio.run(tell())

    return run


async def documents(root, name):
    """Return the documents of a collection in every tenant."""
    found = {}
    async for tenant in root.collection("tenants").list_documents():
        async for one in tenant.collection(name).stream():
            found[one.reference] = one.to_dict()
    return found


def test_values_lie_sealed_and_windows_have_a_ttl(told):
    """No document shows a value, its card's or its window's person by path; windows end (8)."""

    async def story(store, root):
        await remember(store, ANN, TEA)
        await store.propose(ANN, COFFEE, now_ms=NOW)
        await write(store, ANN)
        people, windows = (
            await documents(root, "store_people"),
            await documents(root, "store_windows"),
        )
        everything = repr(people) + repr(windows)
        assert "tea'" not in everything
        assert "coffee'" not in everything
        assert not any("ann" in reference.path for reference in people)
        [window] = windows.values()
        assert window["expires_at"].timestamp() * 1000 == window["expires_at_ms"]
        assert (await store.forget(ANN, None, now_ms=NOW)).complete
        [person] = (await documents(root, "store_people")).values()
        assert (person["data_key"], person["preferences"]) == (None, [])
        assert not any(card["sealed"] for card in person["cards"])
        assert await documents(root, "store_windows") == {}

    told(story)


def test_swapped_documents_are_damage(told):
    """A document copied to another person's place is refused by a code, not shown (11)."""

    async def story(store, root):
        await remember(store, ANN, TEA)
        await remember(store, BEN, TEA)
        people = await documents(root, "store_people")
        [ann] = [fields for fields in people.values() if fields["person"] == "ann"]
        [bens] = [one for one, fields in people.items() if fields["person"] == "ben"]
        await bens.set(ann)
        with pytest.raises(StoreUnavailable) as caught:
            await store.preferences(BEN, now_ms=NOW)
        assert caught.value.numbers["reason"] == "damaged"
        await bens.set({**ann, "person": "ben"})
        with pytest.raises(StoreUnavailable):  # what is sealed does not open for anybody else
            await store.preferences(BEN, now_ms=NOW)

    told(story)


def test_an_interrupted_erasure_goes_on(told, monkeypatch):
    """A ledger that goes is out of sight at once; the next sweep deletes what was left (8)."""

    async def story(store, root):
        await remember(store, ANN, TEA)

        async def interrupted(*_):
            raise StoreUnavailable(reason="lost")

        with monkeypatch.context() as patch:
            patch.setattr(Documents, "drop_lines", interrupted)
            with pytest.raises(StoreUnavailable):
                await store.erase(ANN, now_ms=NOW)
        assert (await store.inspect(ANN, now_ms=NOW)).events == ()
        [person] = await documents(root, "store_people")
        assert len([one async for one in person.collection("store_ledger").stream()]) == 2
        assert await store.sweep(ANN.tenant, now_ms=NOW) == 1
        assert [one async for one in person.collection("store_ledger").stream()] == []
        assert await store.sweep(ANN.tenant, now_ms=NOW) == 0

    told(story)


def test_a_newer_schema_is_left_alone(told):
    """A database that a newer version wrote is refused by a code and not changed."""

    async def story(store, root):
        await root.set({"schema": 2})
        with pytest.raises(SchemaTooNew):
            async with open_store(f"firestore://project-of-tests/{root.id}"):
                pass
        assert (await root.get()).to_dict() == {"schema": 2}

    told(story)


def test_a_server_that_is_away_is_said(monkeypatch):
    """Without a server every call is refused soon, by a code and one sentence."""
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", "127.0.0.1:9")

    async def tell():
        store = open_store("firestore://project-of-tests/n")
        with pytest.raises(StoreUnavailable) as caught:
            await store.snapshot(ANN, now_ms=NOW)
        assert caught.value.numbers["reason"] == "unreachable"
        assert caught.value.__cause__ is None
        await store.close()

    asyncio.run(tell())


def test_who_comes_back_while_they_are_erased_is_not(told, monkeypatch):
    """Each commit of an erasure holds only if the person is still due when it is made (8)."""
    stage = InboxDocuments._stage_erased

    async def story(store, root):
        inbox = store.inbox("town")
        for many in (1, 151):
            await inbox.accept(
                tuple(arrival(f"e{number}", f"c{number}") for number in range(many)), now_ms=NOW
            )
            await remember(store, ANN, TEA)
            await inbox.leave("ann", said_at_ms=NOW + many, due_at_ms=NOW)
            coming = [inbox.stay("ann", said_at_ms=NOW + many)]

            async def staged(documents, batch, found, now_ms, coming=coming):
                for came in coming:
                    await came
                coming.clear()
                await stage(documents, batch, found, now_ms)

            monkeypatch.setattr(InboxDocuments, "_stage_erased", staged)
            assert await store.erase_leaver(ANN, now_ms=NOW + 1) is None
            held = await store.inspect(ANN, now_ms=NOW + 1)
            assert (set(held.values), held.open_events) == ({"drink"}, many)

    told(story)
