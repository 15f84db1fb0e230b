"""The inbox on Firestore: which documents a call reads and changes together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from stores.errors import StoreKeyMissing
from stores.firestore import acts as people_acts
from stores.firestore import inbox_acts as acts
from stores.firestore.client import Batch, Faster
from stores.firestore.documents import Documents
from stores.firestore.inbox_acts import Chat, Event
from stores.firestore.inbox_documents import InboxDocuments, Room
from stores.firestore.person import OF_SNAPSHOT
from stores.inbox import (
    COUNTED_EVENTS,
    KEPT_MS,
    OPEN,
    PURGED_AT_ONCE,
    Append,
    Arrival,
    Claim,
    Letter,
    State,
)
from stores.inbox_base import Ended, InboxBase, Part, Sealed, Settled, Taken
from stores.records import Owner
from stores.sealing import KeyRing

RESEALED_AT_ONCE: Final = 100
"""Of how many events one query reads what is sealed."""


class FirestoreInbox(InboxBase):
    """An ``stores.inbox.Inbox`` on Firestore."""

    def __init__(self, documents: Documents, tenant: str, ring: KeyRing) -> None:
        """Share the client of a store."""
        super().__init__(tenant, ring)
        self._documents = InboxDocuments(documents, tenant)

    async def _accept(self, sealed: Sequence[Sealed], now_ms: int) -> int:
        async def attempt() -> int:
            room = await self._documents.read(
                (one.arrival.chat for one in sealed), (one.arrival.event_id for one in sealed)
            )
            new = 0
            for one in sealed:
                if one.arrival.event_id not in room.events:
                    event = _event_of(one, now_ms)
                    room.events[event.event_id] = event
                    room.chat(event.chat).add(event, now_ms)
                    new += 1
            batch = self._documents.base.batch()
            room.put(batch)
            await self._documents.base.commit(batch)
            return new

        return await self._documents.base.again(attempt)

    async def _claim(
        self, worker: str, now_ms: int, until_ms: int, most: int, chat: str | None
    ) -> list[Taken]:
        room = Room(self._documents)
        if chat is not None:
            await self._documents.read([chat], (), room)
        else:
            due = self._documents.query("store_chats", "due_at_ms", "<=", now_ms, most=most)
            for one in await due:
                room.found("store_chats", one)
        due_now = [one for one in room.chats.values() if one.is_due(now_ms)]
        leased = [one for one in due_now if one.lease(worker, now_ms=now_ms, until_ms=until_ms)]
        # Left behind by a worker that died at an unsent message; it would be found ever again.
        idle = [one for one in due_now if not one.open]
        for one in idle:
            one.free(now_ms)
        won = await asyncio.gather(*(self._lease(room, one) for one in (*leased, *idle)))
        mine = [one for one, is_mine in zip(leased, won, strict=False) if is_mine]
        wanted = [event_id for one in mine for event_id in (one.open_ids[0], *one.held_ids)]
        events = (await self._documents.read((), wanted)).events
        # What was unsent or erased since the lease has freed its chat.
        heads = [(one, events.get(one.open_ids[0])) for one in mine]
        return [_taken(one, head, events) for one, head in heads if head and head.is_open]

    async def _lease(self, room: Room, chat: Chat) -> bool:
        """Commit a lease, or its end; whoever is slower goes without."""
        batch = self._documents.base.batch()
        room.put_chat(batch, chat)
        try:
            await self._documents.base.commit(batch)
        except Faster:
            return False
        return True

    async def _extend(self, claim: Claim, until_ms: int) -> bool:
        # The chat of an event that is gone is left alone: its answer may be leaving, and whoever
        # sends it frees the chat.
        def work(room: Room, _: Batch) -> bool:
            chat, event = room.chat(claim.chat), room.events.get(claim.event_id)
            if not chat.leased(claim) or event is None or not event.is_open:
                return False
            chat.due_at_ms = until_ms
            return True

        return await self._documents.change(claim.chat, [claim.event_id], work)

    async def _settle(
        self, claim: Claim, settled: Settled, append: Append | None, now_ms: int
    ) -> bool:
        def work(_: Chat, event: Event) -> None:
            event.plan, event.retry_key = settled.plan, settled.retry_key
            event.move(settled.state.value, now_ms)

        if append is None:
            return await self._leased(claim, now_ms, work)
        write = partial(
            people_acts.append,
            event_id=append.event_id,
            window=append.window,
            expected_revision=append.expected_revision,
            expected_generation=append.expected_generation,
            expires_at_ms=now_ms + append.ttl_ms,
        )
        base = self._documents.base

        async def attempt() -> bool:
            room, batch = await self._documents.read([claim.chat], [claim.event_id]), base.batch()
            done = _change(room, claim, now_ms, work)
            if done:
                await base.stage(batch, append.owner, write, OF_SNAPSHOT)
            room.put(batch, touch=[claim.chat])
            await base.commit(batch)
            return done

        return await base.again(attempt)

    async def _sending(self, claim: Claim, retry_key: str | None, now_ms: int) -> bool:
        def work(_: Chat, event: Event) -> None:
            event.retry_key = retry_key
            event.move(State.SENDING.value, now_ms)

        return await self._leased(claim, now_ms, work)

    async def _finish(self, claim: Claim, ended: Ended, now_ms: int) -> bool:
        def work(room: Room, batch: Batch) -> bool:
            chat = room.chat(claim.chat)
            done, person = acts.finish(chat, room.events, claim, ended, now_ms)
            for message in ended.sent if done else ():
                told = {"chat": claim.chat, "message": message, "person": person, "at_ms": now_ms}
                document = self._documents.document("store_sent", claim.chat, message)
                batch.set(document, {**told, "tenant": self.tenant})
            return done

        events = (claim.event_id, *(event_id for event_id, _ in ended.of_held))
        return await self._documents.change(claim.chat, events, work)

    async def _hold(self, claim: Claim, plan: bytes, now_ms: int, error_code: str) -> bool:
        def work(chat: Chat, event: Event) -> None:
            event.body, event.plan, event.retry_key = None, plan, None
            event.error_code = error_code
            event.move(State.HELD.value, now_ms)
            chat.hold(event)
            chat.free(now_ms)

        return await self._leased(claim, now_ms, work)

    async def _release(
        self, claim: Claim, now_ms: int, retry_at_ms: int, error_code: str | None, *, dead: bool
    ) -> str | None:
        states: list[str] = []

        def work(chat: Chat, event: Event) -> None:
            state = acts.release(
                chat, event, claim, now_ms=now_ms, next_at_ms=retry_at_ms,
                error_code=error_code, dead=dead,
            )  # fmt: skip
            states.append(state)

        return states[-1] if await self._leased(claim, now_ms, work) else None

    async def _unsend(self, message: str, now_ms: int) -> Arrival | None:
        base = self._documents.base

        async def attempt() -> Arrival | None:
            room, batch = Room(self._documents), base.batch()
            found = await self._documents.query("store_inbox", "message", "==", message, most=1)
            if not found:
                return None
            room.found("store_inbox", found[0])
            [event] = room.events.values()
            await self._documents.read([event.chat], (), room)
            waiting = event.state == State.WAITING
            acts.take_back(room.chat(event.chat), event, now_ms)
            if event.person is not None and not waiting:
                owner = Owner(tenant=self.tenant, person=event.person)
                await base.stage(batch, owner, lambda person: person.move(), OF_SNAPSHOT)
            room.put(batch, touch=[event.chat])
            await base.commit(batch)
            return Arrival(
                event_id=event.event_id,
                chat=event.chat,
                person=event.person,
                message=message,
                said_at_ms=event.said_at_ms,
                body=b"",
            )

        return await base.again(attempt)

    async def _is_open(self, event_id: str) -> bool:
        found = (await self._documents.read((), [event_id])).events
        return any(event.state in OPEN for event in found.values())

    async def _is_ours(self, chat: str, message: str) -> bool:
        document = self._documents.document("store_sent", chat, message)
        return any(one.exists for one in await self._documents.base.get_all([document]))

    async def _has_message(self, message: str) -> bool:
        query = self._documents.query("store_inbox", "message", "==", message, most=1, only=())
        return bool(await query)

    async def _spend(self, person: str, mark: str, day: str, most: int) -> bool:
        def work(before: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
            # What an earlier version wrote has no marks.
            counted = [] if before is None else list(before.get("counted", ()))
            if before is not None and mark in counted:
                return before
            used = int(before["used"]) if before is not None and before["day"] == day else 0
            marks = [mark, *counted][:COUNTED_EVENTS]
            return {"day": day, "used": used + 1, "counted": marks} if used < most else None

        return await self._documents.upsert("store_quota", person, work)

    async def _leave(self, person: str, said_at_ms: int, due_at_ms: int | None) -> None:
        told = {
            "said_at_ms": said_at_ms,
            "due_at_ms": due_at_ms,
            "drop_at_ms": said_at_ms + KEPT_MS if due_at_ms is None else None,
        }

        def work(before: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
            known = -1 if before is None else int(before["said_at_ms"])
            # Said at the same time, staying holds: nobody is erased by a doubt.
            later = said_at_ms > known or (said_at_ms == known and due_at_ms is None)
            return told if later else None

        await self._documents.upsert("store_leavers", person, work)

    async def _leavers(self, now_ms: int, most: int) -> list[str]:
        found = self._documents.query("store_leavers", "due_at_ms", "<=", now_ms, most=most)
        return [str(one.get("person")) for one in await found]

    async def _counts(self) -> dict[str, int]:
        return await self._documents.counts()

    async def _letters(self, state: State, most: int) -> list[Letter]:
        room = Room(self._documents)
        for one in await self._documents.in_state(state, most):
            room.found("store_inbox", one)
        return [
            Letter(
                event_id=event.event_id,
                chat=event.chat,
                state=State(event.state),
                attempts=event.attempts,
                error_code=event.error_code,
                arrived_at_ms=event.arrived_at_ms,
                changed_at_ms=event.changed_at_ms,
            )
            for event in room.events.values()
        ]

    async def _requeue(self, event_id: str, now_ms: int) -> bool:
        found = (await self._documents.read((), [event_id])).events.get(event_id)
        if found is None or found.state != State.DEAD:
            return False

        def work(room: Room, _: Batch) -> bool:
            event = room.events.get(event_id)
            return event is not None and acts.requeue(room.chat(event.chat), event, now_ms)

        return await self._documents.change(found.chat, [event_id], work)

    async def _purge(self, now_ms: int) -> int:
        before_ms = now_ms - KEPT_MS
        await self._documents.drop_old("store_sent", "at_ms", "<=", before_ms, PURGED_AT_ONCE)
        await self._documents.drop_old("store_leavers", "drop_at_ms", "<=", now_ms, PURGED_AT_ONCE)
        if before_ms > 0:
            day = datetime.fromtimestamp(before_ms / 1000, tz=UTC).date().isoformat()
            await self._documents.drop_old("store_quota", "day", "<", day, PURGED_AT_ONCE)
        return await self._documents.purge(now_ms, PURGED_AT_ONCE, before_ms)

    async def reseal(self) -> list[str]:
        """Seal what older keys of the ring sealed by the newest one.

        Returns for each event that holds something ``current``, ``rewrapped`` or ``lost``.
        """
        ends: list[str] = []
        after: str | None = None
        while found := await self._documents.page(after, RESEALED_AT_ONCE):
            room = Room(self._documents)
            for one in found:
                room.found("store_inbox", one)
            for event in room.events.values():
                after = event.event_id
                kept = [one for one in (event.body, event.plan) if one is not None]
                if all(self._ring.is_newest(one) for one in kept):
                    ends += ["current"] * bool(kept)
                    continue
                try:
                    await self._documents.change(event.chat, [event.event_id], self._anew)
                    ends.append("rewrapped")
                except StoreKeyMissing:
                    ends.append("lost")
        return ends

    def _anew(self, room: Room, _: Batch) -> None:
        for event in room.events.values():
            event.body = self._sealed_anew(event.event_id, "body", event.body)
            event.plan = self._sealed_anew(event.event_id, "plan", event.plan)

    def _sealed_anew(self, event_id: str, part: Part, old: bytes | None) -> bytes | None:
        return None if old is None else self._seal(event_id, part, self._open(event_id, part, old))

    async def _leased(self, claim: Claim, now_ms: int, work: Callable[[Chat, Event], None]) -> bool:
        """Change an event under its chat's lease."""

        def change(room: Room, _: Batch) -> bool:
            return _change(room, claim, now_ms, work)

        return await self._documents.change(claim.chat, [claim.event_id], change)


def _change(room: Room, claim: Claim, now_ms: int, work: Callable[[Chat, Event], None]) -> bool:
    chat, event = room.chat(claim.chat), room.events.get(claim.event_id)
    if acts.at_it(chat, event, claim, now_ms) and event is not None:
        work(chat, event)
        return True
    return False


def _event_of(one: Sealed, now_ms: int) -> Event:
    event = Event(
        event_id=one.arrival.event_id,
        chat=one.arrival.chat,
        person=one.arrival.person,
        message=one.arrival.message,
        said_at_ms=one.arrival.said_at_ms,
        arrived_at_ms=now_ms,
        place=one.place,
        changed_at_ms=now_ms,
        state=State.WAITING.value,
        body=one.body,
    )
    event.move(State.WAITING.value, now_ms)
    return event


def _taken(chat: Chat, head: Event, events: Mapping[str, Event]) -> Taken:
    return Taken(
        event_id=head.event_id,
        chat=chat.chat,
        person=head.person,
        said_at_ms=head.said_at_ms,
        state=head.state,
        body=head.body or b"",
        plan=head.plan,
        retry_key=head.retry_key,
        attempts=head.attempts + chat.lapsed,
        held=tuple(_plans(events[event_id] for event_id in chat.held_ids if event_id in events)),
        fence=chat.fence,
    )


def _plans(held: Iterable[Event]) -> Iterable[tuple[str, str | None, bytes]]:
    for event in held:
        if event.plan is not None:
            yield event.event_id, event.person, event.plan
