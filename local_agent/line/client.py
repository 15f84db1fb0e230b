"""LINE's Messaging API through line-bot-sdk, with outcomes in place of exceptions.

One request each, no retry of its own: whether a request may be made again is for `delivery` to say.

Messages go out as they are. The SDK's models would build themselves from JSON and take themselves
apart into the same JSON again, a fifth of a turn's profile (benchmarks/RESULTS.md). That they would
take each of ours is a test; whether a message is right, LINE says.
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
)
from pydantic import SecretStr

from local_agent.line.outcome import BotInfo, Outcome, Verdict

API_HOST: Final = "https://api.line.me"
"""Where LINE's Messaging API is."""

LOADING_SECONDS: Final = 20
"""How long the animation shows unless an answer ends it; 5 to 60 in steps of 5 (LINE)."""

_TOKEN_SPENT = "invalid reply token"  # noqa: S105 - LINE's words
_QUOTA = "monthly limit"
_AS_BYTES: Final = {str(status): "bytearray" for status in range(200, 300)}
"""What the SDK is to make of an accepted answer: nothing, as its bytes may be any."""

_NEVER_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)


class LineClient:
    """A channel's side of the Messaging API. Never raises what the network or LINE does."""

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
        body = {"replyToken": token, "messages": list(messages)}
        return await self._post("/v2/bot/message/reply", body)

    async def push(self, to: str, messages: Sequence[dict[str, Any]], *, retry_key: str) -> Outcome:
        """Send unasked; the same key again sends nothing a second time, for a day.

        Args:
            to: The user, group or room.
            messages: As for a reply.
            retry_key: A UUID.
        """
        body = {"to": to, "messages": list(messages)}
        key = {"X-Line-Retry-Key": retry_key}
        return await self._post("/v2/bot/message/push", body, key)

    async def loading(self, chat_id: str, seconds: int = LOADING_SECONDS) -> Outcome:
        """Show the loading animation in a one-to-one chat."""
        body = {"chatId": chat_id, "loadingSeconds": seconds}
        return await self._post("/v2/bot/chat/loading/start", body)

    async def bot_info(self) -> BotInfo | Outcome:
        """Ask whose token this is; an Outcome says why LINE did not tell."""
        found: list[BotInfo] = []

        async def ask() -> None:
            api = AsyncMessagingApi(self._sdk())
            info = await api.get_bot_info(_request_timeout=self._timeout)
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

    def _sdk(self) -> AsyncApiClient:
        if self._client is None:  # needs a running loop, so not in __init__
            self._client = AsyncApiClient(self._configuration)
            rest = self._client.rest_client
            rest.pool_manager = _Straight(rest.pool_manager)
        return self._client

    async def _post(
        self, path: str, body: dict[str, Any], headers: dict[str, str] | None = None
    ) -> Outcome:
        """Post through the SDK's client, which adds the token and reads errors."""
        try:
            json.dumps(body)
        except (TypeError, ValueError, RecursionError):  # told from an answer that cannot be read
            return Outcome(Verdict.REFUSED)
        return await self._send(
            lambda: self._sdk().call_api(
                path,
                "POST",
                header_params={
                    "Accept": "application/json",
                    "Content-Type": "application/json",
                    **(headers or {}),
                },
                body=body,
                response_types_map=_AS_BYTES,
                auth_settings=["Bearer"],
                _return_http_data_only=True,
                _request_timeout=self._timeout,
            )
        )

    async def _send(self, ask: Callable[[], Awaitable[Any]]) -> Outcome:
        """Ask, and say what came of it: accepted is what a 2xx was read of, and nothing else."""
        try:
            answer = await ask()
        except ApiException as error:
            return _refusal(error)
        except (*_NEVER_SENT, RecursionError):
            return Outcome(Verdict.UNREACHABLE)
        except (aiohttp.ClientError, TimeoutError, OSError):
            return Outcome(Verdict.UNSURE)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            if isinstance(error.__context__, ApiException):  # an error's body that is no UTF-8
                return _refusal(error.__context__)
            # A host or a header that cannot be written down stops a request before it leaves.
            never = isinstance(error, UnicodeError)
            return Outcome(Verdict.UNREACHABLE if never else Verdict.UNSURE)
        ids = tuple(_sent_ids(_body(answer)))
        return Outcome(Verdict.ACCEPTED, status=200, message_ids=ids)


class _Straight:
    """An HTTP session that follows no redirect: what people are told goes to LINE or nowhere."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def request(self, **options: Any) -> aiohttp.ClientResponse:
        return await self._session.request(**options, allow_redirects=False)

    async def close(self) -> None:
        await self._session.close()


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
    except (ValueError, RecursionError):
        body = None
    return body if isinstance(body, dict) else {}


def _sent_ids(body: dict[str, Any]) -> tuple[str, ...]:
    sent = body.get("sentMessages")
    rows = sent if isinstance(sent, list) else []
    return tuple(str(row["id"]) for row in rows if isinstance(row, dict) and "id" in row)
