"""The inbox: events, chats with their leases, sent messages, quotas, people who left.

Revision ID: 0004
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_TABLES = ("inbox", "chats", "sent", "quota", "leavers")
_TENANT = "tenant = current_setting('stores.tenant', true)"


def upgrade() -> None:
    """Make the tables; on a server, show rows to their tenant only."""
    op.create_table(
        "store_inbox",
        sa.Column("tenant", sa.String(128), primary_key=True),
        sa.Column("event_id", sa.String(128), primary_key=True),
        sa.Column("chat", sa.String(128), nullable=False),
        sa.Column("person", sa.String(256)),
        sa.Column("message", sa.String(128)),
        sa.Column("said_at_ms", sa.BigInteger, nullable=False),
        sa.Column("arrived_at_ms", sa.BigInteger, nullable=False),
        sa.Column("place", sa.BigInteger, nullable=False),
        sa.Column("changed_at_ms", sa.BigInteger, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("attempts", sa.BigInteger, nullable=False),
        sa.Column("error_code", sa.String(64)),
        sa.Column("retry_key", sa.String(64)),
        sa.Column("body", sa.LargeBinary),
        sa.Column("plan", sa.LargeBinary),
    )
    order = ["tenant", "chat", "said_at_ms", "arrived_at_ms", "place"]
    _partial("inbox", "open", order, "state IN ('waiting', 'ready', 'sending')")
    _partial("inbox", "held", ["tenant", "chat", "state"], "state = 'held'")
    _index("inbox", "states", ["tenant", "state", "changed_at_ms"])
    _index("inbox", "messages", ["message", "tenant"])
    _index("inbox", "people", ["person", "tenant"])
    op.create_table(
        "store_chats",
        sa.Column("tenant", sa.String(128), primary_key=True),
        sa.Column("chat", sa.String(128), primary_key=True),
        sa.Column("fence", sa.BigInteger, nullable=False),
        sa.Column("worker", sa.String(256)),
        sa.Column("event_id", sa.String(128)),
        sa.Column("lapsed", sa.BigInteger, nullable=False),
        sa.Column("due_at_ms", sa.BigInteger),
        sa.Column("last_at_ms", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    _partial("chats", "due", ["tenant", "due_at_ms"], "due_at_ms IS NOT NULL")
    op.create_table(
        "store_sent",
        sa.Column("tenant", sa.String(128), primary_key=True),
        sa.Column("chat", sa.String(128), primary_key=True),
        sa.Column("message", sa.String(128), primary_key=True),
        sa.Column("person", sa.String(256)),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    _index("sent", "people", ["person", "tenant"])
    _index("sent", "times", ["at_ms", "tenant"])
    op.create_table(
        "store_quota",
        sa.Column("tenant", sa.String(128), primary_key=True),
        sa.Column("person", sa.String(256), primary_key=True),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("used", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    _index("quota", "days", ["day", "tenant"])
    op.create_table(
        "store_leavers",
        sa.Column("tenant", sa.String(128), primary_key=True),
        sa.Column("person", sa.String(256), primary_key=True),
        sa.Column("said_at_ms", sa.BigInteger, nullable=False),
        sa.Column("due_at_ms", sa.BigInteger),
        sqlite_with_rowid=False,
    )
    _index("leavers", "due", ["tenant", "due_at_ms"])
    if op.get_bind().dialect.name == "postgresql":
        _guard()


def _index(table: str, name: str, columns: list[str]) -> None:
    op.create_index(f"store_{table}_{name}", f"store_{table}", columns)


def _partial(table: str, name: str, columns: list[str], condition: str) -> None:
    where = sa.text(condition)
    op.create_index(
        f"store_{table}_{name}",
        f"store_{table}",
        columns,
        sqlite_where=where,
        postgresql_where=where,
    )


def _guard() -> None:
    """Row-level security by tenant: workers and the gateway serve everybody in theirs."""
    for table in _TABLES:
        op.execute(f"ALTER TABLE store_{table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE store_{table} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY store_own ON store_{table} USING ({_TENANT}) WITH CHECK ({_TENANT})"
        )
