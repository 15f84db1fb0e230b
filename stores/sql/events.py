"""Lines of a person's ledger."""

from __future__ import annotations

from dataclasses import dataclass

from stores.ledger import LedgerEvent, LedgerKind
from stores.records import PRIVATE, Owner
from stores.sql import consent_statements as statements
from stores.sql.session import Session


@dataclass(frozen=True, slots=True)
class Act:
    """When and how something is done: what each line of the ledger says of it.

    Attributes:
        at_ms: Unix time in milliseconds.
        channel: Through which channel.
        policy: Version of the privacy policy in force.
    """

    at_ms: int
    channel: str
    policy: str


def note(
    session: Session,
    owner: Owner,
    act: Act,
    kind: LedgerKind,
    *,
    key: str | None,
    revision: int,
    purpose: str = "",
    scope: str = PRIVATE,
    expires_at_ms: int | None = None,
    card_id: str | None = None,
) -> None:
    """Add a line. The person is locked, so numbers have no gaps and no doubles."""
    session.rows(
        statements.ADD_EVENT,
        tenant=owner.tenant,
        person=owner.person,
        kind=kind.value,
        key=key,
        purpose=purpose,
        scope=scope,
        channel=act.channel,
        policy=act.policy,
        at_ms=act.at_ms,
        revision=revision,
        expires_at_ms=expires_at_ms,
        card_id=card_id,
    )


def read(session: Session, owner: Owner) -> tuple[LedgerEvent, ...]:
    """Return the ledger, oldest line first."""
    names = (
        *("number", "kind", "key", "purpose", "scope", "channel", "policy", "at_ms", "revision"),
        *("expires_at_ms", "card_id"),
    )
    found = session.rows(statements.EVENTS, tenant=owner.tenant, person=owner.person)
    return tuple(LedgerEvent(**dict(zip(names, row, strict=True))) for row in found)
