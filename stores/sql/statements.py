"""Every statement of the store. Each one carries tenant and person (invariant 11).

Two kinds do not name a person: those that look for an empty slot, which is nobody's, and those that
look for what has expired in a tenant; what they find is then changed owner by owner.

Written in portable Core, without any dialect's own INSERT: rows are read under a lock before they
are written. ``FOR UPDATE`` is that lock where rows have one; SQLite drops it and locks the file.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Table,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal_column,
    null,
    or_,
    select,
    update,
)

from stores.records import CardStatus
from stores.sql.session import Prepared
from stores.sql.tables import (
    cards,
    journal,
    kept_window,
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
LOCK_PERSON: Final = Prepared(
    select(people.c.revision, journal.c.generation, journal.c.last_event)
    .select_from(_person_and_journal)
    .where(_mine(people))
    .with_for_update(of=people)
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
_JOURNAL: Final[dict[str, Any]] = {
    name: bindparam(f"new_{name}")
    for name in ("revision", "generation", "expires_at_ms", "last_event", "window")
}
ADD_JOURNAL: Final = Prepared(
    insert(journal).values(tenant=bindparam("tenant"), person=bindparam("person"), **_JOURNAL)
)
SET_JOURNAL: Final = Prepared(update(journal).where(_mine(journal)).values(**_JOURNAL))

# preferences

PREFERENCES: Final = Prepared(
    select(
        people.c.revision,
        preferences.c.key,
        preferences.c.purpose,
        preferences.c.granted_at_ms,
        preferences.c.slot,
        vault.c.body,
    )
    .select_from(
        people.outerjoin(
            preferences, and_(_same_person(preferences, people), preferences.c.slot.is_not(None))
        ).outerjoin(vault, and_(vault.c.slot == preferences.c.slot, _my_slot))
    )
    .where(_mine(people))
)
PREFERENCE_SLOTS: Final = Prepared(
    select(preferences.c.key, preferences.c.slot).where(_mine(preferences))
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
    )
)

# cards

_CARD = ("card_id", "action", "key", "purpose", "revision", "expires_at_ms", "value_tag")
CARD: Final = Prepared(
    select(*(cards.c[name] for name in (*_CARD, "status", "slot"))).where(
        _mine(cards), cards.c.card_id == bindparam("of_card")
    )
)
ADD_CARD: Final = Prepared(
    insert(cards).values(
        tenant=bindparam("tenant"),
        person=bindparam("person"),
        **{name: bindparam(name) for name in (*_CARD, "status", "slot")},
    )
)
CLOSE_CARD: Final = Prepared(
    update(cards)
    .where(_mine(cards), cards.c.card_id == bindparam("of_card"))
    .values(status=bindparam("new_status"), slot=null())
)
PENDING_CARDS: Final = Prepared(select(cards.c.card_id, cards.c.slot).where(_mine(cards), pending))
OUTDATE_CARDS: Final = Prepared(
    update(cards)
    .where(
        _mine(cards),
        cards.c.status == CardStatus.APPROVED.value,
        or_(bindparam("every_key") == 1, cards.c.key == bindparam("of_key")),
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
WIPE_SLOT: Final = Prepared(
    update(vault)
    .where(vault.c.slot == bindparam("of_slot"), _my_slot)
    .values(owner=bindparam("no_owner"), vacant=1, body=bindparam("no_body"))
)

# reading back after the commit: what is left of what was known before a revision

_of_the_key = or_(bindparam("every_key") == 1, preferences.c.key == bindparam("of_key"))
READ_BACK: Final = Prepared(
    select(
        select(func.count())
        .select_from(preferences)
        .where(
            _mine(preferences),
            preferences.c.slot.is_not(None),
            preferences.c.revision <= bindparam("revision"),
            _of_the_key,
        )
        .scalar_subquery(),
        select(func.count())
        .select_from(cards)
        .where(_mine(cards), cards.c.slot.is_not(None), cards.c.revision < bindparam("revision"))
        .scalar_subquery(),
        select(func.count())
        .select_from(journal)
        .where(_mine(journal), kept_window, journal.c.revision < bindparam("revision"))
        .scalar_subquery(),
        select(func.count())
        .select_from(vault)
        .where(
            _my_slot,
            vault.c.vacant == literal_column("0"),
            ~exists().where(_mine(preferences), preferences.c.slot == vault.c.slot),
            ~exists().where(_mine(cards), cards.c.slot == vault.c.slot),
        )
        .scalar_subquery(),
    )
)

# housekeeping: a few of what has run out, in this tenant

RUN_OUT_CARDS: Final = Prepared(
    select(cards.c.person, cards.c.card_id, cards.c.slot)
    .where(
        cards.c.tenant == bindparam("tenant"), pending, cards.c.expires_at_ms <= bindparam("now_ms")
    )
    .limit(bindparam("most"))
)
RUN_OUT_WINDOWS: Final = Prepared(
    select(journal.c.person)
    .where(
        journal.c.tenant == bindparam("tenant"),
        kept_window,
        journal.c.expires_at_ms <= bindparam("now_ms"),
    )
    .limit(bindparam("most"))
)
DROP_WINDOW: Final = Prepared(update(journal).where(_mine(journal)).values(window=null()))
DROP_OLD_CARDS: Final = Prepared(
    delete(cards).where(_mine(cards), ~pending, cards.c.expires_at_ms < bindparam("before_ms"))
)
