"""A database of an older version is brought up to date, and what stood in the clear is sealed."""

import sqlite3
from importlib import import_module

import pytest
from alembic import command
from sqlalchemy import create_engine

from stores.errors import StoreKeyMissing
from stores.records import ConsentResult, Outcome, Owner
from stores.sealing import KeyRing
from stores.sql import migrate, vault

NOW = 1_000_000
ANN = Owner(tenant="town", person="ann")
BEN = Owner(tenant="town", person="ben")


def packed(value):
    """Return a slot as the first version wrote it: salt, length, value, zeros."""
    raw = value.encode()
    return (bytes(16) + len(raw).to_bytes(2, "big") + raw).ljust(256, b"\0")


def upgrade(path, version):
    """Make the file of an older version."""
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config = import_module("alembic.config").Config()
        config.set_main_option("script_location", str(migrate.SCRIPTS))
        config.set_main_option("path_separator", "os")
        config.attributes.update(connection=connection, ring=KeyRing())
        command.upgrade(config, version)
    engine.dispose()


@pytest.fixture
def old(file):
    """The file of the first version: two people's values, and a card that waits with its own."""
    upgrade(file.path, "0001")
    bare = sqlite3.connect(file.path)
    for slot, (owner, value) in enumerate(
        ((ANN, "secret-tea"), (ANN, "secret-near"), (BEN, "secret-tea"), (ANN, "secret-card")), 1
    ):
        bare.execute(
            "INSERT INTO store_vault VALUES (?, ?, 0, ?)",
            (slot, vault.tag_of(owner), packed(value)),
        )
    bare.executescript(
        """
        INSERT INTO store_people VALUES ('town', 'ann', 3, NULL), ('town', 'ben', 1, 5);
        INSERT INTO store_journal VALUES ('town', 'ann', 3, 7, 2000000, 'e', '{}');
        INSERT INTO store_preferences VALUES
          ('town', 'ann', 'drink', 'to choose', 9, NULL, 2, 1),
          ('town', 'ann', 'distance', 'to sort', 9, NULL, 3, 2),
          ('town', 'ben', 'drink', 'to choose', 9, NULL, 1, 3);
        INSERT INTO store_cards VALUES
          ('town', 'ann', 'ID', 'remember', 'drink', 'to choose', 3, 2000000, 'pending', 't', 4);
        """
    )
    bare.commit()
    bare.close()
    assert file.bytes().count(b"secret-") == 4
    return file


async def test_values_are_sealed_where_they_are(old):
    """After the migration everything is there as before, and nothing of it in the clear (8)."""
    async with old.open() as store:
        kept = await store.preferences(ANN, now_ms=NOW)
        assert kept.revision == 3
        assert {key: (one.value, one.purpose) for key, one in kept.values.items()} == {
            "drink": ("secret-tea", "to choose"),
            "distance": ("secret-near", "to sort"),
        }
        assert (await store.preferences(BEN, now_ms=NOW)).values["drink"].value == "secret-tea"
        assert (await store.snapshot(ANN, now_ms=NOW)).generation == 7
        assert b"secret-" not in old.bytes()
        assert await store.approve(ANN, "c1.ID.mac", now_ms=NOW) == ConsentResult(
            outcome=Outcome.INVALID, revision=3
        )
        assert (await store.forget(ANN, "drink", now_ms=NOW)).complete
        assert set((await store.preferences(ANN, now_ms=NOW)).values) == {"distance"}


async def test_without_a_key_it_stays_as_it_is(old):
    """Values are never left unsealed for want of a key: the migration waits for one."""
    store = old.open(store_keys=[])
    with pytest.raises(StoreKeyMissing):
        await store.start()
    await store.close()
    bare = old.bare()
    assert bare.execute("SELECT version_num FROM store_schema").fetchall() == [("0001",)]
    bare.close()
    assert old.bytes().count(b"secret-") == 4
    async with old.open() as store:
        assert len((await store.preferences(ANN, now_ms=NOW)).values) == 2


async def test_turns_of_a_day_outlive_an_update(file):
    """What a person used up before marks were kept is used up after it, and marks begin (9)."""
    upgrade(file.path, "0004")
    bare = sqlite3.connect(file.path)
    bare.execute("INSERT INTO store_quota VALUES ('town', 'ann', '2026-01-01', 2)")
    bare.commit()
    bare.close()
    async with file.open() as store:
        inbox = store.inbox("town")
        assert await inbox.spend("ann", event_id="e1", day="2026-01-01", most=3)
        assert await inbox.spend("ann", event_id="e1", day="2026-01-01", most=3)
        assert not await inbox.spend("ann", event_id="e2", day="2026-01-01", most=3)
