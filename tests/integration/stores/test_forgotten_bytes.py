"""What was forgotten is in no byte of any file of the store."""

import asyncio
import platform
import random
import resource
import subprocess
import sys

import pytest

from stores.records import CardAction, Owner, Proposal
from stores.sealing import SEALED_BYTES
from stores.sql import leftovers, sqlite, vault

NOW = 1_000_000


def proposal(value, key="drink"):
    return Proposal(key=key, purpose="to choose", value=value)


def secret(number):
    return f"secret-{random.Random(number).getrandbits(96):x}"


async def remember(store, owner, value, key="drink"):
    card = await store.propose(owner, proposal(value, key), now_ms=NOW)
    await store.approve(owner, card.token, now_ms=NOW)


def ann(number=0):
    return Owner(tenant="town", person=f"{random.Random(number).getrandbits(64):x}")


def sealed(file):
    """Return what the vault holds: a value and a data key each, as they stand in the file."""
    bare = file.bare()
    rows = bare.execute("SELECT body FROM store_vault WHERE vacant = 0").fetchall()
    bare.close()
    return [body for (body,) in rows]


def left(file, bodies):
    """Count those that are still in a file."""
    content = file.bytes()
    return sum(body in content for body in bodies)


async def test_bytes_are_gone_after_forget(file):
    """No value is ever in a file unsealed; sealed it is there before forget, and not after (8)."""
    async with file.open() as store:
        await remember(store, ann(), secret(1))
        waiting = await store.propose(ann(), proposal(secret(2)), now_ms=NOW)
        before = sealed(file)
        assert (len(before), left(file, before)) == (3, 3)
        assert b"secret-" not in file.bytes()
        result = await store.forget(ann(), "drink", now_ms=NOW)
        assert {check.surface: check.remaining for check in result.verified} == dict.fromkeys(
            ("preferences", "cards", "journal", "vault", "data_key", "wal", "files"), 0
        )
        assert (sealed(file), left(file, before)) == ([], 0)
        assert waiting.token
    assert b"secret-" not in file.bytes()


async def test_what_remains_is_sealed_anew(file):
    """Forgetting one of two leaves no byte of the old data key, nor of what it sealed (8)."""
    async with file.open() as store:
        await remember(store, ann(), secret(1))
        await remember(store, ann(), secret(2), key="food")
        before = sealed(file)
        result = await store.forget(ann(), "drink", now_ms=NOW)
        assert result.complete
        assert (len(before), len(sealed(file)), left(file, before)) == (3, 2, 0)
        kept = await store.preferences(ann(), now_ms=NOW)
        assert {key: one.value for key, one in kept.values.items()} == {"food": secret(2)}


@pytest.mark.parametrize("how", ["cancelled", "replaced", "stale", "expired", "by card"])
async def test_bytes_are_gone_however_a_value_ends(file, how):
    """A value that was turned down, replaced, overtaken or ran out leaves no bytes either (8)."""
    async with file.open() as store:
        card = await store.propose(ann(), proposal(secret(1)), now_ms=NOW)
        before = sealed(file)
        later = NOW
        if how == "cancelled":
            await store.cancel(ann(), card.token, now_ms=NOW)
        elif how == "replaced":
            await store.approve(ann(), card.token, now_ms=NOW)
            await remember(store, ann(), "tea")
        elif how == "stale":
            await remember(store, ann(), "tea")
        elif how == "expired":
            later = card.expires_at_ms
            await store.propose(ann(2), proposal("tea"), now_ms=later)
        else:
            await store.approve(ann(), card.token, now_ms=NOW)
            undo = Proposal(key="drink", purpose="to forget", action=CardAction.FORGET)
            ask = await store.propose(ann(), undo, now_ms=NOW)
            result = await store.approve(ann(), ask.token, now_ms=NOW)
            assert [check.remaining for check in result.verified] == [0, 0]
        assert (len(before), left(file, before)) == (2, 0)
        assert b"secret-" not in file.bytes()


@pytest.mark.parametrize("seed", range(2))
async def test_slots_never_move(file, seed):
    """However many values come and go, none ever has a second copy in the file (8).

    ``secure_delete`` alone does not give that: rows that move when pages are split or merged can
    leave copies behind. The same load on rows of mixed sizes leaves about one in some thousand.
    """
    chance = random.Random(seed)
    alive: dict[int, tuple[Owner, bytes]] = {}
    gone: list[bytes] = []

    def churn(session):
        for _ in range(1_500):
            owner, body = ann(len(alive) + len(gone)), chance.randbytes(SEALED_BYTES)
            alive[vault.fill(session, owner, body)] = (owner, body)
            if chance.random() < 0.6:
                leaving = chance.choice(list(alive))
                owner, body = alive.pop(leaving)
                vault.wipe(session, owner, leaving)
                gone.append(body)

    engine = sqlite.SqliteEngine(file.path, synchronous="OFF")
    for _ in range(3):
        await engine.erase(ann(), churn)
    content = file.bytes()
    await engine.close()
    assert [body for body in gone if body in content] == []
    assert [body for _, body in alive.values() if content.count(body) != 1] == []


async def test_people_come_and_go(file):
    """Many people remembering and forgetting through the port leave nothing behind (8)."""
    chance = random.Random(1)
    alive: dict[int, str] = {}
    gone: list[bytes] = []
    async with file.open() as store:
        for number in range(200):
            value = secret(number)
            await remember(store, ann(number), value)
            alive[number] = value
            if chance.random() < 0.5:
                leaving = chance.choice(list(alive))
                del alive[leaving]
                before = set(sealed(file))
                assert (await store.forget(ann(leaving), None, now_ms=NOW)).complete
                gone += before - set(sealed(file))
        assert len(gone) > 150
        assert left(file, gone) == 0
        for number, value in alive.items():
            kept = await store.preferences(ann(number), now_ms=NOW)
            assert kept.values["drink"].value == value


async def test_a_reader_elsewhere_is_told_and_made_up_for(file):
    """A reader elsewhere can keep the WAL: the result says so, and the next write clears it."""
    async with file.open(busy_timeout_ms=50) as store:
        await remember(store, ann(), secret(1))
        before = sealed(file)
        reader = file.bare()
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM store_vault").fetchone()
        result = await store.forget(ann(), None, now_ms=NOW)
        found = {check.surface for check in result.verified if not check.gone}
        assert found == {"wal", "files"}
        assert (result.complete, result.attempts) == (False, 3)
        reader.execute("COMMIT")
        reader.close()
        await store.clear(ann(2), now_ms=NOW)
        assert left(file, before) == 0
        again = await store.forget(ann(), None, now_ms=NOW)
        assert again.complete


def test_a_crash_before_the_wal_was_emptied_is_made_up_for(file):
    """What a killed process left in the WAL is gone once the store is started again (8)."""

    async def before():
        async with file.open(busy_timeout_ms=50) as store:
            await remember(store, ann(), secret(1))
            bodies = sealed(file)
            reader = file.bare()
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM store_vault").fetchone()
            await store.forget(ann(), None, now_ms=NOW)
            kept = {path: path.read_bytes() for path in file.path.parent.iterdir()}
            reader.close()
        return kept, bodies

    kept, bodies = asyncio.run(before())
    for path in file.path.parent.iterdir():
        path.unlink()
    for path, content in kept.items():  # as the disk looked at that moment, without anybody's locks
        if not path.name.endswith("-shm"):
            path.write_bytes(content)
    assert left(file, bodies) == 2

    async def after():
        async with file.open() as store:
            assert left(file, bodies) == 0
            assert (await store.preferences(ann(), now_ms=NOW)).values == {}

    asyncio.run(after())


ELSEWHERE = """
import sqlite3, sys
other = sqlite3.connect(sys.argv[1])
print(other.execute("SELECT count(*) FROM store_people").fetchone()[0])
other.close()
"""


def people_seen_elsewhere(file):
    """Return how many people another process finds; it opens the file and closes it again."""
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, str(file.path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return int(done.stdout)


async def test_reading_back_lets_go_of_no_lock(file):
    """After a forget a process that comes and goes still leaves this one its WAL (8, 11).

    Were the search to open and close the file, POSIX would drop this process's locks on it; the
    other one would take itself for the last, delete the WAL, and never see what is written next.
    """
    wal = file.path.with_name("store.db-wal")
    async with file.open() as store:
        await remember(store, ann(1), secret(1))
        result = await store.forget(ann(1), None, now_ms=NOW)
        assert "files" in [check.surface for check in result.verified]
        before = wal.stat().st_ino
        assert people_seen_elsewhere(file) == 1
        assert wal.stat().st_ino == before
        await store.propose(ann(2), proposal(secret(2)), now_ms=NOW)
        assert people_seen_elsewhere(file) == 2


async def test_the_search_finds_what_is_there(file):
    """What the search says is gone is gone because it was looked for: in pages and in the WAL."""
    search = leftovers.Leftovers(file.path)
    async with file.open() as store:
        await remember(store, ann(1), secret(1))
        bodies = sealed(file)
        assert search.of([*bodies, b"never written"]) == bodies
    assert search.of([*bodies, b"never written"]) == bodies  # the WAL is gone
    search.close()


async def test_the_search_finds_what_came_after_it_opened_the_file(file):
    """A search that was made before sees every page as it is now, whoever wrote it since (8)."""
    async with file.open():
        pass
    bare = file.bare()
    bare.execute("CREATE TABLE noise (body BLOB)")
    bare.executemany("INSERT INTO noise VALUES (?)", [(bytes(SEALED_BYTES),)] * 500)
    bare.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    bodies = [random.Random(number).randbytes(SEALED_BYTES) for number in range(500)]
    search = leftovers.Leftovers(file.path)
    size = file.path.stat().st_size
    assert search.of(bodies) == []
    for number, body in enumerate(bodies):
        bare.execute("UPDATE noise SET body = ? WHERE rowid = ?", (body, number + 1))
    bare.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert file.path.stat().st_size == size
    assert search.of(bodies) == bodies
    bare.executemany("INSERT INTO noise VALUES (?)", [(body[::-1],) for body in bodies])
    bare.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert file.path.stat().st_size > size
    assert search.of([body[::-1] for body in bodies]) == [body[::-1] for body in bodies]
    search.close()
    bare.close()


async def test_the_search_finds_what_is_in_a_free_page(file):
    """What a table left behind when it was dropped is found, though no row has it (8)."""
    async with file.open() as store:
        await remember(store, ann(1), secret(1))
        body = random.Random(1).randbytes(SEALED_BYTES)
        bare = file.bare()
        bare.execute("PRAGMA secure_delete = OFF")
        bare.execute("CREATE TABLE noise (body BLOB)")
        bare.execute("INSERT INTO noise VALUES (?)", (body,))
        bare.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        bare.execute("DROP TABLE noise")
        bare.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert bare.execute("PRAGMA freelist_count").fetchone()[0] > 0
        bare.close()
        assert left(file, [body]) == 1
        search = leftovers.Leftovers(file.path)
        assert search.of([body]) == [body]
        search.close()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is asked to keep memory")
async def test_a_search_takes_no_new_memory_each_time(file):
    """What a search reads into is kept for the next: the kernel need not clear it page by page."""
    async with file.open() as store:
        await remember(store, ann(1), secret(1))
        await store.clear(ann(1), now_ms=NOW)
    bare = file.bare()
    bare.execute("CREATE TABLE noise (body BLOB)")
    bare.execute("INSERT INTO noise VALUES (zeroblob(1000000))")
    bare.close()
    search = leftovers.Leftovers(file.path)
    for _ in range(3):
        assert search.of([b"never written"]) == []
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    for _ in range(20):
        assert search.of([b"never written"]) == []
    after = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    assert after - before < 20 * 50  # anew, each search takes some 500 pages
    search.close()


async def test_large_files_are_not_searched(file, monkeypatch):
    """Past a size the files are not read through, and the result does not claim they were."""
    monkeypatch.setattr(leftovers, "SEARCHED_BYTES", 1)
    async with file.open() as store:
        await remember(store, ann(), secret(1))
        result = await store.forget(ann(), None, now_ms=NOW)
    surfaces = [check.surface for check in result.verified]
    assert surfaces == ["preferences", "cards", "journal", "vault", "data_key", "wal"]


async def test_what_one_person_forgets_others_keep(file):
    """A value shared by two people is gone for one only; the search tells the two apart (8, 11)."""
    async with file.open() as store:
        await remember(store, ann(1), "tea")
        await remember(store, ann(2), "tea")
        assert (await store.forget(ann(1), None, now_ms=NOW)).complete
        assert (await store.preferences(ann(2), now_ms=NOW)).values["drink"].value == "tea"


async def test_a_slow_writer_cannot_bring_it_back(file):
    """A turn, a card and a proposal from before the forget all lose at commit (7, 8)."""
    async with file.open() as store:
        await remember(store, ann(), secret(1))
        seen = await store.snapshot(ann(), now_ms=NOW)
        card = await store.propose(ann(), proposal(secret(1)), now_ms=NOW)
        before = sealed(file)
        await store.forget(ann(), None, now_ms=NOW)
        with pytest.raises(Exception, match="preferences changed"):
            await store.append(
                ann(),
                event_id="slow",
                window="[]",
                expected_revision=seen.revision,
                expected_generation=seen.generation,
                now_ms=NOW,
            )
        with pytest.raises(Exception, match="preferences changed"):
            await store.propose(
                ann(), proposal(secret(1)), now_ms=NOW, expected_revision=seen.revision
            )
        assert (await store.approve(ann(), card.token, now_ms=NOW)).outcome == "stale"
        assert left(file, before) == 0
