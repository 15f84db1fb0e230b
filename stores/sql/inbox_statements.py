"""Every statement of the inbox. Each one carries its tenant (invariant 11).

Insertions that may meet a row say so in the conflict clause that SQLite and PostgreSQL share. What
is changed is named by its whole key: of a table that was empty when a plan was made, a planner
believes that any other condition finds one row, and the plan may read all of a tenant's.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Integer,
    String,
    Table,
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    literal_column,
    null,
    or_,
    select,
    union_all,
    update,
)
from sqlalchemy.dialects.postgresql import insert

from stores.inbox import ENDINGS, OPEN, State
from stores.sql.session import Prepared
from stores.sql.tables import (
    COUNTED_CHARS,
    chats,
    due_chat,
    held_event,
    inbox,
    leavers,
    open_event,
    quota,
    sent,
)


def _in_tenant(table: Table) -> ColumnElement[bool]:
    return table.c.tenant == bindparam("tenant")


def _literal(state: State) -> ColumnElement[str]:
    return literal_column(f"'{state.value}'", String)


_ENDED: Final = inbox.c.state.in_([_literal(state) for state in sorted(ENDINGS)])
_STUCK: Final = inbox.c.state.in_([_literal(State.HELD), _literal(State.DEAD)])
_of_event = and_(_in_tenant(inbox), inbox.c.event_id == bindparam("of_event"))
_of_chat = and_(_in_tenant(inbox), inbox.c.chat == bindparam("of_chat"))
_the_chat = and_(_in_tenant(chats), chats.c.chat == bindparam("of_chat"))
_leased = and_(
    _the_chat,
    chats.c.worker == bindparam("of_worker"),
    chats.c.fence == bindparam("of_fence"),
)
_has_open: Final = exists().where(
    inbox.c.tenant == chats.c.tenant, inbox.c.chat == chats.c.chat, open_event
)

# Said by what it is not: the index of what is open cannot find one event, and is not to be tried.
_unfinished: Final = inbox.c.state.not_in(
    [_literal(state) for state in State if state.value not in OPEN]
)

# arrivals

_ARRIVAL = ("event_id", "chat", "person", "message", "said_at_ms", "place", "body")
ADD: Final = Prepared(
    insert(inbox)
    .values(
        tenant=bindparam("tenant"),
        arrived_at_ms=bindparam("now_ms"),
        changed_at_ms=bindparam("now_ms"),
        state=_literal(State.WAITING),
        attempts=literal_column("0"),
        **{name: bindparam(name) for name in _ARRIVAL},
    )
    .on_conflict_do_nothing(index_elements=["tenant", "event_id"])
    .returning(inbox.c.chat)
)
_woken = insert(chats).values(
    tenant=bindparam("tenant"),
    chat=bindparam("chat"),
    # Begun at the time, not at 0: a chat that was purged and comes again repeats no number.
    fence=bindparam("now_ms"),
    lapsed=literal_column("0"),
    due_at_ms=bindparam("now_ms"),
    last_at_ms=bindparam("now_ms"),
)
WAKE: Final = Prepared(
    _woken.on_conflict_do_update(
        index_elements=["tenant", "chat"],
        set_={
            "due_at_ms": func.coalesce(chats.c.due_at_ms, _woken.excluded.due_at_ms),
            "last_at_ms": _woken.excluded.last_at_ms,
        },
    )
)

# claims

_due = and_(_in_tenant(chats), due_chat, chats.c.due_at_ms <= bindparam("now_ms"))
DUE: Final = Prepared(select(literal_column("1")).select_from(chats).where(_due).limit(1))
DUE_CHAT: Final = Prepared(
    select(literal_column("1")).select_from(chats).where(_due, chats.c.chat == bindparam("of_chat"))
)
FREE_CHATS: Final = Prepared(
    select(chats.c.chat)
    .where(_due)
    .order_by(chats.c.due_at_ms)
    .limit(bindparam("most"))
    .with_for_update(skip_locked=True)
)
"""Chats that are due and that nobody else is about to lease."""
_oldest = (inbox.c.said_at_ms, inbox.c.arrived_at_ms, inbox.c.place)
_oldest_open: Final = (
    select(inbox.c.event_id)
    .where(inbox.c.tenant == chats.c.tenant, inbox.c.chat == chats.c.chat, open_event)
    .order_by(*_oldest)
    .limit(1)
    .scalar_subquery()
)
_lease: dict[str, Any] = {
    "event_id": _oldest_open,
    "worker": bindparam("new_worker"),
    "fence": chats.c.fence + 1,
    "due_at_ms": bindparam("until_ms"),
    # A worker that is still there let its lease run out, and it was at the same event.
    "lapsed": case(
        (
            and_(chats.c.worker.is_not(None), chats.c.event_id == _oldest_open),
            chats.c.lapsed + 1,
        ),
        else_=literal_column("0"),
    ),
}
TAKE: Final = Prepared(
    update(chats)
    .where(_due, chats.c.chat == bindparam("of_chat"))
    .values(**_lease)
    .returning(chats.c.chat, chats.c.fence, chats.c.lapsed)
)
HEAD_COLUMNS: Final = (
    *("chat", "event_id", "person", "said_at_ms", "state", "body", "plan", "retry_key"),
    *("attempts", "arrived_at_ms", "place"),
)
_head_columns = [inbox.c[name] for name in HEAD_COLUMNS]
_head = (
    select(*_head_columns).where(_of_chat, open_event).order_by(*_oldest).limit(1).subquery("head")
)
HEAD: Final = Prepared(
    union_all(select(*_head.c), select(*_head_columns).where(_of_chat, held_event))
)
"""The oldest open event of a chat, and the answers that are held for it."""

EXTEND: Final = Prepared(
    update(chats)
    .where(_leased, exists().where(_of_event, _unfinished))
    .values(due_at_ms=bindparam("until_ms"))
    .returning(chats.c.chat)
)
_due_if_open = case((_has_open, bindparam("next_at_ms", type_=BigInteger)), else_=null())
_freed: dict[str, Any] = {
    "worker": null(),
    "event_id": null(),
    "lapsed": literal_column("0"),
    "due_at_ms": _due_if_open,
}
FREE: Final = Prepared(update(chats).where(_leased).values(**_freed).returning(chats.c.chat))
END_WORK: Final = Prepared(
    update(chats)
    .where(
        _the_chat,
        or_(chats.c.worker.is_(None), chats.c.event_id == bindparam("gone", type_=String)),
    )
    .values(**_freed)
)
"""An event is gone: nobody works on it any more, and its chat is due if there is more."""

# an event under a lease

_mine = and_(_of_event, _unfinished, exists().where(_leased))
_GONE: Final[dict[str, Any]] = {"body": null(), "plan": null(), "retry_key": null()}


def _moved(state: Any, **values: Any) -> Prepared:
    return Prepared(
        update(inbox)
        .where(_mine)
        .values(state=state, changed_at_ms=bindparam("now_ms"), **values)
        .returning(inbox.c.state)
    )


SETTLE: Final = _moved(
    bindparam("new_state"), plan=bindparam("new_plan"), retry_key=bindparam("new_retry_key")
)
SENDING: Final = _moved(_literal(State.SENDING), retry_key=bindparam("new_retry_key"))
FINISH: Final = _moved(bindparam("new_state"), error_code=bindparam("new_error_code"), **_GONE)
HOLD: Final = _moved(
    _literal(State.HELD),
    error_code=bindparam("new_error_code"),
    **{**_GONE, "plan": bindparam("new_plan")},
)
_unsafe = and_(
    inbox.c.state == _literal(State.SENDING),
    or_(inbox.c.retry_key.is_(None), inbox.c.plan.is_(None)),
)
RELEASE: Final = _moved(
    case(
        (bindparam("dead", type_=Integer) == 1, _literal(State.DEAD)),
        (_unsafe, _literal(State.READY)),
        else_=inbox.c.state,
    ),
    retry_key=case((_unsafe, null()), else_=inbox.c.retry_key),
    attempts=bindparam("new_attempts"),
    error_code=bindparam("new_error_code"),
)
END_HELD: Final = Prepared(
    update(inbox)
    .where(_of_event, held_event, inbox.c.chat == bindparam("of_chat"))
    .values(state=bindparam("new_state"), changed_at_ms=bindparam("now_ms"), **_GONE)
)
ADD_SENT: Final = Prepared(
    insert(sent)
    .values(
        tenant=bindparam("tenant"),
        **{name: bindparam(name) for name in ("chat", "message", "person", "at_ms")},
    )
    .on_conflict_do_nothing(index_elements=["tenant", "chat", "message"])
)
SENT: Final = Prepared(
    select(literal_column("1"))
    .select_from(sent)
    .where(
        _in_tenant(sent),
        sent.c.chat == bindparam("of_chat"),
        sent.c.message == bindparam("of_message"),
    )
)

# what is taken back

MESSAGE: Final = Prepared(
    select(inbox.c.event_id, inbox.c.chat, inbox.c.person, inbox.c.said_at_ms, inbox.c.state)
    .where(_in_tenant(inbox), inbox.c.message == bindparam("of_message"))
    .limit(1)
)
_silent = case((_ENDED, inbox.c.state), else_=_literal(State.SILENT))
UNSEND: Final = Prepared(
    update(inbox).where(_of_event).values(state=_silent, changed_at_ms=bindparam("now_ms"), **_GONE)
)
_persons = and_(_in_tenant(inbox), inbox.c.person == bindparam("person"))
CHATS_OF_PERSON: Final = Prepared(select(inbox.c.chat).where(_persons))
LOCK_CHAT: Final = Prepared(
    select(chats.c.chat, chats.c.event_id).where(_the_chat).with_for_update()
)
OPEN_OF_PERSON: Final = Prepared(
    select(inbox.c.event_id, inbox.c.state).where(_persons, or_(open_event, _STUCK))
)
ERASE: Final = Prepared(
    update(inbox)
    .where(_persons)
    .values(
        state=_silent, changed_at_ms=bindparam("now_ms"), person=null(), message=null(), **_GONE
    )
)


def _persons_rows(table: Table) -> ColumnElement[bool]:
    return and_(_in_tenant(table), table.c.person == bindparam("person"))


DROP_SENT: Final = Prepared(delete(sent).where(_persons_rows(sent)))
DROP_QUOTA: Final = Prepared(delete(quota).where(_persons_rows(quota)))
TAKE_LEAVER: Final = Prepared(
    delete(leavers)
    .where(_persons_rows(leavers), leavers.c.due_at_ms <= bindparam("now_ms"))
    .returning(leavers.c.person)
)
DROP_LEAVER: Final = Prepared(delete(leavers).where(_persons_rows(leavers)))
LEFT: Final = (
    (inbox, (_persons, inbox.c.arrived_at_ms < bindparam("now_ms"))),
    (sent, (_persons_rows(sent), sent.c.at_ms < bindparam("now_ms"))),
    (quota, (_persons_rows(quota),)),
    (leavers, (_persons_rows(leavers),)),
)
"""What an erasure must leave nothing of; what arrived after it is new."""

# quotas and leavers

_spent = insert(quota).values(
    tenant=bindparam("tenant"),
    person=bindparam("person"),
    day=bindparam("day"),
    used=literal_column("1"),
    counted=bindparam("mark"),
)
_new = _spent.excluded
_again = quota.c.counted.contains(_new.counted)
_marks = func.substr(
    _new.counted.concat(quota.c.counted), literal_column("1"), literal_column(str(COUNTED_CHARS))
)
SPEND: Final = Prepared(
    _spent.on_conflict_do_update(
        index_elements=["tenant", "person"],
        set_={
            "used": case(
                (_again, quota.c.used),
                (quota.c.day == _new.day, quota.c.used + 1),
                else_=literal_column("1"),
            ),
            "day": case((_again, quota.c.day), else_=_new.day),
            "counted": case((_again, quota.c.counted), else_=_marks),
        },
        where=or_(_again, quota.c.day != _new.day, quota.c.used < bindparam("most")),
    ).returning(quota.c.used)
)
"""An event that took a turn writes its row as it is, so that there is a row to return."""
_leaver = insert(leavers).values(
    tenant=bindparam("tenant"),
    person=bindparam("person"),
    said_at_ms=bindparam("said_at_ms"),
    due_at_ms=bindparam("due_at_ms"),
)
_told_anew: Final[dict[str, Any]] = {
    "index_elements": ["tenant", "person"],
    "set_": {name: _leaver.excluded[name] for name in ("said_at_ms", "due_at_ms")},
}
LEAVE: Final = Prepared(
    _leaver.on_conflict_do_update(
        **_told_anew, where=leavers.c.said_at_ms < _leaver.excluded.said_at_ms
    )
)
STAY: Final = Prepared(
    _leaver.on_conflict_do_update(
        **_told_anew, where=leavers.c.said_at_ms <= _leaver.excluded.said_at_ms
    )
)
"""Said at the same time, staying holds: nobody is erased by a doubt."""
LEAVERS: Final = Prepared(
    select(leavers.c.person)
    .where(_in_tenant(leavers), leavers.c.due_at_ms <= bindparam("now_ms"))
    .order_by(leavers.c.due_at_ms)
    .limit(bindparam("most"))
)

# for operators

COUNTS: Final = Prepared(
    select(inbox.c.state, func.count()).where(_in_tenant(inbox)).group_by(inbox.c.state)
)
LETTERS: Final = Prepared(
    select(
        inbox.c.event_id,
        inbox.c.chat,
        inbox.c.state,
        inbox.c.attempts,
        inbox.c.error_code,
        inbox.c.arrived_at_ms,
        inbox.c.changed_at_ms,
    )
    .where(_in_tenant(inbox), inbox.c.state == bindparam("of_state"))
    .order_by(inbox.c.changed_at_ms)
    .limit(bindparam("most"))
)
EVENT: Final = Prepared(select(inbox.c.chat, inbox.c.state).where(_of_event))
REQUEUE: Final = Prepared(
    update(inbox)
    .where(_of_event, inbox.c.state == _literal(State.DEAD))
    .values(
        state=case(
            (inbox.c.plan.is_(None), _literal(State.WAITING)),
            (inbox.c.retry_key.is_(None), _literal(State.READY)),
            else_=_literal(State.SENDING),
        ),
        attempts=literal_column("0"),
        error_code=null(),
        changed_at_ms=bindparam("now_ms"),
    )
    .returning(inbox.c.chat)
)


OLD: Final = Prepared(
    select(inbox.c.event_id, inbox.c.chat)
    .where(
        _in_tenant(inbox),
        inbox.c.state == bindparam("of_state"),
        inbox.c.changed_at_ms <= bindparam("before_ms"),
    )
    .limit(bindparam("most"))
)
PURGE: Final = Prepared(
    delete(inbox)
    .where(_of_event, inbox.c.changed_at_ms <= bindparam("before_ms"))
    .returning(inbox.c.event_id)
)
PURGE_CHAT: Final = Prepared(
    delete(chats).where(
        _the_chat,
        chats.c.due_at_ms.is_(None),
        chats.c.worker.is_(None),
        chats.c.last_at_ms <= bindparam("before_ms"),
    )
)
PURGE_SENT: Final = Prepared(
    delete(sent).where(_in_tenant(sent), sent.c.at_ms <= bindparam("before_ms"))
)
PURGE_QUOTA: Final = Prepared(
    delete(quota).where(_in_tenant(quota), quota.c.day < bindparam("before_day"))
)

PURGE_STAYED: Final = Prepared(
    delete(leavers).where(
        _in_tenant(leavers),
        leavers.c.due_at_ms.is_(None),
        leavers.c.said_at_ms <= bindparam("before_ms"),
    )
)

# rotation of the key ring

SEALED: Final = Prepared(
    select(inbox.c.event_id, inbox.c.chat, inbox.c.body, inbox.c.plan)
    .where(
        _in_tenant(inbox),
        inbox.c.event_id > bindparam("after"),
        or_(inbox.c.body.is_not(None), inbox.c.plan.is_not(None)),
    )
    .order_by(inbox.c.event_id)
    .limit(bindparam("most"))
)
SEALED_EVENT: Final = Prepared(select(inbox.c.body, inbox.c.plan).where(_of_event))
RESEAL: Final = Prepared(
    update(inbox).where(_of_event).values(body=bindparam("new_body"), plan=bindparam("new_plan"))
)
