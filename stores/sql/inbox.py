"""The inbox over SQL: which transaction a call is, and whose rows it locks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from stores.inbox import OPEN, Append, Arrival, Claim, Letter, State
from stores.inbox_base import Ended, InboxBase, Sealed, Settled, Taken
from stores.records import Owner
from stores.sealing import KeyRing
from stores.sql import inbox_acts as acts
from stores.sql import inbox_statements as statements
from stores.sql.engine import Engine
from stores.sql.session import Session

T = TypeVar("T")

RESEALED_AT_ONCE: Final = 100
"""Of how many events one statement reads what is sealed."""


class SqlInbox(InboxBase):
    """An ``stores.inbox.Inbox`` on any engine."""

    def __init__(self, engine: Engine, tenant: str, ring: KeyRing) -> None:
        """Share the engine of a store."""
        super().__init__(tenant, ring)
        self._engine = engine

    async def _accept(self, sealed: Sequence[Sealed], now_ms: int) -> int:
        return await self._engine.write(
            self.tenant, partial(acts.accept, tenant=self.tenant, sealed=sealed, now_ms=now_ms)
        )

    async def _claim(
        self, worker: str, now_ms: int, until_ms: int, most: int, chat: str | None
    ) -> list[Taken]:
        # Looked at first, on the reading side: most polls find nothing, and take no lock for it.
        look = partial(acts.is_due, tenant=self.tenant, chat=chat, now_ms=now_ms)
        if not await self._engine.read(self.tenant, look):
            return []
        take = partial(
            acts.claim,
            tenant=self.tenant,
            worker=worker,
            now_ms=now_ms,
            until_ms=until_ms,
            most=most,
            chat=chat,
        )
        return await self._engine.write(self.tenant, take)

    async def _extend(self, claim: Claim, until_ms: int) -> bool:
        return await self._leased(claim, partial(acts.extend, until_ms=until_ms))

    async def _settle(
        self, claim: Claim, settled: Settled, append: Append | None, now_ms: int
    ) -> bool:
        work = partial(acts.settle, settled=settled, append=append, now_ms=now_ms)
        return await self._leased(claim, work, None if append is None else append.owner)

    async def _sending(self, claim: Claim, retry_key: str | None, now_ms: int) -> bool:
        work = partial(acts.sending, retry_key=retry_key, now_ms=now_ms)
        return await self._leased(claim, work)

    async def _finish(self, claim: Claim, ended: Ended, now_ms: int) -> bool:
        return await self._leased(claim, partial(acts.finish, ended=ended, now_ms=now_ms))

    async def _hold(self, claim: Claim, plan: bytes, now_ms: int, error_code: str) -> bool:
        work = partial(acts.hold, plan=plan, now_ms=now_ms, error_code=error_code)
        return await self._leased(claim, work)

    async def _release(
        self, claim: Claim, now_ms: int, retry_at_ms: int, error_code: str | None, *, dead: bool
    ) -> str | None:
        work = partial(
            acts.release, now_ms=now_ms, retry_at_ms=retry_at_ms, error_code=error_code, dead=dead
        )
        return await self._leased(claim, work)

    async def _unsend(self, message: str, now_ms: int) -> Arrival | None:
        find = partial(acts.find_message, tenant=self.tenant, message=message)
        found = await self._engine.read(self.tenant, find)
        if found is None:
            return None
        _, chat, person, _, _ = found
        owner = self.tenant if person is None else Owner(tenant=self.tenant, person=person)
        work = partial(acts.unsend, tenant=self.tenant, message=message, now_ms=now_ms)
        dropped, _ = await self._engine.erase(owner, work, always=True, chat=chat)
        return dropped

    async def _is_open(self, event_id: str) -> bool:
        return any(
            state in OPEN for _, state in await self._read(statements.EVENT, of_event=event_id)
        )

    async def _is_ours(self, chat: str, message: str) -> bool:
        return bool(await self._read(statements.SENT, of_chat=chat, of_message=message))

    async def _has_message(self, message: str) -> bool:
        return bool(await self._read(statements.MESSAGE, of_message=message))

    async def _spend(self, person: str, day: str, most: int) -> bool:
        return bool(await self._write(statements.SPEND, person=person, day=day, most=most))

    async def _leave(self, person: str, said_at_ms: int, due_at_ms: int | None) -> None:
        statement = statements.STAY if due_at_ms is None else statements.LEAVE
        await self._write(statement, person=person, said_at_ms=said_at_ms, due_at_ms=due_at_ms)

    async def _leavers(self, now_ms: int, most: int) -> list[str]:
        found = await self._read(statements.LEAVERS, now_ms=now_ms, most=most)
        return [person for (person,) in found]

    async def _counts(self) -> dict[str, int]:
        return dict(await self._read(statements.COUNTS))

    async def _letters(self, state: State, most: int) -> list[Letter]:
        found = await self._read(statements.LETTERS, of_state=state.value, most=most)
        names = (
            *("event_id", "chat", "state", "attempts", "error_code"),
            *("arrived_at_ms", "changed_at_ms"),
        )
        return [Letter(**dict(zip(names, row, strict=True))) for row in found]

    async def _requeue(self, event_id: str, now_ms: int) -> bool:
        found = await self._read(statements.EVENT, of_event=event_id)
        if not found or found[0][1] != State.DEAD:
            return False
        work = partial(acts.requeue, tenant=self.tenant, event_id=event_id, now_ms=now_ms)
        return await self._engine.write(self.tenant, work, chat=found[0][0])

    async def _purge(self, now_ms: int) -> int:
        work = partial(acts.purge, tenant=self.tenant, now_ms=now_ms)
        gone, _ = await self._engine.erase(self.tenant, work, always=True)
        return gone

    async def reseal(self) -> list[str]:
        """Seal what older keys of the ring sealed by the newest one.

        Returns for each event that holds something ``current``, ``rewrapped`` or ``lost``.
        """
        ends, after = [], ""
        while found := await self._read(statements.SEALED, after=after, most=RESEALED_AT_ONCE):
            for event_id, chat, body, plan in found:
                after = event_id
                if all(one is None or self._ring.is_newest(one) for one in (body, plan)):
                    ends.append("current")
                    continue
                work = partial(acts.reseal, tenant=self.tenant, event_id=event_id, ring=self._ring)
                done, _ = await self._engine.erase(self.tenant, work, always=True, chat=chat)
                ends.append("rewrapped" if done else "lost")
        return ends

    async def _leased(self, claim: Claim, work: Callable[..., T], owner: Owner | None = None) -> T:
        """Run a transaction under the chat's lock, and the person's whose journal is written."""
        return await self._engine.write(
            owner or self.tenant, partial(work, tenant=self.tenant, claim=claim), chat=claim.chat
        )

    async def _read(self, statement: Any, **values: Any) -> list[Any]:
        def work(session: Session) -> list[Any]:
            return session.rows(statement, tenant=self.tenant, **values)

        return await self._engine.read(self.tenant, work)

    async def _write(self, statement: Any, **values: Any) -> list[Any]:
        def work(session: Session) -> list[Any]:
            return session.rows(statement, tenant=self.tenant, **values)

        return await self._engine.write(self.tenant, work)
