"""What every store does with records of generations before a backend is asked: checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stores import checks
from stores.errors import InvalidInput
from stores.generations import (
    GENERATION_ID_MAX,
    GENERATION_TTL_MS,
    Generation,
    GenerationHeld,
    Part,
    unpack,
)
from stores.records import Owner
from stores.store_base import check_owner


class GenerationsBase:
    """A ``stores.generations.GenerationStore`` but for its backend: the methods with a dash."""

    async def keep_generation(
        self,
        owner: Owner,
        generation: Generation,
        *,
        expected_revision: int,
        now_ms: int,
        ttl_ms: int = GENERATION_TTL_MS,
    ) -> None:
        """Keep a record; the same one again changes nothing.

        Raises:
            PreferenceChanged: The person's revision moved since the turn began.
            InvalidInput: There is another record of this id, or it is too large.
            StoreKeyMissing: The ring has not the key that sealing takes.
        """
        check_owner(owner)
        if not isinstance(generation, Generation):
            raise InvalidInput(field="generation")
        await self._keep_generation(
            owner,
            generation,
            expected_revision=checks.whole(expected_revision, "expected_revision"),
            now_ms=checks.whole(now_ms, "now_ms"),
            ttl_ms=checks.whole(ttl_ms, "ttl_ms", 1),
        )

    async def generation(self, owner: Owner, generation_id: str, *, now_ms: int) -> bytes | None:
        """Return a record without its originals; None if there is none, or it ran out."""
        return await self._checked_part(owner, generation_id, "record", now_ms)

    async def originals(
        self, owner: Owner, generation_id: str, *, now_ms: int
    ) -> Mapping[str, bytes] | None:
        """Return the originals of a record; whoever asks has checked who may read them."""
        packed = await self._checked_part(owner, generation_id, "originals", now_ms)
        return None if packed is None else unpack(packed)

    async def generations(self, owner: Owner, *, now_ms: int) -> tuple[GenerationHeld, ...]:
        """Return what is kept, the oldest first."""
        check_owner(owner)
        return await self._generations(owner, checks.whole(now_ms, "now_ms"))

    async def _checked_part(
        self, owner: Owner, generation_id: str, part: Part, now_ms: int
    ) -> bytes | None:
        check_owner(owner)
        name = checks.identifier(generation_id, "generation_id", GENERATION_ID_MAX)
        return await self._part(owner, name, part, checks.whole(now_ms, "now_ms"))

    # what a backend does

    async def _keep_generation(self, owner: Owner, generation: Generation, **what: Any) -> None:
        raise NotImplementedError

    async def _part(
        self, owner: Owner, generation_id: str, part: Part, now_ms: int
    ) -> bytes | None:
        raise NotImplementedError

    async def _generations(self, owner: Owner, now_ms: int) -> tuple[GenerationHeld, ...]:
        raise NotImplementedError
