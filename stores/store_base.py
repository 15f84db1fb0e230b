"""What every store does before a backend is asked: checks of arguments, keys, and its own life."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any, Self

from stores import checks
from stores.consent import CARD_ID_BYTES, SALT_BYTES
from stores.errors import InvalidInput, SigningKeyMissing
from stores.inbox_base import NotDueError
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
)
from stores.sealing import KeyRing
from stores.sql.events import Act

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


class StoreBase:
    """A ``stores.personal.PersonalStore`` but for its backend: the methods with a dash."""

    def __init__(
        self,
        *,
        signing_keys: Sequence[bytes] = (),
        ring: KeyRing | None = None,
        policy_version: str = POLICY_VERSION,
        entropy: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        """Open nothing yet.

        Args:
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
                f"A signing key is a byte string of at least {KEY_BYTES_MIN} bytes.",
                field="signing_keys",
                least_bytes=KEY_BYTES_MIN,
            )
        self._keys = tuple(signing_keys)
        self._ring = ring or KeyRing()
        self._policy = checks.identifier(policy_version, "policy_version", PLACE_MAX)
        self._entropy = entropy

    async def snapshot(self, owner: Owner, *, now_ms: int) -> Snapshot:
        """Read revision, generation and the live window in one round trip."""
        check_owner(owner)
        return await self._snapshot(owner, checks.whole(now_ms, "now_ms"))

    async def preferences(self, owner: Owner, *, now_ms: int, chat: str = PRIVATE) -> Preferences:
        """Read what may be used now and in this chat, in one round trip.

        Raises:
            StoreKeyMissing: If there is a value and the ring has not the key that it takes.
        """
        check_owner(owner)
        checks.whole(now_ms, "now_ms")
        return await self._preferences(owner, now_ms, checks.identifier(chat, "chat", PLACE_MAX))

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
        check_owner(owner)
        return await self._append(
            owner,
            event_id=checks.identifier(event_id, "event_id"),
            window=checks.window_text(window),
            expected_revision=checks.whole(expected_revision, "expected_revision"),
            expected_generation=checks.whole(expected_generation, "expected_generation"),
            expires_at_ms=checks.whole(now_ms, "now_ms") + checks.whole(ttl_ms, "ttl_ms", 1),
        )

    async def clear(self, owner: Owner, *, now_ms: int) -> int:
        """Drop the window and return the new generation."""
        check_owner(owner)
        checks.whole(now_ms, "now_ms")
        return await self._clear(owner)

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
        check_owner(owner)
        if not isinstance(proposal, Proposal):
            raise InvalidInput(field="proposal")
        if expected_revision is not None:
            checks.whole(expected_revision, "expected_revision")
        what: dict[str, Any] = {
            "proposal": proposal,
            "act": self._act(now_ms, channel),
            "expected_revision": expected_revision,
            "card_id": self._entropy(CARD_ID_BYTES),
            "salt": self._entropy(SALT_BYTES),
            "keys": self._signing_keys(),
        }
        await self._sweep(owner.tenant, now_ms, SWEPT_BY_THE_WAY)
        return await self._propose(owner, **what)

    async def approve(
        self, owner: Owner, token: str, *, now_ms: int, channel: str = DIRECT
    ) -> ConsentResult:
        """Do what the card says, once. Only for routes the person themselves acts on.

        Raises:
            SigningKeyMissing: If the store was opened without a signing key.
        """
        return await self._pressed(owner, token, self._act_of(owner, now_ms, channel), approve=True)

    async def cancel(
        self, owner: Owner, token: str, *, now_ms: int, channel: str = DIRECT
    ) -> ConsentResult:
        """Turn the card down; it and every older one are void afterwards.

        Raises:
            SigningKeyMissing: If the store was opened without a signing key.
        """
        return await self._pressed(
            owner, token, self._act_of(owner, now_ms, channel), approve=False
        )

    async def forget(
        self, owner: Owner, key: str | None, *, now_ms: int, channel: str = DIRECT
    ) -> ForgetResult:
        """Forget one key, or everything for None, and read back what is left where.

        Raises:
            StoreKeyMissing: If other values remain and the ring has not the key to seal them anew.
        """
        act = self._act_of(owner, now_ms, channel)
        if key is not None:
            checks.identifier(key, "key", KEY_MAX)
        await self._sweep(owner.tenant, now_ms, SWEPT_BY_THE_WAY)
        return await self._forget(owner, key, act)

    async def inspect(self, owner: Owner, *, now_ms: int) -> Inspection:
        """Read everything that is held of a person, the ledger included, as of one moment.

        Raises:
            StoreKeyMissing: If there is a value and the ring has not the key that it takes.
        """
        check_owner(owner)
        return await self._inspect(owner, checks.whole(now_ms, "now_ms"))

    async def erase(
        self, owner: Owner, *, now_ms: int, keep_ledger: bool = False, channel: str = DIRECT
    ) -> ForgetResult:
        """Take a person out: values, cards, window and, unless the policy keeps it, the ledger.

        What stays is a tombstone without content, so that a writer who began before cannot bring
        anything back.
        """
        act = self._act_of(owner, now_ms, channel)
        if not isinstance(keep_ledger, bool):
            raise InvalidInput(field="keep_ledger")
        return await self._erase(owner, act, keep_ledger=keep_ledger)

    async def erase_leaver(
        self, owner: Owner, *, now_ms: int, channel: str = DIRECT
    ) -> ForgetResult | None:
        """Erase a person who left if they are due in that very transaction; else return None."""
        act = self._act_of(owner, now_ms, channel)
        try:
            return await self._erase(owner, act, if_due=True)
        except NotDueError:
            return None

    async def sweep(self, tenant: str, *, now_ms: int) -> int:
        """Take away what ran out in a tenant, whoever's it is; return of how many people.

        Writes do a little of it on their way; this is for a clock. At most ``SWEPT_AT_ONCE``
        people a call.
        """
        checks.identifier(tenant, "tenant", TENANT_MAX)
        return await self._sweep_all(tenant, checks.whole(now_ms, "now_ms"))

    async def rotate_keys(self, tenant: str) -> KeyRotation:
        """Wrap each data key of a tenant by the newest key, and seal what its inbox holds anew.

        Raises:
            StoreKeyMissing: If the ring is empty.
        """
        checks.identifier(tenant, "tenant", TENANT_MAX)
        counts = {"current": 0, "rewrapped": 0, "lost": 0}
        for end in await self._rotate(tenant, self._ring.newest):
            counts[end] += 1
        return KeyRotation(**counts)

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

    # what a backend does

    async def start(self) -> None:
        """Open the backend and bring its schema up to date."""
        raise NotImplementedError

    async def close(self) -> None:
        """Let go of everything held; a closed store refuses all work."""
        raise NotImplementedError

    async def _snapshot(self, owner: Owner, now_ms: int) -> Snapshot:
        raise NotImplementedError

    async def _preferences(self, owner: Owner, now_ms: int, chat: str) -> Preferences:
        raise NotImplementedError

    async def _append(self, owner: Owner, **what: Any) -> int:
        raise NotImplementedError

    async def _clear(self, owner: Owner) -> int:
        raise NotImplementedError

    async def _propose(self, owner: Owner, **what: Any) -> Card:
        raise NotImplementedError

    async def _press(self, owner: Owner, **what: Any) -> ConsentResult:
        raise NotImplementedError

    async def _forget(self, owner: Owner, key: str | None, act: Act) -> ForgetResult:
        raise NotImplementedError

    async def _inspect(self, owner: Owner, now_ms: int) -> Inspection:
        raise NotImplementedError

    async def _erase(
        self, owner: Owner, act: Act, *, keep_ledger: bool = False, if_due: bool = False
    ) -> ForgetResult:
        """Erase a person; ``if_due`` raises NotDueError where they are not due."""
        raise NotImplementedError

    async def _sweep(self, tenant: str, now_ms: int, most: int) -> int:
        raise NotImplementedError

    async def _sweep_all(self, tenant: str, now_ms: int) -> int:
        return await self._sweep(tenant, now_ms, SWEPT_AT_ONCE)

    async def _rotate(self, tenant: str, newest: str) -> list[str]:
        """Wrap and seal anew; return for each ``current``, ``rewrapped`` or ``lost``."""
        raise NotImplementedError

    async def _pressed(self, owner: Owner, token: str, act: Act, *, approve: bool) -> ConsentResult:
        if not isinstance(token, str):
            raise InvalidInput(field="token")
        return await self._press(
            owner, token=token, approve=approve, act=act, keys=self._signing_keys()
        )

    def _act_of(self, owner: Owner, now_ms: int, channel: str) -> Act:
        check_owner(owner)
        return self._act(now_ms, channel)

    def _act(self, now_ms: int, channel: str) -> Act:
        return Act(
            at_ms=checks.whole(now_ms, "now_ms"),
            channel=checks.identifier(channel, "channel", PLACE_MAX),
            policy=self._policy,
        )

    def _sweeping(self, now_ms: int) -> Act:
        return Act(at_ms=now_ms, channel=SWEEPER, policy=self._policy)

    def _signing_keys(self) -> tuple[bytes, ...]:
        if not self._keys:
            raise SigningKeyMissing
        return self._keys


def check_owner(owner: Owner) -> None:
    """Refuse work for nobody: without an owner there is no row (invariant 11)."""
    if not isinstance(owner, Owner):
        raise InvalidInput(field="owner")
