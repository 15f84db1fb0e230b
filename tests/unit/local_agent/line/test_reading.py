"""Webhook bodies: which events LOCAL acts on, and that line-bot-sdk reads them alike."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from linebot.v3.models import UnknownEvent
from linebot.v3.webhook import WebhookParser
from linebot.v3.webhooks import PostbackEvent, UnsendEvent

from local_agent.line.peer_events import EventMaker, body_of, line_id, redelivered, signature_of
from local_agent.line.reading import DUMMY_TOKENS, MOST_TEXT, BadBody, read_event, read_webhook
from stores.inbox import BODY_MAX_BYTES

NOW = 1_700_000_000_000
SECRET = "a channel secret of tests"
BOT, ANN = line_id("user", 0xB07), line_id("user", 1)
GROUP, ROOM = line_id("group", 2), line_id("room", 3)


@pytest.fixture
def events() -> EventMaker:
    return EventMaker(lambda: NOW)


def _media(kind):
    provider = {"contentProvider": {"type": "line"}, "quoteToken": "q"}
    return {
        "image": {"type": "image", **provider},
        "video": {"type": "video", **provider},
        "audio": {"type": "audio", "duration": 1000, **provider},
        "file": {"type": "file", "fileName": "a.pdf", "fileSize": 3},
        "location": {"type": "location", "title": "家", "latitude": 24.0, "longitude": 120.5},
        "sticker": {
            "type": "sticker",
            "packageId": "1",
            "stickerId": "2",
            "stickerResourceType": "STATIC",
            "keywords": ["hi"],
            "quoteToken": "q",
        },
    }[kind]


def _one_of_each(make: EventMaker):
    kinds = ("image", "video", "audio", "file", "location", "sticker")
    return [
        make.text("花壇有什麼吃的？🍜", user=ANN),
        make.text("早安", user=ANN, group=GROUP, mention_bot="LOCAL小幫手", quoted="41"),
        make.text("路過", user=None, group=ROOM),
        *(make.message(_media(kind), user=ANN) for kind in kinds),
        make.postback("inspect", user=ANN),
        make.unsend("42", user=ANN, group=GROUP),
        make.follow(user=ANN),
        make.unfollow(user=ANN),
        make.event("join", user=None, group=GROUP),
        redelivered(make.text("再一次", user=ANN)),
    ]


def test_line_bot_sdk_reads_the_same(events):
    """Every event that LOCAL acts on says what line-bot-sdk's parser says of it."""
    body = body_of(BOT, _one_of_each(events))
    ours = read_webhook(body, now_ms=NOW + 5)
    theirs = WebhookParser(SECRET).parse(body.decode(), signature_of(SECRET, body), as_payload=True)
    assert (ours.destination, ours.dropped) == (theirs.destination, 0)
    assert len(ours.events) == len(theirs.events)
    for one, other in zip(ours.events, theirs.events, strict=True):
        assert one.event_id == other.webhook_event_id
        assert one.said_at_ms == other.timestamp
        assert one.arrived_at_ms == NOW + 5
        assert one.redelivered is other.delivery_context.is_redelivery
        assert one.reply_token == getattr(other, "reply_token", None)
        assert one.source == other.source.type
        assert one.user_id == other.source.user_id
        chat = getattr(other.source, "group_id", None) or getattr(other.source, "room_id", None)
        assert one.chat_id == (chat or other.source.user_id)
        message = getattr(other, "message", None)
        assert one.kind == (message.type if message is not None else other.type)
        if message is not None:
            assert one.message_id == message.id
            assert one.quoted == getattr(message, "quoted_message_id", None)
        if isinstance(other, PostbackEvent):
            assert one.data == other.postback.data
        if isinstance(other, UnsendEvent):
            assert one.message_id == other.unsend.message_id
    assert [one.text for one in ours.events[:3]] == ["花壇有什麼吃的？🍜", "早安", "路過"]
    assert [one.addressed for one in ours.events[:3]] == [False, True, False]


@pytest.mark.parametrize("kind", ["beacon", "membership", "leave", "something new", "", None, 5])
def test_unknown_types_are_dropped_beside_known_ones(events, kind):
    """A type that LOCAL does not act on never blocks the message beside it (L08)."""
    odd = {**events.event("join", user=ANN), "type": kind}
    webhook = read_webhook(body_of(BOT, [odd, events.text("在", user=ANN)]), now_ms=NOW)
    assert [event.text for event in webhook.events] == ["在"]
    assert webhook.dropped == 1


def test_what_the_sdk_does_not_know_is_dropped(events):
    """An event that the SDK calls unknown is not acted on either."""
    body = body_of(BOT, [{**events.event("join", user=ANN), "type": "something new"}])
    parsed = WebhookParser(SECRET).parse(body.decode(), signature_of(SECRET, body))
    assert isinstance(parsed[0], UnknownEvent)
    assert read_webhook(body, now_ms=NOW).events == ()


@pytest.mark.parametrize("token", sorted(DUMMY_TOKENS))
def test_dummy_tokens_are_dropped(events, token):
    """The events with which LINE's console verifies a webhook are not acted on (L02)."""
    assert (
        read_event({**events.text("Hello, world", user=ANN), "replyToken": token}, now_ms=NOW)
        is None
    )


@pytest.mark.parametrize("mode", ["standby", "another", None])
def test_a_channel_on_standby_is_silent(events, mode):
    """Only events in mode active are acted on: on standby another module answers."""
    assert read_event({**events.text("在", user=ANN), "mode": mode}, now_ms=NOW) is None


@pytest.mark.parametrize("body", [b'{"events":[]}', b"{}", b'{"destination":null,"events":null}'])
def test_empty_bodies_hold_nothing(body):
    """The console's empty call is a webhook without events (L02)."""
    assert read_webhook(body, now_ms=NOW).events == ()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b'{"events": {}}',
        b'{"events": "x"}',
        b'{"events": [NaN]}',
        b"\xff\xfe{\x00}\x00",
        "{}".encode("utf-16"),
        b'{"events": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"events": [{"timestamp": ' + b"9" * 5_000 + b"}]}",
    ],
)
def test_what_is_no_webhook_is_refused(body):
    """A signed body that is no JSON object with a list of events is refused by one error."""
    with pytest.raises(BadBody) as caught:
        read_webhook(body, now_ms=NOW)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("escaped", "text"),
    [(r"\uD83E\uDD28", "🤨"), (r"a\uD83Eb", "a\ufffdb"), (r"\uDD28", "\ufffd")],
)
def test_escaped_surrogates(events, escaped, text):
    """An escaped pair is its character; half of one becomes U+FFFD and can be kept (L01)."""
    body = body_of(BOT, [events.text("PLACE", user=ANN)]).replace(b"PLACE", escaped.encode())
    (event,) = read_webhook(body, now_ms=NOW).events
    assert event.text == text
    assert json.loads(event.model_dump_json())["text"] == text


def test_mentions_are_cut_by_utf16_units(events):
    """The bot's mention is cut out where LINE says it is, in UTF-16 units, and others stay."""
    event = events.text("", user=ANN, group=GROUP)
    event["message"]["text"] = "🍜 @小幫手 找 @阿明 @小幫手"
    spans = [(3, 4, True), (10, 3, False), (14, 4, True)]
    event["message"]["mention"] = {
        "mentionees": [
            {"index": at, "length": length, "type": "user", "isSelf": mine}
            for at, length, mine in spans
        ]
    }
    read = read_event(event, now_ms=NOW)
    assert read is not None
    assert (read.text, read.addressed) == ("🍜 找 @阿明", True)


@pytest.mark.parametrize("span", [{}, {"index": -1, "length": 2}, {"index": "0", "length": 1}])
def test_a_mention_without_a_place_cuts_nothing(events, span):
    """A mention whose place LINE does not tell addresses the bot all the same."""
    event = events.text("在嗎", user=ANN, group=GROUP)
    event["message"]["mention"] = {"mentionees": [{**span, "isSelf": True}, None]}
    read = read_event(event, now_ms=NOW)
    assert read is not None
    assert (read.text, read.addressed) == ("在嗎", True)


def test_nobody_is_nobody(events):
    """An event without userId has no person in a group, and is dropped one to one (L10)."""
    read = read_event(events.text("在", user=None, group=GROUP), now_ms=NOW)
    assert read is not None
    assert read.user_id is None
    assert read_event(events.text("在", user=None), now_ms=NOW) is None


def test_the_longest_event_fits_into_the_inbox(events):
    """Whatever is sent under a good signature, an event is no larger than the inbox takes."""
    event = events.text("\x01" * 60_000, user=ANN)
    read = read_event(event, now_ms=NOW)
    assert read is not None
    assert len(read.text) == MOST_TEXT
    assert len(read.model_dump_json().encode()) < BODY_MAX_BYTES
    press = read_event(events.postback("🍜" * 60_000, user=ANN), now_ms=NOW)
    assert press is not None
    assert len(press.model_dump_json().encode()) < BODY_MAX_BYTES


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(
        st.sampled_from(
            ["type", "source", "message", "postback", "unsend", "timestamp", "replyToken",
             "deliveryContext", "webhookEventId", "mode"]
        ),
        _json
        | st.dictionaries(
            st.sampled_from(
                ["type", "id", "text", "userId", "groupId", "messageId", "data", "mention",
                 "mentionees", "isSelf", "index", "length", "quotedMessageId"]
            ),
            _json,
        ),
    ),
    st.sampled_from(["message", "postback", "unsend", "follow", "join"]),
)  # fmt: skip
def test_any_json_is_read_or_dropped(parts, kind):
    """Invariant 3: an event of any shape is read or dropped, and never raises."""
    make = EventMaker(lambda: NOW)
    whole = make.text("在", user=ANN)
    for event in (parts, {**whole, "type": kind, **parts}):
        read = read_event(event, now_ms=NOW)
        assert read is None or len(read.model_dump_json().encode()) < BODY_MAX_BYTES


@given(_json)
def test_an_event_that_is_no_object_is_dropped(event):
    """Invariant 3: what is no event of LINE's at all is dropped."""
    assert read_event(event, now_ms=NOW) is None
