"""Values sealed under a data key a person; ends and groups of preferences; the ledger.

Cards that were waiting become void: their tokens are of an older kind, and they live five minutes.

Revision ID: 0002
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import context, op

from stores.records import Owner
from stores.sealing import SEALED_BYTES, KeyRing

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_SALT_BYTES, _LENGTH_BYTES = 16, 2
_OWNED = ("people", "journal", "preferences", "cards", "ledger")
_SWEPT = ("people", "journal", "preferences", "cards")
_TENANT = "tenant = current_setting('stores.tenant', true)"
_PERSON = "person = current_setting('stores.person', true)"
_NOBODY = "current_setting('stores.person', true) = ''"
_MY_SLOT = "owner = decode(current_setting('stores.owner_tag', true), 'hex')"


def upgrade() -> None:
    """Change the tables, seal what there is; on a server, show rows to their owner only."""
    slot = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.add_column("store_people", sa.Column("key_slot", slot))
    op.add_column("store_people", sa.Column("key_revision", sa.BigInteger))
    op.add_column("store_people", sa.Column("ring_id", sa.String(16)))
    for table, end in (("preferences", "expires_at_ms"), ("cards", "value_expires_at_ms")):
        scope = sa.Column("scope", sa.String(128), nullable=False, server_default="private")
        op.add_column(f"store_{table}", sa.Column(end, sa.BigInteger))
        op.add_column(f"store_{table}", scope)
    ending = sa.text("slot IS NOT NULL AND expires_at_ms IS NOT NULL")
    op.create_index(
        "store_preferences_ending",
        "store_preferences",
        ["tenant", "expires_at_ms"],
        sqlite_where=ending,
        postgresql_where=ending,
    )
    op.create_table(
        "store_ledger",
        sa.Column("tenant", sa.String(128), primary_key=True),
        sa.Column("person", sa.String(256), primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("key", sa.String(64)),
        sa.Column("purpose", sa.String(300), nullable=False),
        sa.Column("scope", sa.String(128), nullable=False),
        sa.Column("channel", sa.String(128), nullable=False),
        sa.Column("policy", sa.String(128), nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger),
        sa.Column("card_id", sa.String(64)),
        sa.ForeignKeyConstraint(
            ["tenant", "person"],
            ["store_people.tenant", "store_people.person"],
            ondelete="CASCADE",
        ),
        sqlite_with_rowid=False,
    )
    connection = op.get_bind()
    _void_cards(connection)
    _seal(connection, context.config.attributes["ring"])
    if connection.dialect.name == "postgresql":
        _guard()


def _void_cards(connection: sa.Connection) -> None:
    connection.exec_driver_sql(
        f"UPDATE store_vault SET vacant = 1, owner = {_zeros(connection, 32)}, "  # noqa: S608 - no input
        f"body = {_zeros(connection, SEALED_BYTES)} WHERE slot IN "
        "(SELECT slot FROM store_cards WHERE status = 'pending')"
    )
    connection.exec_driver_sql(
        "UPDATE store_cards SET status = 'stale', slot = NULL WHERE status = 'pending'"
    )


def _seal(connection: sa.Connection, ring: KeyRing) -> None:
    """Put each value, sealed, where it was in the clear.

    Raises:
        StoreKeyMissing: If there is a value and the ring is empty; nothing is changed then.
    """
    rows = connection.execute(
        sa.text(
            "SELECT p.tenant, p.person, p.key, p.revision, v.slot, v.owner, v.body "
            "FROM store_preferences p JOIN store_vault v ON v.slot = p.slot "
            "ORDER BY p.tenant, p.person, p.key"
        )
    ).all()
    keys: dict[Owner, bytes] = {}
    for row in rows:
        owner = Owner(tenant=row.tenant, person=row.person)
        data_key = keys.get(owner)
        if data_key is None:
            data_key = keys[owner] = ring.new_data_key()
            _keep(connection, row, ring, ring.wrap(owner, data_key))
        salt, end = bytes(row.body[:_SALT_BYTES]), _SALT_BYTES + _LENGTH_BYTES
        length = int.from_bytes(row.body[_SALT_BYTES:end], "big")
        value = bytes(row.body[end : end + length]).decode()
        connection.execute(
            sa.text("UPDATE store_vault SET body = :body WHERE slot = :slot"),
            {"body": ring.seal(data_key, owner, row.key, salt, value), "slot": row.slot},
        )


def _keep(connection: sa.Connection, row: Any, ring: KeyRing, wrapped: bytes) -> None:
    slot = connection.execute(
        sa.text("INSERT INTO store_vault (owner, vacant, body) VALUES (:o, 0, :b) RETURNING slot"),
        {"o": row.owner, "b": wrapped},
    ).scalar_one()
    connection.execute(
        sa.text(
            "UPDATE store_people SET key_slot = :slot, key_revision = revision, ring_id = :ring "
            "WHERE tenant = :tenant AND person = :person"
        ),
        {"slot": slot, "ring": ring.newest, "tenant": row.tenant, "person": row.person},
    )


def _guard() -> None:
    """Row-level security: a transaction sees the rows of the person it is for, or none.

    A transaction for nobody may look, in its tenant, for whose things ran out; it changes nothing.
    FORCE holds the tables' own role to it as well; superusers pass everything, so a service should
    not be one.
    """
    for table in _OWNED:
        _force(table)
        op.execute(
            f"CREATE POLICY store_own ON store_{table} "
            f"USING ({_TENANT} AND {_PERSON}) WITH CHECK ({_TENANT} AND {_PERSON})"
        )
    for table in _SWEPT:
        op.execute(
            f"CREATE POLICY store_sweep ON store_{table} FOR SELECT USING ({_TENANT} AND {_NOBODY})"
        )
    _force("vault")
    op.execute(
        f"CREATE POLICY store_own ON store_vault USING ({_MY_SLOT} OR vacant = 1) "
        f"WITH CHECK ({_MY_SLOT} OR vacant = 1)"
    )


def _force(table: str) -> None:
    op.execute(f"ALTER TABLE store_{table} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE store_{table} FORCE ROW LEVEL SECURITY")


def _zeros(connection: sa.Connection, size: int) -> str:
    zeros = "00" * size
    return f"x'{zeros}'" if connection.dialect.name == "sqlite" else f"decode('{zeros}', 'hex')"
