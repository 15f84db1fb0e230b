"""What a transaction sees of its database: statements in, rows out.

Transactions are plain functions of a Session. An engine decides where they run: SQLite's on the
thread of its connection, another one's wherever its driver wants them. So a transaction costs one
hop between threads, however many statements it has, and a caller who is cancelled never leaves one
open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from sqlalchemy import Dialect
from sqlalchemy.sql import ClauseElement

Scalar = int | str | bytes | None
Row = Sequence[Any]


class Prepared:
    """A Core statement that is compiled once a dialect instead of looked up at every use."""

    def __init__(self, statement: ClauseElement) -> None:
        """Keep the statement; it is compiled when a dialect first asks."""
        self.statement = statement
        self._compiled: dict[str, tuple[str, tuple[str, ...], dict[str, Scalar]]] = {}

    def positional(
        self, dialect: Dialect, values: Mapping[str, Scalar]
    ) -> tuple[str, list[Scalar]]:
        """Return the text and the parameters in their order, for a dialect with ``?`` marks."""
        found = self._compiled.get(dialect.name)
        if found is None:
            compiled = self.statement.compile(dialect=dialect)
            names = tuple(getattr(compiled, "positiontup", None) or ())
            constants: dict[str, Scalar] = {
                name: value for name, value in compiled.params.items() if value is not None
            }
            found = self._compiled[dialect.name] = (str(compiled), names, constants)
        text, names, constants = found
        return text, [values[name] if name in values else constants[name] for name in names]


class Session(Protocol):
    """One transaction, or one read.

    Attributes:
        erased: Bytes that this transaction took out of the vault, to be looked for after the
            commit. They are in memory only, for as long as the transaction's caller.
    """

    erased: list[bytes]

    def rows(self, statement: Prepared, **values: Scalar) -> list[Row]:
        """Run a statement and return all of its rows (none for one that returns nothing)."""

    def many(self, statement: Prepared, each: Sequence[Mapping[str, Scalar]]) -> list[Row]:
        """Run a statement once for each, in one round trip, and return the rows of all."""
