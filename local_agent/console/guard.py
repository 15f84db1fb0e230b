"""Who may talk to the console, and what its pages may do: an ASGI layer around its app.

A page on the web can make a browser send requests to loopback. Three things stand in its way: the
Host header must name this console and not a domain that was pointed here (DNS rebinding), whatever
changes something needs a header that no foreign page can set, and no other origin may read, frame
or embed an answer.
"""

from __future__ import annotations

import hmac
import ipaddress
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_HEADER: Final = "x-console-token"  # noqa: S105 - the name of a header

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
"""Nothing inline, nothing from elsewhere, and no string ever becomes markup."""

HEADERS: Final = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}

_SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
_SAME: Final = frozenset({"same-origin", "none"})


class Guard:
    """Refuses requests that did not come from this console's own page.

    Args:
        app: What is guarded.
        name: The name or address that the console was bound to.
        token: What the page sends with whatever changes something.
    """

    def __init__(self, app: ASGIApp, *, name: str, token: str) -> None:
        self._app = app
        self._name = name.casefold()
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request by, or answer for the app."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refused = self._refusal(scope["method"], Headers(scope=scope))
        if refused is not None:
            await refused(scope, receive, headed)
            return
        await self._app(scope, receive, headed)

    def _refusal(self, method: str, headers: Headers) -> PlainTextResponse | None:
        if not is_own_host(headers.get("host", ""), self._name):
            return PlainTextResponse("This host name is not the console's.\n", 421)
        if headers.get("sec-fetch-site", "none") not in _SAME and not _is_visit(method, headers):
            return PlainTextResponse("Another site asked for this.\n", 403)
        if method in _SAFE_METHODS:
            return None
        given = headers.get(TOKEN_HEADER, "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, self._token.encode()):
            return PlainTextResponse("The page's token is missing; load the page again.\n", 403)
        return None


def is_own_host(host: str, name: str) -> bool:
    """Tell whether a Host header is one by which the console is reached.

    An address is; so is localhost, and the very name that the console was told to bind to. Any
    other name may be a stranger's who pointed it at this machine.

    Args:
        host: The header's value, with or without a port.
        name: What the console was bound to.
    """
    bare = host.strip().casefold()
    bare = bare[1:].partition("]")[0] if bare.startswith("[") else bare.partition(":")[0]
    if bare in {"localhost", name} and bare:
        return True
    try:
        ipaddress.ip_address(bare)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach a server bound there."""
    if host.casefold() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_visit(method: str, headers: Headers) -> bool:
    """Tell whether somebody followed a link to the page itself: that shows and changes nothing."""
    return method == "GET" and headers.get("sec-fetch-mode") == "navigate"
