"""Every statement is bound to its owner, found by an index, and portable."""

import sqlite3

import pytest
from sqlalchemy import create_engine
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.pool import StaticPool

from stores.sql import (
    consent_statements,
    generation_statements,
    inbox_statements,
    person_statements,
)
from stores.sql.session import Prepared
from stores.sql.tables import metadata

ALL = {
    f"{prefix}{name}": value
    for prefix, module in (
        ("", person_statements),
        ("", consent_statements),
        ("GENERATION_", generation_statements),
        ("INBOX_", inbox_statements),
    )
    for name, value in vars(module).items()
    if isinstance(value, Prepared)
}
NOBODYS = {"VACANT_SLOT"}
OF_A_TENANT = {"RUN_OUT", "DATA_KEYS", "OF_NEXT_RING_KEY"}
NO_TABLES = {"SCAN CONSTANT ROW", "SCAN head"}  # a few rows that were just found
LOCKED = {"VACANT_SLOT", "INBOX_FREE_CHATS", "INBOX_LOCK_CHAT"}
OF_THE_VAULT = {"ADD_SLOT", "TAKE_SLOT", "SLOT", "SET_SLOT", "WIPE_SLOT"}


def names_of(statement):
    return set(statement.statement.compile(dialect=sqlite.dialect()).params)


def test_there_are_statements():
    """The list is found at all."""
    assert len(ALL) > 20


@pytest.mark.parametrize("name", ALL)
def test_every_statement_names_its_owner(name):
    """Tenant and person, or the owner's tag in the vault, are in every statement (11)."""
    given = names_of(ALL[name])
    if name in NOBODYS:
        wanted = set()
    elif name in OF_A_TENANT or name.startswith("INBOX_"):
        wanted = {"tenant"}
    elif name in OF_THE_VAULT:
        wanted = {"owner_tag"}
    else:
        wanted = {"tenant", "person"}
    assert given >= wanted


@pytest.mark.parametrize("name", ALL)
def test_every_statement_is_portable(name):
    """Each statement compiles for PostgreSQL too; what is found by no person is locked there."""
    text = str(ALL[name].statement.compile(dialect=postgresql.dialect()))
    assert text
    assert ("FOR UPDATE" in text) == (name in LOCKED)


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    connection = sqlite3.connect(tmp_path_factory.mktemp("plans") / "plans.db")
    engine = create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool)
    metadata.create_all(engine)
    yield connection
    engine.dispose()
    connection.close()


@pytest.mark.parametrize("name", ALL)
def test_no_statement_reads_a_whole_table(name, database):
    """Each statement finds its rows by an index, so its cost does not grow with the rows (15)."""
    compiled = ALL[name].statement.compile(dialect=sqlite.dialect())
    values = [0] * str(compiled).count("?")
    plan = database.execute(f"EXPLAIN QUERY PLAN {compiled}", values).fetchall()
    steps = [row[3] for row in plan]
    scans = [step for step in steps if step.startswith("SCAN") and step not in NO_TABLES]
    assert all("USING" in step and name == "VACANT_SLOT" for step in scans), steps
    assert not any("TEMP B-TREE" in step for step in steps)


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("INBOX_DUE", "store_chats_due"),
        ("INBOX_FREE_CHATS", "store_chats_due"),
        ("INBOX_TAKE", "store_inbox_open"),
        ("INBOX_HEAD", "store_inbox_open"),
        ("INBOX_HEAD", "store_inbox_held"),
        ("INBOX_FREE", "store_inbox_open"),
        ("INBOX_OLD", "store_inbox_states"),
    ],
)
def test_a_claim_never_reads_finished_events(name, index, database):
    """What is open is found by an index that holds nothing finished (15)."""
    compiled = ALL[name].statement.compile(dialect=sqlite.dialect())
    values = [0] * str(compiled).count("?")
    plan = database.execute(f"EXPLAIN QUERY PLAN {compiled}", values).fetchall()
    assert index in "\n".join(row[3] for row in plan)
