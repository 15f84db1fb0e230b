"""The port of a store: what the rest of the program may ask of any backend."""

from __future__ import annotations

from typing import Protocol, Self

from stores.records import (
    DIRECT,
    PRIVATE,
    Card,
    ConsentResult,
    ForgetResult,
    Owner,
    Preferences,
    Proposal,
    Snapshot,
)


class ContextStore(Protocol):
    """Windows and consented preferences of people. Times are Unix milliseconds, and given.

    Every change of consent bumps the person's revision and clears their window in the same
    transaction. Every method raises StoreUnavailable if the backend fails and InvalidInput for
    a bad argument, and has then changed nothing.
    """

    async def snapshot(self, owner: Owner, *, now_ms: int) -> Snapshot:
        """Read revision, generation and the live window in one round trip."""

    async def preferences(self, owner: Owner, *, now_ms: int, chat: str = PRIVATE) -> Preferences:
        """Read what may be used now and in this chat, in one round trip."""

    async def append(
        self, owner: Owner, *, event_id: str, window: str, expected_revision: int,
        expected_generation: int, now_ms: int, ttl_ms: int = 900_000,
    ) -> int:  # fmt: skip
        """Write the window and return its generation; the same event again changes nothing.

        Raises PreferenceChanged or ConversationChanged if somebody was faster.
        """

    async def clear(self, owner: Owner, *, now_ms: int) -> int:
        """Drop the window and return the new generation."""

    async def propose(
        self, owner: Owner, proposal: Proposal, *, now_ms: int,
        expected_revision: int | None = None, channel: str = DIRECT,
    ) -> Card:  # fmt: skip
        """Make a card for the person to press; nothing is remembered yet.

        Raises PreferenceChanged if its words are older than the last forget or the revision moved.
        """

    async def approve(
        self, owner: Owner, token: str, *, now_ms: int, channel: str = DIRECT
    ) -> ConsentResult:
        """Do what the card says, once. Only for routes the person themselves acts on."""

    async def cancel(
        self, owner: Owner, token: str, *, now_ms: int, channel: str = DIRECT
    ) -> ConsentResult:
        """Turn the card down; it and every older one are void afterwards."""

    async def forget(
        self, owner: Owner, key: str | None, *, now_ms: int, channel: str = DIRECT
    ) -> ForgetResult:
        """Forget one key, or everything for None, and read back what is left where."""

    async def start(self) -> None:
        """Open the backend and bring its schema up to date now instead of at first use."""

    async def close(self) -> None:
        """Let go of everything held; a closed store refuses all work."""

    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *failure: object) -> None: ...
