"""A person's sealed values in one transaction, and the data key that lives and dies with them."""

from __future__ import annotations

from stores.records import Owner
from stores.sealing import KeyRing, open_sealed
from stores.sql import person_statements as statements
from stores.sql import vault
from stores.sql.people import Person
from stores.sql.session import Session


class Safe:
    """Seals, opens and ends values of a person whose row is locked."""

    def __init__(self, session: Session, person: Person, ring: KeyRing) -> None:
        """Look at nothing yet."""
        self._session = session
        self._owner: Owner = person.owner
        self._ring = ring
        self._key_slot = person.key_slot
        self._ended = False

    def put(self, key: str, salt: bytes, value: str, *, revision: int) -> int:
        """Seal a value into a slot and return its number; the first one makes the data key.

        Raises:
            StoreKeyMissing: If the ring has not the key that it takes.
        """
        if self._key_slot is None:
            data_key = self._ring.new_data_key()
            wrapped = self._ring.wrap(self._owner, data_key)
            self._set_key(vault.fill(self._session, self._owner, wrapped), revision)
        else:
            data_key = self._data_key(self._key_slot)[0]
        body = self._ring.seal(data_key, self._owner, key, salt, value)
        return vault.fill(self._session, self._owner, body)

    def read(self, slot: int, key: str) -> tuple[bytes, str]:
        """Return salt and value of a slot.

        Raises:
            StoreKeyMissing: If the ring has not the key that it takes.
            StoreUnavailable: If it is not this person's value of this preference.
        """
        body = vault.read(self._session, self._owner, slot)
        data_key = b"" if self._key_slot is None else self._data_key(self._key_slot)[0]
        return open_sealed(data_key, self._owner, key, body)

    def end(self, slot: int | None) -> None:
        """Overwrite a value's slot; ``renew`` must follow in the same transaction."""
        self._ended = vault.wipe(self._session, self._owner, slot) or self._ended

    def renew(self, revision: int, *, always: bool = False) -> None:
        """End the data key if a value ended: no copy of that value can be opened any more.

        What remains is sealed anew under another data key. ``always`` does it in any case.

        Raises:
            StoreKeyMissing: If something remains and the ring has not the key that it takes.
            StoreUnavailable: If something that remains cannot be opened.
        """
        if self._key_slot is None or not (self._ended or always):
            return
        remaining = self._session.rows(
            statements.LIVE_SLOTS, tenant=self._owner.tenant, person=self._owner.person
        )
        if not remaining:
            vault.wipe(self._session, self._owner, self._key_slot)
            self._set_key(None, revision)
            return
        old, wrapped = self._data_key(self._key_slot)
        new = self._ring.new_data_key()
        for slot, key in remaining:
            body = vault.read(self._session, self._owner, slot)
            salt, value = open_sealed(old, self._owner, key, body)
            sealed = self._ring.seal(new, self._owner, key, salt, value)
            vault.overwrite(self._session, self._owner, slot, body, sealed)
        self._set_wrapped(self._key_slot, wrapped, new, revision)

    def rewrap(self) -> None:
        """Wrap the data key by the newest key of the ring.

        Raises:
            StoreKeyMissing: If the ring has not the key that wraps it now.
        """
        if self._key_slot is None:
            return
        data_key, wrapped = self._data_key(self._key_slot)
        vault.overwrite(
            self._session,
            self._owner,
            self._key_slot,
            wrapped,
            self._ring.wrap(self._owner, data_key),
        )
        self._session.rows(
            statements.SET_RING,
            tenant=self._owner.tenant,
            person=self._owner.person,
            new_ring_id=self._ring.newest,
        )

    def _data_key(self, slot: int) -> tuple[bytes, bytes]:
        wrapped = vault.read(self._session, self._owner, slot)
        return self._ring.unwrap(self._owner, wrapped), wrapped

    def _set_wrapped(self, slot: int, wrapped: bytes, data_key: bytes, revision: int) -> None:
        new = self._ring.wrap(self._owner, data_key)
        vault.overwrite(self._session, self._owner, slot, wrapped, new)
        self._set_key(slot, revision)

    def _set_key(self, slot: int | None, revision: int) -> None:
        self._key_slot = slot
        self._session.rows(
            statements.SET_KEY,
            tenant=self._owner.tenant,
            person=self._owner.person,
            new_key_slot=slot,
            new_key_revision=None if slot is None else revision,
            new_ring_id=None if slot is None else self._ring.newest,
        )
