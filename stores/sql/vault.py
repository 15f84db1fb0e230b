"""Values in the vault: packed into a slot of fixed size, overwritten where they are.

A slot holds salt, length and value, then zeros. The salt makes its bytes unlike anybody else's,
even where many people share a value, so that they can be looked for after they were overwritten.
"""

from __future__ import annotations

import hashlib
from typing import Final

from stores.consent import SALT_BYTES
from stores.errors import StoreUnavailable
from stores.records import Owner
from stores.sql import statements
from stores.sql.session import Session
from stores.sql.tables import OWNER_TAG_BYTES, SLOT_BYTES

_LENGTH_BYTES: Final = 2
_HEAD: Final = SALT_BYTES + _LENGTH_BYTES
_NOTHING: Final = bytes(SLOT_BYTES)
_NOBODY: Final = bytes(OWNER_TAG_BYTES)


def tag_of(owner: Owner) -> bytes:
    """Return the owner's fingerprint: of a fixed size, so that a slot never changes its own."""
    tenant = owner.tenant.encode()
    return hashlib.sha256(len(tenant).to_bytes(4, "big") + tenant + owner.person.encode()).digest()


def pack(salt: bytes, value: str) -> bytes:
    """Return a slot's bytes for a value."""
    raw = value.encode()
    return (salt + len(raw).to_bytes(_LENGTH_BYTES, "big") + raw).ljust(SLOT_BYTES, b"\0")


def unpack(body: bytes | None) -> tuple[bytes, str]:
    """Return salt and value of a slot's bytes.

    Raises:
        StoreUnavailable: If the slot is missing, another owner's, empty, or was tampered with.
    """
    if body is not None and len(body) == SLOT_BYTES:
        end = _HEAD + int.from_bytes(body[SALT_BYTES:_HEAD], "big")
        raw = body[_HEAD:end]
        if raw and end <= SLOT_BYTES and not body[end:].rstrip(b"\0"):
            text = raw.decode(errors="replace")
            if text.encode() == raw:
                return body[:SALT_BYTES], text
    raise StoreUnavailable("The store's rows do not fit together.", reason="damaged")


def put(session: Session, owner: Owner, salt: bytes, value: str) -> int:
    """Put a value into an empty slot, or a new one, and return its number."""
    body = pack(salt, value)
    tag = tag_of(owner)
    empty = session.rows(statements.VACANT_SLOT)
    if not empty:
        return int(session.rows(statements.ADD_SLOT, owner_tag=tag, new_body=body)[0][0])
    slot = int(empty[0][0])
    session.rows(statements.TAKE_SLOT, of_slot=slot, owner_tag=tag, new_body=body)
    return slot


def read(session: Session, owner: Owner, slot: int) -> tuple[bytes, str]:
    """Return salt and value of the owner's slot.

    Raises:
        StoreUnavailable: If the slot is not this owner's, or empty.
    """
    found = session.rows(statements.SLOT, of_slot=slot, owner_tag=tag_of(owner))
    return unpack(found[0][0] if found else None)


def wipe(session: Session, owner: Owner, slot: int | None) -> None:
    """Overwrite the owner's slot with zeros and give it back; None is no slot."""
    if slot is None:
        return
    tag = tag_of(owner)
    found = session.rows(statements.SLOT, of_slot=slot, owner_tag=tag)
    if found:
        body: bytes = found[0][0]
        session.erased.append(body.rstrip(b"\0"))
        session.rows(
            statements.WIPE_SLOT, of_slot=slot, owner_tag=tag, no_owner=_NOBODY, no_body=_NOTHING
        )
