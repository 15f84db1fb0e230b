"""A look at the data keys tells whether a ring has what wrapped them, and shows nothing of them."""

import pytest

from stores.errors import StoreUnavailable
from stores.open import open_store
from stores.probe_keys import KeyProbe, probe_keys
from stores.records import Owner, Proposal
from tests.support import firestore

NOW = 1_790_000_000_000
OLD, NEW, OTHER = (f"store key {number} of these tests, long enough".encode() for number in "123")
SIGNING = [b"a signing key of these tests alone"]


async def remember(url, person, keys, tenant="town"):
    """Let a person remember something under the first of these keys."""
    async with open_store(url, signing_keys=SIGNING, store_keys=keys) as store:
        owner = Owner(tenant=tenant, person=person)
        tea = Proposal(key="drink", purpose="to choose", value="tea")
        card = await store.propose(owner, tea, now_ms=NOW)
        await store.approve(owner, card.token, now_ms=NOW)


async def found(url, *keys, tenant="town"):
    """Return what is in use and what is missing of it."""
    looked = await probe_keys(url, tenant=tenant, store_keys=keys)
    return looked.in_use, looked.missing


async def holds_on(url):
    """The rule, on any backend: each ring key in use is tried, of this tenant alone."""
    async with open_store(url):
        pass
    assert await found(url, NEW) == (0, 0)
    assert await found(url) == (0, 0)
    await remember(url, "ann", [OLD])
    await remember(url, "bob", [NEW, OLD])
    await remember(url, "cid", [NEW, OLD])
    await remember(url, "dan", [OTHER], tenant="elsewhere")
    assert await found(url, NEW, OLD) == (2, 0)
    assert await found(url, NEW) == (2, 1)
    assert await found(url, OTHER) == (2, 2)
    assert await found(url) == (2, 2)
    assert await found(url, OTHER, tenant="elsewhere") == (1, 0)
    async with open_store(url, store_keys=[NEW, OLD]) as store:
        assert (await store.rotate_keys("town")).lost == 0
    assert await found(url, NEW) == (1, 0)
    async with open_store(url, store_keys=[NEW]) as store:
        for person in ("ann", "bob", "cid"):
            await store.forget(Owner(tenant="town", person=person), None, now_ms=NOW)
    assert await found(url, OTHER) == (0, 0)


async def test_each_ring_key_in_use_is_tried_in_a_file(file):
    """Old and new ring keys are each tried on one data key, and nothing of the file changes."""
    await holds_on(file.url)
    await remember(file.url, "ann", [OLD])
    with file.bare() as bare:
        before = list(bare.iterdump())
    assert await probe_keys(file.url, tenant="town", store_keys=[OLD]) == KeyProbe(1, 0)
    with file.bare() as bare:
        assert list(bare.iterdump()) == before


async def test_each_ring_key_in_use_is_tried_on_a_server(database):
    """Under row-level security a role that owns nothing finds the same."""
    await holds_on(database.url)


@pytest.fixture(scope="module")
def emulator():
    """The emulator's host and port; skips by name where there is no emulator."""
    if firestore.jar() is None:
        pytest.skip(firestore.MISSING)
    with firestore.emulator() as host:
        yield host


async def test_each_ring_key_in_use_is_tried_on_firestore(emulator, monkeypatch):
    """Documents without a data key are passed over, and the same is found."""
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", emulator)
    await holds_on("firestore://probes/keys")


async def test_a_data_key_that_was_altered_is_told(file):
    """A data key with a bit turned over opens for nobody; that is damage, and no missing key."""
    await remember(file.url, "ann", [OLD])
    bare = file.bare()
    slot = bare.execute("SELECT key_slot FROM store_people").fetchone()[0]
    body = bytearray(
        bare.execute("SELECT body FROM store_vault WHERE slot = ?", (slot,)).fetchone()[0]
    )
    body[-1] ^= 1
    bare.execute("UPDATE store_vault SET body = ? WHERE slot = ?", (bytes(body), slot))
    bare.close()
    with pytest.raises(StoreUnavailable) as caught:
        await probe_keys(file.url, tenant="town", store_keys=[OLD])
    assert caught.value.numbers["reason"] == "damaged"
