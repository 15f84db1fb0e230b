"""Records of generations on Firestore: their keys lie with the person, each record is a document.

A record and its key are written in one commit, and go in one. Without the key a document that was
left behind, in a backup for one, is noise.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import partial

from stores import checks
from stores import generations as sealed
from stores.errors import InvalidInput, PreferenceChanged, StoreUnavailable
from stores.firestore.documents import Documents
from stores.firestore.person import KeptGeneration, Person
from stores.generations import (
    GENERATION_TTL_MS,
    Generation,
    GenerationHeld,
    Part,
    check,
    check_id,
)
from stores.records import Owner
from stores.sealing import SALT_BYTES, KeyRing
from stores.store_base import check_owner


class GenerationsOnFirestore:
    """The part of the store on Firestore that keeps generations: a ``GenerationStore``."""

    _documents: Documents
    _ring: KeyRing

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
        packed = sealed.pack(check(generation).originals)
        work = partial(
            keep,
            generation=generation,
            packed=packed,
            expected_revision=checks.whole(expected_revision, "expected_revision"),
            now_ms=checks.whole(now_ms, "now_ms"),
            ttl_ms=checks.whole(ttl_ms, "ttl_ms", 1),
            ring=self._ring,
        )
        if await self._documents.change(owner, work):
            return
        # It is known: only the same one may come again.
        kept = await self.generation(owner, generation.id, now_ms=now_ms)
        originals = await self.originals(owner, generation.id, now_ms=now_ms)
        if kept != generation.record or originals != generation.originals:
            raise InvalidInput(field="generation")

    async def generation(self, owner: Owner, generation_id: str, *, now_ms: int) -> bytes | None:
        """Return a record without its originals; None if there is none, or it ran out."""
        return await self._part(owner, generation_id, "record", now_ms)

    async def originals(
        self, owner: Owner, generation_id: str, *, now_ms: int
    ) -> Mapping[str, bytes] | None:
        """Return the originals of a record; whoever asks has checked who may read them."""
        packed = await self._part(owner, generation_id, "originals", now_ms)
        return None if packed is None else sealed.unpack(packed)

    async def generations(self, owner: Owner, *, now_ms: int) -> tuple[GenerationHeld, ...]:
        """Return what is kept, the oldest first."""
        check_owner(owner)
        checks.whole(now_ms, "now_ms")
        person, _ = await self._documents.read(owner, ("generations",))
        return held(person, now_ms)

    async def _part(
        self, owner: Owner, generation_id: str, part: Part, now_ms: int
    ) -> bytes | None:
        check_owner(owner)
        check_id(generation_id)
        checks.whole(now_ms, "now_ms")
        person, _ = await self._documents.read(owner, ("data_key", "generations"))
        kept = next(
            (
                one
                for one in person.generations
                if one.id == generation_id and one.expires_at_ms > now_ms
            ),
            None,
        )
        if kept is None:
            return None
        body = await self._documents.body(owner, generation_id, part)
        if body is None:
            # Between the two reads it may have gone; asked again, it is not known either.
            again, _ = await self._documents.read(owner, ("generations",))
            if any(one.id == generation_id for one in again.generations):
                raise StoreUnavailable("The store's rows do not fit together.", reason="damaged")
            return None
        key = person.open(self._ring, kept.key, kept.sealed)[1]
        return sealed.open_part(key, owner, generation_id, part, body)


def keep(
    person: Person,
    *,
    generation: Generation,
    packed: bytes,
    expected_revision: int,
    now_ms: int,
    ttl_ms: int,
    ring: KeyRing,
) -> bool:
    """Add a record; tell whether it was not known.

    Raises:
        PreferenceChanged: The person's revision moved since the turn began.
    """
    if person.revision != expected_revision:
        raise PreferenceChanged(expected=expected_revision, found=person.revision)
    if any(one.id == generation.id for one in person.generations):
        return False
    key, name = sealed.new_key(), sealed.key_name(generation.id)
    person.generations.append(
        KeptGeneration(
            id=generation.id,
            made_at_ms=now_ms,
            expires_at_ms=now_ms + ttl_ms,
            revision=person.revision,
            sealed=person.seal(ring, name, secrets.token_bytes(SALT_BYTES), key),
        )
    )
    owner = person.owner
    person.bodies[generation.id] = {
        "revision": person.revision,
        "record": sealed.seal_part(key, owner, generation.id, "record", generation.record),
        "originals": sealed.seal_part(key, owner, generation.id, "originals", packed),
    }
    person.tidy(now_ms)
    person.renew(ring)
    return True


def held(person: Person, now_ms: int) -> tuple[GenerationHeld, ...]:
    """Return what is kept and has not run out, the oldest first."""
    found = [
        GenerationHeld(
            id=one.id,
            made_at_ms=one.made_at_ms,
            expires_at_ms=one.expires_at_ms,
            revision=one.revision,
        )
        for one in person.generations
        if one.expires_at_ms > now_ms
    ]
    return tuple(sorted(found, key=lambda one: (one.made_at_ms, one.id)))
