"""Alembic migrations, shipped with the package and run by ``stores.sql.migrate``."""
