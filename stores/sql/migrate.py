"""Schema migrations, run from inside the program: no ini file, no command line.

Alembic is imported only if there is something to migrate, so a current database costs one SELECT.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stores.errors import SchemaTooNew

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from stores.sealing import KeyRing

REVISIONS: Final = ("0001", "0002", "0003", "0004", "0005")
"""Every revision this version knows, oldest first; a test compares it with the scripts."""

HEAD: Final = REVISIONS[-1]

SCRIPTS: Final = Path(__file__).parent / "migrations"

READ_VERSION: Final = "SELECT version_num FROM store_schema"


def is_current(version: str | None) -> bool:
    """Tell whether a database of this version needs no migration; None is an empty database.

    Raises:
        SchemaTooNew: If this program does not know the version.
    """
    if version is not None and version not in REVISIONS:
        raise SchemaTooNew
    return version == HEAD


def upgrade(connection: Connection, ring: KeyRing) -> None:
    """Run what is pending, in the transaction the connection is in.

    The caller holds that transaction, under a lock that keeps other processes out, and commits it:
    the migration and the record of it are one. The ring is for values that a migration seals.
    """
    # Loaded here because it costs about 100 ms, and only a new or an old database needs it.
    command = import_module("alembic.command")
    config = import_module("alembic.config").Config()
    config.set_main_option("script_location", str(SCRIPTS))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["ring"] = ring
    command.upgrade(config, "head")
