"""Statements of consent: preferences, cards and the ledger. Each carries tenant and person (11)."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    Integer,
    String,
    and_,
    bindparam,
    cast,
    delete,
    func,
    insert,
    null,
    or_,
    select,
    update,
)

from stores.records import CardStatus
from stores.sql.session import Prepared
from stores.sql.tables import (
    MINE,
    cards,
    ending,
    ledger,
    mine,
    my_slot,
    pending,
    people,
    preferences,
    same_person,
    vault,
)

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
                same_person(preferences, people),
                preferences.c.slot.is_not(None),
                _alive,
                _usable,
            ),
        )
        .outerjoin(vault, and_(vault.c.slot == preferences.c.slot, my_slot))
        .outerjoin(
            _keys,
            and_(
                _keys.c.slot == people.c.key_slot,
                _keys.c.owner == bindparam("owner_tag"),
                preferences.c.slot.is_not(None),
            ),
        )
    )
    .where(mine(people))
)
PREFERENCE_SLOTS: Final = Prepared(
    select(preferences.c.key, preferences.c.slot, preferences.c.expires_at_ms).where(
        mine(preferences)
    )
)
ADD_PREFERENCE: Final = Prepared(
    insert(preferences).values(
        **MINE,
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
    .where(mine(preferences), preferences.c.key == bindparam("of_key"))
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
    .where(mine(preferences), preferences.c.key == bindparam("of_key"))
    .values(
        purpose="",
        granted_at_ms=null(),
        forgotten_at_ms=bindparam("now_ms"),
        revision=bindparam("new_revision"),
        slot=null(),
        expires_at_ms=null(),
    )
)
DROP_PREFERENCES: Final = Prepared(delete(preferences).where(mine(preferences)))
ENDED_PREFERENCES: Final = Prepared(
    select(preferences.c.key, preferences.c.scope, preferences.c.slot).where(
        mine(preferences), ending, preferences.c.expires_at_ms <= bindparam("now_ms")
    )
)

# cards

CARD_COLUMNS: Final = (
    *("card_id", "action", "key", "purpose", "revision", "expires_at_ms", "value_tag"),
    *("value_expires_at_ms", "scope"),
)
CARD: Final = Prepared(
    select(*(cards.c[name] for name in (*CARD_COLUMNS, "status", "slot"))).where(
        mine(cards), cards.c.card_id == bindparam("of_card")
    )
)
ADD_CARD: Final = Prepared(
    insert(cards).values(
        **MINE,
        **{name: bindparam(name) for name in (*CARD_COLUMNS, "status", "slot")},
    )
)
CLOSE_CARD: Final = Prepared(
    update(cards)
    .where(mine(cards), cards.c.card_id == bindparam("of_card"))
    .values(status=bindparam("new_status"), slot=null())
)
PENDING_CARDS: Final = Prepared(select(cards.c.card_id, cards.c.slot).where(mine(cards), pending))
RUN_OUT_CARDS: Final = Prepared(
    select(cards.c.card_id, cards.c.slot, cards.c.key, cards.c.purpose, cards.c.scope).where(
        mine(cards), pending, cards.c.expires_at_ms <= bindparam("now_ms")
    )
)
OPEN_CARDS: Final = Prepared(
    select(func.count())
    .select_from(cards)
    .where(
        mine(cards),
        pending,
        cards.c.expires_at_ms > bindparam("now_ms"),
        cards.c.revision == bindparam("revision"),
    )
)
DROP_CARDS: Final = Prepared(delete(cards).where(mine(cards)))
OUTDATE_CARDS: Final = Prepared(
    update(cards)
    .where(
        mine(cards),
        cards.c.status == CardStatus.APPROVED.value,
        or_(bindparam("every_key", type_=Integer) == 1, cards.c.key == bindparam("of_key")),
        cards.c.card_id != bindparam("but_card"),
    )
    .values(status=CardStatus.STALE.value)
)
DROP_OLD_CARDS: Final = Prepared(
    delete(cards).where(mine(cards), ~pending, cards.c.expires_at_ms < bindparam("before_ms"))
)

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
                select(func.max(ledger.c.number)).where(mine(ledger)).scalar_subquery(), 0
            )
            + 1,
            *(cast(bindparam(name), ledger.c[name].type) for name in _EVENT),
        ),
    )
)
EVENTS: Final = Prepared(
    select(ledger.c.number, *(ledger.c[name] for name in _EVENT))
    .where(mine(ledger))
    .order_by(ledger.c.number)
)
DROP_EVENTS: Final = Prepared(delete(ledger).where(mine(ledger)))
