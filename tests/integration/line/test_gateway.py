"""The webhook over real connections: each request's status, and that it left nothing behind."""

import asyncio
import base64
import json
import sqlite3
from contextlib import asynccontextmanager

import pytest
from linebot.v3.webhook import SignatureValidator

from local_agent.line.peer_events import body_of, line_id, redelivered, signature_of
from local_agent.line.signature import sign
from local_agent.line.writer import MOST_WAITING
from stores.errors import StoreUnavailable
from stores.inbox import Arrival, State
from tests.support.line import (
    SECRET,
    WAIT_SECONDS,
    head,
    line_settings,
    peer_of,
    read_answer,
    running,
    sqlite_url,
    until,
)

ANN, BEN, BOT = line_id("user", 1), line_id("user", 2), line_id("user", 0xB07)
GROUP = line_id("group", 3)


@asynccontextmanager
async def gateway(folder, **overrides):
    """The gateway alone, on SQLite: nothing takes turns, so what is stored stays to be seen."""
    settings = line_settings(sqlite_url(folder), processing="elsewhere", **overrides)
    async with running(settings) as found:
        yield found


@pytest.fixture
async def app(tmp_path):
    async with gateway(tmp_path) as found:
        yield found


@pytest.fixture
def make():
    return peer_of().events


async def stored(app) -> int:
    """How many events are in the inbox."""
    return sum((await app.line.inbox.counts()).values())


def code_of(answer) -> str:
    found = json.loads(answer.body)
    assert set(found) == {"error_code", "message"}
    return found["error_code"]


async def test_an_event_is_stored_before_the_200(app, make):
    """A signed webhook is answered 200, and its events are in the store by then (L04)."""
    body = body_of(BOT, [make.text("花壇有什麼吃的？", user=ANN), make.text("鹿港呢", user=BEN)])
    answer = await app.post(body)
    assert (answer.status, answer.body) == (200, b"{}")
    assert await app.line.inbox.counts() == {State.WAITING: 2}


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, "SIGNATURE_MISSING"),
        ({"x-line-signature": b""}, "SIGNATURE_INVALID"),
        ({"x-line-signature": b"c2hvcnQ="}, "SIGNATURE_INVALID"),
        ({"x-line-signature": b"A" * 5_000}, "SIGNATURE_INVALID"),
        ({"x-line-signature": b"\xe4\xb8\xad" * 15}, "SIGNATURE_INVALID"),
        ({"x-line-signature": base64.b64encode(b"0" * 32)}, "SIGNATURE_INVALID"),
    ],
)
async def test_a_bad_signature_is_401(app, make, headers, code):
    """A header that is missing, short, long, not ASCII or wrong is 401, and nothing is stored."""
    answer = await app.post(body_of(BOT, [make.text("在", user=ANN)]), headers=headers, sign=False)
    assert (answer.status, code_of(answer)) == (401, code)
    assert await stored(app) == 0


async def test_two_signatures_are_none(app, make):
    """A good signature beside another one is no signature: who reads which cannot differ."""
    body = body_of(BOT, [make.text("在", user=ANN)])
    good = signature_of(SECRET, body).encode()
    headers = {"x-line-signature": good, "X-Line-Signature": b"other"}
    answer = await app.post(body, headers=headers, sign=False)
    assert (answer.status, code_of(answer)) == (401, "SIGNATURE_INVALID")


async def test_nothing_is_parsed_before_the_signature(app):
    """A body that is no JSON is 401 without a good signature, and 400 with one."""
    unsigned = await app.post(b"{", headers={"x-line-signature": b"x"}, sign=False)
    assert (unsigned.status, code_of(unsigned)) == (401, "SIGNATURE_INVALID")
    signed = await app.post(b"{")
    assert (signed.status, code_of(signed)) == (400, "BODY_INVALID")
    assert await stored(app) == 0


@pytest.mark.parametrize("escaped", [rb"\uD83E\uDD28", rb"a\uD83Eb"])
async def test_escaped_surrogates_are_signed_as_sent(app, make, escaped):
    """The signature is over the bytes as they came, whatever escapes are in them (L01)."""
    body = body_of(BOT, [make.text("PLACE", user=ANN)]).replace(b"PLACE", escaped)
    signature = sign(SECRET.encode(), body).decode()
    assert SignatureValidator(SECRET).validate(body.decode(), signature)
    assert (await app.post(body)).status == 200
    assert await stored(app) == 1
    again = json.dumps(json.loads(body)).encode() + b" "
    rewritten = await app.post(again, headers={"x-line-signature": signature.encode()}, sign=False)
    assert rewritten.status == 401


@pytest.mark.parametrize("size", [1_048_577, 2_000_000, 20_000_000])
async def test_a_body_too_large_is_413(app, size):
    """Whatever is larger than the limit is refused before its signature is looked at (L01)."""
    answer = await app.post(b" " * size, sign=size < 2_000_000)
    assert (answer.status, code_of(answer)) == (413, "BODY_TOO_LARGE")
    assert await stored(app) == 0


async def test_a_body_that_hides_its_size_is_413(app):
    """The limit holds for what arrives, where no length was declared."""
    reader, writer = await asyncio.open_connection("127.0.0.1", app.port)
    writer.write(head("POST", "/callback", {"transfer-encoding": b"chunked"}))
    for _ in range(32):
        writer.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
    writer.write(b"0\r\n\r\n")
    answer = await asyncio.wait_for(read_answer(reader), WAIT_SECONDS)
    assert (answer.status, code_of(answer)) == (413, "BODY_TOO_LARGE")
    writer.close()


async def test_a_slow_body_is_408(tmp_path):
    """A body that does not arrive in time is given up, and the server goes on serving."""
    async with gateway(tmp_path, body_seconds=1) as app:
        reader, writer = await asyncio.open_connection("127.0.0.1", app.port)
        writer.write(head("POST", "/callback", {"content-length": b"1000"}) + b'{"events"')
        answer = await asyncio.wait_for(read_answer(reader), WAIT_SECONDS)
        assert (answer.status, code_of(answer)) == (408, "BODY_TIMEOUT")
        writer.close()
        assert (await app.post(b'{"events": []}')).status == 200
        assert await stored(app) == 0


async def test_halves_of_bodies_are_bounded_together(app, make, monkeypatch):
    """Strangers who never end their bodies hold so much memory and no more, and it is let go."""
    monkeypatch.setattr("local_agent.line.gateway.MOST_READ_BYTES", 3_000)
    slow = []
    for _ in range(3):
        reader, writer = await asyncio.open_connection("127.0.0.1", app.port)
        writer.write(head("POST", "/callback", {"content-length": b"100000"}) + b"x" * 1_000)
        slow.append((reader, writer))
    await until(lambda: app.line.gateway.arriving.size == 3_000, "they are held")
    refused = await app.post(body_of(BOT, [make.text("在", user=ANN)]))
    assert (refused.status, code_of(refused)) == (503, "WEBHOOK_BUSY")
    for _, writer in slow:
        writer.close()
    await until(lambda: app.line.gateway.arriving.size == 0, "they are let go")
    assert (await app.post(body_of(BOT, [make.text("在", user=ANN)]))).status == 200


async def test_who_hangs_up_leaves_nothing(app):
    """A connection that is cut in the middle of a body stores nothing and stops nothing."""
    _, writer = await asyncio.open_connection("127.0.0.1", app.port)
    writer.write(head("POST", "/callback", {"content-length": b"1000"}) + b'{"events"')
    await writer.drain()
    writer.transport.abort()
    assert (await app.post(b'{"events": []}')).status == 200
    assert await stored(app) == 0


async def test_the_console_verifies(app, make):
    """Empty lists, dummy tokens, a missing destination, standby: 200 and nothing else (L02)."""
    dummy = {**make.text("Hello, world", user=ANN), "replyToken": "0" * 32}
    other = {**make.text("Hello, world", user=ANN), "replyToken": "f" * 32}
    standby = {**make.text("在", user=ANN), "mode": "standby"}
    for body in (
        b'{"events":[]}',
        body_of(BOT, []),
        json.dumps({"events": [dummy, other]}).encode(),
        body_of(BOT, [standby]),
        body_of(BOT, [make.event("beacon", user=ANN), {"type": "message"}, {}]),
    ):
        assert (await app.post(body)).status == 200
    assert await stored(app) == 0


async def test_an_unknown_type_beside_a_text(app, make):
    """Of a batch with an unknown type the message is stored (L08)."""
    body = body_of(BOT, [make.event("something new", user=ANN), make.text("在", user=ANN)])
    assert (await app.post(body)).status == 200
    assert await stored(app) == 1


async def test_another_bot_is_400(tmp_path, make):
    """With a destination set, events of another bot are refused and the console's call is not."""
    async with gateway(tmp_path, line_destination=BOT) as app:
        text = make.text("在", user=ANN)
        wrong = await app.post(body_of(line_id("user", 9), [text]))
        assert (wrong.status, code_of(wrong)) == (400, "DESTINATION_UNKNOWN")
        missing = await app.post(json.dumps({"events": [text]}).encode())
        assert (missing.status, code_of(missing)) == (400, "DESTINATION_UNKNOWN")
        assert await stored(app) == 0
        assert (await app.post(b'{"events":[]}')).status == 200
        assert (await app.post(body_of(BOT, [text]))).status == 200
        assert await stored(app) == 1


async def test_the_allowlist_drops_everybody_else(tmp_path, make):
    """With an allowlist, its people and groups are let in, and others' events are dropped."""
    async with gateway(tmp_path, line_allowlist=f"{ANN},{GROUP}") as app:
        for event, known in (
            (make.text("在", user=ANN), 1),
            (make.text("在", user=BEN), 1),
            (make.text("在", user=BEN, group=GROUP), 2),
        ):
            assert (await app.post(body_of(BOT, [event]))).status == 200
            assert await stored(app) == known


async def test_an_event_is_stored_once(app, make):
    """The same id, at once, in one batch, redelivered, is one event; a new id is another (L05)."""
    event = make.text("好", user=ANN)
    first = body_of(BOT, [event, event])
    again = body_of(BOT, [redelivered(event)])
    answers = await asyncio.gather(*(app.post(body) for body in (first, again) * 8))
    assert {answer.status for answer in answers} == {200}
    assert await stored(app) == 1
    assert (await app.post(body_of(BOT, [make.text("好", user=ANN)]))).status == 200
    assert await stored(app) == 2


async def test_a_batch_of_any_size_is_stored(app, make):
    """A request with more events than one transaction takes is stored whole."""
    events = [make.text("在", user=ANN) for _ in range(1_500)]
    assert (await app.post(body_of(BOT, events))).status == 200
    assert await stored(app) == 1_500


async def test_an_event_is_known_after_a_restart(tmp_path, make):
    """What was stored before a restart is not stored again after it (L05)."""
    event = make.text("好", user=ANN)
    async with gateway(tmp_path) as app:
        await app.post(body_of(BOT, [event]))
    async with gateway(tmp_path) as app:
        assert (await app.post(body_of(BOT, [redelivered(event)]))).status == 200
        assert await stored(app) == 1


async def test_a_store_that_is_down_is_503(tmp_path, make):
    """While the store takes nothing, LINE is told to come again, and the event is then stored."""
    event = make.text("在", user=ANN)
    async with gateway(tmp_path) as app:
        await stored(app)  # opened before it is locked
        blocker = sqlite3.connect(tmp_path / "line.db", isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        refused = await app.post(body_of(BOT, [event]))
        assert (refused.status, code_of(refused)) == (503, "STORE_UNAVAILABLE")
        assert int(refused.headers["retry-after"]) > 0
        blocker.execute("ROLLBACK")
        blocker.close()
        assert (await app.post(body_of(BOT, [redelivered(event)]))).status == 200
        assert await stored(app) == 1


async def test_too_many_at_once_are_503(app, make):
    """More events than may wait are turned away instead of piling up, and later ones are taken."""
    arrival = Arrival(event_id="e", chat="c", said_at_ms=0, body=b"{}")
    with pytest.raises(StoreUnavailable):
        await app.line.writer.store([arrival] * (MOST_WAITING + 1))
    assert (await app.post(body_of(BOT, [make.text("在", user=ANN)]))).status == 200


@pytest.mark.parametrize("step", ["accept", "unsend"])
async def test_what_fails_unforeseen_quotes_nothing(app, make, monkeypatch, caplog, step):
    """A failure that nobody thought of is not acknowledged, and its words are in no log (4)."""

    async def fails(*_, **__):
        raise RuntimeError("花壇")

    monkeypatch.setattr(app.line.inbox, step, fails)
    body = body_of(BOT, [make.text("花壇", user=ANN), make.unsend("1", user=ANN)])
    answer = await app.post(body)
    assert answer.status in {500, 503}
    assert code_of(answer) in {"INTERNAL_ERROR", "STORE_UNAVAILABLE"}
    assert "花壇" not in caplog.text
    monkeypatch.undo()
    assert (await app.post(body)).status == 200
    assert await stored(app) == 2


async def test_unsending_is_done_before_the_200(app, make):
    """A message that is taken back before its turn never gets one, and its text is gone (L11)."""
    event = make.text("我的密碼是 1234", user=ANN)
    await app.post(body_of(BOT, [event]))
    assert (
        await app.post(body_of(BOT, [make.unsend(event["message"]["id"], user=ANN)]))
    ).status == 200
    assert await app.line.inbox.counts() == {State.SILENT: 1, State.WAITING: 1}


async def test_health_and_readiness(app):
    """`/healthz` tells of the process, `/readyz` of the store."""
    assert (await app.request("GET", "/healthz")).status == 200
    assert (await app.request("GET", "/readyz")).status == 200
    await app.line.store.close()
    assert (await app.request("GET", "/healthz")).status == 200
    closed = await app.request("GET", "/readyz")
    assert (closed.status, code_of(closed)) == (503, "NOT_READY")


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json", "/", "/console"])
async def test_there_is_nothing_else(app, path):
    """No page of documentation and no other route is served."""
    answer = await app.request("GET", path)
    assert (answer.status, code_of(answer)) == (404, "NOT_FOUND")


async def test_the_webhook_takes_post_alone(app):
    """Another method is refused by name."""
    answer = await app.request("GET", "/callback")
    assert (answer.status, code_of(answer)) == (405, "METHOD_NOT_ALLOWED")


async def test_many_requests_share_transactions(app, make, monkeypatch):
    """Requests that arrive while the store writes are written together (invariant 9)."""
    taken = []
    accept = app.line.inbox.accept

    async def counted(arrivals, *, now_ms):
        taken.append(len(arrivals))
        return await accept(arrivals, now_ms=now_ms)

    monkeypatch.setattr(app.line.inbox, "accept", counted)
    bodies = [body_of(BOT, [make.text("在", user=line_id("user", n))]) for n in range(64)]
    answers = await asyncio.gather(*(app.post(body) for body in bodies))
    assert {answer.status for answer in answers} == {200}
    assert sum(taken) == 64
    assert len(taken) < 64
    await until(lambda: _all_stored(app, 64), "all are stored")


async def _all_stored(app, many) -> bool:
    return await stored(app) == many
