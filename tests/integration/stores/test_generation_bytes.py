"""What a record of a generation holds is never in the clear in a file, and its key goes with it."""

import hashlib

from stores.generations import Generation
from stores.records import Owner
from stores.sql import generation_statements as statements
from stores.sql import vault

NOW = 1_000_000
ANN = Owner(tenant="town", person="ann")
SECRET = "第四之二條 a secret threshold".encode()


async def test_originals_are_sealed_and_their_key_is_overwritten(file):
    """No byte of an original is in the file, and after an erasure no byte of its key's slot (8)."""
    made = Generation(
        id="g-1", record=SECRET, originals={hashlib.sha256(SECRET).hexdigest(): SECRET}
    )
    async with file.open() as store:
        await store.keep_generation(ANN, made, expected_revision=0, now_ms=NOW)
        bare = file.bare()
        slot = bare.execute("SELECT slot FROM store_generations").fetchone()[0]
        body = bare.execute("SELECT body FROM store_vault WHERE slot = ?", (slot,)).fetchone()[0]
        bare.close()
        assert SECRET not in file.bytes()
        assert body in file.bytes()
        result = await store.erase(ANN, now_ms=NOW)
        assert {one.surface: one.remaining for one in result.verified}["files"] == 0
        assert body not in file.bytes()
        assert vault.tag_of(ANN) not in file.bytes()


def test_a_list_reads_no_body():
    """What is listed is ids and times; no statement of the list touches a sealed part."""
    text = str(statements.HELD.statement)
    assert "record" not in text
    assert "originals" not in text
