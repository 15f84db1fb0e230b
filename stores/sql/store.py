"""The store over SQL: arguments are checked here, transactions are in people and memory."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from functools import partial
from typing import Self

from stores import checks
from stores.consent import CARD_ID_BYTES, SALT_BYTES
from stores.errors import InvalidInput, SigningKeyMissing
from stores.records import (
    DIRECT,
    KEY_MAX,
    PRIVATE,
    Card,
    ConsentResult,
    ForgetResult,
    Owner,
    Preferences,
    Proposal,
    Snapshot,
)
from stores.sql import memory, people
from stores.sql.engine import Engine

TTL_MS = 900_000
"""How long a window lives after it was last written, in milliseconds."""

KEY_BYTES_MIN = 16
"""Shortest signing key."""


class SqlStore:
    """A ``stores.ports.ContextStore`` on any engine."""

    def __init__(
        self,
        engine: Engine,
        *,
        signing_keys: Sequence[bytes] = (),
        entropy: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        """Open nothing yet.

        Args:
            engine: Where transactions run.
            signing_keys: Keys of consent cards, newest first; older ones are still accepted.
            entropy: Gives that many random bytes, for the ids of cards and for salts.

        Raises:
            InvalidInput: If a key is no bytes, or shorter than ``KEY_BYTES_MIN``.
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
        self._entropy = entropy

    async def start(self) -> None:
        """Open the database and bring its schema up to date."""
        await self._engine.start()

    async def snapshot(self, owner: Owner, *, now_ms: int) -> Snapshot:
        """Read revision, generation and the live window in one round trip."""
        _check_owner(owner)
        checks.whole(now_ms, "now_ms")
        return await self._engine.read(partial(people.snapshot, owner=owner, now_ms=now_ms))

    async def preferences(self, owner: Owner, *, now_ms: int, chat: str = PRIVATE) -> Preferences:
        """Read what may be used now and in this chat, in one round trip."""
        _check_owner(owner)
        checks.whole(now_ms, "now_ms")
        checks.identifier(chat, "chat", 128)
        return await self._engine.read(partial(memory.preferences, owner=owner))

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
        return await self._engine.write(work)

    async def clear(self, owner: Owner, *, now_ms: int) -> int:
        """Drop the window and return the new generation."""
        _check_owner(owner)
        checks.whole(now_ms, "now_ms")
        return await self._engine.write(partial(people.clear, owner=owner))

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
            PreferenceChanged: If the revision is not the expected one.
            SigningKeyMissing: If the store was opened without a signing key.
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
            now_ms=checks.whole(now_ms, "now_ms"),
            expected_revision=expected_revision,
            card_id=self._entropy(CARD_ID_BYTES),
            salt=self._entropy(SALT_BYTES),
            keys=self._signing_keys(),
        )
        return await self._engine.write(work)

    async def approve(
        self, owner: Owner, token: str, *, now_ms: int, channel: str = DIRECT
    ) -> ConsentResult:
        """Do what the card says, once. Only for routes the person themselves acts on.

        Raises:
            SigningKeyMissing: If the store was opened without a signing key.
        """
        return await self._press(owner, token, approve=True, now_ms=now_ms)

    async def cancel(
        self, owner: Owner, token: str, *, now_ms: int, channel: str = DIRECT
    ) -> ConsentResult:
        """Turn the card down; it and every older one are void afterwards.

        Raises:
            SigningKeyMissing: If the store was opened without a signing key.
        """
        return await self._press(owner, token, approve=False, now_ms=now_ms)

    async def forget(
        self, owner: Owner, key: str | None, *, now_ms: int, channel: str = DIRECT
    ) -> ForgetResult:
        """Forget one key, or everything for None, and read back what is left where."""
        _check_owner(owner)
        if key is not None:
            checks.identifier(key, "key", KEY_MAX)
        checks.whole(now_ms, "now_ms")
        revision, files = await self._engine.erase(
            partial(memory.forget, owner=owner, key=key, now_ms=now_ms), always=True
        )
        rows = await self._engine.read(
            partial(memory.read_back, owner=owner, key=key, revision=revision)
        )
        return ForgetResult(revision=revision, verified=rows + files)

    async def close(self) -> None:
        """Let go of everything held; a closed store refuses all work."""
        await self._engine.close()

    async def __aenter__(self) -> Self:
        """Open the store."""
        try:
            await self.start()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *failure: object) -> None:
        """Close the store."""
        await self.close()

    async def _press(
        self, owner: Owner, token: str, *, approve: bool, now_ms: int
    ) -> ConsentResult:
        _check_owner(owner)
        if not isinstance(token, str):
            raise InvalidInput(field="token")
        checks.whole(now_ms, "now_ms")
        work = partial(
            memory.press,
            owner=owner,
            token=token,
            approve=approve,
            now_ms=now_ms,
            keys=self._signing_keys(),
        )
        result, files = await self._engine.erase(work)
        return result.model_copy(update={"verified": files}) if files else result

    def _signing_keys(self) -> tuple[bytes, ...]:
        if not self._keys:
            raise SigningKeyMissing
        return self._keys


def _check_owner(owner: Owner) -> None:
    """Refuse work for nobody: without an owner there is no row (invariant 11)."""
    if not isinstance(owner, Owner):
        raise InvalidInput(field="owner")
