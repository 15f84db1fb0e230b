"""Takes webhooks in: size, signature, form, and every event in the store before LINE is told 200.

Nothing here waits for a model, and nothing here is acknowledged before it is stored.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, Protocol

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from local_agent.line.incoming import Incoming
from local_agent.line.names import Names
from local_agent.line.reading import BadBody, read_webhook
from local_agent.line.signature import HEADER, is_signed
from local_agent.line.writer import Writer
from local_agent.settings import Settings
from stores.errors import StoreError
from stores.inbox import Arrival, Inbox

logger = logging.getLogger("local_agent.line")

RETRY_AFTER_SECONDS: Final = 5
"""When to come back to a store that is down."""

_DRAINED: Final = 8
"""A body that is too large is read on, and thrown away, up to so many times the limit: a sender
that is cut off while it writes never sees why. A body that declares more is cut off."""


MOST_READ_BYTES: Final = 64 * 1024**2
"""Most bytes of bodies that are still arriving, of all requests together. Nobody is known before a
signature is read: without a limit strangers could fill the memory with halves of bodies."""


class Stored(Protocol):
    """What happens to events once they are in the store, before LINE is told 200."""

    async def __call__(self, arrivals: Sequence[Arrival]) -> bool:
        """Return whether LINE may be told 200; False has it bring the events again."""


class Refusal(Exception):
    """A request that is not taken.

    Attributes:
        status: Of HTTP.
        error_code: See docs/codes.md.
    """

    def __init__(self, status: HTTPStatus, error_code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.error_code = status, error_code

    def response(self) -> Response:
        """Return the answer to the request."""
        headers = {}
        if self.status is HTTPStatus.SERVICE_UNAVAILABLE:
            headers["retry-after"] = str(RETRY_AFTER_SECONDS)
        if self.status in {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.REQUEST_ENTITY_TOO_LARGE}:
            headers["connection"] = "close"
        content = {"error_code": self.error_code, "message": str(self)}
        return JSONResponse(content, status_code=self.status, headers=headers)


@dataclass
class Arriving:
    """How many bytes of bodies are held that have not arrived whole."""

    size: int = 0


@dataclass(frozen=True)
class Gateway:
    """The webhook of one channel.

    Attributes:
        settings: Channel secret, limits, destination, allowlist.
        names: Makes the pseudonyms under which events are kept.
        inbox: Where an unsent message is dropped at once.
        writer: Stores arrivals.
        clock: Milliseconds since the epoch.
        stored: Wakes the worker, or takes the turn itself.
        arriving: What is held of bodies that are still being read.
    """

    settings: Settings
    names: Names
    inbox: Inbox
    writer: Writer
    clock: Callable[[], int]
    stored: Stored
    arriving: Arriving = field(default_factory=Arriving)

    async def receive(self, request: Request) -> Response:
        """Answer one webhook request."""
        try:
            body = await self._body(request)
            self._check_signature(request, body)
            return await self._take(body)
        except Refusal as refusal:
            logger.info("event=webhook_refused error_code=%s", refusal.error_code)
            return refusal.response()
        except ClientDisconnect:
            logger.info("event=webhook_refused error_code=DISCONNECTED")
            return Response(status_code=HTTPStatus.BAD_REQUEST)  # nobody is there to read it
        except Exception as error:  # noqa: BLE001 - a server would log what it says, and that may quote an event
            logger.error("event=webhook_failed error_type=%s", type(error).__name__)  # noqa: TRY400 - as above
            return Refusal(
                HTTPStatus.INTERNAL_SERVER_ERROR,
                "INTERNAL_ERROR",
                "Something failed; please send the events again.",
            ).response()

    async def _body(self, request: Request) -> bytes:
        limit = self.settings.max_body_bytes
        declared = request.headers.get("content-length", "0")
        # More digits than any limit has: a server may let by what Python refuses to read.
        size = int(declared[:20]) if declared.isascii() and declared.isdigit() else 0
        if size > limit * _DRAINED:
            raise _too_large()
        parts: list[bytes] = []
        received = held = 0
        try:
            async with asyncio.timeout(self.settings.body_seconds):
                async for part in request.stream():
                    received += len(part)
                    if received > limit * _DRAINED:
                        break
                    if max(received, size) <= limit:
                        parts.append(part)
                        held += len(part)
                        self.arriving.size += len(part)
                        if self.arriving.size > MOST_READ_BYTES:
                            raise _busy()
                    else:
                        parts.clear()
        except TimeoutError:
            raise Refusal(
                HTTPStatus.REQUEST_TIMEOUT, "BODY_TIMEOUT", "The body took too long to arrive."
            ) from None
        finally:
            self.arriving.size -= held
        if max(received, size) > limit:
            raise _too_large()
        return b"".join(parts)

    def _check_signature(self, request: Request, body: bytes) -> None:
        wanted = HEADER.encode("ascii")
        given = [value for name, value in request.headers.raw if name.lower() == wanted]
        if not given:
            raise Refusal(
                HTTPStatus.UNAUTHORIZED, "SIGNATURE_MISSING", "The request has no signature."
            )
        secret = self.settings.line_channel_secret
        if secret is None or not is_signed(secret.get_secret_value().encode(), body, given):
            raise Refusal(
                HTTPStatus.UNAUTHORIZED, "SIGNATURE_INVALID", "The signature is not the channel's."
            )

    async def _take(self, body: bytes) -> Response:
        try:
            webhook = read_webhook(body, now_ms=self.clock())
        except BadBody as bad:
            raise Refusal(HTTPStatus.BAD_REQUEST, bad.error_code, str(bad)) from None
        ours = self.settings.line_destination
        if ours is not None and webhook.events and webhook.destination != ours:
            raise Refusal(
                HTTPStatus.BAD_REQUEST, "DESTINATION_UNKNOWN", "The events are for another bot."
            )
        events = [event for event in webhook.events if self._admits(event)]
        if len(events) < len(webhook.events) or webhook.dropped:
            logger.debug(
                "event=events_dropped unknown=<%d> not_allowed=<%d>",
                webhook.dropped,
                len(webhook.events) - len(events),
            )
        arrivals = [self._arrival(event) for event in events]
        try:
            await self.writer.store(arrivals)
            await self._drop_unsent(events)
        except StoreError as error:
            logger.warning("event=webhook_not_stored error_code=%s", error.error_code)
            raise Refusal(
                HTTPStatus.SERVICE_UNAVAILABLE,
                error.error_code,
                "The events could not be stored; please send them again.",
            ) from None
        if arrivals and not await self.stored(arrivals):
            raise Refusal(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "TURN_NOT_FINISHED",
                "The events are stored and their turns not finished; please send them again.",
            )
        return JSONResponse({})

    async def _drop_unsent(self, events: list[Incoming]) -> None:
        """Take unsent messages back at once: their own turn comes after those of their chat."""
        for event in events:
            if event.kind == "unsend" and event.message_id is not None:
                message = self.names.message(event.message_id)
                await self.inbox.unsend(message, now_ms=self.clock())

    def _admits(self, event: Incoming) -> bool:
        allowed = self.settings.allowed_ids
        return allowed is None or event.user_id in allowed or event.chat_id in allowed

    def _arrival(self, event: Incoming) -> Arrival:
        # The event of unsending is no message that could be unsent; by its own name the message is
        # known as taken back, should it come later.
        name = self.names.unsent if event.kind == "unsend" else self.names.message
        return Arrival(
            event_id=event.event_id,
            chat=self.names.chat(event.chat_id),
            person=self.names.owner_of(event),
            message=None if event.message_id is None else name(event.message_id),
            said_at_ms=event.said_at_ms,
            body=event.model_dump_json().encode(),
        )


def _busy() -> Refusal:
    return Refusal(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "WEBHOOK_BUSY",
        "Too much is being sent at once; please send the events again.",
    )


def _too_large() -> Refusal:
    return Refusal(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "BODY_TOO_LARGE", "The body is larger than is taken."
    )
