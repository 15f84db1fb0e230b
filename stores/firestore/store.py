"""The store over Firestore: which documents a call reads and changes; changes are in acts."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any, Final

from stores.errors import StoreKeyMissing, StoreUnavailable
from stores.firestore import acts
from stores.firestore.documents import Documents
from stores.firestore.generations import GenerationsOnFirestore, held
from stores.firestore.inbox import FirestoreInbox
from stores.firestore.inbox_documents import InboxDocuments
from stores.firestore.person import DUE_NOW, OF_SNAPSHOT, Person
from stores.ledger import Inspection, LedgerEvent
from stores.records import (
    PRIVATE,
    Card,
    ConsentResult,
    ForgetResult,
    Owner,
    Preferences,
    Snapshot,
    SurfaceCheck,
)
from stores.sql.events import Act
from stores.store_base import ATTEMPTS, SWEPT_AT_ONCE, StoreBase

_OF_WINDOW: Final = ("window", "expires_at_ms")
_OF_PREFERENCES: Final = ("revision", "data_key", "preferences")
_READS: Final = 5
"""How often an inspection is read anew because the ledger grew meanwhile."""


class FirestoreStore(GenerationsOnFirestore, StoreBase):
    """A ``stores.whole.WholeStore`` on Firestore."""

    def __init__(self, documents: Documents, **options: Any) -> None:
        """Open nothing yet; ``options`` are those of ``StoreBase``."""
        super().__init__(**options)
        self._documents = documents

    def inbox(self, tenant: str) -> FirestoreInbox:
        """Return the inbox of a tenant, in the same database.

        Raises:
            InvalidInput: If the tenant is blank or too long.
        """
        return FirestoreInbox(self._documents, tenant, self._ring)

    async def start(self) -> None:
        """Reach the server and look at the schema's version."""
        await self._documents.start()

    async def close(self) -> None:
        """Let go of everything held; a closed store refuses all work."""
        await self._documents.close()

    async def _snapshot(self, owner: Owner, now_ms: int) -> Snapshot:
        fields = (*OF_SNAPSHOT, *_OF_WINDOW)
        person, window = await self._documents.read(owner, fields, window=True)
        return person.snapshot(window, now_ms)

    async def _preferences(self, owner: Owner, now_ms: int, chat: str) -> Preferences:
        person, _ = await self._documents.read(owner, _OF_PREFERENCES)
        values = person.remembered(self._ring, now_ms=now_ms, chat=chat)
        return Preferences(revision=person.revision, values=values)

    async def _append(self, owner: Owner, **what: Any) -> int:
        return await self._documents.change(owner, partial(acts.append, **what), OF_SNAPSHOT)

    async def _clear(self, owner: Owner) -> int:
        return await self._documents.change(owner, lambda person: person.move(), OF_SNAPSHOT)

    async def _propose(self, owner: Owner, **what: Any) -> Card:
        return await self._documents.change(owner, partial(acts.propose, ring=self._ring, **what))

    async def _press(self, owner: Owner, **what: Any) -> ConsentResult:
        return await self._documents.change(owner, partial(acts.press, ring=self._ring, **what))

    async def _forget(self, owner: Owner, key: str | None, act: Act) -> ForgetResult:
        work = partial(acts.forget, key=key, act=act, ring=self._ring)
        revision = await self._documents.change(owner, work)
        person, window = await self._documents.read(owner, window=True)
        left = acts.left_of(person, window, key=key, revision=revision)
        return ForgetResult(revision=revision, verified=left)

    async def _inspect(self, owner: Owner, now_ms: int) -> Inspection:
        for _ in range(_READS):
            person, window = await self._documents.read(owner, window=True)
            lines = await self._documents.lines(owner, person.epoch)
            if len(lines) == person.lines:  # no act of consent came between the two reads
                break
        else:
            raise StoreUnavailable("The store's rows do not fit together.", reason="damaged")
        live = person.snapshot(window, now_ms).window
        inbox = InboxDocuments(self._documents, owner.tenant)
        return Inspection(
            owner=owner,
            known=person.known,
            # What came in this very millisecond is held as well.
            in_inbox=await inbox.left_of(owner.person, now_ms + 1),
            revision=person.revision,
            generation=person.generation,
            forgotten_at_ms=person.forgotten_at_ms,
            values=person.remembered(self._ring, now_ms=now_ms, chat=PRIVATE),
            open_cards=sum(
                card.pending and card.expires_at_ms > now_ms and card.revision == person.revision
                for card in person.cards
            ),
            window=live,
            window_expires_at_ms=window["expires_at_ms"] if window and live is not None else None,
            generations=held(person, now_ms),
            open_events=await inbox.open_of(owner.person),
            events=tuple(
                LedgerEvent(**{name: value for name, value in line.items() if name != "epoch"})
                for line in lines
            ),
        )

    async def _erase(
        self, owner: Owner, act: Act, *, keep_ledger: bool = False, if_due: bool = False
    ) -> ForgetResult:
        work = partial(acts.erase, act=act, ring=self._ring, keep_ledger=keep_ledger)
        inbox = InboxDocuments(self._documents, owner.tenant)
        what: dict[str, Any] = {"person": owner.person, "now_ms": act.at_ms, "if_due": if_due}
        await inbox.erase_most(**what)
        rest = partial(inbox.erase_rest, **what)
        revision = await self._documents.change(owner, work, beside=rest)
        for attempt in range(1, ATTEMPTS + 1):
            lines = () if keep_ledger else (await self._drop_ledger(owner, revision),)
            person, window = await self._documents.read(owner, window=True)
            left = acts.left_of(person, window, key=None, revision=revision)
            records = SurfaceCheck(
                surface="generations",
                remaining=await self._documents.drop_bodies(owner, revision),
            )
            events = SurfaceCheck(
                surface="inbox", remaining=await inbox.left_of(owner.person, act.at_ms)
            )
            result = ForgetResult(
                revision=revision, verified=(*left, records, events, *lines), attempts=attempt
            )
            if result.complete:
                break
        return result

    async def _sweep_all(self, tenant: str, now_ms: int) -> int:
        windows = await self._documents.drop_windows(tenant, now_ms, SWEPT_AT_ONCE)
        return max(windows, await self._sweep(tenant, now_ms, SWEPT_AT_ONCE))

    async def _rotate(self, tenant: str, newest: str) -> list[str]:
        ends: list[str] = []
        after: str | None = None
        while found := await self._documents.data_keys(tenant, after, SWEPT_AT_ONCE):
            for person, ring_id in found:
                after = person
                if ring_id is None:
                    continue
                if ring_id == newest:
                    ends.append("current")
                    continue
                owner = Owner(tenant=tenant, person=person)
                try:
                    await self._documents.change(owner, lambda one: one.rewrap(self._ring))
                    ends.append("rewrapped")
                except StoreKeyMissing:
                    ends.append("lost")
        return ends + await self.inbox(tenant).reseal()

    async def _drop_ledger(self, owner: Owner, revision: int) -> SurfaceCheck:
        """Delete the lines from before an erasure, then the mark that they are to be deleted."""
        left = await self._documents.drop_lines(owner, revision)
        if left == 0:
            await self._documents.change(owner, _settle)
        return SurfaceCheck(surface="ledger", remaining=left)

    async def _sweep(self, tenant: str, now_ms: int, most: int) -> int:
        """Clean up after a few people: whoever never comes back would leave theirs for ever."""
        gone = await self._documents.due(tenant, now_ms, most)
        for name in gone:
            owner = Owner(tenant=tenant, person=name)
            act = self._sweeping(now_ms)
            # Values that cannot be sealed anew stay; that is their owner's trouble, nobody else's.
            with suppress(StoreKeyMissing):
                await self._documents.change(
                    owner, partial(acts.clean_up, act=act, ring=self._ring)
                )
            person, _ = await self._documents.read(owner, ("due_at_ms", "epoch"))
            if person.due_at_ms == DUE_NOW:
                await self._drop_ledger(owner, person.epoch)
        return len(gone)


def firestore_store(project: str, namespace: str, **options: Any) -> FirestoreStore:
    """Return the store of one namespace; ``options`` are those of ``FirestoreStore``."""
    return FirestoreStore(Documents(project, namespace), **options)


def _settle(person: Person) -> None:
    if person.due_at_ms == DUE_NOW:
        person.due_at_ms = None
        person.tidy(0)
