"""Counts a whole request exactly, by asking Gemini's countTokens."""

import asyncio
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from google import genai
from google.genai import errors

from callbacks.context.budget import Unit
from callbacks.context.errors import (
    ContextError,
    CounterFailed,
    InvalidCount,
    InvalidSetting,
)
from callbacks.counting import wire
from callbacks.counting.request import CountRequest
from callbacks.counting.uncountable import require_contents, require_countable
from callbacks.counting.verdict import CallAllowance

APPROVAL = "LOCAL_APPROVE_COUNT_TOKENS"
"""Set to ``yes``, this variable approves that contents are sent to the count service."""

_TRANSIENT = frozenset({429, 500, 502, 503, 504})
_LARGEST = 2**31 - 1
"""totalTokens is an int32 in the API's definition."""


@dataclass(frozen=True, slots=True)
class CountReport:
    """One question to the service: hashes, counts and times, never a body or a key.

    Attributes:
        fingerprint: SHA-256 of the canonical request.
        tokens: The answer; None when there was none.
        attempts: Requests sent, retries included.
        ms: Wall time, conversion included.
        cause: Why there was no answer, in one word; empty when there was.
    """

    fingerprint: str
    tokens: int | None
    attempts: int
    ms: float
    cause: str


class GeminiTokenCounter:
    """Asks countTokens about the complete request: instruction, tools, config and contents."""

    def __init__(
        self,
        client: genai.Client,
        *,
        approve_external: bool | None = None,
        timeout_s: float = 3.0,
        attempts: int = 3,
        backoff_s: float = 0.2,
        on_report: Callable[[CountReport], None] | None = None,
    ) -> None:
        """Ask through a client; its connections are kept and reused.

        Args:
            client: Of the Developer API or of Vertex.
            approve_external: Whether contents may be sent to the count service. None reads the
                environment: LOCAL_APPROVE_COUNT_TOKENS=yes.
            timeout_s: Deadline of one count, all retries included, in seconds.
            attempts: Most requests for one count.
            backoff_s: First wait before a retry, in seconds; doubles, with jitter.
            on_report: Gets a report of every count.

        Raises:
            InvalidSetting: A number is out of range.
        """
        if timeout_s <= 0 or attempts < 1 or backoff_s < 0:
            raise InvalidSetting("The deadline and the attempts of a count must be positive.")
        self._client = client
        self._approved = approve_external
        self._timeout = timeout_s
        self._attempts = attempts
        self._backoff = backoff_s
        self._on_report = on_report
        self._identity = wire.identity(client)

    @property
    def unit(self) -> Unit:
        """Always ``tokens``."""
        return "tokens"

    @property
    def identity(self) -> str:
        """Backend, endpoint (hashed) and SDK version."""
        return self._identity

    async def count(self, request: CountRequest, *, calls: CallAllowance | None = None) -> int:
        """Return the exact number of input tokens.

        Args:
            request: The whole request. Media is sent along, so that the service counts it.
            calls: What the turn may still ask; each attempt takes one.

        Raises:
            CounterFailed: Not approved, not countable, no call left, or no answer in time.
            InvalidCount: The service answered with something that is no count.
        """
        began = perf_counter()
        asked = _Attempts(calls)
        tokens: int | None = None
        cause = "cancelled"
        try:
            tokens = await self._count(request, asked)
            cause = ""
        except ContextError as error:
            cause = str(error.numbers.get("cause", error.error_code))
            raise
        finally:
            if self._on_report is not None:
                ms = (perf_counter() - began) * 1000
                self._on_report(CountReport(request.fingerprint, tokens, asked.made, ms, cause))
        return tokens

    async def _count(self, request: CountRequest, asked: "_Attempts") -> int:
        approved = self._approved
        if approved is None:
            approved = os.environ.get(APPROVAL) == "yes"
        if not approved:
            raise CounterFailed(
                "Sending contents to the count service has not been approved.",
                numbers={"cause": "not_approved"},
            )
        require_countable(request)
        require_contents(request)
        cause = ""
        try:
            path, body = wire.count_body(self._client, request)
        except (ValueError, TypeError, AttributeError) as error:
            cause = f"not_sendable_{type(error).__name__}"
        if cause:
            # Outside the handler: the SDK's message may quote the configuration.
            raise CounterFailed(numbers={"cause": cause})
        answer: object = None
        try:
            async with asyncio.timeout(self._timeout):
                answer = await self._answer(path, body, asked)
        except TimeoutError:
            cause = "timeout"
        if cause:
            raise CounterFailed(numbers={"cause": cause, "attempts": asked.made})
        return _total(answer)

    async def _answer(self, path: str, body: dict[str, object], asked: "_Attempts") -> object:
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._timeout
        cause = ""
        for attempt in range(self._attempts):
            asked.take()
            wait = self._backoff * 2**attempt * (0.5 + random.random())  # noqa: S311 - jitter, no secret
            try:
                left_ms = max(1, int((deadline - clock()) * 1000))
                return await wire.post(self._client, path, body, left_ms)
            except errors.APIError as error:
                cause = f"http_{error.code}"
                if error.code not in _TRANSIENT:
                    break
                wait = max(wait, _retry_after(error))
            except ValueError:
                return None  # no JSON: an answer that is no count
            except TimeoutError:
                cause = "timeout"
            except Exception as error:  # noqa: BLE001 - the SDK speaks through several HTTP libraries, each with errors of its own
                cause = f"transport_{type(error).__name__}"
            if attempt + 1 == self._attempts or clock() + wait >= deadline:
                break
            await asyncio.sleep(wait)
        # Outside the handlers: the service's message may quote the request.
        raise CounterFailed(numbers={"cause": cause, "attempts": asked.made})


class _Attempts:
    """Counts the requests of one count and takes each from the turn's allowance."""

    def __init__(self, calls: CallAllowance | None) -> None:
        self._calls = calls
        self.made = 0

    def take(self) -> None:
        if self._calls is not None:
            self._calls.take()
        self.made += 1


def _retry_after(error: errors.APIError) -> float:
    """Return the seconds that the service asks to wait; 0 where it does not say."""
    headers = getattr(error.response, "headers", None)
    stated = headers.get("retry-after", "") if headers is not None else ""
    return float(stated) if str(stated).isdecimal() else 0.0


def _total(answer: object) -> int:
    total = answer.get("totalTokens") if isinstance(answer, dict) else None
    # A request with contents costs at least one token: zero is what a lost answer looks like.
    # bool is an int to Python, but True is no count.
    if type(total) is not int or not 1 <= total <= _LARGEST:
        raise InvalidCount(numbers={"cause": "total_tokens"})
    return total
