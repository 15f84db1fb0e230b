"""Transactions over preferences and cards. What a press comes to is decided in stores.consent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from stores import consent
from stores.consent import CardRow
from stores.errors import PreferenceChanged
from stores.records import (
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
from stores.sql import people, statements, vault
from stores.sql.people import Person
from stores.sql.session import Session

CARD_KEPT_MS: Final = 30 * 24 * 3_600_000
"""How long a closed card, which has no value, is kept to be told apart from an invalid one."""

_SWEEP: Final = 16
_CLOSED_BY: Final = {Outcome.STALE: CardStatus.STALE, Outcome.EXPIRED: CardStatus.EXPIRED}


def preferences(session: Session, owner: Owner) -> Preferences:
    """Read everything the person agreed to have remembered."""
    found = session.rows(
        statements.PREFERENCES,
        tenant=owner.tenant,
        person=owner.person,
        owner_tag=vault.tag_of(owner),
    )
    if not found:
        return Preferences()
    return Preferences(
        revision=found[0][0],
        values={
            key: Remembered(
                value=vault.unpack(body)[1], purpose=purpose, granted_at_ms=granted_at_ms
            )
            for _, key, purpose, granted_at_ms, slot, body in found
            if slot is not None
        },
    )


def propose(
    session: Session,
    owner: Owner,
    proposal: Proposal,
    *,
    now_ms: int,
    expected_revision: int | None,
    card_id: bytes,
    salt: bytes,
    keys: Sequence[bytes],
) -> Card:
    """Keep a pending card with its value, and return what to show.

    Raises:
        SigningKeyMissing: If there is no key.
        PreferenceChanged: If the revision is not the expected one.
    """
    sweep(session, owner, now_ms)
    person = people.lock(session, owner)
    if expected_revision is not None and person.revision != expected_revision:
        raise PreferenceChanged(expected=expected_revision, found=person.revision)
    row, card = consent.make_card(
        owner,
        proposal,
        revision=person.revision,
        now_ms=now_ms,
        card_id=card_id,
        salt=salt,
        keys=keys,
    )
    people.ensure(session, person)
    slot = None if proposal.value is None else vault.put(session, owner, salt, proposal.value)
    session.rows(
        statements.ADD_CARD,
        tenant=owner.tenant,
        person=owner.person,
        card_id=row.card_id,
        action=row.action.value,
        key=row.key,
        purpose=row.purpose,
        revision=row.revision,
        expires_at_ms=row.expires_at_ms,
        value_tag=row.value_tag,
        status=row.status.value,
        slot=slot,
    )
    return card


def press(
    session: Session, owner: Owner, token: str, *, approve: bool, now_ms: int, keys: Sequence[bytes]
) -> ConsentResult:
    """Approve or cancel a card."""
    person = people.lock(session, owner)
    row, slot, key = _find(session, owner, token, keys)
    outcome = consent.decide(row, person.revision, now_ms)
    if row is None or key is None:
        return ConsentResult(outcome=outcome, revision=person.revision)
    revision = person.revision
    if outcome in _CLOSED_BY:
        if row.status is CardStatus.PENDING:
            vault.wipe(session, owner, slot)
            _close(session, row, _CLOSED_BY[outcome])
    elif outcome in (Outcome.SAVED, Outcome.FORGOTTEN):
        if not approve:
            outcome = Outcome.CANCELLED
            _close(session, row, CardStatus.CANCELLED)
            vault.wipe(session, owner, slot)
            revision = _new_revision(session, person)
        elif outcome is Outcome.FORGOTTEN:
            _close(session, row, CardStatus.APPROVED)
            revision = _forget(session, person, row.key, now_ms, but_card=row.card_id)
        elif slot is None or not consent.value_belongs(row, key, *vault.read(session, owner, slot)):
            return ConsentResult(outcome=Outcome.INVALID, revision=person.revision)
        else:
            _close(session, row, CardStatus.APPROVED)
            revision = _new_revision(session, person)
            _remember(session, row, slot, revision, now_ms)
    return ConsentResult(outcome=outcome, revision=revision, key=row.key, action=row.action)


def forget(session: Session, owner: Owner, key: str | None, *, now_ms: int) -> int:
    """Forget one key or all; every card and window from before is void. Return the new revision."""
    person = people.lock(session, owner)
    people.ensure(session, person)
    revision = _forget(session, person, key, now_ms)
    sweep(session, owner, now_ms)
    return revision


def read_back(
    session: Session, owner: Owner, key: str | None, revision: int
) -> tuple[SurfaceCheck, ...]:
    """Count what is left of what the person had before ``revision``, surface by surface."""
    counts = session.rows(
        statements.READ_BACK,
        tenant=owner.tenant,
        person=owner.person,
        owner_tag=vault.tag_of(owner),
        revision=revision,
        every_key=int(key is None),
        of_key=key or "",
    )[0]
    surfaces = ("preferences", "cards", "journal", "vault")
    return tuple(
        SurfaceCheck(surface=surface, remaining=count)
        for surface, count in zip(surfaces, counts, strict=True)
    )


def sweep(session: Session, owner: Owner, now_ms: int) -> None:
    """Take a few values and windows away that ran out in this tenant, whoever's they are.

    Somebody who never comes back would otherwise leave theirs for ever. Old closed cards of the
    owner go as well.
    """
    tenant = owner.tenant
    for other, card_id, slot in session.rows(
        statements.RUN_OUT_CARDS, tenant=tenant, now_ms=now_ms, most=_SWEEP
    ):
        vault.wipe(session, Owner(tenant=tenant, person=other), slot)
        session.rows(
            statements.CLOSE_CARD,
            tenant=tenant,
            person=other,
            of_card=card_id,
            new_status=CardStatus.EXPIRED.value,
        )
    for (other,) in session.rows(
        statements.RUN_OUT_WINDOWS, tenant=tenant, now_ms=now_ms, most=_SWEEP
    ):
        session.rows(statements.DROP_WINDOW, tenant=tenant, person=other)
    session.rows(
        statements.DROP_OLD_CARDS,
        tenant=tenant,
        person=owner.person,
        before_ms=now_ms - CARD_KEPT_MS,
    )


def _find(
    session: Session, owner: Owner, token: str, keys: Sequence[bytes]
) -> tuple[CardRow | None, int | None, bytes | None]:
    """Return the row a token proves, its slot, and the key that signed it."""
    card_id = consent.card_id_of(token)
    found = card_id and session.rows(
        statements.CARD, tenant=owner.tenant, person=owner.person, of_card=card_id
    )
    if not found:
        return None, None, None
    name, action, key, purpose, revision, expires_at_ms, value_tag, status, slot = found[0]
    row = CardRow(
        owner=owner,
        card_id=name,
        action=action,
        key=key,
        purpose=purpose,
        revision=revision,
        expires_at_ms=expires_at_ms,
        value_tag=value_tag,
        status=status,
    )
    signed_by = consent.verify(row, token, keys)
    return (None, None, None) if signed_by is None else (row, slot, signed_by)


def _close(session: Session, row: CardRow, status: CardStatus) -> None:
    session.rows(
        statements.CLOSE_CARD,
        tenant=row.owner.tenant,
        person=row.owner.person,
        of_card=row.card_id,
        new_status=status.value,
    )


def _new_revision(session: Session, person: Person) -> int:
    """Change the revision, and with it make every card that still waits stale and empty."""
    owner = person.owner
    for card_id, slot in session.rows(
        statements.PENDING_CARDS, tenant=owner.tenant, person=owner.person
    ):
        vault.wipe(session, owner, slot)
        session.rows(
            statements.CLOSE_CARD,
            tenant=owner.tenant,
            person=owner.person,
            of_card=card_id,
            new_status=CardStatus.STALE.value,
        )
    return people.change_revision(session, person)


def _remember(session: Session, row: CardRow, slot: int, revision: int, now_ms: int) -> None:
    """Hand the card's slot over to the preference; the value itself is not copied."""
    owner = row.owner
    slots = dict(_slots(session, owner))
    if row.key not in slots:
        session.rows(
            statements.ADD_PREFERENCE,
            tenant=owner.tenant,
            person=owner.person,
            key=row.key,
            purpose=row.purpose,
            now_ms=now_ms,
            revision=revision,
            slot=slot,
        )
        return
    vault.wipe(session, owner, slots[row.key])
    session.rows(
        statements.SET_PREFERENCE,
        tenant=owner.tenant,
        person=owner.person,
        of_key=row.key,
        new_purpose=row.purpose,
        now_ms=now_ms,
        new_revision=revision,
        new_slot=slot,
    )


def _forget(
    session: Session, person: Person, key: str | None, now_ms: int, but_card: str = ""
) -> int:
    owner = person.owner
    revision = _new_revision(session, person)
    for name, slot in _slots(session, owner):
        if key is None or name == key:
            vault.wipe(session, owner, slot)
            session.rows(
                statements.DROP_PREFERENCE,
                tenant=owner.tenant,
                person=owner.person,
                of_key=name,
                now_ms=now_ms,
                new_revision=revision,
            )
    # An approved card of what is now forgotten must read "stale", not "already applied".
    session.rows(
        statements.OUTDATE_CARDS,
        tenant=owner.tenant,
        person=owner.person,
        every_key=int(key is None),
        of_key=key or "",
        but_card=but_card,
    )
    session.rows(statements.SET_FORGOTTEN, tenant=owner.tenant, person=owner.person, now_ms=now_ms)
    return revision


def _slots(session: Session, owner: Owner) -> list[tuple[str, int | None]]:
    return [
        (key, slot)
        for key, slot in session.rows(
            statements.PREFERENCE_SLOTS, tenant=owner.tenant, person=owner.person
        )
    ]
