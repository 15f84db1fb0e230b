"""Firestore under the store: reads, and commits that hold only if nobody was faster.

A change reads a person's document, computes, and commits on condition that the document was not
updated since (``last_update_time``; ``exists`` for somebody new). Whoever was slower reads anew.
That takes no lock that a dead client could hold, and a commit is one request. The paths:

    stores/{namespace}                                           version of the schema
    stores/{namespace}/tenants/{tenant tag}/store_people/{tag}   a person
    stores/{namespace}/tenants/{tenant tag}/store_windows/{tag}  their window, with a TTL field
    .../store_people/{tag}/store_ledger/{epoch-number}           lines of their ledger
    .../store_people/{tag}/store_generations/{tag of its id}     a record of a generation

Tags are hashes: a path tells no id. Every query is of one field in one tenant's collection, so the
indexes that Firestore makes by itself are enough.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

from google.api_core import exceptions
from google.auth.exceptions import GoogleAuthError
from google.cloud.firestore import AsyncClient
from google.cloud.firestore_v1.base_query import FieldFilter

from stores.errors import SchemaTooNew, StoreUnavailable
from stores.export import LAST_DATE_MS
from stores.firestore.person import Person, fields_of, person_of
from stores.framing import framed
from stores.records import Owner

if TYPE_CHECKING:
    from google.cloud.firestore import AsyncDocumentReference
    from google.cloud.firestore_v1.async_collection import AsyncCollectionReference

T = TypeVar("T")

SCHEMA: Final = 1
"""Version of what the documents look like."""

TRIES: Final = 30
"""How often a change is computed anew because somebody was faster."""

PAUSE_SECONDS: Final = 0.02
"""The longest wait before the second try; it doubles up to ``PAUSE_SECONDS_MAX``."""

PAUSE_SECONDS_MAX: Final = 0.5

RPC_SECONDS: Final = 10.0
"""The longest wait for an answer."""

BATCH: Final = 400
"""Most documents deleted in one commit; Firestore takes 500."""

_EPOCH: Final = datetime.fromtimestamp(0, tz=UTC)
_FASTER: Final = (exceptions.Aborted, exceptions.FailedPrecondition, exceptions.AlreadyExists)
_FAILURES: Final = (exceptions.GoogleAPICallError, exceptions.RetryError, GoogleAuthError, OSError)
_BUSY: Final = ("busy", "Too many changes met at once; try again.")
_REASONS: Final[dict[type[BaseException], tuple[str, str]]] = {
    exceptions.ServiceUnavailable: ("unreachable", "The store's server cannot be reached."),
    exceptions.DeadlineExceeded: ("lost", "The store did not answer in time."),
    exceptions.Unauthenticated: ("not_admitted", "The store does not admit this user."),
    GoogleAuthError: ("not_admitted", "The store does not admit this user."),
    exceptions.PermissionDenied: ("not_allowed", "The store's role may not do this."),
    exceptions.NotFound: ("cannot_open", "The store's database does not exist."),
    exceptions.ResourceExhausted: ("busy", "The store's quota is used up; try again later."),
    **dict.fromkeys(_FASTER, _BUSY),
    OSError: ("unreachable", "The store's server cannot be reached."),
}


def unavailable(error: BaseException) -> StoreUnavailable:
    """Say in one sentence what a driver's error means; its own text is not passed on."""
    for kind, (reason, sentence) in _REASONS.items():
        if isinstance(error, kind):
            return StoreUnavailable(sentence, reason=reason)
    return StoreUnavailable(reason="failed")


class Documents:
    """The documents of one namespace. Used in one event loop after another."""

    def __init__(self, project: str, namespace: str) -> None:
        """Open nothing yet."""
        self._project, self._namespace = project, namespace
        self._client: AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = False
        self._closed = False

    async def start(self) -> None:
        """Look at the schema's version, and write it if there is none.

        Raises:
            SchemaTooNew: If a newer version of this package wrote it.
        """
        root = self._open().document("stores", self._namespace)
        if self._ready:
            return

        async def look() -> int:
            found = await root.get(retry=None, timeout=RPC_SECONDS)
            if not found.exists:
                try:
                    await root.create({"schema": SCHEMA}, retry=None, timeout=RPC_SECONDS)
                except exceptions.AlreadyExists:  # another machine was faster
                    return await look()
                return SCHEMA
            return int(found.get("schema"))

        version = await self._ask(look)
        if version > SCHEMA:
            raise SchemaTooNew(found=version, known=SCHEMA)
        self._ready = True

    async def look(self, name: str) -> tuple[int | None, int]:
        """Write a document of this name, read it, delete it; begin nothing else.

        Returns:
            The version of the schema, None where there is none yet; the server's time in Unix
            milliseconds.
        """
        root = self._open().document("stores", self._namespace)
        written = root.collection("probes").document(name)

        async def look() -> tuple[int | None, int]:
            schema = await root.get(retry=None, timeout=RPC_SECONDS)
            made = await written.create({"name": name}, retry=None, timeout=RPC_SECONDS)
            try:
                there = await written.get(retry=None, timeout=RPC_SECONDS)
            finally:
                await written.delete(retry=None, timeout=RPC_SECONDS)
            if not there.exists or there.get("name") != name:
                raise StoreUnavailable(
                    "What was written to the store was not there.", reason="lost"
                )
            clock_ms = int(made.update_time.timestamp() * 1000)
            return int(schema.get("schema")) if schema.exists else None, clock_ms

        return await self._ask(look)

    async def read(
        self, owner: Owner, fields: Iterable[str] | None = None, *, window: bool = False
    ) -> tuple[Person, dict[str, Any] | None]:
        """Read a person, or these fields of them, and their window if asked for; one round trip."""
        person, found, _ = await self._ask(lambda: self._get(owner, fields, window=window))
        return person, found

    async def change(
        self, owner: Owner, work: Callable[[Person], T], fields: Iterable[str] | None = None
    ) -> T:
        """Read a person, let ``work`` change them, and commit; again from the start if need be.

        ``work`` sees and changes these fields alone; None for all. A commit that got no answer may
        have been made, so it is not run again.
        """
        for number in range(TRIES):
            if number:
                longest = min(PAUSE_SECONDS * 2**number, PAUSE_SECONDS_MAX)
                await asyncio.sleep(random.uniform(0, longest))  # noqa: S311 - spreads, hides nothing
            person, _, updated = await self._ask(lambda: self._get(owner, fields))
            before = fields_of(person)
            result = work(person)
            try:
                await self._ask(lambda: self._commit(person, before, updated))  # noqa: B023 - awaited here
            except _Faster:
                continue
            return result
        raise StoreUnavailable(_BUSY[1], reason=_BUSY[0])

    async def due(self, tenant: str, now_ms: int, most: int) -> list[str]:
        """Return people of a tenant of whom a card or a value ran out."""
        people = self._tenant(tenant).collection("store_people")
        query = people.where(filter=FieldFilter("due_at_ms", "<=", now_ms)).select(["person"])
        found = await self._ask(lambda: query.limit(most).get(retry=None, timeout=RPC_SECONDS))
        return [str(one.get("person")) for one in found]

    async def drop_windows(self, tenant: str, now_ms: int, most: int) -> int:
        """Delete windows that ran out, where no TTL policy has yet; return how many."""
        windows = self._tenant(tenant).collection("store_windows")
        query = windows.where(filter=FieldFilter("expires_at", "<=", _instant(now_ms)))

        async def drop() -> int:
            gone = 0
            for one in await query.select([]).limit(most).get(retry=None, timeout=RPC_SECONDS):
                option = self._open().write_option(last_update_time=one.update_time)
                try:
                    await one.reference.delete(option=option, retry=None, timeout=RPC_SECONDS)
                    gone += 1
                except (*_FASTER, exceptions.NotFound):  # written anew, or gone already
                    continue
            return gone

        return await self._ask(drop)

    async def data_keys(self, tenant: str, after: str | None, most: int) -> list[tuple[str, Any]]:
        """Return people of a tenant in the order of their tags: person and id of the ring key."""
        people = self._tenant(tenant).collection("store_people")
        query = people.select(["person", "ring_id"]).order_by("__name__").limit(most)
        if after is not None:
            query = query.start_after([people.document(_tag(tenant, after))])
        found = await self._ask(lambda: query.get(retry=None, timeout=RPC_SECONDS))
        return [(str(one.get("person")), one.get("ring_id")) for one in found]

    async def lines(self, owner: Owner, epoch: int) -> list[dict[str, Any]]:
        """Return the lines of a person's ledger since it began, oldest first."""
        query = self._ledger(owner).where(filter=FieldFilter("epoch", "==", epoch))
        found = await self._ask(lambda: query.get(retry=None, timeout=RPC_SECONDS))
        lines = [one.to_dict() or {} for one in found]
        return sorted(lines, key=lambda line: int(line["number"]))

    async def drop_lines(self, owner: Owner, epoch: int) -> int:
        """Delete lines of a ledger that was dropped, and return how many are left after it."""
        old = self._ledger(owner).where(filter=FieldFilter("epoch", "<", epoch))

        async def drop() -> int:
            while found := await old.select([]).limit(BATCH).get(retry=None, timeout=RPC_SECONDS):
                batch = self._open().batch()
                for one in found:
                    batch.delete(one.reference)
                await batch.commit(retry=None, timeout=RPC_SECONDS)
            return len(await old.select([]).limit(BATCH).get(retry=None, timeout=RPC_SECONDS))

        return await self._ask(drop)

    async def body(self, owner: Owner, generation_id: str, part: str) -> bytes | None:
        """Return one sealed part of a generation; None if there is none."""
        document = self._generations(owner).document(_body_tag(generation_id))
        found = await self._ask(lambda: document.get([part], retry=None, timeout=RPC_SECONDS))
        return bytes(found.get(part)) if found.exists else None

    async def drop_bodies(self, owner: Owner, before_revision: int) -> int:
        """Delete documents from before a revision, and return how many of them are left."""
        old = self._generations(owner).where(filter=FieldFilter("revision", "<", before_revision))

        async def drop() -> int:
            while found := await old.select([]).limit(BATCH).get(retry=None, timeout=RPC_SECONDS):
                batch = self._open().batch()
                for one in found:
                    batch.delete(one.reference)
                await batch.commit(retry=None, timeout=RPC_SECONDS)
            return len(await old.select([]).limit(BATCH).get(retry=None, timeout=RPC_SECONDS))

        return await self._ask(drop)

    async def close(self) -> None:
        """Close the channel."""
        self._closed = True
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await _shut(client)

    def _open(self) -> AsyncClient:
        """Return the client of the running event loop; a channel of another one is let go."""
        if self._closed:
            raise StoreUnavailable("The store was closed.", reason="closed")
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            try:
                self._client, self._loop = AsyncClient(project=self._project), loop
            except _FAILURES as error:
                failure = unavailable(error)
            else:
                return self._client
            raise failure
        return self._client

    def _tenant(self, tenant: str) -> AsyncDocumentReference:
        tag = hashlib.sha256(framed(tenant)).hexdigest()
        return self._open().document("stores", self._namespace, "tenants", tag)

    def _person(self, owner: Owner) -> AsyncDocumentReference:
        people = self._tenant(owner.tenant).collection("store_people")
        found: AsyncDocumentReference = people.document(_tag(owner.tenant, owner.person))
        return found

    def _window(self, owner: Owner) -> AsyncDocumentReference:
        windows = self._tenant(owner.tenant).collection("store_windows")
        found: AsyncDocumentReference = windows.document(_tag(owner.tenant, owner.person))
        return found

    def _ledger(self, owner: Owner) -> AsyncCollectionReference:
        found: AsyncCollectionReference = self._person(owner).collection("store_ledger")
        return found

    def _generations(self, owner: Owner) -> AsyncCollectionReference:
        found: AsyncCollectionReference = self._person(owner).collection("store_generations")
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

    async def _commit(self, person: Person, before: Mapping[str, Any], updated: Any) -> None:
        after = fields_of(person)
        changed = {name: value for name, value in after.items() if value != before[name]}
        if not changed:
            return
        client, owner = self._open(), person.owner
        batch, mine = client.batch(), self._person(owner)
        if updated is None:
            batch.create(mine, after)
        else:
            batch.update(mine, changed, option=client.write_option(last_update_time=updated))
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
        try:
            await batch.commit(retry=None, timeout=RPC_SECONDS)
        except _FASTER:
            raise _Faster from None

    async def _ask(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do it; a driver's error becomes ours, without the driver's as its cause."""
        try:
            return await work()
        except _FAILURES as error:
            failure = unavailable(error)
        raise failure


class _Faster(Exception):
    """Somebody else changed the person in the meantime; nothing was written."""


def _tag(tenant: str, person: str) -> str:
    return hashlib.sha256(framed(tenant, person)).hexdigest()


def _body_tag(generation_id: str) -> str:
    return hashlib.sha256(framed(generation_id)).hexdigest()


def _instant(at_ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=min(at_ms, LAST_DATE_MS))


async def _shut(client: AsyncClient) -> None:
    # The client has no close of its own; its transport is made with the first request.
    transport = getattr(client, "_transport", None)
    if transport is not None:
        await transport.close()
