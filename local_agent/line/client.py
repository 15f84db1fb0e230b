"""LINE's Messaging API through line-bot-sdk, with outcomes in place of exceptions.

One request each, no retry of its own: whether a request may be made again is for `delivery` to say.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Self

import aiohttp
from linebot.v3.messaging import (
    ApiException,
    AsyncApiClient,
    AsyncMessagingApi,
    Configuration,
    Message,
    PushMessageRequest,
    ReplyMessageRequest,
    ShowLoadingAnimationRequest,
)
from pydantic import SecretStr

from local_agent.line.outcome import BotInfo, Outcome, Verdict

API_HOST: Final = "https://api.line.me"
"""Where LINE's Messaging API is."""

LOADING_SECONDS: Final = 20
"""How long the animation shows unless an answer ends it; 5 to 60 in steps of 5 (LINE)."""

_TOKEN_SPENT = "invalid reply token"  # noqa: S105 - LINE's words
_QUOTA = "monthly limit"
_NEVER_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)


class LineClient:
    """A channel's side of the Messaging API. Never raises what the network or LINE does.

    A message that the SDK's own models refuse is `REFUSED` and not sent.
    """

    def __init__(
        self,
        token: SecretStr,
        *,
        host: str = API_HOST,
        timeout_seconds: float = 10.0,
        connect_seconds: float = 3.0,
    ) -> None:
        """Remember how to ask; a connection is made by the first request.

        Args:
            token: The channel's access token.
            host: Another address of the API, for tests and the console.
            timeout_seconds: Longest wait for an answer; after it the request is `UNSURE`.
            connect_seconds: Longest wait for a connection; after it nothing was sent.
        """
        self._configuration = Configuration(host=host, access_token=token.get_secret_value())
        self._timeout = aiohttp.ClientTimeout(total=timeout_seconds, connect=connect_seconds)
        self._client: AsyncApiClient | None = None

    async def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def __aenter__(self) -> Self:
        """Return itself."""
        return self

    async def __aexit__(self, *failure: object) -> None:
        """Close."""
        await self.close()

    async def reply(self, token: str, messages: Sequence[dict[str, Any]]) -> Outcome:
        """Answer by a reply token, which is good once.

        Args:
            token: From the event.
            messages: One to five message objects in LINE's JSON form.
        """
        try:
            request = ReplyMessageRequest(replyToken=token, messages=_messages(messages))
        except (ValueError, TypeError, KeyError, AttributeError):  # the SDK's models, see the class
            return Outcome(Verdict.REFUSED)
        return await self._send(
            lambda: self._api().reply_message(request, _request_timeout=self._timeout)
        )

    async def push(self, to: str, messages: Sequence[dict[str, Any]], *, retry_key: str) -> Outcome:
        """Send unasked; the same key again sends nothing a second time, for a day.

        Args:
            to: The user, group or room.
            messages: As for a reply.
            retry_key: A UUID.
        """
        try:
            request = PushMessageRequest(to=to, messages=_messages(messages))
        except (ValueError, TypeError, KeyError, AttributeError):  # the SDK's models, see the class
            return Outcome(Verdict.REFUSED)
        return await self._send(
            lambda: self._api().push_message(
                request, x_line_retry_key=retry_key, _request_timeout=self._timeout
            )
        )

    async def loading(self, chat_id: str, seconds: int = LOADING_SECONDS) -> Outcome:
        """Show the loading animation in a one-to-one chat."""
        request = ShowLoadingAnimationRequest(chatId=chat_id, loadingSeconds=seconds)
        return await self._send(
            lambda: self._api().show_loading_animation(request, _request_timeout=self._timeout)
        )

    async def bot_info(self) -> BotInfo | Outcome:
        """Ask whose token this is; an Outcome says why LINE did not tell."""
        found: list[BotInfo] = []

        async def ask() -> None:
            info = await self._api().get_bot_info(_request_timeout=self._timeout)
            found.append(
                BotInfo(
                    user_id=info.user_id,
                    basic_id=info.basic_id,
                    display_name=info.display_name,
                    chat_mode=info.chat_mode,
                )
            )

        outcome = await self._send(ask)
        return found[0] if found else outcome

    def _api(self) -> AsyncMessagingApi:
        if self._client is None:  # needs a running loop, so not in __init__
            self._client = AsyncApiClient(self._configuration)
        return AsyncMessagingApi(self._client)

    async def _send(self, ask: Callable[[], Awaitable[Any]]) -> Outcome:
        try:
            answer = await ask()
        except ApiException as error:
            return _refusal(error)
        except _NEVER_SENT:
            return Outcome(Verdict.UNREACHABLE)
        except (aiohttp.ClientError, TimeoutError, OSError):
            return Outcome(Verdict.UNSURE)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            if isinstance(error.__context__, ApiException):  # an error's body that is no UTF-8
                return _refusal(error.__context__)
            # Only a 2xx is read, so LINE has accepted; its answer has a form the SDK does not know.
            return Outcome(Verdict.ACCEPTED)
        sent = getattr(answer, "sent_messages", None) or ()
        return Outcome(
            Verdict.ACCEPTED, status=200, message_ids=tuple(message.id for message in sent)
        )


def _messages(messages: Sequence[dict[str, Any]]) -> list[Message]:
    return [Message.from_dict(message) for message in messages]


def _refusal(error: ApiException) -> Outcome:
    """Read an answer that is no 2xx; its words are compared and never kept."""
    status = int(error.status or 0)
    headers = error.headers or {}
    body = _body(error.body)
    return Outcome(
        verdict=_verdict(status, str(body.get("message", "")).casefold()),
        status=status,
        message_ids=_sent_ids(body) if status == 409 else (),
        request_id=headers.get("x-line-request-id"),
    )


def _verdict(status: int, words: str) -> Verdict:
    if status == 409:
        return Verdict.REPEATED
    if status == 401:
        return Verdict.UNAUTHORIZED
    if status == 429:
        return Verdict.QUOTA if _QUOTA in words else Verdict.BUSY
    if status >= 500:
        return Verdict.FAILED
    if status == 400 and _TOKEN_SPENT in words:
        return Verdict.TOKEN_SPENT
    return Verdict.REFUSED


def _body(text: object) -> dict[str, Any]:
    try:
        body = json.loads(text) if isinstance(text, str | bytes) else None
    except ValueError:
        body = None
    return body if isinstance(body, dict) else {}


def _sent_ids(body: dict[str, Any]) -> tuple[str, ...]:
    sent = body.get("sentMessages")
    rows = sent if isinstance(sent, list) else []
    return tuple(str(row["id"]) for row in rows if isinstance(row, dict) and "id" in row)
