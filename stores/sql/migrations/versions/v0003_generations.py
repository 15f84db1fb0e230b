"""Records of generations, sealed under a key each.

Revision ID: 0003
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_TENANT = "tenant = current_setting('stores.tenant', true)"
_PERSON = "person = current_setting('stores.person', true)"
_NOBODY = "current_setting('stores.person', true) = ''"


def upgrade() -> None:
    """Make the table; on a server, show rows to their owner only."""
    slot = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "store_generations",
        sa.Column("tenant", sa.String(128), primary_key=True),
        sa.Column("person", sa.String(256), primary_key=True),
        sa.Column("generation", sa.String(128), primary_key=True),
        sa.Column("made_at_ms", sa.BigInteger, nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("slot", slot, nullable=False),
        sa.Column("record", sa.LargeBinary, nullable=False),
        sa.Column("originals", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant", "person"],
            ["store_people.tenant", "store_people.person"],
            ondelete="CASCADE",
        ),
    )
    op.create_index("store_generations_ending", "store_generations", ["tenant", "expires_at_ms"])
    if op.get_bind().dialect.name == "postgresql":
        _guard()


def _guard() -> None:
    """Row-level security, as on the other tables: the owner's rows, and a sweep that may look."""
    op.execute("ALTER TABLE store_generations ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE store_generations FORCE ROW LEVEL SECURITY")
    op.execute(
        "CREATE POLICY store_own ON store_generations "
        f"USING ({_TENANT} AND {_PERSON}) WITH CHECK ({_TENANT} AND {_PERSON})"
    )
    op.execute(
        f"CREATE POLICY store_sweep ON store_generations FOR SELECT USING ({_TENANT} AND {_NOBODY})"
    )
