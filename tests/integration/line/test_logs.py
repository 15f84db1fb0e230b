"""A thousand turns with every logger at DEBUG: nothing tells who somebody is or what they said."""

import io
import logging
import re

import pytest

from local_agent import logs
from local_agent.line.building import build_line
from local_agent.line.peer import Trouble
from local_agent.line.peer_events import line_id, redelivered
from tests.support.line import SECRET, TOKEN, line_settings, peer_of, served, sqlite_url
from tests.support.logs import logging_restored

USERS, ROUNDS = 50, 20
WORDS = (
    "花壇有什麼吃的？",
    "鹿港週末有什麼活動？",
    "記住我吃素",
    "我的偏好",
    "我的電話是0912345678，請問有推薦的嗎",
    "忘記我的飲食偏好",
    "剛才那個鄉鎮有活動嗎？",
    "王小明在員林等我吃飯",
)


@pytest.fixture
def everything():
    """Every logger there is, and every one to come, at DEBUG; returns raw lines."""
    raw = io.StringIO()
    handler = logging.StreamHandler(raw)
    handler.setFormatter(logging.Formatter("%(name)s %(message)s"))
    root = logging.getLogger()
    before = root.level
    levels = {
        logger: logger.level
        for logger in root.manager.loggerDict.values()
        if isinstance(logger, logging.Logger)
    }
    root.setLevel(logging.DEBUG)
    root.addHandler(handler)
    for logger in levels:
        logger.setLevel(logging.DEBUG)
    try:
        yield raw
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
        for logger, level in levels.items():
            logger.setLevel(level)


async def _turns(peer, app):
    """Write a thousand messages and what goes with them; return what must be in no log."""
    private = [SECRET, TOKEN]
    names = app.line.gateway.names
    for round_ in range(ROUNDS):
        events = []
        for number in range(USERS):
            user, text = line_id("user", number), WORDS[(round_ + number) % len(WORDS)]
            group = line_id("group", number) if number % 10 == 9 else None
            make = peer.events.text
            event = make(text, user=user, group=group, mention_bot="LOCAL" if group else None)
            events.append(event)
            private += [event["replyToken"], event["message"]["id"]]
        if round_ % 5 == 0:
            peer.trouble(Trouble.ERROR_BEFORE, Trouble.CUT_AFTER, Trouble.FORBIDDEN)
        assert await peer.post(app.url, *events) == 200
        await app.line.worker.drain()
        for said in peer.chats.values():
            found = re.search(r"'data': '(approve[^']*)'", str(said[-1].message))
            if found and round_ < 8:
                private.append(found[1])
                press = peer.events.postback(found[1], user=events[0]["source"]["userId"])
                assert await peer.post(app.url, press) == 200
        unsent = peer.events.unsend(events[0]["message"]["id"], user=line_id("user", 0))
        sticker = {"type": "sticker", "packageId": "1", "stickerId": "2"}
        others = [peer.events.message(sticker, user=line_id("user", 1)), redelivered(events[2])]
        left = [
            peer.events.unfollow(user=line_id("user", 3)),
            peer.events.follow(user=line_id("user", 3)),
        ]
        assert await peer.post(app.url, unsent, *others, *left) == 200
        await app.line.worker.drain()
    for number in range(USERS):
        user, group = line_id("user", number), line_id("group", number)
        private += [user, group, names.person(user), names.group_person(group, user)]
        private += [names.chat(user), names.chat(group)]
    return [*private, *WORDS, *(word[:6] for word in WORDS), "王小明", "0912345678", "素食"]


async def test_nothing_of_anybody_is_logged(tmp_path, everything, capfd):
    """No id, pseudonym, token or word of a message is in any line, ours or a library's."""
    lines = io.StringIO()
    with logging_restored():
        logs.set_up("DEBUG", lines)
        async with peer_of() as peer:
            url = sqlite_url(tmp_path)
            async with served(build_line(line_settings(url, peer.url, log_level="DEBUG"))) as app:
                private = await _turns(peer, app)
                bad = await app.post(b"{}", headers={"x-line-signature": b"x"}, sign=False)
                assert bad.status == 401
        answers = sum(len(said) for said in peer.chats.values())
    assert answers >= USERS * ROUNDS * 0.9
    told = lines.getvalue()
    assert "event=worker_started" in told
    assert "event=webhook_refused" in told
    ended = re.findall(
        r"level=INFO \S+ event=event_ended ref=<\w{8}> ending=\w+ ms=<\d+>$", told, re.MULTILINE
    )
    assert len(ended) >= answers
    assert "LINE_MAYBE_DELIVERED" in told
    written = capfd.readouterr()
    raw = everything.getvalue()
    assert len(raw.splitlines()) > 1_000
    for where, text in (
        ("ours", told),
        ("stdout", written.out),
        ("stderr", written.err),
        ("raw", raw),
    ):
        assert [word for word in private if word in text] == [], where
