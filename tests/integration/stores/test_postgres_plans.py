"""On a server, finding a person's rows takes an index, however many people there are."""

import re

import asyncpg
import pytest

from stores.sql import inbox_statements, person_statements
from stores.sql.postgres import _DIALECT, _READ, _begin, _settings
from tests.support.postgres import OWNER, SERVICE

MANY = (
    "INSERT INTO store_people (tenant, person, revision) "
    "SELECT 'town', 'p' || i, 0 FROM generate_series(1, 5000) AS n(i)"
)


async def test_a_person_is_locked_through_the_index(database):
    """The first message of a transaction reads one person, not everybody (11)."""
    await database.server.execute(MANY)
    await database.server.execute("ANALYZE store_people")
    begin = _begin("town", "p77").split("; ")
    for user in (OWNER, SERVICE):
        connection = await database.server.bare(user=user)
        async with connection.transaction():
            await connection.execute(begin[1])
            (lock,) = (text for text in begin if text.endswith("FOR UPDATE"))
            plan = await connection.fetch(f"EXPLAIN {lock}")
        await connection.close()
        told = "\n".join(line[0] for line in plan)
        assert "store_people_pkey" in told
        assert "Seq Scan" not in told


async def test_a_snapshot_is_found_through_the_index(database):
    """A read under row-level security finds its person as fast, too (11)."""
    await database.server.execute(MANY)
    await database.server.execute(
        "INSERT INTO store_journal (tenant, person, revision, generation, expires_at_ms) "
        "SELECT tenant, person, 0, 1, 0 FROM store_people"
    )
    await database.server.execute("ANALYZE store_people, store_journal")
    text, parameters = person_statements.SNAPSHOT.positional(
        _DIALECT, {"tenant": "town", "person": "p77"}
    )
    whole = _READ.format(3, 4, 5, text=text)
    for user in (OWNER, SERVICE):
        connection = await database.server.bare(user=user)
        plan = await connection.fetch(f"EXPLAIN {whole}", *parameters, *_settings("town", "p77"))
        await connection.close()
        told = "\n".join(line[0] for line in plan)
        assert "store_people_pkey" in told
        assert "store_journal_pkey" in told
        assert "Seq Scan" not in told


EVENTS = """
INSERT INTO store_inbox (tenant, event_id, chat, said_at_ms, arrived_at_ms, place, changed_at_ms,
                         state, attempts)
SELECT 'town', 'e' || i, 'c' || (i % 500), i, i, 0, i,
       CASE WHEN i >= 20000 THEN 'waiting' ELSE 'sent' END, 0
FROM generate_series(1, 20400) AS n(i);
INSERT INTO store_chats (tenant, chat, fence, lapsed, due_at_ms, last_at_ms)
SELECT 'town', 'c' || i, 0, 0, CASE WHEN i < 400 THEN i END, 0 FROM generate_series(0, 5000) AS n(i)
"""
OF_A_TURN = (
    *("DUE", "FREE_CHATS", "TAKE", "HEAD", "EXTEND", "SETTLE", "SENDING", "FINISH", "RELEASE"),
    *("FREE", "HOLD", "EVENT", "PURGE"),
)


@pytest.mark.parametrize("known", [False, True])
async def test_a_turn_reads_its_own_rows(database, known):
    """No statement of a turn reads finished events or other chats (15).

    Not even by a plan that was made before anything was known of the tables.
    """
    await database.server.execute(EVENTS)
    if known:
        await database.server.execute("ANALYZE store_inbox, store_chats")
    settings = {"enable_seqscan": "off", "plan_cache_mode": "force_generic_plan"}
    connection = await asyncpg.connect(
        host="127.0.0.1",
        port=database.server.port,
        user=OWNER,
        database="postgres",
        server_settings=settings,
    )
    for name in OF_A_TURN:
        compiled = getattr(inbox_statements, name).statement.compile(dialect=_DIALECT)
        types = dict(re.findall(r"\$(\d+)::(\w+)", str(compiled)))
        numbers = [types.get(str(number + 1)) for number in range(len(compiled.positiontup))]
        values = ["'5'" if one in ("VARCHAR", "BYTEA") else "5" for one in numbers]
        await connection.execute(f"PREPARE asked AS {compiled}")
        plan = await connection.fetch(f"EXPLAIN EXECUTE asked({', '.join(values)})")
        await connection.execute("DEALLOCATE asked")
        told = "\n".join(line[0] for line in plan)
        conditions = re.findall(r"Index Cond: (.*)", told)
        assert conditions, f"{name}: {told}"
        assert all(" AND " in condition for condition in conditions), f"{name}: {told}"
        assert "Seq Scan" not in told, f"{name}: {told}"
    await connection.close()


async def test_the_engine_asks_for_such_plans(database):
    """Its connections never read a table from end to end while there is an index (15)."""
    async with database.open() as store:
        driver = await store._engine._pool.take()
        assert await driver.fetchval("SHOW enable_seqscan") == "off"
        store._engine._pool.give(driver, usable=True)
