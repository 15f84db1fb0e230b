"""Several byte strings as one, so that no two lists of them read the same."""

from __future__ import annotations

from typing import Final

_LENGTH_BYTES: Final = 4


def framed(*parts: bytes | str) -> bytes:
    """Join parts, each behind its length; text as UTF-8."""
    raw = [part.encode() if isinstance(part, str) else part for part in parts]
    return b"".join(len(part).to_bytes(_LENGTH_BYTES, "big") + part for part in raw)
