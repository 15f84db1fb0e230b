"""The benchmark of stores: its report's form, and that it leaves nothing behind."""

import asyncio
import itertools

import asyncpg

from benchmarks.stores.measuring import CLIENTS, OPERATIONS, measure, without_secrets
from benchmarks.stores.people import place
from tests.support.postgres import OWNER, running


def test_the_report_has_its_form(tmp_path):
    """Every size, number of clients and call has its row; a snapshot is one statement."""
    said: list[str] = []
    url = f"sqlite+aiosqlite:///{tmp_path}/bench.db"
    report = asyncio.run(measure(url, [2, 5], rounds=1, synchronous="OFF", say=said.append))
    assert report["url"] == url
    rows = [(row["people"], row["clients"], row["operation"]) for row in report["rows"]]
    assert rows == list(itertools.product((2, 5), CLIENTS, OPERATIONS))
    for row in report["rows"]:
        assert 0 < row["median_ms"] <= row["p99_ms"]
        assert row["per_second"] > 0
    assert report["bare_driver_ratio"] > 0
    assert report["snapshot_statements"] == 1
    assert said
    assert list(tmp_path.iterdir()) == []


def test_a_password_is_not_in_the_report():
    """The URL is told without whoever it lets in."""
    assert without_secrets("postgresql+asyncpg://a:b@host/db") == "postgresql+asyncpg://host/db"
    assert without_secrets("sqlite+aiosqlite:////a/b.db") == "sqlite+aiosqlite:////a/b.db"


def test_postgres_is_measured_as_a_role_that_security_holds():
    """With a role, whoever connects after the loading owns nothing and bypasses nothing."""

    async def measured(url: str) -> tuple[str, bool, int]:
        database = place(url, 3, role="a service")
        await database.prepare(3)
        connection = await asyncpg.connect(database.url.replace("+asyncpg", ""))
        try:
            who = await connection.fetchval("SELECT current_user::text")
            held = await connection.fetchval("SELECT row_security_active('store_people')")
            seen = await connection.fetchval("SELECT count(*) FROM store_people")
        finally:
            await connection.close()
            await database.remove()
        return who, held, seen

    with running() as server:
        url = server.url(user=OWNER)
        assert asyncio.run(measured(url)) == ("a service", True, 0)
