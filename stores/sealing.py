"""Values under lock: a data key a person, and a key ring that wraps the data keys.

A value is sealed by AES-256-GCM (NIST SP 800-38D) under its person's data key, bound to tenant,
person and preference as associated data; the data key is sealed the same way under a key derived
from the ring. Whatever is sealed has one size, so that it can be overwritten where it is and its
size tells nothing. When a value ends, its person's data key ends with it and what remains is sealed
anew, so copies of the old bytes (logs, dead rows, replicas, backups) are noise to whoever has not
both the old wrapped key and the ring key of its time.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Sequence
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from stores.checks import VALUE_MAX_BYTES
from stores.errors import InvalidInput, StoreKeyMissing, StoreUnavailable
from stores.framing import framed
from stores.records import Owner

SEALED_BYTES: Final = 256
"""Size of everything sealed, in bytes."""

SALT_BYTES: Final = 16
RING_KEY_BYTES_MIN: Final = 32
"""Shortest key of a ring, in bytes."""

RING_ID_BYTES: Final = 8
DATA_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_TAG_BYTES: Final = 16
_LENGTH_BYTES: Final = 2
_HEAD: Final = SALT_BYTES + _LENGTH_BYTES
_INSIDE: Final = SEALED_BYTES - _NONCE_BYTES - _TAG_BYTES
_WRAPPED_INSIDE: Final = _INSIDE - RING_ID_BYTES

_VALUE_LABEL: Final = "stores.sealing.value.1"
_KEY_LABEL: Final = "stores.sealing.data_key.1"
_RING_LABEL: Final = b"stores.sealing.ring.1"
_ID_LABEL: Final = b"stores.sealing.ring_id.1"
_PASSING_LABEL: Final = b"stores.sealing.passing.1"
_STEP: Final = 256
_LONG_BYTES: Final = 4

assert _HEAD + VALUE_MAX_BYTES <= _INSIDE  # noqa: S101 - two constants that must fit


class KeyRing:
    """The ring keys of a store, newest first: the newest wraps, each of them unwraps."""

    def __init__(
        self, keys: Sequence[bytes] = (), *, entropy: Callable[[int], bytes] = secrets.token_bytes
    ) -> None:
        """Take the keys.

        Args:
            keys: Newest first, each of at least ``RING_KEY_BYTES_MIN`` bytes. Without any, no value
                can be sealed or opened.
            entropy: Gives that many random bytes.

        Raises:
            InvalidInput: If a key is no bytes, or too short.
        """
        given: tuple[object, ...] = tuple(keys)  # whatever the caller's types promised
        if not all(isinstance(key, bytes) and len(key) >= RING_KEY_BYTES_MIN for key in given):
            raise InvalidInput(
                f"A store key is a byte string of at least {RING_KEY_BYTES_MIN} bytes.",
                field="store_keys",
                least_bytes=RING_KEY_BYTES_MIN,
            )
        self._entropy = entropy
        self._ciphers = {
            _derived(key, _ID_LABEL)[:RING_ID_BYTES]: AESGCM(_derived(key, _RING_LABEL))
            for key in keys
        }
        self._passing = {
            _derived(key, _ID_LABEL)[:RING_ID_BYTES]: AESGCM(_derived(key, _PASSING_LABEL))
            for key in keys
        }

    def __bool__(self) -> bool:
        """Whether there is a key at all."""
        return bool(self._ciphers)

    @property
    def newest(self) -> str:
        """The id of the key that wraps now; it tells nothing about the key.

        Raises:
            StoreKeyMissing: If the ring is empty.
        """
        for ring_id in self._ciphers:
            return ring_id.hex()
        raise StoreKeyMissing

    def new_data_key(self) -> bytes:
        """Return a random data key."""
        return self._entropy(DATA_KEY_BYTES)

    def wrap(self, owner: Owner, data_key: bytes) -> bytes:
        """Seal a person's data key under the newest ring key.

        Raises:
            StoreKeyMissing: If the ring is empty.
        """
        ring_id = bytes.fromhex(self.newest)
        nonce = self._entropy(_NONCE_BYTES)
        inside = data_key.ljust(_WRAPPED_INSIDE, b"\0")
        return ring_id + nonce + self._ciphers[ring_id].encrypt(nonce, inside, _of_key(owner))

    def unwrap(self, owner: Owner, wrapped: bytes) -> bytes:
        """Return a person's data key.

        Raises:
            StoreKeyMissing: If the ring key that wrapped it is not in the ring.
            StoreUnavailable: If it is another person's, or was tampered with.
        """
        cipher = self._ciphers.get(bytes(wrapped[:RING_ID_BYTES]))
        if cipher is None:
            raise StoreKeyMissing
        return _opened(cipher, wrapped[RING_ID_BYTES:], _of_key(owner))[:DATA_KEY_BYTES]

    def seal_passing(self, bound_to: bytes, raw: bytes) -> bytes:
        """Seal what is kept for a while only, such as a message until its turn is done.

        Under a key of the ring itself: there is no data key that could end with it. Sizes are
        rounded up to steps of 256 bytes, so that they tell little.

        Args:
            bound_to: What it belongs to; it opens for nothing else.
            raw: The bytes.

        Raises:
            StoreKeyMissing: If the ring is empty.
        """
        ring_id = bytes.fromhex(self.newest)
        inside = len(raw).to_bytes(_LONG_BYTES, "big") + raw
        inside += bytes(-len(inside) % _STEP)
        nonce = self._entropy(_NONCE_BYTES)
        return ring_id + nonce + self._passing[ring_id].encrypt(nonce, inside, bound_to)

    def open_passing(self, bound_to: bytes, sealed: bytes) -> bytes:
        """Return what ``seal_passing`` sealed.

        Raises:
            StoreKeyMissing: If the ring key that sealed it is not in the ring.
            StoreUnavailable: If it belongs to something else, or was tampered with.
        """
        cipher = self._passing.get(bytes(sealed[:RING_ID_BYTES]))
        if cipher is None:
            raise StoreKeyMissing
        inside = _opened(cipher, sealed[RING_ID_BYTES:], bound_to)
        return inside[_LONG_BYTES : _LONG_BYTES + int.from_bytes(inside[:_LONG_BYTES], "big")]

    def has_key_of(self, sealed: bytes) -> bool:
        """Tell whether the ring has the key that sealed or wrapped it."""
        return bytes(sealed[:RING_ID_BYTES]) in self._ciphers

    def is_newest(self, sealed: bytes) -> bool:
        """Tell whether the newest key of the ring sealed or wrapped it."""
        return bytes(sealed[:RING_ID_BYTES]).hex() == self.newest

    def seal(self, data_key: bytes, owner: Owner, key: str, salt: bytes, value: str) -> bytes:
        """Seal a value, with the salt of its card, for one preference of one person."""
        raw = value.encode()
        inside = (salt + len(raw).to_bytes(_LENGTH_BYTES, "big") + raw).ljust(_INSIDE, b"\0")
        nonce = self._entropy(_NONCE_BYTES)
        return nonce + AESGCM(data_key).encrypt(nonce, inside, _of_value(owner, key))


def open_sealed(data_key: bytes, owner: Owner, key: str, body: bytes) -> tuple[bytes, str]:
    """Return salt and value of what ``KeyRing.seal`` made.

    Raises:
        StoreUnavailable: If it is of another person, preference or data key, or was tampered with.
    """
    inside = _opened(AESGCM(data_key), body, _of_value(owner, key))
    end = _HEAD + int.from_bytes(inside[SALT_BYTES:_HEAD], "big")
    return inside[:SALT_BYTES], inside[_HEAD:end].decode()


def _opened(cipher: AESGCM, body: bytes, bound_to: bytes) -> bytes:
    try:
        return cipher.decrypt(bytes(body[:_NONCE_BYTES]), bytes(body[_NONCE_BYTES:]), bound_to)
    except (InvalidTag, ValueError):  # ValueError: too short to be anything sealed
        pass
    raise StoreUnavailable("The store's rows do not fit together.", reason="damaged")


def _of_value(owner: Owner, key: str) -> bytes:
    return framed(_VALUE_LABEL, owner.tenant, owner.person, key)


def _of_key(owner: Owner) -> bytes:
    return framed(_KEY_LABEL, owner.tenant, owner.person)


def _derived(key: bytes, label: bytes) -> bytes:
    return hmac.new(key, label, hashlib.sha256).digest()
