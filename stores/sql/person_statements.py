"""Statements of a person as a whole: their row, window and vault, and what is left of them.

Each one carries tenant and person (invariant 11). Four do not name a person: one looks for an
empty slot, which is nobody's, one for whose things ran out in a tenant, two for a tenant's data
keys; what these find is then changed owner by owner.

Written in portable Core, without any dialect's own INSERT, as those of consent are: an engine locks
the person first, then what a transaction reads is what it may build on.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Integer,
    ScalarSelect,
    String,
    Table,
    and_,
    bindparam,
    exists,
    func,
    insert,
    literal_column,
    null,
    or_,
    select,
    union_all,
    update,
)

from stores.records import OF_GENERATION
from stores.sql.inbox_statements import LEFT
from stores.sql.session import Prepared
from stores.sql.tables import (
    MINE,
    cards,
    ending,
    generations,
    journal,
    kept_window,
    ledger,
    mine,
    my_slot,
    pending,
    people,
    preferences,
    same_person,
    vacant,
    vault,
)

_person_and_journal = people.outerjoin(journal, same_person(journal, people))

# people and journal

SNAPSHOT: Final = Prepared(
    select(
        people.c.revision,
        journal.c.generation,
        journal.c.revision,
        journal.c.expires_at_ms,
        journal.c.window,
        journal.c.last_event,
    )
    .select_from(_person_and_journal)
    .where(mine(people))
)
PERSON: Final = Prepared(
    select(
        people.c.revision,
        people.c.forgotten_at_ms,
        people.c.key_slot,
        journal.c.generation,
        journal.c.last_event,
    )
    .select_from(_person_and_journal)
    .where(mine(people))
)
ADD_PERSON: Final = Prepared(insert(people).values(**MINE, revision=bindparam("revision")))
SET_REVISION: Final = Prepared(
    update(people).where(mine(people)).values(revision=bindparam("new_revision"))
)
SET_FORGOTTEN: Final = Prepared(
    update(people).where(mine(people)).values(forgotten_at_ms=bindparam("now_ms"))
)
SET_KEY: Final = Prepared(
    update(people)
    .where(mine(people))
    .values(
        key_slot=bindparam("new_key_slot"),
        key_revision=bindparam("new_key_revision"),
        ring_id=bindparam("new_ring_id"),
    )
)
SET_RING: Final = Prepared(
    update(people).where(mine(people)).values(ring_id=bindparam("new_ring_id"))
)
DATA_KEYS: Final = Prepared(
    select(people.c.person, people.c.ring_id)
    .where(
        people.c.tenant == bindparam("tenant"),
        people.c.person > bindparam("after"),
        people.c.key_slot.is_not(None),
    )
    .order_by(people.c.person)
    .limit(bindparam("most"))
)
_others = people.alias("others")
_next_ring_key = (
    select(func.min(_others.c.ring_id))
    .where(_others.c.tenant == bindparam("tenant"), _others.c.ring_id > bindparam("after"))
    .scalar_subquery()
)
OF_NEXT_RING_KEY: Final = Prepared(
    select(people.c.person, people.c.ring_id)
    .where(people.c.tenant == bindparam("tenant"), people.c.ring_id == _next_ring_key)
    .limit(1)
)
"""Somebody whose data key another ring key wraps than those before. For a look now and then: it
reads a tenant's people."""
PERSON_HELD: Final = Prepared(
    select(
        people.c.revision,
        people.c.forgotten_at_ms,
        journal.c.generation,
        journal.c.revision,
        journal.c.expires_at_ms,
        journal.c.window,
    )
    .select_from(_person_and_journal)
    .where(mine(people))
)
_JOURNAL: Final[dict[str, Any]] = {
    name: bindparam(f"new_{name}")
    for name in ("revision", "generation", "expires_at_ms", "last_event", "window")
}
ADD_JOURNAL: Final = Prepared(insert(journal).values(**MINE, **_JOURNAL))
SET_JOURNAL: Final = Prepared(update(journal).where(mine(journal)).values(**_JOURNAL))
ADVANCE_JOURNAL: Final = Prepared(
    update(journal)
    .where(
        mine(journal),
        journal.c.generation == bindparam("expected_generation"),
        exists().where(mine(people), people.c.revision == bindparam("new_revision")),
    )
    .values(**_JOURNAL)
    .returning(journal.c.generation)
)
"""The window of somebody whose revision and generation are those that were expected."""

DROP_WINDOW: Final = Prepared(
    update(journal)
    .where(mine(journal), kept_window, journal.c.expires_at_ms <= bindparam("now_ms"))
    .values(window=null())
)

# the vault: a slot is found through a row of its owner, and carries the owner's tag itself

VACANT_SLOT: Final = Prepared(
    select(vault.c.slot)
    .where(vacant)
    .order_by(vault.c.slot)
    .limit(1)
    .with_for_update(skip_locked=True)
)
ADD_SLOT: Final = Prepared(
    insert(vault)
    .values(owner=bindparam("owner_tag"), vacant=0, body=bindparam("new_body"))
    .returning(vault.c.slot)
)
TAKE_SLOT: Final = Prepared(
    update(vault)
    .where(vault.c.slot == bindparam("of_slot"), vacant)
    .values(owner=bindparam("owner_tag"), vacant=0, body=bindparam("new_body"))
)
SLOT: Final = Prepared(
    select(vault.c.body).where(vault.c.slot == bindparam("of_slot"), my_slot, vault.c.vacant == 0)
)
SET_SLOT: Final = Prepared(
    update(vault)
    .where(vault.c.slot == bindparam("of_slot"), my_slot, vault.c.vacant == 0)
    .values(body=bindparam("new_body"))
)
WIPE_SLOT: Final = Prepared(
    update(vault)
    .where(vault.c.slot == bindparam("of_slot"), my_slot)
    .values(owner=bindparam("no_owner"), vacant=1, body=bindparam("no_body"))
)

_key_of_generation = literal_column(f"'{OF_GENERATION}'", String) + generations.c.generation
LIVE_SLOTS: Final = Prepared(
    union_all(
        select(preferences.c.slot, preferences.c.key).where(
            mine(preferences), preferences.c.slot.is_not(None)
        ),
        select(cards.c.slot, cards.c.key).where(mine(cards), cards.c.slot.is_not(None)),
        # Keys of generations are sealed values, too; stores.generations.key_name names them.
        select(generations.c.slot, _key_of_generation).where(mine(generations)),
    )
)

_ORPHAN = and_(
    my_slot,
    vault.c.vacant == literal_column("0"),
    ~exists().where(mine(preferences), preferences.c.slot == vault.c.slot),
    ~exists().where(mine(cards), cards.c.slot == vault.c.slot),
    ~exists().where(mine(people), people.c.key_slot == vault.c.slot),
    ~exists().where(mine(generations), generations.c.slot == vault.c.slot),
)
ORPHANS: Final = Prepared(select(vault.c.slot).where(_ORPHAN))

# reading back after the commit: what is left of what was known before a revision

_every_key = bindparam("every_key", type_=Integer) == 1


def _count(table: Table, *conditions: ColumnElement[bool]) -> ScalarSelect[int]:
    return select(func.count()).select_from(table).where(*conditions).scalar_subquery()


_WINDOW_VAULT_KEY: Final = (
    _count(journal, mine(journal), kept_window, journal.c.revision < bindparam("revision")),
    _count(vault, _ORPHAN),
    _count(
        people,
        mine(people),
        people.c.key_slot.is_not(None),
        people.c.key_revision < bindparam("revision"),
    ),
)
READ_BACK: Final = Prepared(
    select(
        _count(
            preferences,
            mine(preferences),
            preferences.c.slot.is_not(None),
            preferences.c.revision <= bindparam("revision"),
            or_(_every_key, preferences.c.key == bindparam("of_key")),
        ),
        _count(
            cards,
            mine(cards),
            cards.c.slot.is_not(None),
            cards.c.revision < bindparam("revision"),
        ),
        *_WINDOW_VAULT_KEY,
    )
)
_IN_INBOX: Final[ColumnElement[int]] = sum(
    (_count(table, *conditions) for table, conditions in LEFT), start=literal_column("0")
)
IN_INBOX: Final = Prepared(select(_IN_INBOX))
READ_BACK_ERASED: Final = Prepared(
    select(
        _count(preferences, mine(preferences), preferences.c.revision <= bindparam("revision")),
        _count(cards, mine(cards), cards.c.revision < bindparam("revision")),
        *_WINDOW_VAULT_KEY,
        _count(generations, mine(generations), generations.c.revision < bindparam("revision")),
        _IN_INBOX,
        _count(ledger, mine(ledger), ledger.c.revision < bindparam("revision")),
    )
)

# housekeeping: whose things ran out, in this tenant

RUN_OUT: Final = Prepared(
    union_all(
        select(cards.c.person).where(
            cards.c.tenant == bindparam("tenant"),
            pending,
            cards.c.expires_at_ms <= bindparam("now_ms"),
        ),
        select(preferences.c.person).where(
            preferences.c.tenant == bindparam("tenant"),
            ending,
            preferences.c.expires_at_ms <= bindparam("now_ms"),
        ),
        select(journal.c.person).where(
            journal.c.tenant == bindparam("tenant"),
            kept_window,
            journal.c.expires_at_ms <= bindparam("now_ms"),
        ),
        select(generations.c.person).where(
            generations.c.tenant == bindparam("tenant"),
            generations.c.expires_at_ms <= bindparam("now_ms"),
        ),
    ).limit(bindparam("most"))
)
