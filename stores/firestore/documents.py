"""Documents of people, and the paths of all documents.

    stores/{namespace}                                           version of the schema
    stores/{namespace}/tenants/{tenant tag}/store_people/{tag}   a person
    stores/{namespace}/tenants/{tenant tag}/store_windows/{tag}  their window, with a TTL field
    .../store_people/{tag}/store_ledger/{epoch-number}           lines of their ledger
    .../store_people/{tag}/store_generations/{tag of its id}     a record of a generation
    stores/{namespace}/tenants/{tenant tag}/store_inbox/{tag}    an event, and beside it
    store_chats, store_sent, store_quota, store_leavers          (stores.firestore.inbox_documents)

Tags are hashes: a path tells no id. Every query is of one field in one tenant's collection, so the
indexes that Firestore makes by itself are enough.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

from stores.export import LAST_DATE_MS
from stores.firestore.client import (
    BATCH,
    CHANGED,
    RPC_SECONDS,
    Batch,
    Client,
    Collection,
    Reference,
    tag,
    where,
)
from stores.firestore.person import Person, fields_of, person_of
from stores.framing import framed
from stores.records import Owner

T = TypeVar("T")

_EPOCH: Final = datetime.fromtimestamp(0, tz=UTC)


class Documents(Client):
    """The documents of people."""

    async def read(
        self, owner: Owner, fields: Iterable[str] | None = None, *, window: bool = False
    ) -> tuple[Person, dict[str, Any] | None]:
        """Read a person, or these fields of them, and their window if asked for; one round trip."""
        person, found, _ = await self.ask(lambda: self._get(owner, fields, window=window))
        return person, found

    async def change(
        self,
        owner: Owner,
        work: Callable[[Person], T],
        fields: Iterable[str] | None = None,
        *,
        beside: Callable[[Batch], Awaitable[None]] | None = None,
    ) -> T:
        """Read a person, let ``work`` change them, and commit; again from the start if need be.

        ``work`` sees and changes these fields alone; None for all. ``beside`` adds to the commit.
        """

        async def attempt() -> T:
            batch = self.batch()
            result = await self.stage(batch, owner, work, fields)
            if beside is not None:
                await beside(batch)
            await self.commit(batch)
            return result

        return await self.again(attempt)

    async def stage(
        self,
        batch: Batch,
        owner: Owner,
        work: Callable[[Person], T],
        fields: Iterable[str] | None = None,
    ) -> T:
        """Read a person, let ``work`` change them, and add what it changed to a batch."""
        person, _, updated = await self.ask(lambda: self._get(owner, fields))
        before = fields_of(person)
        result = work(person)
        self._put(batch, person, before, updated)
        return result

    async def due(self, tenant: str, now_ms: int, most: int) -> list[str]:
        """Return people of a tenant of whom a card or a value ran out."""
        people = self.tenant(tenant).collection("store_people")
        query = people.where(filter=where("due_at_ms", "<=", now_ms)).select(["person"])
        found = await self.ask(lambda: query.limit(most).get(retry=None, timeout=RPC_SECONDS))
        return [str(one.get("person")) for one in found]

    async def drop_windows(self, tenant: str, now_ms: int, most: int) -> int:
        """Delete windows that ran out, where no TTL policy has yet; return how many."""
        windows = self.tenant(tenant).collection("store_windows")
        query = windows.where(filter=where("expires_at", "<=", _instant(now_ms)))

        async def drop() -> int:
            gone = 0
            for one in await query.select([]).limit(most).get(retry=None, timeout=RPC_SECONDS):
                option = self._open().write_option(last_update_time=one.update_time)
                try:
                    await one.reference.delete(option=option, retry=None, timeout=RPC_SECONDS)
                    gone += 1
                except CHANGED:  # written anew, or gone already
                    continue
            return gone

        return await self.ask(drop)

    async def data_keys(self, tenant: str, after: str | None, most: int) -> list[tuple[str, Any]]:
        """Return people of a tenant in the order of their tags: person and id of the ring key."""
        people = self.tenant(tenant).collection("store_people")
        query = people.select(["person", "ring_id"]).order_by("__name__").limit(most)
        if after is not None:
            query = query.start_after([people.document(tag(tenant, after))])
        found = await self.ask(lambda: query.get(retry=None, timeout=RPC_SECONDS))
        return [(str(one.get("person")), one.get("ring_id")) for one in found]

    async def of_next_ring_key(self, tenant: str, after: str) -> tuple[str, str] | None:
        """Return a person and the id of the ring key that wraps theirs, the first after one."""
        people = self.tenant(tenant).collection("store_people")
        query = people.where(filter=where("ring_id", ">", after)).order_by("ring_id").limit(1)
        query = query.select(["person", "ring_id"])
        found = await self.ask(lambda: query.get(retry=None, timeout=RPC_SECONDS))
        return (str(found[0].get("person")), str(found[0].get("ring_id"))) if found else None

    async def lines(self, owner: Owner, epoch: int) -> list[dict[str, Any]]:
        """Return the lines of a person's ledger since it began, oldest first."""
        query = self._ledger(owner).where(filter=where("epoch", "==", epoch))
        found = await self.ask(lambda: query.get(retry=None, timeout=RPC_SECONDS))
        lines = [one.to_dict() or {} for one in found]
        return sorted(lines, key=lambda line: int(line["number"]))

    async def drop_lines(self, owner: Owner, epoch: int) -> int:
        """Delete lines of a ledger that was dropped, and return how many are left after it."""
        old = self._ledger(owner).where(filter=where("epoch", "<", epoch))

        async def drop() -> int:
            while found := await old.select([]).limit(BATCH).get(retry=None, timeout=RPC_SECONDS):
                batch = self._open().batch()
                for one in found:
                    batch.delete(one.reference)
                await batch.commit(retry=None, timeout=RPC_SECONDS)
            return len(await old.select([]).limit(BATCH).get(retry=None, timeout=RPC_SECONDS))

        return await self.ask(drop)

    async def body(self, owner: Owner, generation_id: str, part: str) -> bytes | None:
        """Return one sealed part of a generation; None if there is none."""
        document = self._generations(owner).document(_body_tag(generation_id))
        found = await self.ask(lambda: document.get([part], retry=None, timeout=RPC_SECONDS))
        return bytes(found.get(part)) if found.exists else None

    async def drop_bodies(self, owner: Owner, before_revision: int) -> int:
        """Delete documents from before a revision, and return how many of them are left."""
        old = self._generations(owner).where(filter=where("revision", "<", before_revision))

        async def drop() -> int:
            while found := await old.select([]).limit(BATCH).get(retry=None, timeout=RPC_SECONDS):
                batch = self._open().batch()
                for one in found:
                    batch.delete(one.reference)
                await batch.commit(retry=None, timeout=RPC_SECONDS)
            return len(await old.select([]).limit(BATCH).get(retry=None, timeout=RPC_SECONDS))

        return await self.ask(drop)

    def _person(self, owner: Owner) -> Reference:
        people = self.tenant(owner.tenant).collection("store_people")
        found: Reference = people.document(tag(owner.tenant, owner.person))
        return found

    def _window(self, owner: Owner) -> Reference:
        windows = self.tenant(owner.tenant).collection("store_windows")
        found: Reference = windows.document(tag(owner.tenant, owner.person))
        return found

    def _ledger(self, owner: Owner) -> Collection:
        found: Collection = self._person(owner).collection("store_ledger")
        return found

    def _generations(self, owner: Owner) -> Collection:
        found: Collection = self._person(owner).collection("store_generations")
        return found

    async def _get(
        self, owner: Owner, fields: Iterable[str] | None, *, window: bool = False
    ) -> tuple[Person, dict[str, Any] | None, Any]:
        mine, shown = self._person(owner), self._window(owner)
        wanted = [mine, shown] if window else [mine]
        paths = None if fields is None else ("tenant", "person", *fields)
        person, live, updated = Person(owner), None, None
        async for found in self._open().get_all(wanted, paths, retry=None, timeout=RPC_SECONDS):
            if not found.exists:
                continue
            told = found.to_dict() or {}
            if found.reference.path == mine.path:
                person, updated = person_of(owner, told), found.update_time
            elif (told.get("tenant"), told.get("person")) == (owner.tenant, owner.person):
                live = told
        return person, live, updated

    def _put(self, batch: Batch, person: Person, before: Mapping[str, Any], updated: Any) -> None:
        after = fields_of(person)
        changed = {name: value for name, value in after.items() if value != before[name]}
        if not changed:
            return
        owner = person.owner
        mine = self._person(owner)
        if updated is None:
            batch.create(mine, after)
        else:
            batch.update(mine, changed, option=self.unless_updated(updated))
        if person.window:
            window = {
                "tenant": owner.tenant,
                "person": owner.person,
                "revision": person.revision,
                "generation": person.generation,
                "window": person.window,
                "expires_at_ms": person.window_expires_at_ms,
                "expires_at": _instant(person.window_expires_at_ms),
            }
            batch.set(self._window(owner), window)
        elif person.window is not None:
            batch.delete(self._window(owner))
        for line in person.added:
            name = f"{person.epoch:016}-{line['number']:016}"
            batch.create(self._ledger(owner).document(name), {**line, "epoch": person.epoch})
        for name, body in person.bodies.items():
            document = self._generations(owner).document(_body_tag(name))
            if body is None:
                batch.delete(document)
            else:
                batch.create(document, body)


def _body_tag(generation_id: str) -> str:
    return hashlib.sha256(framed(generation_id)).hexdigest()


def _instant(at_ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=min(at_ms, LAST_DATE_MS))
