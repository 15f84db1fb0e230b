"""Transactions a person or an operator asks for: inspection, erasure, rotation of the key ring."""

from __future__ import annotations

from typing import Final

from stores.errors import StoreKeyMissing
from stores.ledger import Inspection, LedgerKind
from stores.records import PRIVATE, Owner, SurfaceCheck
from stores.sealing import KeyRing
from stores.sql import (
    consent_statements,
    events,
    generations,
    inbox_acts,
    memory,
    people,
    person_statements,
    vault,
)
from stores.sql.events import Act
from stores.sql.safe import Safe
from stores.sql.session import Row, Session

ERASED_SURFACES: Final = (*memory.SURFACES, "generations", "inbox", "ledger")
"""What is counted by reading back after "erase", in the order of the statement."""


def inspect(session: Session, owner: Owner, ring: KeyRing, *, now_ms: int) -> Inspection:
    """Read everything that is held of a person."""
    mine = {"tenant": owner.tenant, "person": owner.person}
    open_events = inbox_acts.open_of(session, owner)
    # What came in this very millisecond is held as well.
    [(in_inbox,)] = session.rows(person_statements.IN_INBOX, **mine, now_ms=now_ms + 1)
    found = session.rows(person_statements.PERSON_HELD, **mine)
    if not found:
        return Inspection(owner=owner, in_inbox=in_inbox, open_events=open_events)
    revision, forgotten_at_ms, generation, written_under, window_expires_at_ms, window = found[0]
    alive = window is not None and written_under == revision and now_ms < window_expires_at_ms
    values = session.rows(
        consent_statements.PREFERENCES,
        **mine,
        owner_tag=vault.tag_of(owner),
        now_ms=now_ms,
        everywhere=1,
        chat=PRIVATE,
    )
    waiting = session.rows(consent_statements.OPEN_CARDS, **mine, now_ms=now_ms, revision=revision)
    return Inspection(
        owner=owner,
        known=True,
        in_inbox=in_inbox,
        revision=revision,
        generation=generation or 0,
        forgotten_at_ms=forgotten_at_ms,
        values=memory.opened(values, owner, ring),
        open_cards=waiting[0][0],
        open_events=open_events,
        window=window if alive else None,
        window_expires_at_ms=window_expires_at_ms if alive else None,
        generations=generations.held(session, owner, now_ms=now_ms),
        events=events.read(session, owner),
    )


def erase(
    session: Session, owner: Owner, *, act: Act, ring: KeyRing, keep_ledger: bool, if_due: bool
) -> int:
    """Take a person out but for the tombstone, and return the new revision.

    Raises:
        NotDueError: If it is asked for that they are due, and they are not.
    """
    if if_due:
        # It keeps the row: whoever comes back now waits, and then finds nothing of before.
        inbox_acts.take_leaver(session, owner, now_ms=act.at_ms)
    person = people.find(session, owner)
    people.ensure(session, person)
    mine = {"tenant": owner.tenant, "person": owner.person}
    safe = Safe(session, person, ring)
    generations.erase(session, owner, safe)
    for slot, _ in session.rows(person_statements.LIVE_SLOTS, **mine):
        safe.end(slot)
    session.rows(consent_statements.DROP_CARDS, **mine)
    session.rows(consent_statements.DROP_PREFERENCES, **mine)
    inbox_acts.erase(session, owner, now_ms=act.at_ms)
    revision = people.change_revision(session, person)
    memory.entomb(session, person, act.at_ms)
    safe.renew(revision, always=True)
    if keep_ledger:
        events.note(session, owner, act, LedgerKind.FORGOTTEN, key=None, revision=revision)
    else:
        session.rows(consent_statements.DROP_EVENTS, **mine)
    return revision


def read_back_erased(
    session: Session, owner: Owner, revision: int, *, now_ms: int, keep_ledger: bool
) -> tuple[SurfaceCheck, ...]:
    """Count what is left of a person who was erased then, surface by surface."""
    counts = session.rows(
        person_statements.READ_BACK_ERASED,
        tenant=owner.tenant,
        person=owner.person,
        owner_tag=vault.tag_of(owner),
        revision=revision,
        now_ms=now_ms,
    )[0]
    return tuple(
        SurfaceCheck(surface=surface, remaining=count)
        for surface, count in zip(ERASED_SURFACES, counts, strict=True)
        if surface != "ledger" or not keep_ledger
    )


def tidy(session: Session, owner: Owner) -> None:
    """Wipe slots of a person that nothing refers to: what an attempt to forget left behind."""
    for (slot,) in session.rows(
        person_statements.ORPHANS,
        tenant=owner.tenant,
        person=owner.person,
        owner_tag=vault.tag_of(owner),
    ):
        vault.wipe(session, owner, slot)


def run_out(session: Session, tenant: str, *, now_ms: int, most: int) -> list[str]:
    """Return people of a tenant of whom something ran out."""
    found = session.rows(person_statements.RUN_OUT, tenant=tenant, now_ms=now_ms, most=most)
    return list(dict.fromkeys(person for (person,) in found))


def data_keys(session: Session, tenant: str, *, after: str, most: int) -> list[Row]:
    """Return people who have a data key, with the id of the ring key that wraps it."""
    return session.rows(person_statements.DATA_KEYS, tenant=tenant, after=after, most=most)


def of_next_ring_key(session: Session, tenant: str, *, after: str) -> tuple[str, str] | None:
    """Return a person and the id of the ring key that wraps their data key, the first after one."""
    for person, ring_id in session.rows(
        person_statements.OF_NEXT_RING_KEY, tenant=tenant, after=after
    ):
        return person, ring_id
    return None


def try_key(session: Session, owner: Owner, ring: KeyRing) -> None:
    """Unwrap a person's data key, if they have one, and let go of it.

    Raises:
        StoreKeyMissing: If the ring has not the key that wrapped it.
        StoreUnavailable: If it is not this person's, or was tampered with.
    """
    slot = people.find(session, owner).key_slot
    if slot is not None:
        ring.unwrap(owner, vault.read(session, owner, slot))


def rewrap(session: Session, owner: Owner, ring: KeyRing) -> bool:
    """Wrap a person's data key by the newest ring key; tell whether that could be done."""
    try:
        Safe(session, people.find(session, owner), ring).rewrap()
    except StoreKeyMissing:
        return False
    return True
