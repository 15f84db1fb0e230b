"""A loopback stand-in for LINE's Messaging API, for tests and the console; never a service.

It answers as LINE's documentation says LINE does (reference of the Messaging API; "Retry failed
API requests"; "Handle HTTP status code 429 errors"). Nothing of it was compared with LINE's
servers. It keeps what was delivered, and fails in the ways that networks and LINE do when told to.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Self

import aiohttp
from aiohttp import web

from callbacks.adk.keeper import epoch_ms
from local_agent.line.peer_checks import faults
from local_agent.line.peer_events import Event, EventMaker, body_of, line_id, signature_of

TOKEN_MS: Final = 60_000
"""How long a reply token is good; LINE says about a minute and promises none."""

RETRY_KEY_MS: Final = 24 * 3_600_000
"""How long a retry key is known."""

_PUSH, _REPLY = "/v2/bot/message/push", "/v2/bot/message/reply"
_LOADING, _INFO = "/v2/bot/chat/loading/start", "/v2/bot/info"
_RECIPIENT = re.compile(r"^[UCR][0-9a-f]{32}$")
_UUID = re.compile(r"^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")


class Trouble(StrEnum):
    """What goes wrong with a request. "Before" and "after": LINE has accepted it, or not yet."""

    CUT_BEFORE = "cut_before"
    CUT_AFTER = "cut_after"
    STALL_BEFORE = "stall_before"
    STALL_AFTER = "stall_after"
    ERROR_BEFORE = "error_before"
    ERROR_AFTER = "error_after"
    RATE_LIMITED = "rate_limited"
    FORBIDDEN = "forbidden"
    UNAUTHORIZED = "unauthorized"
    GARBLED = "garbled"
    """It is accepted, and the answer is no JSON."""

    @property
    def accepts(self) -> bool:
        """Whether the message is delivered all the same."""
        return self in {
            Trouble.CUT_AFTER,
            Trouble.STALL_AFTER,
            Trouble.ERROR_AFTER,
            Trouble.GARBLED,
        }


@dataclass(frozen=True)
class Delivered:
    """A message as it lies in a chat.

    Attributes:
        id: LINE's id, by which people quote it.
        message: The message object.
        via: `reply` or `push`.
        request: Number of the request that brought it, to tell answers apart.
        reply_token: The token that it answered; None for a push.
        retry_key: The key under which it was pushed; None for a reply, and without one.
    """

    id: str
    message: dict[str, Any] = field(repr=False)
    via: str
    request: int
    reply_token: str | None = None
    retry_key: str | None = None


@dataclass
class _Answer:
    status: int
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)


class LinePeer:
    """LINE on a free loopback port: `async with LinePeer(...) as peer`.

    Attributes:
        events: Makes events whose reply tokens this peer knows.
        chats: What was delivered, by the chat's id.
        loading: Chats in which the animation was started, in order.
        requests: Paths asked, with the status answered; None where no answer was given.
        quota: Pushes left this month; None for no end.
    """

    def __init__(
        self,
        *,
        channel_secret: str,
        channel_token: str,
        bot: str = line_id("user", 0xB07),
        clock: Callable[[], int] = epoch_ms,
        quota: int | None = None,
        on_delivered: Callable[[str], None] | None = None,
    ) -> None:
        """Make a peer; nothing listens until `start`.

        Args:
            channel_secret: Signs what it posts.
            channel_token: What it is asked with.
            bot: The bot's own id.
            clock: Milliseconds since the epoch.
            quota: Pushes left this month; None for no end.
            on_delivered: Gets a chat's id after messages arrived in it.
        """
        self.bot = bot
        self.quota = quota
        self.chats: dict[str, list[Delivered]] = {}
        self.loading: list[str] = []
        self.requests: list[tuple[str, int | None]] = []
        self.events = EventMaker(clock)
        self._clock = clock
        self._on_delivered = on_delivered
        self._secret = channel_secret
        self._token = channel_token
        self._spent: set[str] = set()
        self._keys: dict[str, tuple[int, str, list[dict[str, str]]]] = {}
        self._troubles: dict[str, deque[Trouble]] = {_REPLY: deque(), _PUSH: deque()}
        self._sent = 0
        self._released = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self._site: web.TCPSite | None = None
        self._http: aiohttp.ClientSession | None = None

    async def start(self, port: int = 0) -> None:
        """Listen on 127.0.0.1; port 0 takes a free one."""
        app = web.Application(client_max_size=2 * 1024**2)
        app.router.add_route("*", "/{path:.*}", self._handle)
        # A stalled request is let go by close(), so there is nothing to wait for.
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        self._site = web.TCPSite(self._runner, "127.0.0.1", port)
        await self._site.start()
        self._http = aiohttp.ClientSession()

    async def close(self) -> None:
        """Stop listening."""
        self._released.set()
        if self._http is not None:
            await self._http.close()
        if self._runner is not None:
            await self._runner.cleanup()

    async def __aenter__(self) -> Self:
        """Start, and return itself."""
        await self.start()
        return self

    async def __aexit__(self, *failure: object) -> None:
        """Stop."""
        await self.close()

    @property
    def url(self) -> str:
        """Where it listens: the value of LOCAL_LINE_API_HOST."""
        if self._runner is None or not self._runner.addresses:
            raise RuntimeError("The peer has not been started.")
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    def trouble(self, *troubles: Trouble, on: str = "reply") -> None:
        """Let the next requests fail, one each.

        Args:
            troubles: In the order of the requests.
            on: `reply` or `push`.
        """
        self._troubles[_PUSH if on == "push" else _REPLY].extend(troubles)

    def said(self, chat: str) -> list[dict[str, Any]]:
        """Return the message objects of a chat, the oldest first."""
        return [one.message for one in self.chats.get(chat, [])]

    async def post(self, url: str, *events: Event, timeout_seconds: float = 30.0) -> int:
        """Send events to a webhook as LINE does, and return the status.

        Args:
            url: The webhook's address.
            events: None of them is the console's "verify".
            timeout_seconds: Longest wait for the answer.
        """
        return await self.post_body(url, body_of(self.bot, events), timeout_seconds=timeout_seconds)

    async def post_body(self, url: str, body: bytes, *, timeout_seconds: float = 30.0) -> int:
        """Send these very bytes, signed."""
        if self._http is None:
            raise RuntimeError("The peer has not been started.")
        headers = {
            "content-type": "application/json; charset=utf-8",
            "x-line-signature": signature_of(self._secret, body),
            "user-agent": "LineBotWebhook/2.0",
        }
        timeout = aiohttp.ClientTimeout(total=timeout_seconds)
        async with self._http.post(url, data=body, headers=headers, timeout=timeout) as answer:
            await answer.read()
            return answer.status

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        queue = self._troubles.get(request.path)
        trouble = queue.popleft() if queue else None
        number = len(self.requests)
        self.requests.append((request.path, None))
        body = await self._json(request)
        if trouble in {Trouble.CUT_BEFORE, Trouble.STALL_BEFORE}:
            return await self._silence(request, trouble)
        answer = _trouble_answer(trouble)
        if answer is None:
            answer = self._answer(request, body, number)
        if trouble in {Trouble.CUT_AFTER, Trouble.STALL_AFTER}:
            return await self._silence(request, trouble)
        if trouble is Trouble.ERROR_AFTER:
            answer = _Answer(500, {"message": "Internal server error"})
        self.requests[number] = (request.path, answer.status)
        headers = {**answer.headers, "x-line-request-id": f"request-{number}"}
        if trouble is Trouble.GARBLED:
            return web.Response(status=answer.status, text="<html>", headers=headers)
        return web.json_response(answer.body, status=answer.status, headers=headers)

    async def _json(self, request: web.Request) -> Any:
        try:
            return await request.json() if request.method == "POST" else {}
        except ValueError:
            return None

    async def _silence(self, request: web.Request, trouble: Trouble | None) -> web.StreamResponse:
        if trouble in {Trouble.STALL_BEFORE, Trouble.STALL_AFTER}:
            await self._released.wait()
        if request.transport is not None:
            request.transport.abort()
        return web.Response(status=500)

    def _answer(self, request: web.Request, body: Any, number: int) -> _Answer:
        if request.headers.get("authorization") != f"Bearer {self._token}":
            return _Answer(401, {"message": _UNAUTHORIZED})
        if (request.method, request.path) == ("GET", _INFO):
            return _Answer(200, self._info())
        if request.method != "POST" or not isinstance(body, dict):
            return _Answer(400, {"message": "The request body could not be parsed as JSON"})
        if request.path == _REPLY:
            return self._reply(request, body, number)
        if request.path == _PUSH:
            return self._push(request, body, number)
        if request.path == _LOADING:
            return self._loading(body)
        return _Answer(404, {"message": "Not found"})

    def _reply(self, request: web.Request, body: dict[str, Any], number: int) -> _Answer:
        if "x-line-retry-key" in request.headers:
            return _Answer(400, {"message": "Retry key is not supported by this API"})
        refused = _refused(body.get("messages"))
        if refused is not None:
            return refused
        token = body.get("replyToken")
        known = self.events.issued.get(token) if isinstance(token, str) else None
        if known is None or token in self._spent or self._clock() - known[1] >= TOKEN_MS:
            return _Answer(400, {"message": "Invalid reply token"})
        self._spent.add(str(token))
        return _Answer(200, {"sentMessages": self._deliver(known[0], body, "reply", number)})

    def _push(self, request: web.Request, body: dict[str, Any], number: int) -> _Answer:
        key = request.headers.get("x-line-retry-key")
        if key is not None and not _UUID.match(key):
            return _Answer(400, {"message": "Invalid retry key"})
        before = self._keys.get(key) if key is not None else None
        if before is not None and self._clock() - before[0] < RETRY_KEY_MS:
            return _Answer(
                409,
                {"message": "The retry key is already accepted", "sentMessages": before[2]},
                {"x-line-accepted-request-id": before[1]},
            )
        to = body.get("to")
        if not isinstance(to, str) or not _RECIPIENT.match(to):
            return _Answer(400, {"message": "The property, 'to', in the request body is invalid"})
        refused = _refused(body.get("messages"))
        if refused is not None:
            return refused
        if self.quota is not None and self.quota <= 0:
            return _Answer(429, {"message": "You have reached your monthly limit."})
        self.quota = None if self.quota is None else self.quota - 1
        sent = self._deliver(to, body, "push", number, key)
        if key is not None:
            self._keys[key] = (self._clock(), f"request-{number}", sent)
        return _Answer(200, {"sentMessages": sent})

    def _loading(self, body: dict[str, Any]) -> _Answer:
        chat, seconds = body.get("chatId"), body.get("loadingSeconds", 20)
        if not isinstance(chat, str) or not re.match(r"^U[0-9a-f]{32}$", chat):
            return _Answer(400, {"message": "The property, 'chatId', is invalid"})
        if type(seconds) is not int or seconds % 5 or not 5 <= seconds <= 60:
            return _Answer(400, {"message": "The property, 'loadingSeconds', is invalid"})
        self.loading.append(chat)
        return _Answer(202, {})

    def _info(self) -> dict[str, str]:
        return {
            "userId": self.bot,
            "basicId": "@000local",
            "displayName": "LOCAL",
            "chatMode": "bot",
            "markAsReadMode": "auto",
        }

    def _deliver(
        self, chat: str, body: dict[str, Any], via: str, number: int, key: str | None = None
    ) -> list[dict[str, str]]:
        sent = []
        for message in body["messages"]:
            self._sent += 1
            name = f"{500_000_000_000_000_000 + self._sent}"
            self.chats.setdefault(chat, []).append(
                Delivered(name, message, via, number, body.get("replyToken"), key)
            )
            sent.append({"id": name, "quoteToken": f"quote-{name}"})
        if self._on_delivered is not None:
            self._on_delivered(chat)
        return sent


_UNAUTHORIZED = (
    "Authentication failed. Confirm that the access token in the authorization header is valid."
)


def _trouble_answer(trouble: Trouble | None) -> _Answer | None:
    """Return the answer of a trouble in which LINE accepts nothing."""
    if trouble is None or trouble.accepts:
        return None
    return {
        Trouble.ERROR_BEFORE: _Answer(500, {"message": "Internal server error"}),
        Trouble.RATE_LIMITED: _Answer(
            429, {"message": "The API rate limit has been exceeded. Try again later."}
        ),
        Trouble.FORBIDDEN: _Answer(
            403, {"message": "Access to this API is not available for your account"}
        ),
        Trouble.UNAUTHORIZED: _Answer(401, {"message": _UNAUTHORIZED}),
    }.get(trouble)


def _refused(messages: Any) -> _Answer | None:
    found = faults(messages)
    if not found:
        return None
    details = [{"message": what, "property": where} for where, what in found]
    return _Answer(
        400, {"message": f"The request body has {len(found)} error(s)", "details": details}
    )
