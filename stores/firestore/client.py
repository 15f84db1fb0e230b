"""Firestore's client under the store: commits that hold only if nobody was faster, and errors.

A change reads documents, computes, and commits on condition that they were not updated since
(``last_update_time``; ``exists`` for what is new). Whoever was slower reads anew. That takes no
lock that a dead client could hold, and a commit is one request.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeAlias, TypeVar

from google.api_core import exceptions
from google.auth.exceptions import GoogleAuthError
from google.cloud.firestore import AsyncClient, AsyncDocumentReference
from google.cloud.firestore_v1.async_batch import AsyncWriteBatch
from google.cloud.firestore_v1.async_collection import AsyncCollectionReference
from google.cloud.firestore_v1.base_query import FieldFilter

from stores.errors import SchemaTooNew, StoreUnavailable
from stores.framing import framed

T = TypeVar("T")
Batch: TypeAlias = AsyncWriteBatch
Reference: TypeAlias = AsyncDocumentReference
Collection: TypeAlias = AsyncCollectionReference

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

FASTER: Final = (exceptions.Aborted, exceptions.FailedPrecondition, exceptions.AlreadyExists)
CHANGED: Final = (*FASTER, exceptions.NotFound)
"""What a commit fails with whose document was changed, or deleted, since it was read."""

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
    **dict.fromkeys(FASTER, _BUSY),
    OSError: ("unreachable", "The store's server cannot be reached."),
}


def unavailable(error: BaseException) -> StoreUnavailable:
    """Say in one sentence what a driver's error means; its own text is not passed on."""
    for kind, (reason, sentence) in _REASONS.items():
        if isinstance(error, kind):
            return StoreUnavailable(sentence, reason=reason)
    return StoreUnavailable(reason="failed")


class Faster(Exception):
    """Somebody else changed a document in the meantime; nothing was written."""


class Client:
    """The client of one namespace. Used in one event loop after another."""

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

        version = await self.ask(look)
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

        return await self.ask(look)

    async def again(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Attempt it until nobody was faster.

        A commit that got no answer may have been made, so it is not run again.

        Raises:
            StoreUnavailable: If somebody was faster ``TRIES`` times.
        """
        for number in range(TRIES):
            if number:
                longest = min(PAUSE_SECONDS * 2**number, PAUSE_SECONDS_MAX)
                await asyncio.sleep(random.uniform(0, longest))  # noqa: S311 - spreads, hides nothing
            try:
                return await attempt()
            except Faster:
                continue
        raise StoreUnavailable(_BUSY[1], reason=_BUSY[0])

    def batch(self) -> Batch:
        """Return an empty batch, which ``commit`` writes whole or not at all."""
        return self._open().batch()

    def unless_updated(self, updated: Any) -> Any:
        """Return the condition that a document was not updated since."""
        return self._open().write_option(last_update_time=updated)

    async def get_all(self, references: Sequence[Reference]) -> list[Any]:
        """Read documents in one round trip, in no order; those that are not there too."""

        async def get() -> list[Any]:
            found = self._open().get_all(list(references), retry=None, timeout=RPC_SECONDS)
            return [one async for one in found]

        return await self.ask(get)

    async def commit(self, batch: Batch) -> None:
        """Write a batch, if there is anything in it.

        Raises:
            Faster: If a condition does not hold any more; nothing was written.
        """
        if not len(batch):
            return

        async def write() -> None:
            try:
                await batch.commit(retry=None, timeout=RPC_SECONDS)
            except CHANGED:
                raise Faster from None

        await self.ask(write)

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

    def tenant(self, tenant: str) -> Reference:
        """Return the document under which a tenant's collections are."""
        tag = hashlib.sha256(framed(tenant)).hexdigest()
        return self._open().document("stores", self._namespace, "tenants", tag)

    async def ask(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do it; a driver's error becomes ours, without the driver's as its cause."""
        try:
            return await work()
        except _FAILURES as error:
            failure = unavailable(error)
        raise failure


def where(field: str, relation: str, value: Any) -> FieldFilter:
    """Return the condition of a query on one field."""
    return FieldFilter(field, relation, value)


def tag(*names: str) -> str:
    """Return the name of a document: a hash, so that a path tells no id."""
    return hashlib.sha256(framed(*names)).hexdigest()


async def _shut(client: AsyncClient) -> None:
    # The client has no close of its own; its transport is made with the first request.
    transport = getattr(client, "_transport", None)
    if transport is not None:
        await transport.close()
