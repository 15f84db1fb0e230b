"""Which events took a person's last turns, so that one that is tried again takes none.

Revision ID: 0005
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the marks of 32 events, 17 characters each; of turns from before there are none."""
    counted = sa.Column("counted", sa.String(544), nullable=False, server_default="")
    op.add_column("store_quota", counted)
