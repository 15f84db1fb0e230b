"""The store over SQL: arguments are checked here, transactions are in people and memory."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Self

from stores import checks
from stores.consent import CARD_ID_BYTES, SALT_BYTES
from stores.errors import InvalidInput, SigningKeyMissing, StoreKeyMissing
from stores.ledger import Inspection, KeyRotation
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
from stores.sql import memory, people, personal
from stores.sql.engine import Engine
from stores.sql.events import Act
from stores.sql.generations import GenerationsOverSql
from stores.sql.inbox import SqlInbox
from stores.sql.session import Session

TTL_MS = 900_000
"""How long a window lives after it was last written, in milliseconds."""

KEY_BYTES_MIN = 16
"""Shortest signing key."""

POLICY_VERSION = "1"
"""Version of the privacy policy, where a deployment names no other."""

SWEEPER = "sweep"
"""Channel of what ran out by itself."""

SWEPT_BY_THE_WAY = 4
"""Of how many people a write takes away what ran out."""

SWEPT_AT_ONCE = 100
"""Of how many people one call of ``sweep`` does."""

ATTEMPTS = 3
"""How often what is to be gone is cleaned and read back."""


class SqlStore(GenerationsOverSql):
    """A ``stores.personal.PersonalStore`` on any engine, which keeps generations as well."""

    def __init__(
        self,
        engine: Engine,
        *,
        signing_keys: Sequence[bytes] = (),
        ring: KeyRing | None = None,
        policy_version: str = POLICY_VERSION,
        entropy: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        """Open nothing yet.

        Args:
            engine: Where transactions run.
            signing_keys: Keys of consent cards, newest first; older ones are still accepted.
            ring: Seals and opens values; without keys in it nothing can be remembered.
            policy_version: Which privacy policy people agree to, for their ledger.
            entropy: Gives that many random bytes, for the ids of cards and for salts.

        Raises:
            InvalidInput: If a key is no bytes, or shorter than ``KEY_BYTES_MIN``, or the policy's
                version is blank.
        """
        keys: tuple[object, ...] = tuple(signing_keys)  # whatever the caller's types promised
        if not all(isinstance(key, bytes) and len(key) >= KEY_BYTES_MIN for key in keys):
            raise InvalidInput(
                "A signing key is a byte string of a certain length.",
                field="signing_keys",
                least_bytes=KEY_BYTES_MIN,
            )
        self._engine = engine
        self._keys = tuple(signing_keys)
        self._ring = ring or KeyRing()
        self._policy = checks.identifier(policy_version, "policy_version", PLACE_MAX)
        self._entropy = entropy

    def inbox(self, tenant: str) -> SqlInbox:
        """Return the inbox of a tenant, in the same database.

        Raises:
            InvalidInput: If the tenant is blank or too long.
        """
        return SqlInbox(self._engine, tenant, self._ring)

    async def start(self) -> None:
        """Open the database and bring its schema up to date."""
        await self._engine.start()

    async def snapshot(self, owner: Owner, *, now_ms: int) -> Snapshot:
        """Read revision, generation and the live window in one round trip."""
        _check_owner(owner)
        checks.whole(now_ms, "now_ms")
        return await self._engine.read(owner, partial(people.snapshot, owner=owner, now_ms=now_ms))

    async def preferences(self, owner: Owner, *, now_ms: int, chat: str = PRIVATE) -> Preferences:
        """Read what may be used now and in this chat, in one round trip.

        Raises:
            StoreKeyMissing: If there is a value and the ring has not the key that it takes.
        """
        _check_owner(owner)
        work = partial(
            memory.preferences,
            owner=owner,
            ring=self._ring,
            now_ms=checks.whole(now_ms, "now_ms"),
            chat=checks.identifier(chat, "chat", PLACE_MAX),
        )
        return await self._engine.read(owner, work)

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
            people.append,
            owner=owner,
            event_id=checks.identifier(event_id, "event_id"),
            window=checks.window_text(window),
            expected_revision=checks.whole(expected_revision, "expected_revision"),
            expected_generation=checks.whole(expected_generation, "expected_generation"),
            expires_at_ms=checks.whole(now_ms, "now_ms") + checks.whole(ttl_ms, "ttl_ms", 1),
        )
        return await self._engine.write(owner, work)

    async def clear(self, owner: Owner, *, now_ms: int) -> int:
        """Drop the window and return the new generation."""
        _check_owner(owner)
        checks.whole(now_ms, "now_ms")
        return await self._engine.write(owner, partial(people.clear, owner=owner))

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
            memory.propose,
            owner=owner,
            proposal=proposal,
            act=self._act(now_ms, channel),
            expected_revision=expected_revision,
            card_id=self._entropy(CARD_ID_BYTES),
            salt=self._entropy(SALT_BYTES),
            keys=self._signing_keys(),
            ring=self._ring,
        )
        await self._sweep(owner.tenant, now_ms, SWEPT_BY_THE_WAY)
        return await self._engine.write(owner, work)

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
        return await self._take_away(
            owner,
            partial(memory.forget, owner=owner, key=key, act=act, ring=self._ring),
            lambda revision: partial(memory.read_back, owner=owner, key=key, revision=revision),
        )

    async def inspect(self, owner: Owner, *, now_ms: int) -> Inspection:
        """Read everything that is held of a person, the ledger included, in one transaction.

        Raises:
            StoreKeyMissing: If there is a value and the ring has not the key that it takes.
        """
        _check_owner(owner)
        checks.whole(now_ms, "now_ms")
        work = partial(personal.inspect, owner=owner, ring=self._ring, now_ms=now_ms)
        return await self._engine.write(owner, work)

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
        return await self._take_away(
            owner,
            partial(personal.erase, owner=owner, act=act, ring=self._ring, keep_ledger=keep_ledger),
            lambda revision: partial(
                personal.read_back_erased,
                owner=owner,
                revision=revision,
                now_ms=now_ms,
                keep_ledger=keep_ledger,
            ),
        )

    async def sweep(self, tenant: str, *, now_ms: int) -> int:
        """Take away what ran out in a tenant, whoever's it is; return of how many people.

        Writes do a little of it on their way; this is for a clock. At most ``SWEPT_AT_ONCE``
        people a call.
        """
        checks.identifier(tenant, "tenant", TENANT_MAX)
        return await self._sweep(tenant, checks.whole(now_ms, "now_ms"), SWEPT_AT_ONCE)

    async def rotate_keys(self, tenant: str) -> KeyRotation:
        """Wrap each data key of a tenant by the newest key, and seal what its inbox holds anew.

        Raises:
            StoreKeyMissing: If the ring is empty.
        """
        checks.identifier(tenant, "tenant", TENANT_MAX)
        newest, after = self._ring.newest, ""
        counts = {"current": 0, "rewrapped": 0, "lost": 0}
        while found := await self._engine.read(
            tenant, partial(personal.data_keys, tenant=tenant, after=after, most=SWEPT_AT_ONCE)
        ):
            for person, ring_id in found:
                after = person
                if ring_id == newest:
                    counts["current"] += 1
                    continue
                owner = Owner(tenant=tenant, person=person)
                work = partial(personal.rewrap, owner=owner, ring=self._ring)
                done, _ = await self._engine.erase(owner, work)
                counts["rewrapped" if done else "lost"] += 1
        for kind in await self.inbox(tenant).reseal():
            counts[kind] += 1
        return KeyRotation(**counts)

    async def close(self) -> None:
        """Let go of everything held; a closed store refuses all work."""
        await self._engine.close()

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
            memory.press,
            owner=owner,
            token=token,
            approve=approve,
            act=self._act(now_ms, channel),
            keys=self._signing_keys(),
            ring=self._ring,
        )
        result, files = await self._engine.erase(owner, work)
        return result.model_copy(update={"verified": files}) if files else result

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
            act = Act(at_ms=now_ms, channel=SWEEPER, policy=self._policy)
            work = partial(memory.clean_up, owner=owner, act=act, ring=self._ring)
            # Values that cannot be sealed anew stay; that is their owner's trouble, nobody else's.
            with suppress(StoreKeyMissing):
                await self._engine.erase(owner, work)
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


def _check_owner(owner: Owner) -> None:
    """Refuse work for nobody: without an owner there is no row (invariant 11)."""
    if not isinstance(owner, Owner):
        raise InvalidInput(field="owner")
