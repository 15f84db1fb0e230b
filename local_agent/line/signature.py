"""LINE's signature of a webhook: base64 of HMAC-SHA256 over the untouched bytes of the body."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence
from typing import Final

HEADER: Final = "x-line-signature"


def sign(secret: bytes, body: bytes) -> bytes:
    """Return the signature of a body under a channel secret."""
    return base64.b64encode(hmac.new(secret, body, hashlib.sha256).digest())


def is_signed(secret: bytes, body: bytes, given: Sequence[bytes]) -> bool:
    """Tell whether a body was signed with the channel secret, in constant time.

    Args:
        secret: The channel secret.
        body: As it came over the wire; one that was parsed and written again has other bytes.
        given: The values of the header, raw: exactly one is right.
    """
    expected = sign(secret, body)
    return len(given) == 1 and hmac.compare_digest(expected, given[0].strip())
