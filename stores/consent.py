"""The rules of consent, as pure functions: no clock, no randomness, no I/O.

A card is a row in a store and a token in the person's hand. The token is an HMAC-SHA256 (RFC 2104)
over everything the row says, so a row that was changed or belongs to somebody else proves nothing.
The value itself is bound by a tag of its own, made with a salt that disappears together with the
value: a row that outlives its value can still be recognised, and tells nothing about it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import Field

from stores.errors import InvalidInput, SigningKeyMissing
from stores.framing import framed
from stores.records import PRIVATE, Card, CardAction, CardStatus, Outcome, Owner, Proposal, Record

CARD_TTL_MS: Final = 300_000
"""How long a card can be pressed, in milliseconds."""

CARD_ID_BYTES: Final = 16
"""Random bytes in a card's id."""

SALT_BYTES: Final = 16
"""Random bytes that hide a value in its tag."""

CARD_VERSION: Final = "c2"

_CARD_LABEL: Final = b"stores.consent.card.2"
_VALUE_LABEL: Final = b"stores.consent.value.1"


class CardRow(Record):
    """What a store keeps of a card: all that the signature binds, and the status."""

    owner: Owner
    card_id: str
    action: Annotated[CardAction, Field(strict=False)]
    key: str
    purpose: str
    revision: int
    expires_at_ms: int
    value_tag: str
    value_expires_at_ms: int | None = None
    scope: str = PRIVATE
    status: Annotated[CardStatus, Field(strict=False)] = CardStatus.PENDING


def make_card(
    owner: Owner,
    proposal: Proposal,
    *,
    revision: int,
    now_ms: int,
    card_id: bytes,
    salt: bytes,
    keys: Sequence[bytes],
) -> tuple[CardRow, Card]:
    """Make a card for a proposal: the row to keep and the card to show.

    Args:
        owner: Who may press it.
        proposal: What it would do.
        revision: The person's revision now; any change of it makes the card stale.
        now_ms: Unix time in milliseconds.
        card_id: ``CARD_ID_BYTES`` random bytes.
        salt: ``SALT_BYTES`` random bytes, to be kept with the value and to die with it.
        keys: Signing keys, newest first; the newest one signs.

    The card can be pressed for ``CARD_TTL_MS``, and not past the end of what it would remember.

    Raises:
        SigningKeyMissing: If there is no key.
        InvalidInput: If the value's end has passed already.
    """
    if not keys:
        raise SigningKeyMissing
    end = proposal.expires_at_ms
    if end is not None and end <= now_ms:
        raise InvalidInput("What would be remembered has ended.", field="expires_at_ms")
    expires_at_ms = now_ms + CARD_TTL_MS
    row = CardRow(
        owner=owner,
        card_id=_text(card_id),
        action=proposal.action,
        key=proposal.key,
        purpose=proposal.purpose,
        revision=revision,
        expires_at_ms=expires_at_ms if end is None else min(expires_at_ms, end),
        value_tag=tag_value(keys[0], salt, proposal.value),
        value_expires_at_ms=end,
        scope=proposal.scope,
    )
    card = Card(
        card_id=row.card_id,
        action=row.action,
        key=row.key,
        purpose=row.purpose,
        revision=row.revision,
        expires_at_ms=row.expires_at_ms,
        token=sign(keys[0], row),
        value_expires_at_ms=end,
        scope=row.scope,
    )
    return row, card


def sign(key: bytes, row: CardRow) -> str:
    """Return the token of a row under one key. The status is not signed: it changes."""
    owner = row.owner
    mac = _mac(
        key,
        _CARD_LABEL,
        *(
            str(part)
            for part in (
                owner.tenant,
                owner.person,
                row.card_id,
                row.action,
                row.key,
                row.purpose,
                row.revision,
                row.expires_at_ms,
                row.value_tag,
                row.value_expires_at_ms,
                row.scope,
            )
        ),
    )
    return f"{CARD_VERSION}.{row.card_id}.{_text(mac)}"


def tag_value(key: bytes, salt: bytes, value: str | None) -> str:
    """Return the tag that binds a value to its card: HMAC(key, salt | value)."""
    parts = (salt,) if value is None else (salt, value.encode())
    return _text(_mac(key, _VALUE_LABEL, *parts))


def card_id_of(token: str) -> str | None:
    """Return the id a token claims, to find its row by; None if it is no token at all."""
    version, _, rest = token.partition(".")
    card_id, _, mac = rest.partition(".")
    if version != CARD_VERSION or not card_id or not mac or not token.isascii():
        return None
    return card_id


def verify(row: CardRow, token: str, keys: Sequence[bytes]) -> bytes | None:
    """Return the key that signed this token for this very row, or None.

    Every key is tried and compared in constant time, so time tells nothing about which one fitted.
    """
    given = token.encode(errors="replace")
    found: bytes | None = None
    for key in keys:
        if hmac.compare_digest(sign(key, row).encode(), given):
            found = key
    return found


def value_belongs(row: CardRow, key: bytes, salt: bytes, value: str | None) -> bool:
    """Tell whether this is the value the card was made for."""
    return hmac.compare_digest(tag_value(key, salt, value), row.value_tag)


def decide(row: CardRow | None, revision: int, now_ms: int) -> Outcome:
    """Say what pressing a card comes to; the first rule that fits decides.

    Invalid (no row whose signature holds), already applied, cancelled, stale (the person's
    consent changed since), expired, and only then what the card says.

    Args:
        row: The verified row, or None if the token proves nothing.
        revision: The person's revision now.
        now_ms: Unix time in milliseconds; the last moment of a card is ``expires_at_ms - 1``.
    """
    if row is None:
        return Outcome.INVALID
    if row.status is CardStatus.APPROVED:
        return Outcome.ALREADY_APPLIED
    if row.status is CardStatus.CANCELLED:
        return Outcome.CANCELLED
    if row.status is CardStatus.STALE or row.revision != revision:
        return Outcome.STALE
    if row.status is CardStatus.EXPIRED or now_ms >= row.expires_at_ms:
        return Outcome.EXPIRED
    return Outcome.SAVED if row.action is CardAction.REMEMBER else Outcome.FORGOTTEN


def older_than(proposal: Proposal, forgotten_at_ms: int | None) -> bool:
    """Tell whether a proposal's words were said before the last "forget": the tombstone stops it.

    A proposal that does not say when its words were said comes from this moment.
    """
    said_at_ms = proposal.said_at_ms
    return forgotten_at_ms is not None and said_at_ms is not None and said_at_ms <= forgotten_at_ms


def _mac(key: bytes, *parts: bytes | str) -> bytes:
    return hmac.new(key, framed(*parts), hashlib.sha256).digest()


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
