"""On a server, finding a person's rows takes an index, however many people there are."""

from stores.sql import statements
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
            plan = await connection.fetch(f"EXPLAIN {begin[2]}")
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
    text, parameters = statements.SNAPSHOT.positional(_DIALECT, {"tenant": "town", "person": "p77"})
    whole = _READ.format(3, 4, 5, text=text)
    for user in (OWNER, SERVICE):
        connection = await database.server.bare(user=user)
        plan = await connection.fetch(f"EXPLAIN {whole}", *parameters, *_settings("town", "p77"))
        await connection.close()
        told = "\n".join(line[0] for line in plan)
        assert "store_people_pkey" in told
        assert "store_journal_pkey" in told
        assert "Seq Scan" not in told
