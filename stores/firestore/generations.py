"""Records of generations on Firestore: their keys lie with the person, each record is a document.

A record and its key are written in one commit, and go in one. Without the key a document that was
left behind, in a backup for one, is noise.
"""

from __future__ import annotations

import secrets
from functools import partial
from typing import Any

from stores import generations as sealed
from stores.errors import InvalidInput, PreferenceChanged, StoreUnavailable
from stores.firestore.documents import Documents
from stores.firestore.person import KeptGeneration, Person
from stores.generation_base import GenerationsBase
from stores.generations import Generation, GenerationHeld, Part
from stores.records import Owner
from stores.sealing import SALT_BYTES, KeyRing


class GenerationsOnFirestore(GenerationsBase):
    """The part of the store on Firestore that keeps generations."""

    _documents: Documents
    _ring: KeyRing

    async def _keep_generation(self, owner: Owner, generation: Generation, **what: Any) -> None:
        work = partial(keep, generation=generation, ring=self._ring, **what)
        if await self._documents.change(owner, work):
            return
        # It is known: only the same one may come again.
        now_ms = what["now_ms"]
        kept = await self.generation(owner, generation.id, now_ms=now_ms)
        originals = await self.originals(owner, generation.id, now_ms=now_ms)
        if kept != generation.record or originals != generation.originals:
            raise InvalidInput(field="generation")

    async def _generations(self, owner: Owner, now_ms: int) -> tuple[GenerationHeld, ...]:
        person, _ = await self._documents.read(owner, ("generations",))
        return held(person, now_ms)

    async def _part(
        self, owner: Owner, generation_id: str, part: Part, now_ms: int
    ) -> bytes | None:
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
    owner, packed = person.owner, sealed.pack(generation.originals)
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
    found = (
        GenerationHeld(
            id=one.id,
            made_at_ms=one.made_at_ms,
            expires_at_ms=one.expires_at_ms,
            revision=one.revision,
        )
        for one in person.generations
    )
    return sealed.listed(found, now_ms)
