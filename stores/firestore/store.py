"""The store over Firestore: arguments are checked here, changes are in acts."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, Self

from stores import checks
from stores.consent import CARD_ID_BYTES, SALT_BYTES
from stores.errors import InvalidInput, SigningKeyMissing, StoreKeyMissing, StoreUnavailable
from stores.firestore import acts
from stores.firestore.documents import Documents
from stores.firestore.generations import GenerationsOnFirestore, held
from stores.firestore.inbox import FirestoreInbox
from stores.firestore.inbox_documents import InboxDocuments
from stores.firestore.person import DUE_NOW, OF_SNAPSHOT, Person
from stores.ledger import Inspection, KeyRotation, LedgerEvent
from stores.records import (
    DIRECT,
    KEY_MAX,
    PLACE_MAX,
    PRIVATE,
    TENANT_MAX,
    Card,
    ConsentResult,
    ForgetResult,
    Owner,
    Preferences,
    Proposal,
    Snapshot,
    SurfaceCheck,
)
from stores.sealing import KeyRing
from stores.sql.events import Act
from stores.sql.store import (
    ATTEMPTS,
    KEY_BYTES_MIN,
    POLICY_VERSION,
    SWEEPER,
    SWEPT_AT_ONCE,
    SWEPT_BY_THE_WAY,
    TTL_MS,
)

_OF_WINDOW: Final = ("window", "expires_at_ms")
_OF_PREFERENCES: Final = ("revision", "data_key", "preferences")
_READS: Final = 5
"""How often an inspection is read anew because the ledger grew meanwhile."""


class FirestoreStore(GenerationsOnFirestore):
    """A ``stores.personal.PersonalStore`` on Firestore, which keeps generations as well."""

    def __init__(
        self,
        documents: Documents,
        *,
        signing_keys: Sequence[bytes] = (),
        ring: KeyRing | None = None,
        policy_version: str = POLICY_VERSION,
        entropy: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        """Open nothing yet.

        Args:
            documents: Where documents are.
            signing_keys: Keys of consent cards, newest first; older ones are still accepted.
            ring: Seals and opens values; without keys in it nothing can be remembered.
            policy_version: Which privacy policy people agree to, for their ledger.
            entropy: Gives that many random bytes, for the ids of cards and for salts.

        Raises:
            InvalidInput: If a key is no bytes, or too short, or the policy's version is blank.
        """
        keys: tuple[object, ...] = tuple(signing_keys)  # whatever the caller's types promised
        if not all(isinstance(key, bytes) and len(key) >= KEY_BYTES_MIN for key in keys):
            raise InvalidInput(
                "A signing key is a byte string of a certain length.",
                field="signing_keys",
                least_bytes=KEY_BYTES_MIN,
            )
        self._documents = documents
        self._keys = tuple(signing_keys)
        self._ring = ring or KeyRing()
        self._policy = checks.identifier(policy_version, "policy_version", PLACE_MAX)
        self._entropy = entropy

    def inbox(self, tenant: str) -> FirestoreInbox:
        """Return the inbox of a tenant, in the same database.

        Raises:
            InvalidInput: If the tenant is blank or too long.
        """
        return FirestoreInbox(self._documents, tenant, self._ring)

    async def start(self) -> None:
        """Reach the server and look at the schema's version."""
        await self._documents.start()

    async def snapshot(self, owner: Owner, *, now_ms: int) -> Snapshot:
        """Read revision, generation and the live window in one round trip."""
        _check_owner(owner)
        checks.whole(now_ms, "now_ms")
        fields = (*OF_SNAPSHOT, *_OF_WINDOW)
        person, window = await self._documents.read(owner, fields, window=True)
        return person.snapshot(window, now_ms)

    async def preferences(self, owner: Owner, *, now_ms: int, chat: str = PRIVATE) -> Preferences:
        """Read what may be used now and in this chat, in one round trip.

        Raises:
            StoreKeyMissing: If there is a value and the ring has not the key that it takes.
        """
        _check_owner(owner)
        checks.whole(now_ms, "now_ms")
        checks.identifier(chat, "chat", PLACE_MAX)
        person, _ = await self._documents.read(owner, _OF_PREFERENCES)
        values = person.remembered(self._ring, now_ms=now_ms, chat=chat)
        return Preferences(revision=person.revision, values=values)

    async def append(
        self,
        owner: Owner,
        *,
        event_id: str,
        window: str,
        expected_revision: int,
        expected_generation: int,
        now_ms: int,
        ttl_ms: int = TTL_MS,
    ) -> int:
        """Write the window and return its generation; the same event again changes nothing.

        Raises:
            PreferenceChanged: If the person's consent changed since the snapshot.
            ConversationChanged: If another event moved the window on.
        """
        _check_owner(owner)
        work = partial(
            acts.append,
            event_id=checks.identifier(event_id, "event_id"),
            window=checks.window_text(window),
            expected_revision=checks.whole(expected_revision, "expected_revision"),
            expected_generation=checks.whole(expected_generation, "expected_generation"),
            expires_at_ms=checks.whole(now_ms, "now_ms") + checks.whole(ttl_ms, "ttl_ms", 1),
        )
        return await self._documents.change(owner, work, OF_SNAPSHOT)

    async def clear(self, owner: Owner, *, now_ms: int) -> int:
        """Drop the window and return the new generation."""
        _check_owner(owner)
        checks.whole(now_ms, "now_ms")
        return await self._documents.change(owner, lambda person: person.move(), OF_SNAPSHOT)

    async def propose(
        self,
        owner: Owner,
        proposal: Proposal,
        *,
        now_ms: int,
        expected_revision: int | None = None,
        channel: str = DIRECT,
    ) -> Card:
        """Make a card for the person to press; nothing is remembered yet.

        Raises:
            PreferenceChanged: If the revision is not the expected one, or the words were said
                before the last "forget".
            SigningKeyMissing: If the store was opened without a signing key.
            StoreKeyMissing: If there is a value and the ring has not the key that it takes.
        """
        _check_owner(owner)
        if not isinstance(proposal, Proposal):
            raise InvalidInput(field="proposal")
        if expected_revision is not None:
            checks.whole(expected_revision, "expected_revision")
        work = partial(
            acts.propose,
            proposal=proposal,
            act=self._act(now_ms, channel),
            expected_revision=expected_revision,
            card_id=self._entropy(CARD_ID_BYTES),
            salt=self._entropy(SALT_BYTES),
            keys=self._signing_keys(),
            ring=self._ring,
        )
        await self._sweep(owner.tenant, now_ms, SWEPT_BY_THE_WAY)
        return await self._documents.change(owner, work)

    async def approve(
        self, owner: Owner, token: str, *, now_ms: int, channel: str = DIRECT
    ) -> ConsentResult:
        """Do what the card says, once. Only for routes the person themselves acts on.

        Raises:
            SigningKeyMissing: If the store was opened without a signing key.
        """
        return await self._press(owner, token, approve=True, now_ms=now_ms, channel=channel)

    async def cancel(
        self, owner: Owner, token: str, *, now_ms: int, channel: str = DIRECT
    ) -> ConsentResult:
        """Turn the card down; it and every older one are void afterwards.

        Raises:
            SigningKeyMissing: If the store was opened without a signing key.
        """
        return await self._press(owner, token, approve=False, now_ms=now_ms, channel=channel)

    async def forget(
        self, owner: Owner, key: str | None, *, now_ms: int, channel: str = DIRECT
    ) -> ForgetResult:
        """Forget one key, or everything for None, and read back what is left where.

        Raises:
            StoreKeyMissing: If other values remain and the ring has not the key to seal them anew.
        """
        _check_owner(owner)
        if key is not None:
            checks.identifier(key, "key", KEY_MAX)
        act = self._act(now_ms, channel)
        await self._sweep(owner.tenant, now_ms, SWEPT_BY_THE_WAY)
        work = partial(acts.forget, key=key, act=act, ring=self._ring)
        revision = await self._documents.change(owner, work)
        person, window = await self._documents.read(owner, window=True)
        left = acts.left_of(person, window, key=key, revision=revision)
        return ForgetResult(revision=revision, verified=left)

    async def inspect(self, owner: Owner, *, now_ms: int) -> Inspection:
        """Read everything that is held of a person, the ledger included, as of one moment.

        Raises:
            StoreKeyMissing: If there is a value and the ring has not the key that it takes.
        """
        _check_owner(owner)
        checks.whole(now_ms, "now_ms")
        for _ in range(_READS):
            person, window = await self._documents.read(owner, window=True)
            lines = await self._documents.lines(owner, person.epoch)
            if len(lines) == person.lines:  # no act of consent came between the two reads
                break
        else:
            raise StoreUnavailable("The store's rows do not fit together.", reason="damaged")
        live = person.snapshot(window, now_ms).window
        return Inspection(
            owner=owner,
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
            open_events=await InboxDocuments(self._documents, owner.tenant).open_of(owner.person),
            events=tuple(
                LedgerEvent(**{name: value for name, value in line.items() if name != "epoch"})
                for line in lines
            ),
        )

    async def erase(
        self, owner: Owner, *, now_ms: int, keep_ledger: bool = False, channel: str = DIRECT
    ) -> ForgetResult:
        """Take a person out: values, cards, window and, unless the policy keeps it, the ledger.

        What stays is a tombstone without content, so that a writer who began before cannot bring
        anything back.
        """
        _check_owner(owner)
        if not isinstance(keep_ledger, bool):
            raise InvalidInput(field="keep_ledger")
        act = self._act(now_ms, channel)
        work = partial(acts.erase, act=act, ring=self._ring, keep_ledger=keep_ledger)
        inbox = InboxDocuments(self._documents, owner.tenant)
        await inbox.erase_most(owner.person, now_ms)
        rest = partial(inbox.erase_rest, person=owner.person, now_ms=now_ms)
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
                surface="inbox", remaining=await inbox.left_of(owner.person, now_ms)
            )
            result = ForgetResult(
                revision=revision, verified=(*left, records, events, *lines), attempts=attempt
            )
            if result.complete:
                break
        return result

    async def sweep(self, tenant: str, *, now_ms: int) -> int:
        """Take away what ran out in a tenant, whoever's it is; return of how many people.

        Writes do a little of it on their way; this is for a clock. At most ``SWEPT_AT_ONCE``
        people a call, and as many windows that no TTL policy has deleted.
        """
        checks.identifier(tenant, "tenant", TENANT_MAX)
        checks.whole(now_ms, "now_ms")
        windows = await self._documents.drop_windows(tenant, now_ms, SWEPT_AT_ONCE)
        return max(windows, await self._sweep(tenant, now_ms, SWEPT_AT_ONCE))

    async def rotate_keys(self, tenant: str) -> KeyRotation:
        """Wrap each data key of a tenant by the newest key of the ring.

        Raises:
            StoreKeyMissing: If the ring is empty.
        """
        checks.identifier(tenant, "tenant", TENANT_MAX)
        newest, after = self._ring.newest, None
        counts = {"current": 0, "rewrapped": 0, "lost": 0}
        while found := await self._documents.data_keys(tenant, after, SWEPT_AT_ONCE):
            for person, ring_id in found:
                after = person
                if ring_id is None:
                    continue
                if ring_id == newest:
                    counts["current"] += 1
                    continue
                owner = Owner(tenant=tenant, person=person)
                try:
                    await self._documents.change(owner, lambda one: one.rewrap(self._ring))
                    counts["rewrapped"] += 1
                except StoreKeyMissing:
                    counts["lost"] += 1
        for kind in await self.inbox(tenant).reseal():
            counts[kind] += 1
        return KeyRotation(**counts)

    async def close(self) -> None:
        """Let go of everything held; a closed store refuses all work."""
        await self._documents.close()

    async def __aenter__(self) -> Self:
        """Open the store."""
        try:
            await self.start()
        except BaseException:  # cancelled too: what was opened is closed
            await self.close()
            raise
        return self

    async def __aexit__(self, *failure: object) -> None:
        """Close the store."""
        await self.close()

    async def _press(
        self, owner: Owner, token: str, *, approve: bool, now_ms: int, channel: str
    ) -> ConsentResult:
        _check_owner(owner)
        if not isinstance(token, str):
            raise InvalidInput(field="token")
        work = partial(
            acts.press,
            token=token,
            approve=approve,
            act=self._act(now_ms, channel),
            keys=self._signing_keys(),
            ring=self._ring,
        )
        return await self._documents.change(owner, work)

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
            act = Act(at_ms=now_ms, channel=SWEEPER, policy=self._policy)
            # Values that cannot be sealed anew stay; that is their owner's trouble, nobody else's.
            with suppress(StoreKeyMissing):
                await self._documents.change(
                    owner, partial(acts.clean_up, act=act, ring=self._ring)
                )
            person, _ = await self._documents.read(owner, ("due_at_ms", "epoch"))
            if person.due_at_ms == DUE_NOW:
                await self._drop_ledger(owner, person.epoch)
        return len(gone)

    def _act(self, now_ms: int, channel: str) -> Act:
        return Act(
            at_ms=checks.whole(now_ms, "now_ms"),
            channel=checks.identifier(channel, "channel", PLACE_MAX),
            policy=self._policy,
        )

    def _signing_keys(self) -> tuple[bytes, ...]:
        if not self._keys:
            raise SigningKeyMissing
        return self._keys


def firestore_store(project: str, namespace: str, **options: Any) -> FirestoreStore:
    """Return the store of one namespace; ``options`` are those of ``FirestoreStore``."""
    return FirestoreStore(Documents(project, namespace), **options)


def _settle(person: Person) -> None:
    if person.due_at_ms == DUE_NOW:
        person.due_at_ms = None
        person.tidy(0)


def _check_owner(owner: Owner) -> None:
    """Refuse work for nobody: without an owner there is no row (invariant 11)."""
    if not isinstance(owner, Owner):
        raise InvalidInput(field="owner")
