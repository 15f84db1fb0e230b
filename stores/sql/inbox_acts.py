"""Transactions over the inbox. The chat is locked where an engine has locks for rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from stores.errors import StoreKeyMissing
from stores.inbox import (
    ENDINGS,
    KEPT_MS,
    OPEN,
    PURGED_AT_ONCE,
    STUCK_MS,
    Append,
    Arrival,
    Claim,
    State,
)
from stores.inbox_base import Ended, NotDueError, Part, Sealed, Settled, Taken, bound_to
from stores.records import Owner
from stores.sealing import KeyRing
from stores.sql import inbox_statements as statements
from stores.sql import people
from stores.sql.session import Prepared, Row, Session


def accept(session: Session, tenant: str, sealed: Sequence[Sealed], *, now_ms: int) -> int:
    """Add events that are new and wake their chats; return how many."""
    rows: list[dict[str, Any]] = [
        {
            "tenant": tenant,
            "now_ms": now_ms,
            "place": one.place,
            "event_id": one.arrival.event_id,
            "chat": one.arrival.chat,
            "person": one.arrival.person,
            "message": one.arrival.message,
            "said_at_ms": one.arrival.said_at_ms,
            "body": one.body,
        }
        for one in sealed
    ]
    # In one order everywhere, so that two gateways with the same events wait and do not deadlock.
    new = session.many(statements.ADD, sorted(rows, key=lambda row: str(row["event_id"])))
    woken = sorted({chat for (chat,) in new})
    session.many(
        statements.WAKE, [{"tenant": tenant, "chat": chat, "now_ms": now_ms} for chat in woken]
    )
    return len(new)


def is_due(session: Session, tenant: str, chat: str | None, *, now_ms: int) -> bool:
    """Tell whether there is something to claim."""
    if chat is None:
        return bool(session.rows(statements.DUE, tenant=tenant, now_ms=now_ms))
    return bool(session.rows(statements.DUE_CHAT, tenant=tenant, of_chat=chat, now_ms=now_ms))


def claim(
    session: Session,
    tenant: str,
    worker: str,
    *,
    now_ms: int,
    until_ms: int,
    most: int,
    chat: str | None,
) -> list[Taken]:
    """Lease chats that are due, and read their oldest open events.

    The events are read in a statement of their own, after the leases: it sees what is committed.
    """
    lease: dict[str, Any] = {
        "tenant": tenant,
        "new_worker": worker,
        "now_ms": now_ms,
        "until_ms": until_ms,
    }
    free = [chat]
    if chat is None:
        found = session.rows(statements.FREE_CHATS, tenant=tenant, now_ms=now_ms, most=most)
        free = [name for (name,) in found]
    leased = session.many(statements.TAKE, [{**lease, "of_chat": name} for name in free])
    found = session.many(
        statements.HEAD, [{"tenant": tenant, "of_chat": of_chat} for of_chat, *_ in leased]
    )
    taken = []
    for of_chat, fence, lapsed in leased:
        mine = [row for row in found if row[0] == of_chat]
        heads = [row for row in mine if row[4] in OPEN]
        if not heads:
            _free(session, tenant, of_chat, worker, fence, next_at_ms=now_ms)
            continue
        _, event_id, person, said_at_ms, state, body, plan, retry_key, attempts, *_ = heads[0]
        held = sorted(
            (row for row in mine if row[4] == State.HELD), key=lambda row: (row[3], row[9], row[10])
        )
        taken.append(
            Taken(
                event_id=event_id,
                chat=of_chat,
                person=person,
                said_at_ms=said_at_ms,
                state=state,
                body=bytes(body or b""),
                plan=None if plan is None else bytes(plan),
                retry_key=retry_key,
                attempts=attempts + lapsed,
                held=tuple((row[1], row[2], bytes(row[6])) for row in held),
                fence=fence,
            )
        )
    return taken


def extend(session: Session, tenant: str, claim: Claim, *, until_ms: int) -> bool:
    """Move the end of a lease.

    The chat of an event that is gone is left alone: its answer may be leaving, and whoever sends it
    frees the chat.
    """
    return bool(session.rows(statements.EXTEND, **_event(tenant, claim), until_ms=until_ms))


def settle(
    session: Session,
    tenant: str,
    claim: Claim,
    *,
    settled: Settled,
    append: Append | None,
    now_ms: int,
) -> bool:
    """Write journal and plan.

    Raises:
        PreferenceChanged: If the person's consent changed since the snapshot.
        ConversationChanged: If another event moved the window on.
    """
    moved = _move(
        session,
        statements.SETTLE,
        tenant,
        claim,
        now_ms=now_ms,
        new_state=settled.state.value,
        new_plan=settled.plan,
        new_retry_key=settled.retry_key,
    )
    if not moved:
        return False
    if append is not None:
        people.append(
            session,
            append.owner,
            event_id=append.event_id,
            window=append.window,
            expected_revision=append.expected_revision,
            expected_generation=append.expected_generation,
            expires_at_ms=now_ms + append.ttl_ms,
        )
    return True


def sending(
    session: Session, tenant: str, claim: Claim, *, retry_key: str | None, now_ms: int
) -> bool:
    """Note that the message is about to leave."""
    moved = _move(
        session, statements.SENDING, tenant, claim, now_ms=now_ms, new_retry_key=retry_key
    )
    return bool(moved)


def finish(
    session: Session,
    tenant: str,
    claim: Claim,
    *,
    ended: Ended,
    now_ms: int,
) -> bool:
    """End the event and free the chat; one that was unsent meanwhile stays silent."""
    moved = session.rows(
        statements.FINISH,
        **_event(tenant, claim),
        now_ms=now_ms,
        new_state=ended.ending.value,
        new_error_code=ended.error_code,
    )
    if not _free(session, tenant, claim.chat, claim.worker, claim.fence, next_at_ms=now_ms):
        return False
    session.many(
        statements.END_HELD,
        [
            {
                "tenant": tenant,
                "of_chat": claim.chat,
                "of_event": event_id,
                "new_state": state.value,
                "now_ms": now_ms,
            }
            for event_id, state in ended.of_held
        ],
    )
    session.many(
        statements.ADD_SENT,
        [
            {
                "tenant": tenant,
                "chat": claim.chat,
                "message": message,
                # Of an erased person nothing is noted any more.
                "person": claim.person if moved else None,
                "at_ms": now_ms,
            }
            for message in ended.sent
        ],
    )
    return True


def hold(
    session: Session, tenant: str, claim: Claim, *, plan: bytes, now_ms: int, error_code: str
) -> bool:
    """Keep the answer and free the chat."""
    moved = _move(
        session,
        statements.HOLD,
        tenant,
        claim,
        now_ms=now_ms,
        new_plan=plan,
        new_error_code=error_code,
    )
    if moved:
        _free(session, tenant, claim.chat, claim.worker, claim.fence, next_at_ms=now_ms)
    return bool(moved)


def release(
    session: Session,
    tenant: str,
    claim: Claim,
    *,
    now_ms: int,
    retry_at_ms: int,
    error_code: str | None,
    dead: bool,
) -> str | None:
    """Give the event back, or put it among the dead; return where it is."""
    moved = _move(
        session,
        statements.RELEASE,
        tenant,
        claim,
        now_ms=now_ms,
        dead=int(dead),
        new_attempts=claim.attempts + (error_code is not None),
        new_error_code=error_code,
    )
    if not moved:
        return None
    next_at_ms = now_ms if dead else retry_at_ms
    _free(session, tenant, claim.chat, claim.worker, claim.fence, next_at_ms=next_at_ms)
    return str(moved[0][0])


def find_message(session: Session, tenant: str, message: str) -> Row | None:
    """Return event, chat, person, time and state of a message."""
    found = session.rows(statements.MESSAGE, tenant=tenant, of_message=message)
    return found[0] if found else None


def unsend(session: Session, tenant: str, message: str, *, now_ms: int) -> Arrival | None:
    """Drop the text of a message and what came of it; its person and chat are locked."""
    found = find_message(session, tenant, message)
    if found is None:
        return None
    event_id, chat, person, said_at_ms, state = found
    session.rows(statements.UNSEND, tenant=tenant, of_event=event_id, now_ms=now_ms)
    if person is not None and state != State.WAITING:
        people.clear(session, Owner(tenant=tenant, person=person))
    gone = "" if state == State.SENDING else event_id
    session.rows(statements.END_WORK, tenant=tenant, of_chat=chat, gone=gone, next_at_ms=now_ms)
    return Arrival(
        event_id=event_id,
        chat=chat,
        person=person,
        message=message,
        said_at_ms=said_at_ms,
        body=b"",
    )


def take_leaver(session: Session, owner: Owner, *, now_ms: int) -> None:
    """Take a person who is due off the list of those who left.

    Raises:
        NotDueError: If they did not leave, are not due yet, or came back.
    """
    mine = {"tenant": owner.tenant, "person": owner.person}
    if not session.rows(statements.TAKE_LEAVER, **mine, now_ms=now_ms):
        raise NotDueError


def erase(session: Session, owner: Owner, *, now_ms: int) -> None:
    """Take a person out of the inbox; ids of events stay, so that none is answered again."""
    mine = {"tenant": owner.tenant, "person": owner.person}
    names = sorted({chat for (chat,) in session.rows(statements.CHATS_OF_PERSON, **mine)})
    chats = session.many(
        statements.LOCK_CHAT, [{"tenant": owner.tenant, "of_chat": chat} for chat in names]
    )
    # What is leaving right now keeps its chat until its worker has seen it off.
    held = {
        event_id
        for event_id, state in session.rows(statements.OPEN_OF_PERSON, **mine)
        if state != State.SENDING
    }
    session.rows(statements.ERASE, **mine, now_ms=now_ms)
    session.many(
        statements.END_WORK,
        [
            {
                "tenant": owner.tenant,
                "of_chat": chat,
                "gone": at_work if at_work in held else "",
                "next_at_ms": now_ms,
            }
            for chat, at_work in chats
        ],
    )
    for statement in (statements.DROP_SENT, statements.DROP_QUOTA, statements.DROP_LEAVER):
        session.rows(statement, **mine)


def open_of(session: Session, owner: Owner) -> int:
    """Count events of a person that are not done."""
    return len(session.rows(statements.OPEN_OF_PERSON, tenant=owner.tenant, person=owner.person))


def requeue(session: Session, tenant: str, event_id: str, *, now_ms: int) -> bool:
    """Give a dead event back."""
    found = session.rows(statements.REQUEUE, tenant=tenant, of_event=event_id, now_ms=now_ms)
    for (chat,) in found:
        session.rows(statements.WAKE, tenant=tenant, chat=chat, now_ms=now_ms)
    return bool(found)


def purge(session: Session, tenant: str, *, now_ms: int) -> int:
    """Drop what is old."""
    before_ms, stuck_ms = now_ms - KEPT_MS, now_ms - STUCK_MS
    old = [(state, before_ms) for state in sorted(ENDINGS)]
    old += [(state, stuck_ms) for state in (State.HELD, State.DEAD)]
    gone = 0
    chats: set[str] = set()
    for state, until_ms in old:
        what = {"tenant": tenant, "of_state": state.value, "before_ms": until_ms}
        found = session.rows(statements.OLD, **what, most=PURGED_AT_ONCE - gone)
        chats |= {chat for _, chat in found}
        each = [{**what, "of_event": event_id} for event_id, _ in found]
        gone += len(session.many(statements.PURGE, each))
    session.many(
        statements.PURGE_CHAT,
        [{"tenant": tenant, "of_chat": chat, "before_ms": before_ms} for chat in sorted(chats)],
    )
    session.rows(statements.PURGE_SENT, tenant=tenant, before_ms=before_ms)
    session.rows(statements.PURGE_STAYED, tenant=tenant, before_ms=before_ms)
    if before_ms > 0:
        day = datetime.fromtimestamp(before_ms / 1000, tz=UTC).date().isoformat()
        session.rows(statements.PURGE_QUOTA, tenant=tenant, before_day=day)
    return gone


def sealed(session: Session, tenant: str, *, after: str, most: int) -> list[Row]:
    """Return events that have something sealed: id, chat, body and plan."""
    return session.rows(statements.SEALED, tenant=tenant, after=after, most=most)


def reseal(session: Session, tenant: str, event_id: str, ring: KeyRing) -> bool:
    """Seal an event's body and plan by the newest key of the ring; tell whether it could be."""
    for body, plan in session.rows(statements.SEALED_EVENT, tenant=tenant, of_event=event_id):
        try:
            session.rows(
                statements.RESEAL,
                tenant=tenant,
                of_event=event_id,
                new_body=_anew(ring, tenant, event_id, "body", body),
                new_plan=_anew(ring, tenant, event_id, "plan", plan),
            )
        except StoreKeyMissing:
            return False
    return True


def _anew(ring: KeyRing, tenant: str, event_id: str, part: Part, old: bytes | None) -> bytes | None:
    if old is None:
        return None
    bound = bound_to(tenant, event_id, part)
    return ring.seal_passing(bound, ring.open_passing(bound, bytes(old)))


def _lease(tenant: str, claim: Claim) -> dict[str, Any]:
    return {
        "tenant": tenant,
        "of_chat": claim.chat,
        "of_worker": claim.worker,
        "of_fence": claim.fence,
    }


def _event(tenant: str, claim: Claim) -> dict[str, Any]:
    return {**_lease(tenant, claim), "of_event": claim.event_id}


def _move(
    session: Session, statement: Prepared, tenant: str, claim: Claim, **values: Any
) -> list[Row]:
    """Change the event under the lease; if it is gone, unsent or erased, give the chat back."""
    moved = session.rows(statement, **_event(tenant, claim), **values)
    if not moved:
        now_ms = values["now_ms"]
        _free(session, tenant, claim.chat, claim.worker, claim.fence, next_at_ms=now_ms)
    return moved


def _free(
    session: Session, tenant: str, chat: str, worker: str, fence: int, *, next_at_ms: int
) -> bool:
    """End a lease that is held; the chat is due then if there is more."""
    freed = session.rows(
        statements.FREE,
        tenant=tenant,
        of_chat=chat,
        of_worker=worker,
        of_fence=fence,
        next_at_ms=next_at_ms,
    )
    return bool(freed)
