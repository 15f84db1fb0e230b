"""The tables, in SQLAlchemy Core. Migrations create them; a test keeps the two the same.

Values and data keys live in one table alone, ``store_vault``, sealed (``stores.sealing``). Its rows
are all of one size, are never deleted and never change their size. The reason is a property of
SQLite's B-trees: ``secure_delete`` overwrites a row that is deleted, but rows that move to another
page when pages are split or merged can leave a copy behind that nothing ever overwrites (seen about
once in 5,000 deletions with rows of mixed sizes). A row that never moves leaves none: to forget is
to overwrite it where it is.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    and_,
    bindparam,
    literal_column,
)
from sqlalchemy.types import TypeEngine

from stores.inbox import COUNTED_EVENTS, OPEN
from stores.inbox_base import MARK_CHARS
from stores.records import PRIVATE
from stores.sealing import SEALED_BYTES

VERSION_TABLE: Final = "store_schema"
"""Where the schema's revision is written; not alembic's default, so that a file can be shared."""

COUNTED_CHARS: Final = COUNTED_EVENTS * MARK_CHARS
"""Room for the marks of the events that took a person's last turns, the newest first."""

OWNER_TAG_BYTES: Final = 32
"""Size of an owner's fingerprint in the vault; a fixed size, as ids have none."""

_SLOT_NUMBER = BigInteger().with_variant(Integer(), "sqlite")

_Kind = TypeEngine[Any] | type[TypeEngine[Any]]

metadata = MetaData()


def _owner() -> tuple[Column[str], Column[str]]:
    return _part_of_key("tenant", 128), _part_of_key("person", 256)


def _part_of_key(name: str, most: int) -> Column[str]:
    return Column(name, String(most), primary_key=True)


def _given(name: str, kind: _Kind) -> Column[Any]:
    return Column(name, kind, nullable=False)


def _scope() -> Column[str]:
    return Column("scope", String(128), nullable=False, server_default=PRIVATE)


def _of_a_person() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["tenant", "person"], ["store_people.tenant", "store_people.person"], ondelete="CASCADE"
    )


def _partial(name: str, *columns: Column[Any], where: ColumnElement[bool]) -> None:
    Index(name, *columns, sqlite_where=where, postgresql_where=where)


MINE: Final[dict[str, Any]] = {name: bindparam(name) for name in ("tenant", "person")}
"""The owner in a new row."""


def mine(table: Table) -> ColumnElement[bool]:
    """Return what a row of the owner's fulfils (invariant 11)."""
    return and_(*(table.c[name] == given for name, given in MINE.items()))


def same_person(table: Table, other: Table) -> ColumnElement[bool]:
    """Return what joins two tables of people."""
    return and_(*(table.c[name] == other.c[name] for name in MINE))


people = Table(
    "store_people",
    metadata,
    *_owner(),
    _given("revision", BigInteger),
    Column("forgotten_at_ms", BigInteger),
    Column("key_slot", _SLOT_NUMBER),
    Column("key_revision", BigInteger),
    Column("ring_id", String(16)),
    sqlite_with_rowid=False,
)

journal = Table(
    "store_journal",
    metadata,
    *_owner(),
    _given("revision", BigInteger),
    _given("generation", BigInteger),
    _given("expires_at_ms", BigInteger),
    Column("last_event", String(256)),
    Column("window", Text),
    _of_a_person(),
)
kept_window = journal.c.window.is_not(None)
_partial("store_journal_kept", journal.c.tenant, journal.c.expires_at_ms, where=kept_window)

preferences = Table(
    "store_preferences",
    metadata,
    *_owner(),
    _part_of_key("key", 64),
    _given("purpose", String(300)),
    Column("granted_at_ms", BigInteger),
    Column("forgotten_at_ms", BigInteger),
    _given("revision", BigInteger),
    Column("slot", _SLOT_NUMBER),
    Column("expires_at_ms", BigInteger),
    _scope(),
    _of_a_person(),
    sqlite_with_rowid=False,
)
ending = and_(preferences.c.slot.is_not(None), preferences.c.expires_at_ms.is_not(None))
_partial(
    "store_preferences_ending", preferences.c.tenant, preferences.c.expires_at_ms, where=ending
)

cards = Table(
    "store_cards",
    metadata,
    *_owner(),
    _part_of_key("card_id", 64),
    _given("action", String(16)),
    _given("key", String(64)),
    _given("purpose", String(300)),
    _given("revision", BigInteger),
    _given("expires_at_ms", BigInteger),
    _given("status", String(16)),
    _given("value_tag", String(64)),
    Column("slot", _SLOT_NUMBER),
    Column("value_expires_at_ms", BigInteger),
    _scope(),
    _of_a_person(),
    sqlite_with_rowid=False,
)
# Conditions of partial indexes hold literals: a planner cannot match a parameter with them.
pending = cards.c.status == literal_column("'pending'")
_partial("store_cards_pending", cards.c.tenant, cards.c.expires_at_ms, where=pending)

vault = Table(
    "store_vault",
    metadata,
    Column("slot", _SLOT_NUMBER, primary_key=True, autoincrement=True),
    _given("owner", LargeBinary(OWNER_TAG_BYTES)),
    _given("vacant", Integer),
    _given("body", LargeBinary(SEALED_BYTES)),
)
vacant = vault.c.vacant == literal_column("1")
_partial("store_vault_vacant", vault.c.slot, where=vacant)
Index("store_vault_owner", vault.c.owner)
my_slot = vault.c.owner == bindparam("owner_tag")

ledger = Table(
    "store_ledger",
    metadata,
    *_owner(),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    _given("kind", String(16)),
    Column("key", String(64)),
    _given("purpose", String(300)),
    _given("scope", String(128)),
    _given("channel", String(128)),
    _given("policy", String(128)),
    _given("at_ms", BigInteger),
    _given("revision", BigInteger),
    Column("expires_at_ms", BigInteger),
    Column("card_id", String(64)),
    _of_a_person(),
    sqlite_with_rowid=False,
)

generations = Table(
    "store_generations",
    metadata,
    *_owner(),
    _part_of_key("generation", 128),
    _given("made_at_ms", BigInteger),
    _given("expires_at_ms", BigInteger),
    _given("revision", BigInteger),
    _given("slot", _SLOT_NUMBER),
    _given("record", LargeBinary),
    _given("originals", LargeBinary),
    _of_a_person(),
)
"""Records of generations, each sealed under a key of its own that lies in the vault."""
Index("store_generations_ending", generations.c.tenant, generations.c.expires_at_ms)

# The inbox. A chat's row says when its next work is due, a lease included, and is locked before
# anything of the chat is changed; finished events are never looked at to find what is open.

inbox = Table(
    "store_inbox",
    metadata,
    _part_of_key("tenant", 128),
    _part_of_key("event_id", 128),
    _given("chat", String(128)),
    Column("person", String(256)),
    Column("message", String(128)),
    _given("said_at_ms", BigInteger),
    _given("arrived_at_ms", BigInteger),
    _given("place", BigInteger),
    _given("changed_at_ms", BigInteger),
    _given("state", String(16)),
    _given("attempts", BigInteger),
    Column("error_code", String(64)),
    Column("retry_key", String(64)),
    Column("body", LargeBinary),
    Column("plan", LargeBinary),
)
open_event = inbox.c.state.in_(literal_column(f"'{state}'") for state in OPEN)
held_event = inbox.c.state == literal_column("'held'")
_partial(
    "store_inbox_open",
    inbox.c.tenant,
    inbox.c.chat,
    inbox.c.said_at_ms,
    inbox.c.arrived_at_ms,
    inbox.c.place,
    where=open_event,
)
_partial(
    "store_inbox_held",
    inbox.c.tenant,
    inbox.c.chat,
    inbox.c.state,  # always the same; SQLite counts columns and would take another index
    where=held_event,
)
Index("store_inbox_states", inbox.c.tenant, inbox.c.state, inbox.c.changed_at_ms)
Index("store_inbox_messages", inbox.c.message, inbox.c.tenant)
Index("store_inbox_people", inbox.c.person, inbox.c.tenant)

chats = Table(
    "store_chats",
    metadata,
    _part_of_key("tenant", 128),
    _part_of_key("chat", 128),
    _given("fence", BigInteger),
    Column("worker", String(256)),
    Column("event_id", String(128)),
    _given("lapsed", BigInteger),
    Column("due_at_ms", BigInteger),
    _given("last_at_ms", BigInteger),
    sqlite_with_rowid=False,
)
due_chat = chats.c.due_at_ms.is_not(None)
_partial("store_chats_due", chats.c.tenant, chats.c.due_at_ms, where=due_chat)

sent = Table(
    "store_sent",
    metadata,
    _part_of_key("tenant", 128),
    _part_of_key("chat", 128),
    _part_of_key("message", 128),
    Column("person", String(256)),
    _given("at_ms", BigInteger),
    sqlite_with_rowid=False,
)
Index("store_sent_people", sent.c.person, sent.c.tenant)
Index("store_sent_times", sent.c.at_ms, sent.c.tenant)

quota = Table(
    "store_quota",
    metadata,
    *_owner(),
    _given("day", String(10)),
    _given("used", BigInteger),
    Column("counted", String(COUNTED_CHARS), nullable=False, server_default=""),
    sqlite_with_rowid=False,
)
Index("store_quota_days", quota.c.day, quota.c.tenant)

leavers = Table(
    "store_leavers",
    metadata,
    *_owner(),
    _given("said_at_ms", BigInteger),
    Column("due_at_ms", BigInteger),
    sqlite_with_rowid=False,
)
Index("store_leavers_due", leavers.c.tenant, leavers.c.due_at_ms)
