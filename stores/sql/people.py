"""A person in a transaction that has locked them: revision, window, and changes of both."""

from __future__ import annotations

from dataclasses import dataclass

from stores.errors import ConversationChanged, PreferenceChanged
from stores.records import Owner, Snapshot
from stores.sql import person_statements as statements
from stores.sql.session import Session


@dataclass(frozen=True, slots=True)
class Person:
    """What was found under the lock. Somebody never seen has revision 0 and generation 0."""

    owner: Owner
    known: bool = False
    revision: int = 0
    forgotten_at_ms: int | None = None
    key_slot: int | None = None
    journaled: bool = False
    generation: int = 0
    last_event: str | None = None


def snapshot(session: Session, owner: Owner, now_ms: int) -> Snapshot:
    """Read revision, generation and the window, if it is alive and of this revision."""
    found = session.rows(statements.SNAPSHOT, tenant=owner.tenant, person=owner.person)
    if not found:
        return Snapshot()
    revision, generation, written_under, expires_at_ms, window, last_event = found[0]
    alive = window is not None and written_under == revision and now_ms < expires_at_ms
    return Snapshot(
        revision=revision,
        generation=generation or 0,
        window=window if alive else None,
        last_event=last_event,
    )


def find(session: Session, owner: Owner) -> Person:
    """Read a person, who is locked, in a transaction that is about to change them."""
    found = session.rows(statements.PERSON, tenant=owner.tenant, person=owner.person)
    if not found:
        return Person(owner)
    revision, forgotten_at_ms, key_slot, generation, last_event = found[0]
    return Person(
        owner,
        known=True,
        revision=revision,
        forgotten_at_ms=forgotten_at_ms,
        key_slot=key_slot,
        journaled=generation is not None,
        generation=generation or 0,
        last_event=last_event,
    )


def ensure(session: Session, person: Person) -> None:
    """Give a person who was never seen their row."""
    if not person.known:
        owner = person.owner
        session.rows(
            statements.ADD_PERSON,
            tenant=owner.tenant,
            person=owner.person,
            revision=person.revision,
        )


def append(
    session: Session,
    owner: Owner,
    *,
    event_id: str,
    window: str,
    expected_revision: int,
    expected_generation: int,
    expires_at_ms: int,
) -> int:
    """Write the window if nobody was faster; the same event again finds it written.

    Raises:
        PreferenceChanged: If the person's consent changed since the snapshot.
        ConversationChanged: If another event moved the window on.
    """
    # What nearly always comes to pass is one statement; whatever else it was is found out after it.
    advanced = session.rows(
        statements.ADVANCE_JOURNAL,
        tenant=owner.tenant,
        person=owner.person,
        expected_generation=expected_generation,
        new_revision=expected_revision,
        new_generation=expected_generation + 1,
        new_expires_at_ms=expires_at_ms,
        new_last_event=event_id,
        new_window=window,
    )
    if advanced:
        return expected_generation + 1
    person = find(session, owner)
    if person.revision != expected_revision:
        raise PreferenceChanged(expected=expected_revision, found=person.revision)
    if person.generation != expected_generation:
        if person.generation == expected_generation + 1 and person.last_event == event_id:
            return person.generation
        raise ConversationChanged(expected=expected_generation, found=person.generation)
    ensure(session, person)
    return _write(
        session,
        person,
        revision=person.revision,
        event_id=event_id,
        window=window,
        expires_at_ms=expires_at_ms,
    )


def clear(session: Session, owner: Owner) -> int:
    """Drop the window."""
    person = find(session, owner)
    ensure(session, person)
    return _write(session, person, revision=person.revision)


def change_revision(session: Session, person: Person) -> int:
    """Bump the revision of a person who has a row and drop the window; return the new revision."""
    owner, revision = person.owner, person.revision + 1
    session.rows(
        statements.SET_REVISION,
        tenant=owner.tenant,
        person=owner.person,
        new_revision=revision,
    )
    _write(session, person, revision=revision)
    return revision


def _write(
    session: Session,
    person: Person,
    *,
    revision: int,
    event_id: str | None = None,
    window: str | None = None,
    expires_at_ms: int = 0,
) -> int:
    generation = person.generation + 1
    session.rows(
        statements.SET_JOURNAL if person.journaled else statements.ADD_JOURNAL,
        tenant=person.owner.tenant,
        person=person.owner.person,
        new_revision=revision,
        new_generation=generation,
        new_expires_at_ms=expires_at_ms,
        new_last_event=event_id,
        new_window=window,
    )
    return generation
