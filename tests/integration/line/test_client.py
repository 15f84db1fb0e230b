"""LINE's own client against the loopback peer: what each end of a request is called."""

import asyncio
import socket
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import SecretStr

from local_agent.line.client import LineClient
from local_agent.line.outcome import BotInfo, Outcome, Verdict
from local_agent.line.peer import LinePeer, Trouble
from local_agent.line.peer_events import line_id

SECRET, TOKEN = "secret-of-a-channel", "token-of-a-channel"
USER = line_id("user", 1)
HELLO = [{"type": "text", "text": "您好"}]


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def peer(clock: Clock) -> AsyncIterator[LinePeer]:
    async with LinePeer(channel_secret=SECRET, channel_token=TOKEN, clock=clock) as started:
        yield started


@pytest.fixture
async def client(peer: LinePeer) -> AsyncIterator[LineClient]:
    async with LineClient(SecretStr(TOKEN), host=peer.url, timeout_seconds=20) as made:
        yield made


def token_of(peer: LinePeer) -> str:
    return str(peer.events.text("x", user=USER)["replyToken"])


def key() -> str:
    return str(uuid.uuid4())


async def test_a_reply_token_is_good_once(peer: LinePeer, client: LineClient) -> None:
    """The second answer by a token is refused by name, and one message is in the chat."""
    token = token_of(peer)
    first = await client.reply(token, HELLO)
    again = await client.reply(token, HELLO)
    assert (first.verdict, again.verdict) == (Verdict.ACCEPTED, Verdict.TOKEN_SPENT)
    assert first.message_ids == tuple(one.id for one in peer.chats[USER])
    assert peer.said(USER) == HELLO


async def test_a_reply_token_lasts_about_a_minute(
    peer: LinePeer, client: LineClient, clock: Clock
) -> None:
    """A token of a minute ago, and one that never was, are refused the same way."""
    token = token_of(peer)
    clock.now += 60_000
    assert (await client.reply(token, HELLO)).verdict is Verdict.TOKEN_SPENT
    assert (await client.reply("0" * 32, HELLO)).verdict is Verdict.TOKEN_SPENT
    assert peer.chats == {}


async def test_a_retry_key_is_accepted_once(
    peer: LinePeer, client: LineClient, clock: Clock
) -> None:
    """A repeated key is 409 with the first message's id, for a day; another key is another push."""
    one = key()
    first = await client.push(USER, HELLO, retry_key=one)
    again = await client.push(USER, HELLO, retry_key=one)
    assert (first.verdict, again.verdict) == (Verdict.ACCEPTED, Verdict.REPEATED)
    assert again.message_ids == first.message_ids
    assert again.verdict.accepted
    assert (await client.push(USER, HELLO, retry_key=key())).verdict is Verdict.ACCEPTED
    assert len(peer.said(USER)) == 2
    clock.now += 24 * 3_600_000
    assert (await client.push(USER, HELLO, retry_key=one)).verdict is Verdict.ACCEPTED


async def test_the_months_quota_is_told_from_a_rate_limit(
    peer: LinePeer, client: LineClient
) -> None:
    """Both are 429; LINE's words tell them apart, and neither delivers. A reply costs no quota."""
    peer.quota = 1
    peer.trouble(Trouble.RATE_LIMITED, on="push")
    busy = await client.push(USER, HELLO, retry_key=key())
    sent = await client.push(USER, HELLO, retry_key=key())
    used_up = await client.push(USER, HELLO, retry_key=key())
    reply = await client.reply(token_of(peer), HELLO)
    verdicts = [one.verdict for one in (busy, sent, used_up, reply)]
    assert verdicts == [Verdict.BUSY, Verdict.ACCEPTED, Verdict.QUOTA, Verdict.ACCEPTED]
    assert len(peer.said(USER)) == 2


@pytest.mark.parametrize(
    ("trouble", "expected"),
    [
        (Trouble.CUT_BEFORE, (Verdict.UNSURE, 0)),
        (Trouble.CUT_AFTER, (Verdict.UNSURE, 1)),
        (Trouble.ERROR_BEFORE, (Verdict.FAILED, 0)),
        (Trouble.ERROR_AFTER, (Verdict.FAILED, 1)),
        (Trouble.FORBIDDEN, (Verdict.REFUSED, 0)),
        (Trouble.UNAUTHORIZED, (Verdict.UNAUTHORIZED, 0)),
        (Trouble.GARBLED, (Verdict.ACCEPTED, 1)),
    ],
)
@pytest.mark.parametrize("via", ["reply", "push"])
async def test_each_failure_has_its_name(
    peer: LinePeer,
    client: LineClient,
    trouble: Trouble,
    expected: tuple[Verdict, int],
    via: str,
) -> None:
    """An outcome says what may have happened at LINE's side, and never claims what is unknown."""
    peer.trouble(trouble, on=via)
    if via == "reply":
        outcome = await client.reply(token_of(peer), HELLO)
    else:
        outcome = await client.push(USER, HELLO, retry_key=key())
    assert (outcome.verdict, len(peer.said(USER))) == expected
    assert (outcome.verdict.error_code is None) is outcome.verdict.accepted


@pytest.mark.parametrize(
    ("trouble", "delivered"), [(Trouble.STALL_BEFORE, 0), (Trouble.STALL_AFTER, 1)]
)
async def test_an_answer_that_does_not_come_is_unsure(
    peer: LinePeer, trouble: Trouble, delivered: int
) -> None:
    """After the longest wait nobody knows whether the message is out."""
    peer.trouble(trouble)
    async with LineClient(SecretStr(TOKEN), host=peer.url, timeout_seconds=0.5) as client:
        outcome = await client.reply(token_of(peer), HELLO)
    assert outcome.verdict is Verdict.UNSURE
    assert outcome.verdict.maybe
    assert len(peer.said(USER)) == delivered


async def test_no_connection_means_nothing_was_sent() -> None:
    """A port where nobody listens is unreachable, not unsure."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        host = f"http://127.0.0.1:{taken.getsockname()[1]}"
        async with LineClient(SecretStr(TOKEN), host=host) as client:
            outcome = await client.reply("0" * 32, HELLO)
    assert outcome == Outcome(Verdict.UNREACHABLE)


@pytest.mark.parametrize("host", ["https://api..line.me", f"https://{'a' * 64}.example"])
async def test_a_host_that_cannot_be_written_down_got_nothing(host: str) -> None:
    """Accepted is what LINE said it accepted: a request that never left is not (invariant 9)."""
    async with LineClient(SecretStr(TOKEN), host=host) as client:
        assert (await client.reply("0" * 32, HELLO)).verdict is Verdict.UNREACHABLE
        assert (await client.push(USER, HELLO, retry_key=key())).verdict is Verdict.UNREACHABLE


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(status: int) -> None:
    """What people are told goes to LINE or nowhere, and a redirect has accepted nothing."""
    asked: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n"))
        head = f"HTTP/1.1 {status} X\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n"
        writer.write(head.encode() + b"connection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    host = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        async with LineClient(SecretStr(TOKEN), host=host) as client:
            outcome = await client.reply("0" * 32, HELLO)
    finally:
        server.close()
        await server.wait_closed()
    assert outcome.verdict is Verdict.REFUSED
    assert len(asked) == 1


@pytest.mark.parametrize("body", [b"\xff\xfe\xff", b"", b"[1]", b'"text"', b'{"sentMessages": 1}'])
@pytest.mark.parametrize(("status", "verdict"), [(200, Verdict.ACCEPTED), (502, Verdict.FAILED)])
async def test_an_answer_of_any_bytes_is_judged_by_its_status(
    body: bytes, status: int, verdict: Verdict
) -> None:
    """What cannot be read is no reason to send twice: the status decides."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 {status} X\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    host = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        async with LineClient(SecretStr(TOKEN), host=host) as client:
            outcome = await client.reply("0" * 32, HELLO)
    finally:
        server.close()
        await server.wait_closed()
    assert outcome.verdict is verdict
    assert outcome.message_ids == ()


async def test_the_loading_animation_is_for_people_alone(
    peer: LinePeer, client: LineClient
) -> None:
    """In a one-to-one chat it starts; a group's id is refused."""
    assert (await client.loading(USER)).verdict is Verdict.ACCEPTED
    assert (await client.loading(line_id("group", 1))).verdict is Verdict.REFUSED
    assert (await client.loading(USER, seconds=7)).verdict is Verdict.REFUSED
    assert peer.loading == [USER]


async def test_the_bot_is_known_by_its_token(peer: LinePeer, client: LineClient) -> None:
    """The right token tells whose it is; a wrong one is named as such."""
    info = await client.bot_info()
    assert isinstance(info, BotInfo)
    assert info.user_id == peer.bot
    async with LineClient(SecretStr("another"), host=peer.url) as stranger:
        refused = await stranger.bot_info()
    assert isinstance(refused, Outcome)
    assert refused.verdict is Verdict.UNAUTHORIZED


async def test_a_closed_client_opens_again(peer: LinePeer, client: LineClient) -> None:
    """Closing lets go of connections, not of the client."""
    await client.close()
    assert (await client.reply(token_of(peer), HELLO)).verdict is Verdict.ACCEPTED


def flex(**changes: Any) -> dict[str, Any]:
    body = {"type": "box", "layout": "vertical", "contents": [{"type": "text", "text": "x"}]}
    return {
        "type": "flex",
        "altText": "x",
        "contents": {"type": "bubble", "body": body},
        **changes,
    }


def buttoned(action: dict[str, Any]) -> dict[str, Any]:
    return flex(
        contents={
            "type": "bubble",
            "footer": {
                "type": "box",
                "layout": "vertical",
                "contents": [{"type": "button", "action": action}],
            },
        }
    )


def replies(count: int) -> dict[str, Any]:
    item = {"type": "action", "action": {"type": "message", "label": "x", "text": "x"}}
    return {"type": "text", "text": "x", "quickReply": {"items": [item] * count}}


@pytest.mark.parametrize(
    "messages",
    [
        [{"type": "text", "text": "字" * 5_000}],
        [{"type": "text", "text": "😀" * 2_500}],
        HELLO * 5,
        [flex()],
        [replies(13)],
        [buttoned({"type": "postback", "label": "x", "data": "d" * 300, "displayText": "x"})],
    ],
    ids=["5,000 characters", "5,000 units of pairs", "five", "flex", "13 replies", "300 of data"],
)
async def test_what_line_takes_the_peer_takes(
    peer: LinePeer, client: LineClient, messages: list[dict[str, Any]]
) -> None:
    """At each limit a message is delivered as it was given."""
    assert (await client.reply(token_of(peer), messages)).verdict is Verdict.ACCEPTED
    assert peer.said(USER) == messages


@pytest.mark.parametrize(
    "messages",
    [
        [],
        HELLO * 6,
        [{"type": "text", "text": ""}],
        [{"type": "text", "text": "字" * 5_001}],
        [{"type": "text", "text": "😀" * 2_501}],
        [{"type": "sticker", "packageId": "1", "stickerId": "1"}],
        [{"type": "nonsense"}],
        [{"text": "x"}],
        [flex(altText="")],
        [flex(contents={"type": "bubble"})],
        [flex(contents={"type": "carousel", "contents": [flex()["contents"]] * 13})],
        [replies(14)],
        [buttoned({"type": "postback", "label": "x", "data": "d" * 301})],
        [buttoned({"type": "postback", "label": "長" * 41, "data": "d"})],
        [buttoned({"type": "postback", "data": "d"})],
    ],
)
async def test_what_line_refuses_is_refused_and_keeps_the_token(
    peer: LinePeer, client: LineClient, messages: list[dict[str, Any]]
) -> None:
    """Past each limit nothing is delivered, whether the SDK or the peer says so."""
    token = token_of(peer)
    assert (await client.reply(token, messages)).verdict is Verdict.REFUSED
    assert (await client.push(USER, messages, retry_key=key())).verdict is Verdict.REFUSED
    assert (await client.reply(token, HELLO)).verdict is Verdict.ACCEPTED
    assert peer.said(USER) == HELLO


@pytest.mark.parametrize("text", [b"bytes", {1, 2}, object()])
async def test_what_is_no_json_is_refused_before_it_leaves(
    peer: LinePeer, client: LineClient, text: object
) -> None:
    """A message that cannot be written down is refused, and never taken for one that is out."""
    messages = [{"type": "text", "text": text}]
    asked = len(peer.requests)
    assert (await client.reply(token_of(peer), messages)).verdict is Verdict.REFUSED
    assert (await client.push(USER, messages, retry_key=key())).verdict is Verdict.REFUSED
    assert len(peer.requests) == asked


async def test_a_push_needs_a_recipient_and_a_uuid(peer: LinePeer, client: LineClient) -> None:
    """An id that is not of LINE's form, and a retry key that is no UUID, are refused."""
    assert (await client.push("somebody", HELLO, retry_key=key())).verdict is Verdict.REFUSED
    assert (await client.push(USER, HELLO, retry_key="a key")).verdict is Verdict.REFUSED
    assert peer.chats == {}
