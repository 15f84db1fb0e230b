"""The tables, in SQLAlchemy Core. Migrations create them; a test keeps the two the same.

Values and data keys live in one table alone, ``store_vault``, sealed (``stores.sealing``). Its rows
are all of one size, are never deleted and never change their size. The reason is a property of
SQLite's B-trees: ``secure_delete`` overwrites a row that is deleted, but rows that move to another
page when pages are split or merged can leave a copy behind that nothing ever overwrites (seen about
once in 5,000 deletions with rows of mixed sizes). A row that never moves leaves none: to forget is
to overwrite it where it is.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    and_,
    literal_column,
)

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

metadata = MetaData()


def _owner() -> tuple[Column[str], Column[str]]:
    return (
        Column("tenant", String(128), primary_key=True),
        Column("person", String(256), primary_key=True),
    )


def _scope() -> Column[str]:
    return Column("scope", String(128), nullable=False, server_default=PRIVATE)


def _of_a_person() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["tenant", "person"], ["store_people.tenant", "store_people.person"], ondelete="CASCADE"
    )


people = Table(
    "store_people",
    metadata,
    *_owner(),
    Column("revision", BigInteger, nullable=False),
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
    Column("revision", BigInteger, nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("expires_at_ms", BigInteger, nullable=False),
    Column("last_event", String(256)),
    Column("window", Text),
    _of_a_person(),
)
kept_window = journal.c.window.is_not(None)
Index(
    "store_journal_kept",
    journal.c.tenant,
    journal.c.expires_at_ms,
    sqlite_where=kept_window,
    postgresql_where=kept_window,
)

preferences = Table(
    "store_preferences",
    metadata,
    *_owner(),
    Column("key", String(64), primary_key=True),
    Column("purpose", String(300), nullable=False),
    Column("granted_at_ms", BigInteger),
    Column("forgotten_at_ms", BigInteger),
    Column("revision", BigInteger, nullable=False),
    Column("slot", _SLOT_NUMBER),
    Column("expires_at_ms", BigInteger),
    _scope(),
    _of_a_person(),
    sqlite_with_rowid=False,
)
ending = and_(preferences.c.slot.is_not(None), preferences.c.expires_at_ms.is_not(None))
Index(
    "store_preferences_ending",
    preferences.c.tenant,
    preferences.c.expires_at_ms,
    sqlite_where=ending,
    postgresql_where=ending,
)

cards = Table(
    "store_cards",
    metadata,
    *_owner(),
    Column("card_id", String(64), primary_key=True),
    Column("action", String(16), nullable=False),
    Column("key", String(64), nullable=False),
    Column("purpose", String(300), nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("expires_at_ms", BigInteger, nullable=False),
    Column("status", String(16), nullable=False),
    Column("value_tag", String(64), nullable=False),
    Column("slot", _SLOT_NUMBER),
    Column("value_expires_at_ms", BigInteger),
    _scope(),
    _of_a_person(),
    sqlite_with_rowid=False,
)
# Conditions of partial indexes hold literals: a planner cannot match a parameter with them.
pending = cards.c.status == literal_column("'pending'")
Index(
    "store_cards_pending",
    cards.c.tenant,
    cards.c.expires_at_ms,
    sqlite_where=pending,
    postgresql_where=pending,
)

vault = Table(
    "store_vault",
    metadata,
    Column("slot", _SLOT_NUMBER, primary_key=True, autoincrement=True),
    Column("owner", LargeBinary(OWNER_TAG_BYTES), nullable=False),
    Column("vacant", Integer, nullable=False),
    Column("body", LargeBinary(SEALED_BYTES), nullable=False),
)
vacant = vault.c.vacant == literal_column("1")
Index("store_vault_vacant", vault.c.slot, sqlite_where=vacant, postgresql_where=vacant)
Index("store_vault_owner", vault.c.owner)

ledger = Table(
    "store_ledger",
    metadata,
    *_owner(),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String(16), nullable=False),
    Column("key", String(64)),
    Column("purpose", String(300), nullable=False),
    Column("scope", String(128), nullable=False),
    Column("channel", String(128), nullable=False),
    Column("policy", String(128), nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("expires_at_ms", BigInteger),
    Column("card_id", String(64)),
    _of_a_person(),
    sqlite_with_rowid=False,
)

generations = Table(
    "store_generations",
    metadata,
    *_owner(),
    Column("generation", String(128), primary_key=True),
    Column("made_at_ms", BigInteger, nullable=False),
    Column("expires_at_ms", BigInteger, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("slot", _SLOT_NUMBER, nullable=False),
    Column("record", LargeBinary, nullable=False),
    Column("originals", LargeBinary, nullable=False),
    _of_a_person(),
)
"""Records of generations, each sealed under a key of its own that lies in the vault."""
Index("store_generations_ending", generations.c.tenant, generations.c.expires_at_ms)

# The inbox. A chat's row says when its next work is due, a lease included, and is locked before
# anything of the chat is changed; finished events are never looked at to find what is open.

inbox = Table(
    "store_inbox",
    metadata,
    Column("tenant", String(128), primary_key=True),
    Column("event_id", String(128), primary_key=True),
    Column("chat", String(128), nullable=False),
    Column("person", String(256)),
    Column("message", String(128)),
    Column("said_at_ms", BigInteger, nullable=False),
    Column("arrived_at_ms", BigInteger, nullable=False),
    Column("place", BigInteger, nullable=False),
    Column("changed_at_ms", BigInteger, nullable=False),
    Column("state", String(16), nullable=False),
    Column("attempts", BigInteger, nullable=False),
    Column("error_code", String(64)),
    Column("retry_key", String(64)),
    Column("body", LargeBinary),
    Column("plan", LargeBinary),
)
open_event = inbox.c.state.in_(literal_column(f"'{state}'") for state in OPEN)
held_event = inbox.c.state == literal_column("'held'")
Index(
    "store_inbox_open",
    inbox.c.tenant,
    inbox.c.chat,
    inbox.c.said_at_ms,
    inbox.c.arrived_at_ms,
    inbox.c.place,
    sqlite_where=open_event,
    postgresql_where=open_event,
)
Index(
    "store_inbox_held",
    inbox.c.tenant,
    inbox.c.chat,
    inbox.c.state,  # always the same; SQLite counts columns and would take another index
    sqlite_where=held_event,
    postgresql_where=held_event,
)
Index("store_inbox_states", inbox.c.tenant, inbox.c.state, inbox.c.changed_at_ms)
Index("store_inbox_messages", inbox.c.message, inbox.c.tenant)
Index("store_inbox_people", inbox.c.person, inbox.c.tenant)

chats = Table(
    "store_chats",
    metadata,
    Column("tenant", String(128), primary_key=True),
    Column("chat", String(128), primary_key=True),
    Column("fence", BigInteger, nullable=False),
    Column("worker", String(256)),
    Column("event_id", String(128)),
    Column("lapsed", BigInteger, nullable=False),
    Column("due_at_ms", BigInteger),
    Column("last_at_ms", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
due_chat = chats.c.due_at_ms.is_not(None)
Index(
    "store_chats_due",
    chats.c.tenant,
    chats.c.due_at_ms,
    sqlite_where=due_chat,
    postgresql_where=due_chat,
)

sent = Table(
    "store_sent",
    metadata,
    Column("tenant", String(128), primary_key=True),
    Column("chat", String(128), primary_key=True),
    Column("message", String(128), primary_key=True),
    Column("person", String(256)),
    Column("at_ms", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
Index("store_sent_people", sent.c.person, sent.c.tenant)
Index("store_sent_times", sent.c.at_ms, sent.c.tenant)

quota = Table(
    "store_quota",
    metadata,
    *_owner(),
    Column("day", String(10), nullable=False),
    Column("used", BigInteger, nullable=False),
    Column("counted", String(COUNTED_CHARS), nullable=False, server_default=""),
    sqlite_with_rowid=False,
)
Index("store_quota_days", quota.c.day, quota.c.tenant)

leavers = Table(
    "store_leavers",
    metadata,
    *_owner(),
    Column("said_at_ms", BigInteger, nullable=False),
    Column("due_at_ms", BigInteger),
    sqlite_with_rowid=False,
)
Index("store_leavers_due", leavers.c.tenant, leavers.c.due_at_ms)
