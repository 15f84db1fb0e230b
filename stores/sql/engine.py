"""What the store needs of a database: a place where its transactions run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from stores.records import Owner, SurfaceCheck
from stores.sql.session import Session

T = TypeVar("T")


class Engine(Protocol):
    """Runs transactions, which are functions of a Session, and turns driver errors into ours.

    Each is for one person, or for a tenant's name, as nobody in it; and for one chat, if there is
    one. Where rows have locks, the person's and then the chat's are taken before ``work`` begins,
    so that everything it reads is what it may build on. An engine may run ``work`` again from the
    start if the database asks for that.
    """

    async def start(self) -> None:
        """Open what is needed and bring the schema up to date; do nothing if that was done."""

    async def read(self, owner: Owner | str, work: Callable[[Session], T]) -> T:
        """Run one reading statement, apart from writers; for a tenant's name, as nobody in it."""

    async def write(
        self, owner: Owner | str, work: Callable[[Session], T], *, chat: str | None = None
    ) -> T:
        """Run a transaction: all of it or, if ``work`` raises, nothing."""

    async def erase(
        self,
        owner: Owner | str,
        work: Callable[[Session], T],
        *,
        always: bool = False,
        chat: str | None = None,
    ) -> tuple[T, tuple[SurfaceCheck, ...]]:
        """Run a transaction that takes values away, then look for their bytes.

        Returns what was found where; nothing if nothing was taken away, unless ``always``. What was
        found is looked for again the next time.
        """

    async def close(self) -> None:
        """Let go of every connection."""
