"""Anchors: exact counts of earlier requests that a longer one begins with.

Within a tool loop every request is the one before with a call and a response added. Its exact
count and a bound of what was added is tighter than a bound of everything.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

import pydantic_core
from google.genai import types


class Anchors:
    """Remembers exact counts by envelope and contents; bounded, oldest forgotten first."""

    def __init__(self, limit: int = 1024) -> None:
        """Remember at most ``limit`` counts."""
        self._limit = limit
        self._counts: OrderedDict[bytes, int] = OrderedDict()

    def put(self, chain: Sequence[bytes], units: int) -> None:
        """Remember the exact count of the contents whose chain this is."""
        self._counts[chain[-1]] = units
        self._counts.move_to_end(chain[-1])
        while len(self._counts) > self._limit:
            self._counts.popitem(last=False)

    def exact(self, chain: Sequence[bytes]) -> int | None:
        """Return the exact count of these very contents."""
        return self._counts.get(chain[-1])

    def longest(self, chain: Sequence[bytes]) -> tuple[int, int] | None:
        """Return how many of the contents have an exact count together, and that count."""
        for length in range(len(chain), 0, -1):
            units = self._counts.get(chain[length - 1])
            if units is not None:
                return length, units
        return None

    def forget(self) -> None:
        """Forget all, after a promise was broken."""
        self._counts.clear()


def chain_of(envelope: str, contents: Sequence[types.Content]) -> list[bytes]:
    """Return a fingerprint of each prefix of the contents under an envelope."""
    digest = hashlib.blake2b(envelope.encode(), digest_size=16)
    chain: list[bytes] = []
    for content in contents:
        encoded = pydantic_core.to_json(content, exclude_none=True, bytes_mode="base64")
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
        chain.append(digest.digest())
    return chain
