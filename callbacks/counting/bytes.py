"""Counts the bytes of a request: exact, local and free, and never to be read as tokens."""

from callbacks.context.budget import Unit
from callbacks.counting.request import CountRequest


class ByteCounter:
    """Measures a request by its canonical UTF-8 JSON.

    Everything the request holds is in that JSON, inline media as Base64 included, so a count is
    zero for nothing and depends on nothing but the request (invariant 12).
    """

    @property
    def unit(self) -> Unit:
        """Always ``utf8_bytes``; fixed, so that no setting can pass bytes off as tokens."""
        return "utf8_bytes"

    async def count(self, request: CountRequest) -> int:
        """Return the length of ``request.canonical()`` in bytes, without joining it.

        Raises:
            CounterFailed: Something in the request has no JSON form.
        """
        return request.size
