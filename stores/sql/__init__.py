"""The store over SQL: tables and statements in SQLAlchemy Core, one engine a database."""
