"""What the store needs of a database: a place where its transactions run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from stores.records import SurfaceCheck
from stores.sql.session import Session

T = TypeVar("T")


class Engine(Protocol):
    """Runs transactions, which are functions of a Session, and turns driver errors into ours."""

    async def start(self) -> None:
        """Open what is needed and bring the schema up to date; do nothing if that was done."""

    async def read(self, work: Callable[[Session], T]) -> T:
        """Run one reading statement, apart from writers."""

    async def write(self, work: Callable[[Session], T]) -> T:
        """Run a transaction: all of it or, if ``work`` raises, nothing."""

    async def erase(
        self, work: Callable[[Session], T], *, always: bool = False
    ) -> tuple[T, tuple[SurfaceCheck, ...]]:
        """Run a transaction that takes values away, then look for their bytes.

        Returns what was found where; nothing if nothing was taken away, unless ``always``.
        """

    async def close(self) -> None:
        """Let go of every connection."""
