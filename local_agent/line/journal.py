"""The journal of a turn on LINE: written with the answer, in one transaction, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Self

from stores.inbox import Append
from stores.ports import ContextStore
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


@dataclass
class Aside:
    """Where the window of one turn waits.

    Attributes:
        append: The window; None while there is none.
    """

    append: Append | None = None


_ASIDE: ContextVar[Aside | None] = ContextVar("window_put_aside", default=None)


class DeferredJournal:
    """A ContextStore that puts a turn's window aside, for `Inbox.settle` to write.

    So a crash never leaves a conversation that knows of an answer nobody was given, nor an answer
    that the conversation does not know of.
    """

    def __init__(self, store: ContextStore) -> None:
        """Read and write through `store`; only windows of turns wait."""
        self._store = store

    @contextmanager
    def turn(self) -> Iterator[Aside]:
        """Put aside the window of what runs inside; two turns of one event have one each."""
        aside = Aside()
        before = _ASIDE.set(aside)
        try:
            yield aside
        finally:
            _ASIDE.reset(before)

    async def append(
        self,
        owner: Owner,
        *,
        event_id: str,
        window: str,
        expected_revision: int,
        expected_generation: int,
        now_ms: int,
        ttl_ms: int = 900_000,
    ) -> int:
        """Keep the window and return the generation it will get; outside of a turn, write it.

        Of one event the last window counts, on top of what its turn began with.
        """
        aside = _ASIDE.get()
        if aside is None:
            return await self._store.append(
                owner, event_id=event_id, window=window, expected_revision=expected_revision,
                expected_generation=expected_generation, now_ms=now_ms, ttl_ms=ttl_ms,
            )  # fmt: skip
        if aside.append is not None:
            expected_generation = aside.append.expected_generation
        aside.append = Append(
            owner=owner,
            event_id=event_id,
            window=window,
            expected_revision=expected_revision,
            expected_generation=expected_generation,
            ttl_ms=ttl_ms,
        )
        return expected_generation + 1

    async def snapshot(self, owner: Owner, *, now_ms: int) -> Snapshot:
        """See ContextStore."""
        return await self._store.snapshot(owner, now_ms=now_ms)

    async def preferences(self, owner: Owner, *, now_ms: int, chat: str = PRIVATE) -> Preferences:
        """See ContextStore."""
        return await self._store.preferences(owner, now_ms=now_ms, chat=chat)

    async def clear(self, owner: Owner, *, now_ms: int) -> int:
        """See ContextStore."""
        return await self._store.clear(owner, now_ms=now_ms)

    async def propose(
        self,
        owner: Owner,
        proposal: Proposal,
        *,
        now_ms: int,
        expected_revision: int | None = None,
        channel: str = DIRECT,
    ) -> Card:
        """See ContextStore."""
        return await self._store.propose(
            owner, proposal, now_ms=now_ms, expected_revision=expected_revision, channel=channel
        )

    async def approve(
        self, owner: Owner, token: str, *, now_ms: int, channel: str = DIRECT
    ) -> ConsentResult:
        """See ContextStore."""
        return await self._store.approve(owner, token, now_ms=now_ms, channel=channel)

    async def cancel(
        self, owner: Owner, token: str, *, now_ms: int, channel: str = DIRECT
    ) -> ConsentResult:
        """See ContextStore."""
        return await self._store.cancel(owner, token, now_ms=now_ms, channel=channel)

    async def forget(
        self, owner: Owner, key: str | None, *, now_ms: int, channel: str = DIRECT
    ) -> ForgetResult:
        """See ContextStore."""
        return await self._store.forget(owner, key, now_ms=now_ms, channel=channel)

    async def start(self) -> None:
        """See ContextStore."""
        await self._store.start()

    async def close(self) -> None:
        """See ContextStore."""
        await self._store.close()

    async def __aenter__(self) -> Self:
        """Start, and return itself."""
        await self.start()
        return self

    async def __aexit__(self, *failure: object) -> None:
        """Close."""
        await self.close()
