"""Records of generations: the port, and how a record is sealed.

A generation is what one request to a model was made of. Its record names ids, sizes and reasons;
the originals are the texts behind the ids, kept so that the request can be made again when the
sources are gone. Both are compressed and sealed by AES-256-GCM under a key that is this
generation's alone, and that key is a sealed value of its person's: it ends with the generation.
"""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Final, Literal, Protocol, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic import Field, field_serializer, model_validator

from stores.errors import InvalidInput, StoreUnavailable
from stores.framing import framed
from stores.records import OF_GENERATION, Count, Millis, Named, Owner, Record

GENERATION_TTL_MS: Final = 30 * 24 * 3_600_000
"""How long a record is kept where nobody says otherwise: thirty days, in milliseconds."""

GENERATIONS_MAX: Final = 200
"""Most records of one person; the oldest go first, so that what is kept does not grow for ever."""

SEALED_MAX_BYTES: Final = 400_000
"""Largest sealed part of a record; two of them fit the largest document of every backend."""

GENERATION_ID_MAX: Final = 128
"""Longest id of a generation, in characters."""

Part = Literal["record", "originals"]

_LABEL: Final = "stores.generations.1"
_NONCE_BYTES: Final = 12
_KEY_BYTES: Final = 32
_HASH_BYTES: Final = 32
_LENGTH_BYTES: Final = 4


class Generation(Record):
    """A record to keep.

    Attributes:
        id: Its id, one of its person's.
        record: What was decided, as bytes.
        originals: Bytes by their SHA-256 in hex digits: what the record names.
    """

    id: Annotated[Named, Field(max_length=GENERATION_ID_MAX)]
    record: bytes = Field(repr=False)
    originals: Mapping[str, bytes] = Field(repr=False)

    @model_validator(mode="after")
    def _freeze(self) -> Self:
        if not all(_is_hash(name) for name in self.originals):
            raise InvalidInput(field="originals")
        object.__setattr__(self, "originals", MappingProxyType(dict(self.originals)))
        return self

    @field_serializer("originals")
    def _thaw(self, originals: Mapping[str, bytes]) -> dict[str, bytes]:
        return dict(originals)


class GenerationHeld(Record):
    """That a record is kept: nothing of what is in it.

    Attributes:
        id: Its id.
        made_at_ms: When it was made.
        expires_at_ms: From when on it is gone.
        revision: The person's revision when it was made.
    """

    id: Named
    made_at_ms: Millis
    expires_at_ms: Millis
    revision: Count


class GenerationStore(Protocol):
    """Records of people's generations. Times are Unix milliseconds, and given.

    Every method raises StoreUnavailable if the backend fails, StoreKeyMissing if the key ring lacks
    the key that it takes, and InvalidInput for a bad argument, and has then changed nothing.
    """

    async def keep_generation(
        self, owner: Owner, generation: Generation, *, expected_revision: int, now_ms: int,
        ttl_ms: int = GENERATION_TTL_MS,
    ) -> None:  # fmt: skip
        """Keep a record; the same one again changes nothing, another under its id is refused.

        Raises PreferenceChanged if the person's revision moved since the turn began: somebody who
        was erased meanwhile gets no record.
        """

    async def generation(self, owner: Owner, generation_id: str, *, now_ms: int) -> bytes | None:
        """Return a record without its originals; None if there is none, or it ran out."""

    async def originals(
        self, owner: Owner, generation_id: str, *, now_ms: int
    ) -> Mapping[str, bytes] | None:
        """Return the originals of a record; whoever asks has checked who may read them."""

    async def generations(self, owner: Owner, *, now_ms: int) -> tuple[GenerationHeld, ...]:
        """Return what is kept, the oldest first."""


def key_name(generation_id: str) -> str:
    """Return what the sealed key of a generation is bound to; no preference is called so."""
    return f"{OF_GENERATION}{generation_id}"


def new_key() -> str:
    """Return a random key, as text."""
    return secrets.token_bytes(_KEY_BYTES).hex()


def listed(found: Iterable[GenerationHeld], now_ms: int) -> tuple[GenerationHeld, ...]:
    """Return those that have not run out, the oldest first."""
    alive = (one for one in found if one.expires_at_ms > now_ms)
    return tuple(sorted(alive, key=lambda one: (one.made_at_ms, one.id)))


def seal_part(key: str, owner: Owner, generation_id: str, part: Part, plain: bytes) -> bytes:
    """Compress and seal one part of a generation, bound to its owner, id and place.

    Raises:
        InvalidInput: It is larger than a store keeps.
    """
    nonce = secrets.token_bytes(_NONCE_BYTES)
    sealed = nonce + AESGCM(bytes.fromhex(key)).encrypt(
        nonce, zlib.compress(plain), _of_part(owner, generation_id, part)
    )
    if len(sealed) > SEALED_MAX_BYTES:
        raise InvalidInput(
            "The record is larger than a store keeps.",
            field=part,
            bytes=len(sealed),
            limit=SEALED_MAX_BYTES,
        )
    return sealed


def open_part(key: str, owner: Owner, generation_id: str, part: Part, sealed: bytes) -> bytes:
    """Return what ``seal_part`` was given.

    Raises:
        StoreUnavailable: It is of another person or generation, or was tampered with.
    """
    body = bytes(sealed)
    try:
        plain = AESGCM(bytes.fromhex(key)).decrypt(
            body[:_NONCE_BYTES], body[_NONCE_BYTES:], _of_part(owner, generation_id, part)
        )
        return zlib.decompress(plain)
    except (InvalidTag, ValueError):  # ValueError: too short to be anything sealed
        pass
    raise StoreUnavailable("The store's rows do not fit together.", reason="damaged")


def pack(originals: Mapping[str, bytes]) -> bytes:
    """Return originals as one byte string, in the order of their hashes."""
    return b"".join(
        bytes.fromhex(name) + len(body).to_bytes(_LENGTH_BYTES, "big") + body
        for name, body in sorted(originals.items())
    )


def unpack(packed: bytes) -> Mapping[str, bytes]:
    """Return what ``pack`` was given."""
    found, at = {}, 0
    while at < len(packed):
        name = packed[at : at + _HASH_BYTES].hex()
        begin = at + _HASH_BYTES + _LENGTH_BYTES
        at = begin + int.from_bytes(packed[at + _HASH_BYTES : begin], "big")
        found[name] = packed[begin:at]
    return MappingProxyType(found)


def _is_hash(name: str) -> bool:
    return len(name) == 2 * _HASH_BYTES and all(digit in "0123456789abcdef" for digit in name)


def _of_part(owner: Owner, generation_id: str, part: Part) -> bytes:
    return framed(_LABEL, owner.tenant, owner.person, generation_id, part)
