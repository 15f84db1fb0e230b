"""Statements of the records of generations. Each one carries tenant and person (invariant 11)."""

from __future__ import annotations

from typing import Final

from sqlalchemy import and_, bindparam, delete, insert, select

from stores.sql.session import Prepared
from stores.sql.tables import MINE, generations, mine

_COLUMNS: Final = ("made_at_ms", "expires_at_ms", "revision", "slot", "record", "originals")
_mine = mine(generations)
_this = and_(_mine, generations.c.generation == bindparam("of_generation"))
_alive = generations.c.expires_at_ms > bindparam("now_ms")

RECORD: Final = Prepared(select(generations.c.slot, generations.c.record).where(_this, _alive))
ORIGINALS: Final = Prepared(
    select(generations.c.slot, generations.c.originals).where(_this, _alive)
)
KNOWN: Final = Prepared(
    select(generations.c.slot, generations.c.record, generations.c.originals).where(_this)
)
HELD: Final = Prepared(
    select(
        generations.c.generation,
        generations.c.made_at_ms,
        generations.c.expires_at_ms,
        generations.c.revision,
        generations.c.slot,
    ).where(_mine)
)
ADD: Final = Prepared(
    insert(generations).values(
        **MINE,
        generation=bindparam("generation"),
        **{name: bindparam(name) for name in _COLUMNS},
    )
)
DROP: Final = Prepared(delete(generations).where(_this))
DROP_ALL: Final = Prepared(delete(generations).where(_mine))
