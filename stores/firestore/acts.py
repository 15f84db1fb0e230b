"""What can be done to a person, as changes of their document in memory: no I/O, no clock.

The same rules as the transactions over SQL; what a press comes to is decided in stores.consent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from stores import consent
from stores.errors import ConversationChanged, PreferenceChanged
from stores.firestore.person import DUE_NOW, Kept, KeptCard, Person, find_card
from stores.ledger import LedgerKind
from stores.records import (
    Card,
    CardAction,
    CardStatus,
    ConsentResult,
    Outcome,
    Proposal,
    SurfaceCheck,
)
from stores.sealing import KeyRing
from stores.sql.events import Act

_CLOSED_BY: Final = {Outcome.STALE: CardStatus.STALE, Outcome.EXPIRED: CardStatus.EXPIRED}


def append(
    person: Person,
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
    if person.revision != expected_revision:
        raise PreferenceChanged(expected=expected_revision, found=person.revision)
    if person.generation != expected_generation:
        if person.generation == expected_generation + 1 and person.last_event == event_id:
            return person.generation
        raise ConversationChanged(expected=expected_generation, found=person.generation)
    return person.move(event_id, window, expires_at_ms)


def propose(
    person: Person,
    proposal: Proposal,
    *,
    act: Act,
    expected_revision: int | None,
    card_id: bytes,
    salt: bytes,
    keys: tuple[bytes, ...],
    ring: KeyRing,
) -> Card:
    """Keep a pending card with its value, and return what to show.

    Raises:
        StoreKeyMissing: If the ring has not the key that sealing takes.
        PreferenceChanged: If the revision is not the expected one, or the words are older than the
            last "forget".
    """
    if expected_revision is not None and person.revision != expected_revision:
        raise PreferenceChanged(expected=expected_revision, found=person.revision)
    if consent.older_than(proposal, person.forgotten_at_ms):
        raise PreferenceChanged(found=person.revision)
    row, card = consent.make_card(
        person.owner,
        proposal,
        revision=person.revision,
        now_ms=act.at_ms,
        card_id=card_id,
        salt=salt,
        keys=keys,
    )
    sealed = None
    if proposal.value is not None:
        sealed = person.seal(ring, row.key, salt, proposal.value)
    kept = KeptCard(
        **row.model_dump(mode="json", exclude={"owner"}),
        sealed=sealed,
    )
    person.cards.append(kept)
    _note(person, kept, act, LedgerKind.PROPOSED)
    person.tidy(act.at_ms)
    person.renew(ring)
    return card


def press(
    person: Person,
    token: str,
    *,
    approve: bool,
    act: Act,
    keys: tuple[bytes, ...],
    ring: KeyRing,
) -> ConsentResult:
    """Approve or cancel a card."""
    card, key = find_card(person, token, keys)
    row = None if card is None else card.row(person.owner)
    outcome = consent.decide(row, person.revision, act.at_ms)
    if card is None or row is None:
        return ConsentResult(outcome=outcome, revision=person.revision)
    if outcome in _CLOSED_BY and card.pending:
        person.ended = card.close(_CLOSED_BY[outcome]) or person.ended
        if outcome is Outcome.EXPIRED:
            _note(person, card, act, LedgerKind.EXPIRED)
    elif outcome in (Outcome.SAVED, Outcome.FORGOTTEN):
        if not approve:
            outcome = Outcome.CANCELLED
            person.ended = card.close(CardStatus.CANCELLED) or person.ended
            person.change_revision()
            _note(person, card, act, LedgerKind.CANCELLED)
        elif outcome is Outcome.FORGOTTEN:
            card.close(CardStatus.APPROVED)
            _forget(person, card.key, act.at_ms, but=card)
            _note(person, card, act, LedgerKind.FORGOTTEN)
        elif card.sealed is None or not consent.value_belongs(
            row, key, *person.open(ring, card.key, card.sealed)
        ):
            return ConsentResult(outcome=Outcome.INVALID, revision=person.revision)
        else:
            _remember(person, card, act)
    person.tidy(act.at_ms)
    person.renew(ring, always=outcome is Outcome.FORGOTTEN)
    return ConsentResult(
        outcome=outcome, revision=person.revision, key=card.key, action=CardAction(card.action)
    )


def forget(person: Person, key: str | None, *, act: Act, ring: KeyRing) -> int:
    """Forget one key or all; every card and window from before is void. Return the new revision."""
    _forget(person, key, act.at_ms)
    person.note(act, LedgerKind.FORGOTTEN, key=key)
    person.tidy(act.at_ms)
    person.renew(ring, always=True)
    return person.revision


def erase(person: Person, *, act: Act, ring: KeyRing, keep_ledger: bool) -> int:
    """Take a person out but for the tombstone, and return the new revision.

    A ledger that goes is out of sight at once, as a new epoch begins; its lines are then deleted,
    and the person is due until that is done.
    """
    person.cards, person.preferences = [], []
    person.drop_generations(None)
    person.change_revision()
    _entomb(person, act.at_ms)
    person.renew(ring, always=True)
    person.tidy(act.at_ms)
    if keep_ledger:
        person.note(act, LedgerKind.FORGOTTEN, key=None)
    else:
        person.epoch, person.lines, person.due_at_ms = person.revision, 0, DUE_NOW
    return person.revision


def clean_up(person: Person, *, act: Act, ring: KeyRing) -> bool:
    """Take away what ran out of cards and values; nothing changes that could be seen."""
    if not person.known:
        return False
    for card in person.cards:
        if card.pending and card.expires_at_ms <= act.at_ms:
            person.ended = card.close(CardStatus.EXPIRED) or person.ended
            _note(person, card, act, LedgerKind.EXPIRED)
    for one in [one for one in person.preferences if one.ended(act.at_ms)]:
        person.ended = True
        person.preferences.remove(one)
        person.note(act, LedgerKind.EXPIRED, key=one.key, scope=one.scope)
    person.tidy(act.at_ms)
    person.renew(ring)
    return True


def left_of(
    person: Person, window: Mapping[str, Any] | None, *, key: str | None, revision: int
) -> tuple[SurfaceCheck, ...]:
    """Count what is left of what the person had before ``revision``, surface by surface."""
    key_is_old = person.data_key is not None and (person.key_revision or 0) < revision
    counts = {
        "preferences": sum(
            one.revision <= revision and key in (None, one.key) for one in person.preferences
        ),
        "cards": sum(card.sealed is not None and card.revision < revision for card in person.cards),
        "journal": int(window is not None and window["revision"] < revision),
        "data_key": int(key_is_old),
    }
    return tuple(SurfaceCheck(surface=name, remaining=count) for name, count in counts.items())


def _note(person: Person, card: KeptCard, act: Act, kind: LedgerKind) -> None:
    person.note(
        act,
        kind,
        key=card.key,
        purpose=card.purpose,
        scope=card.scope,
        expires_at_ms=card.value_expires_at_ms,
        card_id=card.card_id,
    )


def _remember(person: Person, card: KeptCard, act: Act) -> None:
    """Hand the sealed value over to the preference."""
    sealed = card.sealed or b""
    card.close(CardStatus.APPROVED)
    person.change_revision()
    replaced = [one for one in person.preferences if one.key == card.key]
    person.ended = person.ended or bool(replaced)
    person.preferences = [one for one in person.preferences if one.key != card.key]
    person.preferences.append(
        Kept(
            key=card.key,
            purpose=card.purpose,
            granted_at_ms=act.at_ms,
            expires_at_ms=card.value_expires_at_ms,
            scope=card.scope,
            revision=person.revision,
            sealed=sealed,
        )
    )
    live = any(not one.ended(act.at_ms) for one in replaced)
    _note(person, card, act, LedgerKind.CHANGED if live else LedgerKind.GRANTED)


def _forget(person: Person, key: str | None, now_ms: int, *, but: KeptCard | None = None) -> None:
    person.change_revision()
    person.preferences = [one for one in person.preferences if key not in (None, one.key)]
    for card in person.cards:
        # An approved card of what is now forgotten must read "stale", not "already applied".
        approved = card.status == CardStatus.APPROVED.value
        if approved and card is not but and key in (None, card.key):
            card.status = CardStatus.STALE.value
    _entomb(person, now_ms)


def _entomb(person: Person, now_ms: int) -> None:
    """Nothing said up to now can be learned any more; a tombstone never moves back."""
    person.forgotten_at_ms = max(now_ms, person.forgotten_at_ms or 0)
