"""A look at a store's data keys for an operator: has the key ring what wrapped them?

Of each ring key in use one person's data key is unwrapped, and let go of: no value is opened and
nobody is named. The store must be there, with this program's schema (``stores.probe``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

from stores.errors import StoreKeyMissing
from stores.open import _FIRESTORE, _POSTGRES, _dsn, _namespace, _postgres, _sqlite_path
from stores.records import Owner
from stores.sealing import KeyRing
from stores.sql import personal
from stores.sql.engine import Engine
from stores.sql.sqlite import SqliteEngine


@dataclass(frozen=True)
class KeyProbe:
    """What a look found.

    Attributes:
        in_use: How many ring keys wrap data keys of a tenant.
        missing: How many of these the ring has not.
    """

    in_use: int
    missing: int


async def probe_keys(
    url: str, *, tenant: str, store_keys: Sequence[bytes], busy_timeout_ms: int = 5_000
) -> KeyProbe:
    """Try a key ring on what lies in the store that a URL names.

    Args:
        url: As for `open_store`.
        tenant: Whose people.
        store_keys: The ring, as for `open_store`; none is a ring that has no key.
        busy_timeout_ms: How long to wait for somebody else's lock, in milliseconds.

    Raises:
        UnsupportedStoreUrl: The URL names no backend.
        InvalidInput: A store key is too short.
        StoreUnavailable: The store cannot be read, or a data key is not its person's.
    """
    ring = KeyRing(store_keys)
    if str(url).startswith(_FIRESTORE):
        return await _try_firestore(*_namespace(url), tenant, ring)
    engine: Engine
    if str(url).startswith(_POSTGRES):
        engine = _postgres()(_dsn(url), connections=1, busy_timeout_ms=busy_timeout_ms)
    else:
        path: Path | None = _sqlite_path(url)
        engine = SqliteEngine(path, busy_timeout_ms=busy_timeout_ms)
    try:
        return await _try_sql(engine, tenant, ring)
    finally:
        await engine.close()


async def _try_sql(engine: Engine, tenant: str, ring: KeyRing) -> KeyProbe:
    after, in_use, missing = "", 0, 0
    while found := await engine.read(
        tenant, partial(personal.of_next_ring_key, tenant=tenant, after=after)
    ):
        person, after = found
        owner = Owner(tenant=tenant, person=person)
        in_use += 1
        try:
            # Row and key are two reads: under the person's lock they are of one moment.
            await engine.write(owner, partial(personal.try_key, owner=owner, ring=ring))
        except StoreKeyMissing:
            missing += 1
    return KeyProbe(in_use, missing)


async def _try_firestore(project: str, namespace: str, tenant: str, ring: KeyRing) -> KeyProbe:
    documents = import_module("stores.firestore.documents").Documents(project, namespace)
    after, in_use, missing = "", 0, 0
    try:
        while found := await documents.of_next_ring_key(tenant, after):
            name, after = found
            owner = Owner(tenant=tenant, person=name)
            person, _ = await documents.read(owner, ("data_key",))
            in_use += 1
            try:
                if person.data_key is not None:  # else it ended between the two reads
                    ring.unwrap(owner, person.data_key)
            except StoreKeyMissing:
                missing += 1
    finally:
        await documents.close()
    return KeyProbe(in_use, missing)
