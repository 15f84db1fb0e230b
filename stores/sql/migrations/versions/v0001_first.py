"""People, their journal, preferences, cards, and the vault.

Revision ID: 0001
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create everything. Spelled out, as later changes of the tables must not change the past."""
    slot = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

    def owner() -> list[sa.Column[str]]:
        return [
            sa.Column("tenant", sa.String(128), primary_key=True),
            sa.Column("person", sa.String(256), primary_key=True),
        ]

    def of_a_person() -> sa.ForeignKeyConstraint:
        return sa.ForeignKeyConstraint(
            ["tenant", "person"],
            ["store_people.tenant", "store_people.person"],
            ondelete="CASCADE",
        )

    op.create_table(
        "store_people",
        *owner(),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("forgotten_at_ms", sa.BigInteger),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "store_journal",
        *owner(),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("generation", sa.BigInteger, nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger, nullable=False),
        sa.Column("last_event", sa.String(256)),
        sa.Column("window", sa.Text),
        of_a_person(),
    )
    kept = sa.text('"window" IS NOT NULL')
    op.create_index(
        "store_journal_kept",
        "store_journal",
        ["tenant", "expires_at_ms"],
        sqlite_where=kept,
        postgresql_where=kept,
    )
    op.create_table(
        "store_preferences",
        *owner(),
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("purpose", sa.String(300), nullable=False),
        sa.Column("granted_at_ms", sa.BigInteger),
        sa.Column("forgotten_at_ms", sa.BigInteger),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("slot", slot),
        of_a_person(),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "store_cards",
        *owner(),
        sa.Column("card_id", sa.String(64), primary_key=True),
        sa.Column("action", sa.String(16), nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("purpose", sa.String(300), nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("value_tag", sa.String(64), nullable=False),
        sa.Column("slot", slot),
        of_a_person(),
        sqlite_with_rowid=False,
    )
    pending = sa.text("status = 'pending'")
    op.create_index(
        "store_cards_pending",
        "store_cards",
        ["tenant", "expires_at_ms"],
        sqlite_where=pending,
        postgresql_where=pending,
    )
    op.create_table(
        "store_vault",
        sa.Column("slot", slot, primary_key=True, autoincrement=True),
        sa.Column("owner", sa.LargeBinary(32), nullable=False),
        sa.Column("vacant", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary(256), nullable=False),
    )
    vacant = sa.text("vacant = 1")
    op.create_index(
        "store_vault_vacant",
        "store_vault",
        ["slot"],
        sqlite_where=vacant,
        postgresql_where=vacant,
    )
    op.create_index("store_vault_owner", "store_vault", ["owner"])
