"""Requests whose end two readers may see in two places, byte for byte over a raw socket."""

import asyncio
import json

import pytest

from local_agent.line.peer_events import EventMaker, body_of, line_id, signature_of
from tests.support.line import SECRET, WAIT_SECONDS, line_settings, running, sqlite_url

BOT, ANN = line_id("user", 99), line_id("user", 1)
CL, TE = b"content-length: %d", b"transfer-encoding: chunked"


@pytest.fixture
async def app(tmp_path):
    settings = line_settings(sqlite_url(tmp_path), processing="elsewhere")
    async with running(settings) as found:
        yield found


@pytest.fixture
def body():
    made = EventMaker(lambda: 1_700_000_000_000)
    return body_of(BOT, [made.text("在", user=ANN)])


def chunked(body):
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


def request(body, *lines, path=b"/callback", method=b"POST", version=b"1.1"):
    """A signed request that asks to go on with the connection."""
    first = b"%s %s HTTP/%s" % (method, path, version)
    signature = b"x-line-signature: " + signature_of(SECRET, body).encode()
    return b"\r\n".join([first, b"host: localhost", signature, *lines]) + b"\r\n\r\n"


async def exchange(app, sent):
    """Send bytes and return all that comes back until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", app.port)
    writer.write(sent)
    try:
        return await asyncio.wait_for(reader.read(), WAIT_SECONDS)
    finally:
        writer.close()


async def stored(app):
    return sum((await app.line.inbox.counts()).values())


def refused(answer):
    """Whether it is one answer, a 400."""
    return answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("order", [(CL, TE), (TE, CL)], ids=["length first", "coding first"])
@pytest.mark.parametrize("path", [b"/callback", b"/healthz", b"/nowhere"])
async def test_two_lengths_are_refused_unread(app, body, order, path):
    """Both headers, in either order, on any path: 400 from the head alone, closed, no effect."""
    lines = [line % len(body) if line is CL else line for line in order]
    for rest in (b"", chunked(body), body):
        hidden = request(body, CL % len(body)) + body
        answer = await exchange(app, request(body, *lines, path=path) + rest + (rest and hidden))
        assert refused(answer)
        assert b"connection: close" in answer
        if rest != body:  # else no chunk begins there, which the server may see first
            told = json.loads(answer.partition(b"\r\n\r\n")[2])
            assert told["error_code"] == "BODY_LENGTH_AMBIGUOUS"
    assert await stored(app) == 0


@pytest.mark.parametrize(
    "lines",
    [
        [CL, b"content-length: 1"],
        [b"content-length: 1", CL],
        [b"content-length: 1, 2"],
        [b"content-length: +5"],
        [b"content-length: -5"],
        [b"content-length: 0x5"],
        [b"content-length:"],
        [b"transfer-encoding: gzip"],
        [b"transfer-encoding: gzip, chunked"],
        [b"transfer-encoding: chunked, chunked"],
        [b"transfer-encoding: identity"],
        [b"transfer-encoding: xchunked"],
        [b"transfer-encoding:"],
        [TE, TE],
        [TE, b"transfer-encoding: identity"],
        [b"transfer-encoding : chunked"],
        [b"transfer-encoding:\x0bchunked"],
        [CL, b" transfer-encoding: chunked"],
    ],
    ids=lambda lines: b" | ".join(lines).decode(),
)
async def test_a_length_that_is_none_is_refused(app, body, lines):
    """Two lengths, none that is a number, and codings that are not chunked: 400, closed."""
    lines = [line % len(body) if line is CL else line for line in lines]
    for rest in (chunked(body), body):
        answer = await exchange(app, request(body, *lines) + rest + request(body) + body)
        assert refused(answer)
    assert await stored(app) == 0


async def test_an_old_client_knows_no_coding(app, body):
    """HTTP/1.0 has no Transfer-Encoding, so a proxy that speaks it sees another end (RFC 9112)."""
    answer = await exchange(app, request(body, TE, version=b"1.0") + chunked(body))
    assert refused(answer)
    assert await stored(app) == 0


@pytest.mark.parametrize("lines", [[CL], [TE], [b"Transfer-Encoding: Chunked"], [CL, CL]])
async def test_one_length_is_taken(app, body, lines):
    """A length or chunks are taken; the same length twice is one (RFC 9110, 8.6), to everybody."""
    rest = body if CL in lines else chunked(body)
    lines = [line % len(body) if line is CL else line for line in lines]
    answer = await exchange(app, request(body, *lines, b"connection: close") + rest)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert await stored(app) == 1
