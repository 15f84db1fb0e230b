"""GeminiTokenCounter against a service that fails over real sockets."""

import logging
import time

import pytest
from google.genai import types

from callbacks.context.errors import ContextError, CounterFailed, InvalidCount
from callbacks.counting.gemini import CountReport, GeminiTokenCounter
from callbacks.counting.probes import said
from callbacks.counting.request import CountRequest
from callbacks.counting.verdict import CallAllowance
from tests.support.count_service import (
    MODEL,
    Behaviour,
    answer,
    count_service,
    drip,
    error,
    reset,
    silence,
    total,
)

SECRET = "花壇的秘密"
DEADLINE_S = 0.6


@pytest.fixture(params=["httpx", None], ids=["httpx", "aiohttp"])
def transport(request) -> str | None:
    """The libraries that the SDK speaks through: a base install has the first alone."""
    return request.param


def _request(text=SECRET, **config):
    return CountRequest(MODEL, types.GenerateContentConfig(**config), [said("user", text)])


@pytest.mark.parametrize(
    ("behaviour", "refusal", "cause"),
    [
        pytest.param(silence, CounterFailed, "timeout", id="timeout"),
        pytest.param(drip, CounterFailed, "timeout", id="slow drip"),
        pytest.param(reset, CounterFailed, "transport_", id="reset mid-body"),
        pytest.param(error("401 UNAUTHENTICATED"), CounterFailed, "http_401", id="401"),
        pytest.param(error("403 PERMISSION_DENIED"), CounterFailed, "http_403", id="403"),
        pytest.param(
            error("429 RESOURCE_EXHAUSTED", "retry-after: 9\r\n"),
            CounterFailed,
            "http_429",
            id="429",
        ),
        pytest.param(error("500 INTERNAL"), CounterFailed, "http_500", id="500"),
        pytest.param(answer(b"<html>hello</html>", kind="text/html"), InvalidCount, "", id="HTML"),
        pytest.param(answer(b"{}"), InvalidCount, "", id="missing"),
        pytest.param(answer(b"[1]"), InvalidCount, "", id="a list"),
        pytest.param(answer(b""), InvalidCount, "", id="nothing"),
        pytest.param(total(-1), InvalidCount, "", id="negative"),
        pytest.param(total(0), InvalidCount, "", id="zero"),
        pytest.param(total(12.0), InvalidCount, "", id="float"),
        pytest.param(total(True), InvalidCount, "", id="boolean"),
        pytest.param(total("12"), InvalidCount, "", id="string"),
        pytest.param(total(None), InvalidCount, "", id="null"),
        pytest.param(total(2**63), InvalidCount, "", id="huge"),
    ],
)
async def test_a_failing_service_refuses_in_time(
    behaviour: Behaviour, refusal, cause, transport, caplog: pytest.LogCaptureFixture
):
    """Whatever the service does, a count is refused with a code, in time, without content."""
    caplog.set_level(logging.DEBUG, logger="callbacks")
    reports: list[CountReport] = []
    async with count_service(behaviour, transport=transport) as service:
        client = service.client()
        counter = GeminiTokenCounter(
            client,
            approve_external=True,
            timeout_s=DEADLINE_S,
            backoff_s=0.01,
            on_report=reports.append,
        )
        began = time.monotonic()
        with pytest.raises(refusal) as caught:
            await counter.count(_request())
        took = time.monotonic() - began
        await client.aio.aclose()
    assert took < DEADLINE_S + 0.5
    assert caught.value.error_code in {"COUNT_UNAVAILABLE", "INVALID_COUNTER_RESULT"}
    assert str(caught.value.numbers.get("cause", "")).startswith(cause)
    told = "".join([caplog.text, repr(caught.value), repr(caught.value.numbers), repr(reports)])
    for hidden in (SECRET, "no-key", "echo of the request", "hello"):
        assert hidden not in told
    assert caught.value.__context__ is None or isinstance(caught.value.__context__, TimeoutError)
    [report] = reports
    assert report.tokens is None
    assert report.cause


async def test_transient_errors_are_retried_inside_one_deadline(transport):
    """A 429 and a 503 are asked again, each attempt taking one of the turn's calls."""
    async with count_service(
        error("429 RESOURCE_EXHAUSTED"), error("503 UNAVAILABLE"), total(41), transport=transport
    ) as service:
        client = service.client()
        counter = GeminiTokenCounter(client, approve_external=True, backoff_s=0.01)
        calls = CallAllowance(4)
        assert await counter.count(_request(), calls=calls) == 41
        assert calls.used == 3
        await client.aio.aclose()


async def test_a_turn_may_not_ask_more_often_than_it_is_allowed():
    """The call limit of a turn holds over its counts and retries; past it, a count is refused."""
    async with count_service(total(7)) as service:
        client = service.client()
        counter = GeminiTokenCounter(client, approve_external=True)
        calls = CallAllowance(2)
        await counter.count(_request(), calls=calls)
        await counter.count(_request(), calls=calls)
        with pytest.raises(CounterFailed) as caught:
            await counter.count(_request(), calls=calls)
        assert caught.value.numbers["cause"] == "call_limit"
        assert len(service.bodies) == 2
        await client.aio.aclose()


async def test_connections_are_kept(transport):
    """Counts one after another share a connection."""
    async with count_service(total(7), transport=transport) as service:
        client = service.client()
        counter = GeminiTokenCounter(client, approve_external=True)
        for _ in range(5):
            await counter.count(_request())
        assert service.connections == 1
        await client.aio.aclose()


@pytest.mark.parametrize(("variable", "approved"), [("yes", True), ("1", False), (None, False)])
async def test_nothing_is_sent_without_approval(variable, approved, monkeypatch):
    """Contents go out only after LOCAL_APPROVE_COUNT_TOKENS=yes, or by argument."""
    if variable is not None:
        monkeypatch.setenv("LOCAL_APPROVE_COUNT_TOKENS", variable)
    async with count_service(total(7)) as service:
        client = service.client()
        counter = GeminiTokenCounter(client)
        if approved:
            assert await counter.count(_request()) == 7
        else:
            with pytest.raises(CounterFailed) as caught:
                await counter.count(_request())
            assert caught.value.numbers["cause"] == "not_approved"
            assert service.bodies == []
        await client.aio.aclose()


@pytest.mark.parametrize(
    ("config", "part", "cause"),
    [
        ({"cached_content": "cachedContents/1"}, None, "cached_content"),
        ({"http_options": types.HttpOptions(extra_body={"x": 1})}, None, "extra_body"),
        (
            {},
            types.Part(file_data=types.FileData(file_uri="gs://b/f", mime_type="image/png")),
            "file_uri",
        ),
    ],
)
async def test_what_cannot_be_counted_is_refused_by_name(config, part, cause):
    """A cached prefix, an extra body or a file behind a URI is named, never skipped."""
    request = _request(**config)
    if part is not None:
        request = request.with_contents([types.Content(role="user", parts=[part])])
    async with count_service(total(7)) as service:
        client = service.client()
        counter = GeminiTokenCounter(client, approve_external=True)
        with pytest.raises(CounterFailed) as caught:
            await counter.count(request)
        assert caught.value.numbers["cause"] == cause
        assert service.bodies == []
        await client.aio.aclose()


async def test_no_contents_are_refused():
    """A request without contents is no request: it is not counted as its envelope."""
    async with count_service(total(7)) as service:
        client = service.client()
        counter = GeminiTokenCounter(client, approve_external=True)
        with pytest.raises(ContextError):
            await counter.count(_request().with_contents([]))
        await client.aio.aclose()


async def test_a_picture_is_sent_as_a_picture(transport):
    """A picture of 1 MB is counted by asking with its data; it is neither text nor dropped."""
    picture = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"\x89PNG" * 250_000))
    request = _request().with_contents(
        [types.Content(role="user", parts=[types.Part(text="這是什麼？"), picture])]
    )
    async with count_service(total(271), transport=transport) as service:
        client = service.client()
        counter = GeminiTokenCounter(client, approve_external=True)
        assert await counter.count(request) == 271
        [body] = service.bodies
        parts = body["generateContentRequest"]["contents"][0]["parts"]
        assert len(parts[1]["inlineData"]["data"]) > 1_000_000
        await client.aio.aclose()
