"""Transactions over preferences and cards. What a press comes to is decided in stores.consent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from stores import consent
from stores.consent import CardRow
from stores.errors import PreferenceChanged, StoreUnavailable
from stores.ledger import LedgerKind
from stores.records import (
    PRIVATE,
    Card,
    CardStatus,
    ConsentResult,
    Outcome,
    Owner,
    Preferences,
    Proposal,
    Remembered,
    SurfaceCheck,
)
from stores.sealing import KeyRing, open_sealed
from stores.sql import consent_statements, events, generations, people, person_statements, vault
from stores.sql.events import Act
from stores.sql.people import Person
from stores.sql.safe import Safe
from stores.sql.session import Row, Session

CARD_KEPT_MS: Final = 30 * 24 * 3_600_000
"""How long a closed card, which has no value, is kept to be told apart from an invalid one."""

SURFACES: Final = ("preferences", "cards", "journal", "vault", "data_key")
"""What is counted by reading back after "forget", in the order of the statement."""

_CLOSED_BY: Final = {Outcome.STALE: CardStatus.STALE, Outcome.EXPIRED: CardStatus.EXPIRED}


def preferences(
    session: Session, owner: Owner, ring: KeyRing, *, now_ms: int, chat: str
) -> Preferences:
    """Read what may be used now and in this chat."""
    found = session.rows(
        consent_statements.PREFERENCES,
        tenant=owner.tenant,
        person=owner.person,
        owner_tag=vault.tag_of(owner),
        now_ms=now_ms,
        everywhere=int(chat == PRIVATE),
        chat=chat,
    )
    if not found:
        return Preferences()
    return Preferences(revision=found[0][0], values=opened(found, owner, ring))


def opened(found: Sequence[Row], owner: Owner, ring: KeyRing) -> dict[str, Remembered]:
    """Return the values in rows of ``PREFERENCES``, by key.

    Raises:
        StoreKeyMissing: If the ring has not the key that it takes.
        StoreUnavailable: If a value is not this person's, or was tampered with.
    """
    values: dict[str, Remembered] = {}
    data_key: bytes | None = None
    for _, key, purpose, granted_at_ms, expires_at_ms, scope, slot, body, wrapped in found:
        if slot is None:
            continue
        if body is None or wrapped is None:
            raise StoreUnavailable("The store's rows do not fit together.", reason="damaged")
        if data_key is None:
            data_key = ring.unwrap(owner, wrapped)
        values[key] = Remembered(
            value=open_sealed(data_key, owner, key, body)[1],
            purpose=purpose,
            granted_at_ms=granted_at_ms,
            expires_at_ms=expires_at_ms,
            scope=scope,
        )
    return values


def propose(
    session: Session,
    owner: Owner,
    proposal: Proposal,
    *,
    act: Act,
    expected_revision: int | None,
    card_id: bytes,
    salt: bytes,
    keys: Sequence[bytes],
    ring: KeyRing,
) -> Card:
    """Keep a pending card with its value, and return what to show.

    Raises:
        SigningKeyMissing: If there is no key.
        StoreKeyMissing: If the ring has not the key that sealing takes.
        PreferenceChanged: If the revision is not the expected one, or the words are older than the
            last "forget".
    """
    person = people.find(session, owner)
    if expected_revision is not None and person.revision != expected_revision:
        raise PreferenceChanged(expected=expected_revision, found=person.revision)
    if consent.older_than(proposal, person.forgotten_at_ms):
        raise PreferenceChanged(found=person.revision)
    row, card = consent.make_card(
        owner,
        proposal,
        revision=person.revision,
        now_ms=act.at_ms,
        card_id=card_id,
        salt=salt,
        keys=keys,
    )
    people.ensure(session, person)
    slot = None
    if proposal.value is not None:
        safe = Safe(session, person, ring)
        slot = safe.put(row.key, salt, proposal.value, revision=person.revision)
    session.rows(
        consent_statements.ADD_CARD,
        tenant=owner.tenant,
        person=owner.person,
        card_id=row.card_id,
        action=row.action.value,
        key=row.key,
        purpose=row.purpose,
        revision=row.revision,
        expires_at_ms=row.expires_at_ms,
        value_tag=row.value_tag,
        value_expires_at_ms=row.value_expires_at_ms,
        scope=row.scope,
        status=row.status.value,
        slot=slot,
    )
    _note(session, row, act, LedgerKind.PROPOSED, person.revision)
    _drop_old_cards(session, owner, act.at_ms)
    return card


def press(
    session: Session,
    owner: Owner,
    token: str,
    *,
    approve: bool,
    act: Act,
    keys: Sequence[bytes],
    ring: KeyRing,
) -> ConsentResult:
    """Approve or cancel a card."""
    person = people.find(session, owner)
    row, slot, key = _find(session, owner, token, keys)
    outcome = consent.decide(row, person.revision, act.at_ms)
    if row is None or key is None:
        return ConsentResult(outcome=outcome, revision=person.revision)
    safe, revision = Safe(session, person, ring), person.revision
    if outcome in _CLOSED_BY:
        if row.status is CardStatus.PENDING:
            _close(session, owner, row.card_id, _CLOSED_BY[outcome])
            safe.end(slot)
            if outcome is Outcome.EXPIRED:
                _note(session, row, act, LedgerKind.EXPIRED, revision)
    elif outcome in (Outcome.SAVED, Outcome.FORGOTTEN):
        if not approve:
            outcome = Outcome.CANCELLED
            _close(session, owner, row.card_id, CardStatus.CANCELLED)
            safe.end(slot)
            revision = _new_revision(session, person, safe)
            _note(session, row, act, LedgerKind.CANCELLED, revision)
        elif outcome is Outcome.FORGOTTEN:
            _close(session, owner, row.card_id, CardStatus.APPROVED)
            revision = _forget(
                session, person, safe, row.key, now_ms=act.at_ms, but_card=row.card_id
            )
            _note(session, row, act, LedgerKind.FORGOTTEN, revision)
        elif slot is None or not consent.value_belongs(row, key, *safe.read(slot, row.key)):
            return ConsentResult(outcome=Outcome.INVALID, revision=revision)
        else:
            _close(session, owner, row.card_id, CardStatus.APPROVED)
            revision = _new_revision(session, person, safe)
            changed = _remember(session, row, safe, slot=slot, revision=revision, now_ms=act.at_ms)
            kind = LedgerKind.CHANGED if changed else LedgerKind.GRANTED
            _note(session, row, act, kind, revision)
    safe.renew(revision, always=outcome is Outcome.FORGOTTEN)
    return ConsentResult(outcome=outcome, revision=revision, key=row.key, action=row.action)


def forget(session: Session, owner: Owner, key: str | None, *, act: Act, ring: KeyRing) -> int:
    """Forget one key or all; every card and window from before is void. Return the new revision."""
    person = people.find(session, owner)
    people.ensure(session, person)
    safe = Safe(session, person, ring)
    revision = _forget(session, person, safe, key, now_ms=act.at_ms)
    safe.renew(revision, always=True)
    events.note(session, owner, act, LedgerKind.FORGOTTEN, key=key, revision=revision)
    _drop_old_cards(session, owner, act.at_ms)
    return revision


def read_back(
    session: Session, owner: Owner, key: str | None, revision: int
) -> tuple[SurfaceCheck, ...]:
    """Count what is left of what the person had before ``revision``, surface by surface."""
    counts = session.rows(
        person_statements.READ_BACK,
        tenant=owner.tenant,
        person=owner.person,
        owner_tag=vault.tag_of(owner),
        revision=revision,
        every_key=int(key is None),
        of_key=key or "",
    )[0]
    return tuple(
        SurfaceCheck(surface=surface, remaining=count)
        for surface, count in zip(SURFACES, counts, strict=True)
    )


def clean_up(session: Session, owner: Owner, *, act: Act, ring: KeyRing) -> bool:
    """Take away what ran out of a person's cards, values and window; tell whether they exist.

    The revision stays: what ran out was as if forgotten from the moment on that was agreed to, so
    nothing changes that could be seen.
    """
    person = people.find(session, owner)
    safe, mine = Safe(session, person, ring), {"tenant": owner.tenant, "person": owner.person}
    for card_id, slot, key, purpose, scope in session.rows(
        consent_statements.RUN_OUT_CARDS, **mine, now_ms=act.at_ms
    ):
        safe.end(slot)
        _close(session, owner, card_id, CardStatus.EXPIRED)
        events.note(
            session, owner, act, LedgerKind.EXPIRED, key=key, revision=person.revision,
            purpose=purpose, scope=scope, card_id=card_id,
        )  # fmt: skip
    for key, scope, slot in session.rows(
        consent_statements.ENDED_PREFERENCES, **mine, now_ms=act.at_ms
    ):
        safe.end(slot)
        _drop(session, owner, key, person.revision, act.at_ms)
        events.note(
            session, owner, act, LedgerKind.EXPIRED, key=key, revision=person.revision, scope=scope
        )
    session.rows(person_statements.DROP_WINDOW, **mine, now_ms=act.at_ms)
    generations.clean_up(session, owner, safe, now_ms=act.at_ms)
    safe.renew(person.revision)
    return person.known


def _find(
    session: Session, owner: Owner, token: str, keys: Sequence[bytes]
) -> tuple[CardRow | None, int | None, bytes | None]:
    """Return the row a token proves, its slot, and the key that signed it."""
    card_id = consent.card_id_of(token)
    found = card_id and session.rows(
        consent_statements.CARD, tenant=owner.tenant, person=owner.person, of_card=card_id
    )
    if not found:
        return None, None, None
    *told, status, slot = found[0]
    row = CardRow(
        owner=owner, status=status, **dict(zip(consent_statements.CARD_COLUMNS, told, strict=True))
    )
    signed_by = consent.verify(row, token, keys)
    return (None, None, None) if signed_by is None else (row, slot, signed_by)


def _note(session: Session, row: CardRow, act: Act, kind: LedgerKind, revision: int) -> None:
    events.note(
        session,
        row.owner,
        act,
        kind,
        key=row.key,
        revision=revision,
        purpose=row.purpose,
        scope=row.scope,
        expires_at_ms=row.value_expires_at_ms,
        card_id=row.card_id,
    )


def _close(session: Session, owner: Owner, card_id: str, status: CardStatus) -> None:
    session.rows(
        consent_statements.CLOSE_CARD,
        tenant=owner.tenant,
        person=owner.person,
        of_card=card_id,
        new_status=status.value,
    )


def _new_revision(session: Session, person: Person, safe: Safe) -> int:
    """Change the revision, and with it make every card that still waits stale and empty."""
    owner = person.owner
    for card_id, slot in session.rows(
        consent_statements.PENDING_CARDS, tenant=owner.tenant, person=owner.person
    ):
        safe.end(slot)
        _close(session, owner, card_id, CardStatus.STALE)
    return people.change_revision(session, person)


def _remember(
    session: Session, row: CardRow, safe: Safe, *, slot: int, revision: int, now_ms: int
) -> bool:
    """Hand the card's slot over to the preference; tell whether it replaced a live value.

    The value itself is not copied: it was sealed for the same person and preference.
    """
    owner = row.owner
    known = {key: (old, ends) for key, old, ends in _slots(session, owner)}
    if row.key not in known:
        session.rows(
            consent_statements.ADD_PREFERENCE,
            tenant=owner.tenant,
            person=owner.person,
            key=row.key,
            purpose=row.purpose,
            now_ms=now_ms,
            revision=revision,
            slot=slot,
            expires_at_ms=row.value_expires_at_ms,
            scope=row.scope,
        )
        return False
    old, ends = known[row.key]
    safe.end(old)
    session.rows(
        consent_statements.SET_PREFERENCE,
        tenant=owner.tenant,
        person=owner.person,
        of_key=row.key,
        new_purpose=row.purpose,
        now_ms=now_ms,
        new_revision=revision,
        new_slot=slot,
        new_expires_at_ms=row.value_expires_at_ms,
        new_scope=row.scope,
    )
    return old is not None and (ends is None or now_ms < ends)


def _forget(
    session: Session,
    person: Person,
    safe: Safe,
    key: str | None,
    *,
    now_ms: int,
    but_card: str = "",
) -> int:
    owner = person.owner
    revision = _new_revision(session, person, safe)
    for name, slot, _ in _slots(session, owner):
        if key is None or name == key:
            safe.end(slot)
            _drop(session, owner, name, revision, now_ms)
    # An approved card of what is now forgotten must read "stale", not "already applied".
    session.rows(
        consent_statements.OUTDATE_CARDS,
        tenant=owner.tenant,
        person=owner.person,
        every_key=int(key is None),
        of_key=key or "",
        but_card=but_card,
    )
    entomb(session, person, now_ms)
    return revision


def entomb(session: Session, person: Person, now_ms: int) -> None:
    """Set the tombstone: nothing said up to now can be learned any more. It never moves back."""
    session.rows(
        person_statements.SET_FORGOTTEN,
        tenant=person.owner.tenant,
        person=person.owner.person,
        now_ms=max(now_ms, person.forgotten_at_ms or 0),
    )


def _drop(session: Session, owner: Owner, key: str, revision: int, now_ms: int) -> None:
    session.rows(
        consent_statements.DROP_PREFERENCE,
        tenant=owner.tenant,
        person=owner.person,
        of_key=key,
        now_ms=now_ms,
        new_revision=revision,
    )


def _drop_old_cards(session: Session, owner: Owner, now_ms: int) -> None:
    session.rows(
        consent_statements.DROP_OLD_CARDS,
        tenant=owner.tenant,
        person=owner.person,
        before_ms=now_ms - CARD_KEPT_MS,
    )


def _slots(session: Session, owner: Owner) -> list[tuple[str, int | None, int | None]]:
    return [
        (key, slot, expires_at_ms)
        for key, slot, expires_at_ms in session.rows(
            consent_statements.PREFERENCE_SLOTS, tenant=owner.tenant, person=owner.person
        )
    ]
