"""Pseudonyms: who somebody is to a store, without their id on a channel."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Final

from stores import checks
from stores.errors import InvalidInput
from stores.framing import framed

KEY_BYTES_MIN: Final = 16
"""Shortest secret, in bytes."""

_TENANT_LABEL: Final = b"stores.pseudonym.tenant.1"
_PERSON_LABEL: Final = b"stores.pseudonym.person.1"


def pseudonym(secret: bytes, tenant: str, channel: str, user_id: str) -> str:
    """Return the name under which a store knows a user of a channel.

    HMAC-SHA256 under a key that is itself derived for the tenant: two tenants cannot find out that
    they serve the same person, and without the secret a name can neither be made nor undone.

    Args:
        secret: The deployment's own, of at least ``KEY_BYTES_MIN`` bytes; another one makes
            everybody a stranger, so it is not rotated.
        tenant: Whose people they are.
        channel: Such as ``line``; ids of two channels are different people.
        user_id: The channel's id of the user.

    Raises:
        InvalidInput: If an argument is blank or too short. Nobody has no pseudonym.
    """
    given: object = secret  # whatever the caller's types promised
    if not isinstance(given, bytes) or len(given) < KEY_BYTES_MIN:
        raise InvalidInput(field="secret", least_bytes=KEY_BYTES_MIN)
    checks.identifier(tenant, "tenant", 128)
    checks.identifier(channel, "channel", 64)
    checks.identifier(user_id, "user_id")
    key = hmac.new(secret, framed(_TENANT_LABEL, tenant), hashlib.sha256).digest()
    mac = hmac.new(key, framed(_PERSON_LABEL, channel, user_id), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(mac).rstrip(b"=").decode()
