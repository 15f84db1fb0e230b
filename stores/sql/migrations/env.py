"""Alembic's entry: the connection, and the transaction it is in, come from the caller."""

from __future__ import annotations

from alembic import context

from stores.sql.tables import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
)
context.run_migrations()
