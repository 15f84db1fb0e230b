"""The vault: slots of one size that are overwritten where they are. What is in them is sealed.

Sealing alone would do where copies of old rows cannot be helped (a server's log, its dead rows, its
backups). In a file it can be had better: a slot that never moves leaves no old bytes at all, not
even sealed ones, and that can be shown by searching the file.
"""

from __future__ import annotations

import hashlib
from typing import Final

from stores.errors import StoreUnavailable
from stores.records import Owner
from stores.sealing import SEALED_BYTES
from stores.sql import person_statements as statements
from stores.sql.session import Session
from stores.sql.tables import OWNER_TAG_BYTES

_NOTHING: Final = bytes(SEALED_BYTES)
_NOBODY: Final = bytes(OWNER_TAG_BYTES)


def tag_of(owner: Owner) -> bytes:
    """Return the owner's fingerprint: of a fixed size, so that a slot never changes its own."""
    tenant = owner.tenant.encode()
    return hashlib.sha256(len(tenant).to_bytes(4, "big") + tenant + owner.person.encode()).digest()


def fill(session: Session, owner: Owner, body: bytes) -> int:
    """Put sealed bytes into an empty slot, or a new one, and return its number."""
    tag = tag_of(owner)
    empty = session.rows(statements.VACANT_SLOT)
    if not empty:
        return int(session.rows(statements.ADD_SLOT, owner_tag=tag, new_body=body)[0][0])
    slot = int(empty[0][0])
    session.rows(statements.TAKE_SLOT, of_slot=slot, owner_tag=tag, new_body=body)
    return slot


def read(session: Session, owner: Owner, slot: int) -> bytes:
    """Return what the owner's slot holds.

    Raises:
        StoreUnavailable: If the slot is not this owner's, or empty.
    """
    found = session.rows(statements.SLOT, of_slot=slot, owner_tag=tag_of(owner))
    if not found:
        raise StoreUnavailable("The store's rows do not fit together.", reason="damaged")
    return bytes(found[0][0])


def overwrite(session: Session, owner: Owner, slot: int, old: bytes, new: bytes) -> None:
    """Put other bytes where the old ones are."""
    session.erased.append(old)
    session.rows(statements.SET_SLOT, of_slot=slot, owner_tag=tag_of(owner), new_body=new)


def wipe(session: Session, owner: Owner, slot: int | None) -> bool:
    """Overwrite the owner's slot with zeros and give it back; tell whether there was one."""
    if slot is None:
        return False
    tag = tag_of(owner)
    found = session.rows(statements.SLOT, of_slot=slot, owner_tag=tag)
    if found:
        session.erased.append(bytes(found[0][0]))
        session.rows(
            statements.WIPE_SLOT,
            of_slot=slot,
            owner_tag=tag,
            no_owner=_NOBODY,
            no_body=_NOTHING,
        )
    return bool(found)
