"""What the inbox keeps of a message in a file: sealed bytes, and those until its turn is done."""

from stores.inbox import Arrival, State
from stores.records import Owner

NOW = 1_000_000
SECRET = b"secret-words-of-a-message"


def arrival(event_id, message=None):
    return Arrival(
        event_id=event_id,
        chat=f"chat-of-{event_id}",
        person="ann",
        message=message,
        said_at_ms=NOW,
        body=SECRET,
    )


def kept(file):
    """Return the sealed bodies and plans as they stand in the table."""
    bare = file.bare()
    rows = bare.execute("SELECT body, plan FROM store_inbox").fetchall()
    bare.close()
    return [one for row in rows for one in row if one is not None]


async def test_a_message_is_never_in_the_clear(file):
    """Neither body nor plan stands in a file unsealed, at any time, nor in a record's repr (4)."""
    async with file.open() as store:
        inbox = store.inbox("town")
        await inbox.accept((arrival("e1"),), now_ms=NOW)
        [claim] = await inbox.claim("w", now_ms=NOW, lease_ms=9)
        await inbox.settle(claim, plan=SECRET, append=None, now_ms=NOW)
        assert len(kept(file)) == 2
        assert SECRET not in file.bytes()
        assert "secret" not in repr(claim) + repr(arrival("e1"))


async def test_a_finished_turn_leaves_no_text(file):
    """When a turn ends nothing sealed is left in its row, and after a purge none in the WAL (4)."""
    async with file.open() as store:
        inbox = store.inbox("town")
        await inbox.accept((arrival("e1"), arrival("e2")), now_ms=NOW)
        for claim in await inbox.claim("w", now_ms=NOW, lease_ms=9, most=2):
            await inbox.settle(claim, plan=SECRET, append=None, now_ms=NOW)
            before = kept(file)
            await inbox.finish(claim, State.SENT, now_ms=NOW)
            assert len(kept(file)) == len(before) - 2
        assert kept(file) == []
        assert await inbox.purge(now_ms=NOW) == 0
        assert [one for one in before if one in file.bytes()] == []


async def test_unsent_and_erased_text_is_out_of_the_file(file):
    """What was unsent, and what was an erased person's, is in no byte of the file or WAL (8)."""
    async with file.open() as store:
        inbox = store.inbox("town")
        await inbox.accept((arrival("e1", "m1"), arrival("e2")), now_ms=NOW)
        first, second = kept(file)
        assert await inbox.unsend("m1", now_ms=NOW) is not None
        assert first not in file.bytes()
        assert second in file.bytes()
        result = await store.erase(Owner(tenant="town", person="ann"), now_ms=NOW + 1)
        assert result.complete
        assert second not in file.bytes()


async def test_sealed_bytes_tell_no_length(file):
    """Two messages of different length are sealed into bytes of one size (4)."""
    async with file.open() as store:
        inbox = store.inbox("town")
        short = arrival("e1").model_copy(update={"body": b"x"})
        await inbox.accept((short, arrival("e2")), now_ms=NOW)
        assert len({len(one) for one in kept(file)}) == 1


async def test_an_event_moved_to_another_does_not_open(file):
    """A body copied into another event's row is no message of that event (11)."""
    async with file.open() as store:
        inbox = store.inbox("town")
        await inbox.accept((arrival("e1"), arrival("e2")), now_ms=NOW)
        bare = file.bare()
        bare.execute(
            "UPDATE store_inbox SET body = (SELECT body FROM store_inbox WHERE event_id = 'e1') "
            "WHERE event_id = 'e2'"
        )
        bare.close()
        claims = await inbox.claim("w", now_ms=NOW, lease_ms=9, most=2)
        assert [claim.event_id for claim in claims] == ["e1"]
        [letter] = await inbox.letters(State.DEAD)
        assert (letter.event_id, letter.error_code) == ("e2", "STORE_UNAVAILABLE")


async def test_an_empty_poll_takes_no_lock(file):
    """A poll that finds nothing goes through while another process holds the write lock."""
    async with file.open(busy_timeout_ms=50) as store:
        inbox = store.inbox("town")
        await inbox.accept((arrival("e1"),), now_ms=NOW)
        await inbox.claim("w", now_ms=NOW, lease_ms=9)
        bare = file.bare()
        bare.execute("BEGIN IMMEDIATE")
        assert await inbox.claim("w", now_ms=NOW, lease_ms=9) == []
        assert await inbox.is_open("e1")
        bare.execute("ROLLBACK")
        bare.close()
