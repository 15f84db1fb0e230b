"""Records of generations over SQL: transactions, and which of them a call is."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import partial
from typing import Any

from stores import generations as sealed
from stores.errors import InvalidInput, PreferenceChanged
from stores.generation_base import GenerationsBase
from stores.generations import GENERATIONS_MAX, Generation, GenerationHeld, Part
from stores.records import Owner
from stores.sealing import SALT_BYTES, KeyRing
from stores.sql import generation_statements as statements
from stores.sql import people
from stores.sql.engine import Engine
from stores.sql.safe import Safe
from stores.sql.session import Prepared, Session

_PARTS: Mapping[Part, Prepared] = {
    "record": statements.RECORD,
    "originals": statements.ORIGINALS,
}


class GenerationsOverSql(GenerationsBase):
    """The part of the store over SQL that keeps generations."""

    _engine: Engine
    _ring: KeyRing

    async def _keep_generation(self, owner: Owner, generation: Generation, **what: Any) -> None:
        work = partial(keep, owner=owner, generation=generation, ring=self._ring, **what)
        await self._engine.write(owner, work)

    async def _part(
        self, owner: Owner, generation_id: str, part: Part, now_ms: int
    ) -> bytes | None:
        work = partial(
            read,
            owner=owner,
            generation_id=generation_id,
            part=part,
            now_ms=now_ms,
            ring=self._ring,
        )
        # Row and key are two reads: under the person's lock they are of one moment.
        return await self._engine.write(owner, work)

    async def _generations(self, owner: Owner, now_ms: int) -> tuple[GenerationHeld, ...]:
        return await self._engine.read(owner, partial(held, owner=owner, now_ms=now_ms))


def keep(
    session: Session,
    owner: Owner,
    generation: Generation,
    *,
    expected_revision: int,
    now_ms: int,
    ttl_ms: int,
    ring: KeyRing,
) -> None:
    """Add a record, and take away what ran out or is too much.

    Raises:
        PreferenceChanged: The person's revision moved since the turn began.
        InvalidInput: There is another record of this id.
    """
    person = people.find(session, owner)
    if person.revision != expected_revision:
        raise PreferenceChanged(expected=expected_revision, found=person.revision)
    people.ensure(session, person)
    safe, mine = Safe(session, person, ring), {"tenant": owner.tenant, "person": owner.person}
    known = session.rows(statements.KNOWN, **mine, of_generation=generation.id)
    if known:
        slot, record, originals = known[0]
        key = safe.read(slot, sealed.key_name(generation.id))[1]
        parts: tuple[tuple[Part, bytes, bytes], ...] = (
            ("record", record, generation.record),
            ("originals", originals, sealed.pack(generation.originals)),
        )
        for part, body, plain in parts:
            if sealed.open_part(key, owner, generation.id, part, body) != plain:
                raise InvalidInput(field="generation")
        return
    key = sealed.new_key()
    name = sealed.key_name(generation.id)
    packed = sealed.pack(generation.originals)
    session.rows(
        statements.ADD,
        **mine,
        generation=generation.id,
        made_at_ms=now_ms,
        expires_at_ms=now_ms + ttl_ms,
        revision=person.revision,
        slot=safe.put(name, secrets.token_bytes(SALT_BYTES), key, revision=person.revision),
        record=sealed.seal_part(key, owner, generation.id, "record", generation.record),
        originals=sealed.seal_part(key, owner, generation.id, "originals", packed),
    )
    _thin(session, owner, safe, now_ms)
    safe.renew(person.revision)


def read(
    session: Session, owner: Owner, generation_id: str, part: Part, *, now_ms: int, ring: KeyRing
) -> bytes | None:
    """Return one part of a record, opened."""
    mine = {"tenant": owner.tenant, "person": owner.person}
    found = session.rows(_PARTS[part], **mine, of_generation=generation_id, now_ms=now_ms)
    if not found:
        return None
    slot, body = found[0]
    safe = Safe(session, people.find(session, owner), ring)
    key = safe.read(slot, sealed.key_name(generation_id))[1]
    return sealed.open_part(key, owner, generation_id, part, body)


def held(session: Session, owner: Owner, *, now_ms: int) -> tuple[GenerationHeld, ...]:
    """Return what is kept and has not run out, the oldest first."""
    rows = session.rows(statements.HELD, tenant=owner.tenant, person=owner.person)
    found = (
        GenerationHeld(id=name, made_at_ms=made, expires_at_ms=ends, revision=revision)
        for name, made, ends, revision, _ in rows
    )
    return sealed.listed(found, now_ms)


def clean_up(session: Session, owner: Owner, safe: Safe, *, now_ms: int) -> None:
    """Take away what ran out; ``safe.renew`` must follow in the same transaction."""
    _thin(session, owner, safe, now_ms)


def erase(session: Session, owner: Owner, safe: Safe) -> None:
    """Take all of them away, with their keys; ``safe.renew`` must follow."""
    mine = {"tenant": owner.tenant, "person": owner.person}
    for _, _, _, _, slot in session.rows(statements.HELD, **mine):
        safe.end(slot)
    session.rows(statements.DROP_ALL, **mine)


def _thin(session: Session, owner: Owner, safe: Safe, now_ms: int) -> None:
    mine = {"tenant": owner.tenant, "person": owner.person}
    rows = sorted(session.rows(statements.HELD, **mine), key=lambda row: (row[1], row[0]))
    alive = [row for row in rows if row[2] > now_ms]
    surplus = alive[: max(0, len(alive) - GENERATIONS_MAX)]
    for name, _, _, _, slot in [*(row for row in rows if row[2] <= now_ms), *surplus]:
        safe.end(slot)
        session.rows(statements.DROP, **mine, of_generation=name)
