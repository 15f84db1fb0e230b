"""The store over SQL: which transaction a call is; transactions are in people and memory."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from stores.errors import StoreKeyMissing
from stores.ledger import Inspection
from stores.records import (
    Card,
    ConsentResult,
    ForgetResult,
    Owner,
    Preferences,
    Snapshot,
    SurfaceCheck,
)
from stores.sql import memory, people, personal
from stores.sql.engine import Engine
from stores.sql.events import Act
from stores.sql.generations import GenerationsOverSql
from stores.sql.inbox import SqlInbox
from stores.sql.session import Session
from stores.store_base import ATTEMPTS, SWEPT_AT_ONCE, StoreBase


class SqlStore(GenerationsOverSql, StoreBase):
    """A ``stores.whole.WholeStore`` on any engine."""

    def __init__(self, engine: Engine, **options: Any) -> None:
        """Open nothing yet; ``options`` are those of ``StoreBase``."""
        super().__init__(**options)
        self._engine = engine

    def inbox(self, tenant: str) -> SqlInbox:
        """Return the inbox of a tenant, in the same database.

        Raises:
            InvalidInput: If the tenant is blank or too long.
        """
        return SqlInbox(self._engine, tenant, self._ring)

    async def start(self) -> None:
        """Open the database and bring its schema up to date."""
        await self._engine.start()

    async def close(self) -> None:
        """Let go of everything held; a closed store refuses all work."""
        await self._engine.close()

    async def _snapshot(self, owner: Owner, now_ms: int) -> Snapshot:
        return await self._engine.read(owner, partial(people.snapshot, owner=owner, now_ms=now_ms))

    async def _preferences(self, owner: Owner, now_ms: int, chat: str) -> Preferences:
        work = partial(memory.preferences, owner=owner, ring=self._ring, now_ms=now_ms, chat=chat)
        return await self._engine.read(owner, work)

    async def _append(self, owner: Owner, **what: Any) -> int:
        return await self._engine.write(owner, partial(people.append, owner=owner, **what))

    async def _clear(self, owner: Owner) -> int:
        return await self._engine.write(owner, partial(people.clear, owner=owner))

    async def _propose(self, owner: Owner, **what: Any) -> Card:
        work = partial(memory.propose, owner=owner, ring=self._ring, **what)
        return await self._engine.write(owner, work)

    async def _press(self, owner: Owner, **what: Any) -> ConsentResult:
        work = partial(memory.press, owner=owner, ring=self._ring, **what)
        result, files = await self._engine.erase(owner, work)
        return result.model_copy(update={"verified": files}) if files else result

    async def _forget(self, owner: Owner, key: str | None, act: Act) -> ForgetResult:
        return await self._take_away(
            owner,
            partial(memory.forget, owner=owner, key=key, act=act, ring=self._ring),
            lambda revision: partial(memory.read_back, owner=owner, key=key, revision=revision),
        )

    async def _inspect(self, owner: Owner, now_ms: int) -> Inspection:
        work = partial(personal.inspect, owner=owner, ring=self._ring, now_ms=now_ms)
        return await self._engine.write(owner, work)

    async def _erase(
        self, owner: Owner, act: Act, *, keep_ledger: bool = False, if_due: bool = False
    ) -> ForgetResult:
        work = partial(
            personal.erase,
            owner=owner,
            act=act,
            ring=self._ring,
            keep_ledger=keep_ledger,
            if_due=if_due,
        )
        return await self._take_away(
            owner,
            work,
            lambda revision: partial(
                personal.read_back_erased,
                owner=owner,
                revision=revision,
                now_ms=act.at_ms,
                keep_ledger=keep_ledger,
            ),
        )

    async def _rotate(self, tenant: str, newest: str) -> list[str]:
        ends, after = [], ""
        while found := await self._engine.read(
            tenant, partial(personal.data_keys, tenant=tenant, after=after, most=SWEPT_AT_ONCE)
        ):
            for person, ring_id in found:
                after = person
                if ring_id == newest:
                    ends.append("current")
                    continue
                owner = Owner(tenant=tenant, person=person)
                work = partial(personal.rewrap, owner=owner, ring=self._ring)
                done, _ = await self._engine.erase(owner, work)
                ends.append("rewrapped" if done else "lost")
        return ends + await self.inbox(tenant).reseal()

    async def _take_away(
        self,
        owner: Owner,
        work: Callable[[Session], int],
        read_back: Callable[[int], Callable[[Session], tuple[SurfaceCheck, ...]]],
    ) -> ForgetResult:
        """Commit, read every surface back, and try again where something was left."""
        revision, files = await self._engine.erase(owner, work, always=True)
        for attempt in range(1, ATTEMPTS + 1):
            rows = await self._engine.read(owner, read_back(revision))
            result = ForgetResult(revision=revision, verified=rows + files, attempts=attempt)
            if result.complete or attempt == ATTEMPTS:
                break
            tidy = partial(personal.tidy, owner=owner)
            _, files = await self._engine.erase(owner, tidy, always=True)
        return result

    async def _sweep(self, tenant: str, now_ms: int, most: int) -> int:
        """Clean up after a few people: somebody who never comes back would leave theirs for ever.

        Each in a transaction of their own, so that nobody waits for another person's row.
        """
        gone = await self._engine.read(
            tenant, partial(personal.run_out, tenant=tenant, now_ms=now_ms, most=most)
        )
        for person in gone:
            owner = Owner(tenant=tenant, person=person)
            act = self._sweeping(now_ms)
            work = partial(memory.clean_up, owner=owner, act=act, ring=self._ring)
            # Values that cannot be sealed anew stay; that is their owner's trouble, nobody else's.
            with suppress(StoreKeyMissing):
                await self._engine.erase(owner, work)
        return len(gone)
