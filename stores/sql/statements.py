"""Every statement of the store. Each one carries tenant and person (invariant 11).

Three do not name a person: one looks for an empty slot, which is nobody's, one for whose things ran
out in a tenant, one for a tenant's data keys; what these find is then changed owner by owner.

Written in portable Core, without any dialect's own INSERT: an engine locks the person first, then
what a transaction reads is what it may build on.
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
    cast,
    delete,
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

from stores.records import OF_GENERATION, CardStatus
from stores.sql.inbox_statements import LEFT
from stores.sql.session import Prepared
from stores.sql.tables import (
    cards,
    ending,
    generations,
    journal,
    kept_window,
    ledger,
    pending,
    people,
    preferences,
    vacant,
    vault,
)


def _mine(table: Table) -> ColumnElement[bool]:
    return and_(table.c.tenant == bindparam("tenant"), table.c.person == bindparam("person"))


def _same_person(table: Table, other: Table) -> ColumnElement[bool]:
    return and_(table.c.tenant == other.c.tenant, table.c.person == other.c.person)


_my_slot = vault.c.owner == bindparam("owner_tag")
_person_and_journal = people.outerjoin(journal, _same_person(journal, people))

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
    .where(_mine(people))
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
    .where(_mine(people))
)
ADD_PERSON: Final = Prepared(
    insert(people).values(
        tenant=bindparam("tenant"), person=bindparam("person"), revision=bindparam("revision")
    )
)
SET_REVISION: Final = Prepared(
    update(people).where(_mine(people)).values(revision=bindparam("new_revision"))
)
SET_FORGOTTEN: Final = Prepared(
    update(people).where(_mine(people)).values(forgotten_at_ms=bindparam("now_ms"))
)
SET_KEY: Final = Prepared(
    update(people)
    .where(_mine(people))
    .values(
        key_slot=bindparam("new_key_slot"),
        key_revision=bindparam("new_key_revision"),
        ring_id=bindparam("new_ring_id"),
    )
)
SET_RING: Final = Prepared(
    update(people).where(_mine(people)).values(ring_id=bindparam("new_ring_id"))
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
    .where(_mine(people))
)
_JOURNAL: Final[dict[str, Any]] = {
    name: bindparam(f"new_{name}")
    for name in ("revision", "generation", "expires_at_ms", "last_event", "window")
}
ADD_JOURNAL: Final = Prepared(
    insert(journal).values(tenant=bindparam("tenant"), person=bindparam("person"), **_JOURNAL)
)
SET_JOURNAL: Final = Prepared(update(journal).where(_mine(journal)).values(**_JOURNAL))
ADVANCE_JOURNAL: Final = Prepared(
    update(journal)
    .where(
        _mine(journal),
        journal.c.generation == bindparam("expected_generation"),
        exists().where(_mine(people), people.c.revision == bindparam("new_revision")),
    )
    .values(**_JOURNAL)
    .returning(journal.c.generation)
)
"""The window of somebody whose revision and generation are those that were expected."""

# preferences

_alive = or_(
    preferences.c.expires_at_ms.is_(None), preferences.c.expires_at_ms > bindparam("now_ms")
)
_usable = or_(bindparam("everywhere", type_=Integer) == 1, preferences.c.scope == bindparam("chat"))
_keys = vault.alias("keys")
PREFERENCES: Final = Prepared(
    select(
        people.c.revision,
        preferences.c.key,
        preferences.c.purpose,
        preferences.c.granted_at_ms,
        preferences.c.expires_at_ms,
        preferences.c.scope,
        preferences.c.slot,
        vault.c.body,
        _keys.c.body.label("wrapped"),
    )
    .select_from(
        people.outerjoin(
            preferences,
            and_(
                _same_person(preferences, people),
                preferences.c.slot.is_not(None),
                _alive,
                _usable,
            ),
        )
        .outerjoin(vault, and_(vault.c.slot == preferences.c.slot, _my_slot))
        .outerjoin(
            _keys,
            and_(
                _keys.c.slot == people.c.key_slot,
                _keys.c.owner == bindparam("owner_tag"),
                preferences.c.slot.is_not(None),
            ),
        )
    )
    .where(_mine(people))
)
PREFERENCE_SLOTS: Final = Prepared(
    select(preferences.c.key, preferences.c.slot, preferences.c.expires_at_ms).where(
        _mine(preferences)
    )
)
ADD_PREFERENCE: Final = Prepared(
    insert(preferences).values(
        tenant=bindparam("tenant"),
        person=bindparam("person"),
        key=bindparam("key"),
        purpose=bindparam("purpose"),
        granted_at_ms=bindparam("now_ms"),
        revision=bindparam("revision"),
        slot=bindparam("slot"),
        expires_at_ms=bindparam("expires_at_ms"),
        scope=bindparam("scope"),
    )
)
SET_PREFERENCE: Final = Prepared(
    update(preferences)
    .where(_mine(preferences), preferences.c.key == bindparam("of_key"))
    .values(
        purpose=bindparam("new_purpose"),
        granted_at_ms=bindparam("now_ms"),
        forgotten_at_ms=null(),
        revision=bindparam("new_revision"),
        slot=bindparam("new_slot"),
        expires_at_ms=bindparam("new_expires_at_ms"),
        scope=bindparam("new_scope"),
    )
)
DROP_PREFERENCE: Final = Prepared(
    update(preferences)
    .where(_mine(preferences), preferences.c.key == bindparam("of_key"))
    .values(
        purpose="",
        granted_at_ms=null(),
        forgotten_at_ms=bindparam("now_ms"),
        revision=bindparam("new_revision"),
        slot=null(),
        expires_at_ms=null(),
    )
)
DROP_PREFERENCES: Final = Prepared(delete(preferences).where(_mine(preferences)))
ENDED_PREFERENCES: Final = Prepared(
    select(preferences.c.key, preferences.c.scope, preferences.c.slot).where(
        _mine(preferences), ending, preferences.c.expires_at_ms <= bindparam("now_ms")
    )
)
_key_of_generation = literal_column(f"'{OF_GENERATION}'", String) + generations.c.generation
LIVE_SLOTS: Final = Prepared(
    union_all(
        select(preferences.c.slot, preferences.c.key).where(
            _mine(preferences), preferences.c.slot.is_not(None)
        ),
        select(cards.c.slot, cards.c.key).where(_mine(cards), cards.c.slot.is_not(None)),
        # Keys of generations are sealed values, too; stores.generations.key_name names them.
        select(generations.c.slot, _key_of_generation).where(_mine(generations)),
    )
)

# cards

CARD_COLUMNS: Final = (
    *("card_id", "action", "key", "purpose", "revision", "expires_at_ms", "value_tag"),
    *("value_expires_at_ms", "scope"),
)
CARD: Final = Prepared(
    select(*(cards.c[name] for name in (*CARD_COLUMNS, "status", "slot"))).where(
        _mine(cards), cards.c.card_id == bindparam("of_card")
    )
)
ADD_CARD: Final = Prepared(
    insert(cards).values(
        tenant=bindparam("tenant"),
        person=bindparam("person"),
        **{name: bindparam(name) for name in (*CARD_COLUMNS, "status", "slot")},
    )
)
CLOSE_CARD: Final = Prepared(
    update(cards)
    .where(_mine(cards), cards.c.card_id == bindparam("of_card"))
    .values(status=bindparam("new_status"), slot=null())
)
PENDING_CARDS: Final = Prepared(select(cards.c.card_id, cards.c.slot).where(_mine(cards), pending))
RUN_OUT_CARDS: Final = Prepared(
    select(cards.c.card_id, cards.c.slot, cards.c.key, cards.c.purpose, cards.c.scope).where(
        _mine(cards), pending, cards.c.expires_at_ms <= bindparam("now_ms")
    )
)
OPEN_CARDS: Final = Prepared(
    select(func.count())
    .select_from(cards)
    .where(
        _mine(cards),
        pending,
        cards.c.expires_at_ms > bindparam("now_ms"),
        cards.c.revision == bindparam("revision"),
    )
)
DROP_CARDS: Final = Prepared(delete(cards).where(_mine(cards)))
OUTDATE_CARDS: Final = Prepared(
    update(cards)
    .where(
        _mine(cards),
        cards.c.status == CardStatus.APPROVED.value,
        or_(bindparam("every_key", type_=Integer) == 1, cards.c.key == bindparam("of_key")),
        cards.c.card_id != bindparam("but_card"),
    )
    .values(status=CardStatus.STALE.value)
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
    select(vault.c.body).where(vault.c.slot == bindparam("of_slot"), _my_slot, vault.c.vacant == 0)
)
SET_SLOT: Final = Prepared(
    update(vault)
    .where(vault.c.slot == bindparam("of_slot"), _my_slot, vault.c.vacant == 0)
    .values(body=bindparam("new_body"))
)
WIPE_SLOT: Final = Prepared(
    update(vault)
    .where(vault.c.slot == bindparam("of_slot"), _my_slot)
    .values(owner=bindparam("no_owner"), vacant=1, body=bindparam("no_body"))
)

_ORPHAN = and_(
    _my_slot,
    vault.c.vacant == literal_column("0"),
    ~exists().where(_mine(preferences), preferences.c.slot == vault.c.slot),
    ~exists().where(_mine(cards), cards.c.slot == vault.c.slot),
    ~exists().where(_mine(people), people.c.key_slot == vault.c.slot),
    ~exists().where(_mine(generations), generations.c.slot == vault.c.slot),
)
ORPHANS: Final = Prepared(select(vault.c.slot).where(_ORPHAN))

# the ledger

_EVENT = (
    *("kind", "key", "purpose", "scope", "channel", "policy", "at_ms", "revision"),
    *("expires_at_ms", "card_id"),
)
ADD_EVENT: Final = Prepared(
    insert(ledger).from_select(
        ["tenant", "person", "number", *_EVENT],
        select(
            cast(bindparam("tenant"), String),
            cast(bindparam("person"), String),
            func.coalesce(
                select(func.max(ledger.c.number)).where(_mine(ledger)).scalar_subquery(), 0
            )
            + 1,
            *(cast(bindparam(name), ledger.c[name].type) for name in _EVENT),
        ),
    )
)
EVENTS: Final = Prepared(
    select(ledger.c.number, *(ledger.c[name] for name in _EVENT))
    .where(_mine(ledger))
    .order_by(ledger.c.number)
)
DROP_EVENTS: Final = Prepared(delete(ledger).where(_mine(ledger)))

# reading back after the commit: what is left of what was known before a revision

_every_key = bindparam("every_key", type_=Integer) == 1


def _count(table: Table, *conditions: ColumnElement[bool]) -> ScalarSelect[int]:
    return select(func.count()).select_from(table).where(*conditions).scalar_subquery()


READ_BACK: Final = Prepared(
    select(
        _count(
            preferences,
            _mine(preferences),
            preferences.c.slot.is_not(None),
            preferences.c.revision <= bindparam("revision"),
            or_(_every_key, preferences.c.key == bindparam("of_key")),
        ),
        _count(
            cards,
            _mine(cards),
            cards.c.slot.is_not(None),
            cards.c.revision < bindparam("revision"),
        ),
        _count(journal, _mine(journal), kept_window, journal.c.revision < bindparam("revision")),
        _count(vault, _ORPHAN),
        _count(
            people,
            _mine(people),
            people.c.key_slot.is_not(None),
            people.c.key_revision < bindparam("revision"),
        ),
    )
)
READ_BACK_ERASED: Final = Prepared(
    select(
        _count(preferences, _mine(preferences), preferences.c.revision <= bindparam("revision")),
        _count(cards, _mine(cards), cards.c.revision < bindparam("revision")),
        _count(journal, _mine(journal), kept_window, journal.c.revision < bindparam("revision")),
        _count(vault, _ORPHAN),
        _count(
            people,
            _mine(people),
            people.c.key_slot.is_not(None),
            people.c.key_revision < bindparam("revision"),
        ),
        _count(generations, _mine(generations), generations.c.revision < bindparam("revision")),
        sum((_count(table, *conditions) for table, conditions in LEFT), start=literal_column("0")),
        _count(ledger, _mine(ledger), ledger.c.revision < bindparam("revision")),
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
DROP_WINDOW: Final = Prepared(
    update(journal)
    .where(_mine(journal), kept_window, journal.c.expires_at_ms <= bindparam("now_ms"))
    .values(window=null())
)
DROP_OLD_CARDS: Final = Prepared(
    delete(cards).where(_mine(cards), ~pending, cards.c.expires_at_ms < bindparam("before_ms"))
)
