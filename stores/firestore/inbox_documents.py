"""Documents of an inbox: read together, changed in memory, committed unless somebody was faster.

    .../tenants/{tenant tag}/store_inbox/{tag}     an event, its body and plan sealed
    .../tenants/{tenant tag}/store_chats/{tag}     a chat: its lease, its open and held events
    .../tenants/{tenant tag}/store_sent/{tag}      the id of a message that was sent
    .../tenants/{tenant tag}/store_quota/{tag}     a person's turns of a day
    .../tenants/{tenant tag}/store_leavers/{tag}   who is to be erased, and when

Every query is of one field in one tenant's collection, as everywhere in this store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any, Final, TypeVar

from stores.errors import StoreUnavailable
from stores.firestore.client import (
    BATCH,
    RPC_SECONDS,
    Batch,
    Collection,
    Faster,
    Reference,
    tag,
    where,
)
from stores.firestore.documents import Documents
from stores.firestore.inbox_acts import Chat, Event, take_back
from stores.inbox import OPEN, State
from stores.inbox_base import NotDueError

T = TypeVar("T")

ERASED_AT_ONCE: Final = 150
"""Of how many events one commit erases a person; each may write its chat as well."""


class Room:
    """Chats and events that were read together, and what they were then."""

    def __init__(self, documents: InboxDocuments) -> None:
        """Begin with nothing read."""
        self.chats: dict[str, Chat] = {}
        self.events: dict[str, Event] = {}
        self._documents = documents
        self._updated: dict[tuple[str, str], Any] = {}
        self._before: dict[tuple[str, str], dict[str, Any]] = {}

    def chat(self, name: str) -> Chat:
        """Return a chat, which may be new."""
        return self.chats.setdefault(name, Chat(name))

    def found(self, kind: str, snapshot: Any) -> None:
        """Take note of a document.

        Raises:
            StoreUnavailable: If it is another tenant's, or was tampered with.
        """
        told = dict(snapshot.to_dict() or {})
        mine = told.pop("tenant", None) == self._documents.tenant
        try:
            made = Chat(**told) if kind == "store_chats" else Event(**told)
        except TypeError:  # fields that are not ours; what they say is not passed on
            mine, made = False, Chat("")
        if not mine:
            raise StoreUnavailable("The store's rows do not fit together.", reason="damaged")
        if isinstance(made, Chat):
            key = (kind, made.chat)
            self.chats[made.chat] = made
        else:
            key = (kind, made.event_id)
            self.events[made.event_id] = made
        self._updated[key], self._before[key] = snapshot.update_time, asdict(made)

    def put(self, batch: Batch, *, touch: Iterable[str] = ()) -> None:
        """Add what changed; and these chats, so that the commit holds only if they are the same."""
        for event in self.events.values():
            self._put(batch, "store_inbox", event.event_id, asdict(event), {})
        for chat in self.chats.values():
            if chat.last_at_ms:  # else nothing ever arrived there
                least = {"fence": chat.fence} if chat.chat in touch else {}
                self._put(batch, "store_chats", chat.chat, asdict(chat), least)

    def _put(
        self,
        batch: Batch,
        kind: str,
        name: str,
        fields: dict[str, Any],
        least: dict[str, Any],
    ) -> None:
        document, before = self._documents.document(kind, name), self._before.get((kind, name))
        if before is None:
            batch.create(document, {**fields, "tenant": self._documents.tenant})
            return
        changed = {field: value for field, value in fields.items() if value != before[field]}
        if changed or least:
            condition = self._documents.base.unless_updated(self._updated[kind, name])
            batch.update(document, changed or least, option=condition)

    def put_chat(self, batch: Batch, chat: Chat) -> None:
        """Add one chat, which changed."""
        self._put(batch, "store_chats", chat.chat, asdict(chat), {})

    def delete(self, batch: Batch, kind: str, name: str) -> None:
        """Add the deletion of a document that was read."""
        condition = self._documents.base.unless_updated(self._updated[kind, name])
        batch.delete(self._documents.document(kind, name), option=condition)
        if kind == "store_chats":
            del self.chats[name]
        else:
            del self.events[name]


class InboxDocuments:
    """The documents of one tenant's inbox."""

    def __init__(self, base: Documents, tenant: str) -> None:
        """Share the client of a store."""
        self.base, self.tenant = base, tenant

    def collection(self, kind: str) -> Collection:
        """Return one of the inbox's collections."""
        found: Collection = self.base.tenant(self.tenant).collection(kind)
        return found

    def document(self, kind: str, *names: str) -> Reference:
        """Return a document, by what it is named after."""
        found: Reference = self.collection(kind).document(tag(self.tenant, *names))
        return found

    async def read(
        self, chats: Iterable[str], events: Iterable[str], room: Room | None = None
    ) -> Room:
        """Read chats and events in one round trip, into a room if one is given."""
        room = room or Room(self)
        wanted = [self.document("store_chats", name) for name in dict.fromkeys(chats)]
        wanted += [self.document("store_inbox", name) for name in dict.fromkeys(events)]
        if wanted:
            for one in await self.base.get_all(wanted):
                if one.exists:
                    room.found(one.reference.parent.id, one)
        return room

    async def change(
        self,
        chat: str,
        events: Iterable[str],
        work: Callable[[Room, Batch], T],
    ) -> T:
        """Read a chat and events, let ``work`` change them, and commit; again if need be."""
        wanted = tuple(events)

        async def attempt() -> T:
            room, batch = await self.read([chat], wanted), self.base.batch()
            result = work(room, batch)
            room.put(batch, touch=[chat])
            await self.base.commit(batch)
            return result

        return await self.base.again(attempt)

    async def query(
        self, kind: str, field: str, relation: str, value: Any, *, most: int | None = None,
        only: Iterable[str] | None = None,
    ) -> list[Any]:  # fmt: skip
        """Return documents by one field, in its order where the relation is one of order."""
        query = self.collection(kind).where(filter=where(field, relation, value))
        if only is not None:
            query = query.select(list(only))
        if most is not None:
            query = query.limit(most)
        return list(await self.base.ask(lambda: query.get(retry=None, timeout=RPC_SECONDS)))

    async def counts(self) -> dict[str, int]:
        """Count events by state."""
        found = {}
        for state in State:
            query: Any = self.collection("store_inbox").where(
                filter=where("state", "==", state.value)
            )
            ask = partial(query.count().get, retry=None, timeout=RPC_SECONDS)
            [[told]] = await self.base.ask(ask)
            found[state.value] = int(told.value)
        return found

    async def in_state(self, state: State, most: int) -> list[Any]:
        """Return events of a state, those first that are in it longest."""
        query = (
            self.collection("store_inbox")
            .where(filter=where("sort", ">", f"{state.value} "))
            .where(filter=where("sort", "<", f"{state.value}!"))
            .order_by("sort")
            .limit(most)
        )
        return list(await self.base.ask(lambda: query.get(retry=None, timeout=RPC_SECONDS)))

    async def page(self, after: str | None, most: int) -> list[Any]:
        """Return events in the order of their tags."""
        query = self.collection("store_inbox").order_by("__name__").limit(most)
        if after is not None:
            query = query.start_after([self.document("store_inbox", after)])
        return list(await self.base.ask(lambda: query.get(retry=None, timeout=RPC_SECONDS)))

    # a person's

    async def open_of(self, person: str) -> int:
        """Count events of a person that are not done."""
        states = (*OPEN, State.HELD.value, State.DEAD.value)
        found = await self.query("store_inbox", "person", "==", person, only=["state"])
        return sum(one.get("state") in states for one in found)

    async def erase_most(self, person: str, now_ms: int, *, if_due: bool) -> None:
        """Erase a person from all but the last ``ERASED_AT_ONCE`` events, a commit each.

        Raises:
            NotDueError: If they are not due, where that is asked for.
        """
        while len(found := await self._events_of(person)) == ERASED_AT_ONCE:
            batch = self.base.batch()
            if if_due:
                leaver, told, same = await self._leaver(person, now_ms)
                batch.update(leaver, told, option=same)
            await self._stage_erased(batch, found, now_ms)
            try:
                await self.base.commit(batch)
            except Faster:
                continue

    async def erase_rest(self, batch: Batch, person: str, now_ms: int, *, if_due: bool) -> None:
        """Add to a commit what erases a person from the inbox.

        Raises:
            NotDueError: If they are not due, where that is asked for.
        """
        leaver, same = self.document("store_leavers", person), None
        if if_due:
            leaver, _, same = await self._leaver(person, now_ms)
        batch.delete(leaver, option=same)
        found = await self._events_of(person)
        await self._stage_erased(batch, found, now_ms)
        for one in await self.query("store_sent", "person", "==", person, only=()):
            batch.delete(one.reference)
        batch.delete(self.document("store_quota", person))

    async def _leaver(self, person: str, now_ms: int) -> tuple[Reference, dict[str, Any], Any]:
        """Return the document of a person who is due, its fields, and that it stays the same."""
        [one] = await self.base.get_all([document := self.document("store_leavers", person)])
        told = one.to_dict() or {}
        due_at_ms = told.get("due_at_ms")
        if due_at_ms is None or due_at_ms > now_ms:
            raise NotDueError
        return document, told, self.base.unless_updated(one.update_time)

    async def left_of(self, person: str, now_ms: int) -> int:
        """Count what an erasure at that time left; what arrived after it is new."""
        left: int = 0
        for kind, at in (("store_inbox", "arrived_at_ms"), ("store_sent", "at_ms")):
            found = await self.query(kind, "person", "==", person, only=[at])
            left += len([one for one in found if one.get(at) < now_ms])
        kept = [self.document(kind, person) for kind in ("store_quota", "store_leavers")]
        return left + len([one for one in await self.base.get_all(kept) if one.exists])

    async def _events_of(self, person: str) -> list[Any]:
        return await self.query("store_inbox", "person", "==", person, most=ERASED_AT_ONCE)

    async def _stage_erased(self, batch: Batch, found: list[Any], now_ms: int) -> None:
        room = Room(self)
        for one in found:
            room.found("store_inbox", one)
        await self.read({event.chat for event in room.events.values()}, (), room)
        for event in room.events.values():
            take_back(room.chat(event.chat), event, now_ms)
            event.person = event.message = None
        room.put(batch)

    async def purge(self, now_ms: int, most: int, before_ms: int) -> int:
        """Drop events whose time has come, and chats that nothing happened in since."""
        gone = 0
        found = await self.query("store_inbox", "drop_at_ms", "<=", now_ms, most=most)
        for start in range(0, len(found), BATCH // 2):
            room, batch = Room(self), self.base.batch()
            for one in found[start : start + BATCH // 2]:
                room.found("store_inbox", one)
            await self.read({event.chat for event in room.events.values()}, (), room)
            dropped = list(room.events.values())
            for event in dropped:
                room.chat(event.chat).drop(event.event_id)
                room.delete(batch, "store_inbox", event.event_id)
            for chat in list(room.chats.values()):
                idle = chat.due_at_ms is None and chat.worker is None and not chat.held
                if chat.last_at_ms and idle and chat.last_at_ms <= before_ms:
                    room.delete(batch, "store_chats", chat.chat)
            room.put(batch)
            try:
                await self.base.commit(batch)
            except Faster:
                continue  # somebody is at work there; the next call comes back to them
            gone += len(dropped)
        return gone

    async def drop_old(self, kind: str, field: str, relation: str, value: Any, most: int) -> None:
        """Delete documents by one field."""
        found = await self.query(kind, field, relation, value, most=most, only=())
        for start in range(0, len(found), BATCH):
            batch = self.base.batch()
            for one in found[start : start + BATCH]:
                batch.delete(one.reference)
            await self.base.commit(batch)

    async def upsert(
        self,
        kind: str,
        name: str,
        work: Callable[[Mapping[str, Any] | None], Mapping[str, Any] | None],
    ) -> bool:
        """Change a document of one person, or make it; tell whether ``work`` gave anything."""

        async def attempt() -> bool:
            [one] = await self.base.get_all([document := self.document(kind, name)])
            fields = work(one.to_dict() if one.exists else None)
            if fields is None:
                return False
            batch, told = self.base.batch(), {**fields, "tenant": self.tenant, "person": name}
            if one.exists:
                batch.update(document, told, option=self.base.unless_updated(one.update_time))
            else:
                batch.create(document, told)
            await self.base.commit(batch)
            return True

        return await self.base.again(attempt)
