"""Row-level security on a real server: a role sees the rows of the person it is at work for."""

import asyncpg
import pytest

from stores.generations import Generation
from stores.inbox import Arrival, State
from stores.records import Owner, Proposal
from stores.sql import vault
from tests.support.postgres import SERVICE

NOW = 1_000_000
ANN = Owner(tenant="town", person="ann")
BEN = Owner(tenant="town", person="ben")
TABLES = ("people", "journal", "preferences", "cards", "vault", "ledger", "generations")
OF_TENANTS = ("inbox", "chats", "sent", "quota", "leavers")
SEE = (
    "SELECT set_config('stores.tenant', $1, true), set_config('stores.person', $2, true), "
    "set_config('stores.owner_tag', $3, true)"
)


async def fill(store):
    for owner in (ANN, BEN):
        for value in ("tea", "coffee"):
            proposal = Proposal(key="drink", purpose="to choose", value=value)
            card = await store.propose(owner, proposal, now_ms=NOW)
            if value == "tea":
                await store.approve(owner, card.token, now_ms=NOW)
        seen = await store.snapshot(owner, now_ms=NOW)
        await store.append(
            owner,
            event_id="e",
            window="{}",
            expected_revision=seen.revision,
            expected_generation=seen.generation,
            now_ms=NOW,
        )
        record = Generation(id="g", record=b"{}", originals={})
        await store.keep_generation(owner, record, expected_revision=seen.revision, now_ms=NOW)


@pytest.fixture
async def role(database):
    """A bare connection as the service's role, in a transaction, beside two people's rows."""
    async with database.open() as store:
        await fill(store)
    connection = await database.server.bare(user=SERVICE)
    transaction = connection.transaction()
    await transaction.start()
    yield connection
    await transaction.rollback()
    await connection.close()


async def rows(connection):
    return {
        table: await connection.fetchval(f"SELECT count(*) FROM store_{table}")  # noqa: S608 - names of tables
        for table in TABLES
    }


async def test_without_a_person_there_is_nothing(role):
    """A transaction that does not say whose it is sees no row at all (11)."""
    assert await rows(role) == dict.fromkeys(TABLES, 0)


async def test_a_person_sees_their_own(role):
    """A query that forgot its condition still shows one person's rows only (11)."""
    await role.execute(SEE, "town", "ann", vault.tag_of(ANN).hex())
    assert await rows(role) == {
        "people": 1,
        "journal": 1,
        "preferences": 1,
        "cards": 2,
        "vault": 4,
        "ledger": 3,
        "generations": 1,
    }
    for table in TABLES[:4] + TABLES[5:]:
        assert {row["person"] for row in await role.fetch(f"SELECT person FROM store_{table}")} == {  # noqa: S608 - names of tables
            "ann"
        }


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO store_people (tenant, person, revision) VALUES ('town', 'cat', 0)",
        "UPDATE store_people SET person = 'ben'",
        "UPDATE store_preferences SET tenant = 'city'",
        "INSERT INTO store_vault (owner, vacant, body) VALUES ('\\x00', 0, '\\x00')",
        "SET LOCAL row_security = off; SELECT * FROM store_people",
    ],
)
async def test_nothing_can_be_given_to_others(role, statement):
    """Rows cannot be written for, or moved to, anybody else, nor the rules be turned off (11)."""
    await role.execute(SEE, "town", "ann", vault.tag_of(ANN).hex())
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await role.execute(statement)


async def test_nobody_may_look_but_not_touch(role):
    """For a sweep a tenant's rows can be looked through; nothing is changed or opened so (11)."""
    await role.execute(SEE, "town", "", "")
    assert await rows(role) == {
        "people": 2,
        "journal": 2,
        "preferences": 2,
        "cards": 4,
        "vault": 0,
        "ledger": 0,
        "generations": 2,
    }
    for table in TABLES[:4]:
        assert await role.execute(f"DELETE FROM store_{table}") == "DELETE 0"  # noqa: S608 - names of tables
    await role.execute(SEE, "city", "", "")
    assert set((await rows(role)).values()) == {0}


async def test_an_inbox_is_its_tenants(role, database):
    """Whoever works for a tenant sees its inbox whole, and nothing of another's (11)."""
    async with database.open() as store:
        for tenant in ("town", "city"):
            inbox = store.inbox(tenant)
            arrivals = tuple(
                Arrival(event_id=f"e{chat}", chat=f"c{chat}", said_at_ms=NOW, body=b"")
                for chat in range(2)
            )
            await inbox.accept(arrivals, now_ms=NOW)
            [claim] = await inbox.claim("w", now_ms=NOW, lease_ms=1)
            await inbox.finish(claim, State.SENT, now_ms=NOW, sent=("m",))
            await inbox.spend("ann", event_id="e1", day="2026-01-01", most=1)
            await inbox.leave("ann", said_at_ms=NOW, due_at_ms=NOW)

    async def seen():
        return [
            await role.fetchval(f"SELECT count(*) FROM store_{table}")  # noqa: S608 - names of tables
            for table in OF_TENANTS
        ]

    assert await seen() == [0] * len(OF_TENANTS)
    for tenant, person in (("town", ""), ("city", ""), ("town", "ann")):
        await role.execute(SEE, tenant, person, "")
        assert await seen() == [2, 2, 1, 1, 1]
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await role.execute("UPDATE store_chats SET tenant = 'city'")


async def test_the_role_cannot_bypass_it(role):
    """The tests' role is what a service's should be: no superuser, no owner, no bypass."""
    flags = await role.fetchrow(
        "SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
    )
    assert tuple(flags) == (False, False)
    forced = await role.fetch(
        "SELECT relrowsecurity AND relforcerowsecurity FROM pg_class "
        "WHERE relname LIKE 'store_%' AND relkind = 'r' AND relname <> 'store_schema'"
    )
    assert [row[0] for row in forced] == [True] * len(TABLES + OF_TENANTS)


async def test_one_call_leaves_nothing_for_the_next(database):
    """On one connection, people served one after the other see their own alone (11)."""
    async with database.open(connections=1) as store:
        await fill(store)
        for owner in (ANN, BEN) * 3:
            seen = await store.snapshot(owner, now_ms=NOW)
            assert seen.window == "{}"
            stranger = Owner(tenant=owner.tenant, person=owner.person + "x")
            assert (await store.snapshot(stranger, now_ms=NOW)).window is None
            assert (await store.preferences(stranger, now_ms=NOW)).values == {}
