"""Groups on LINE: silence unless called, nothing of what somebody had remembered, strangers."""

import pytest

from local_agent.line import words
from local_agent.line.buttons import Act
from stores.inbox import Arrival, State
from tests.support.line_world import (
    ANN,
    BEN,
    GROUP,
    MINUTE,
    QUESTION,
    ROOM,
    World,
    button,
    presses,
    text_of,
)


@pytest.mark.parametrize("kind", ["sticker", "location", "image", "video", "audio", "file"])
@pytest.mark.parametrize("group", [GROUP, ROOM])
async def test_groups_are_not_answered_unasked(world: World, kind: str, group: str) -> None:
    """What people send each other is theirs: silence."""
    assert await world.respond(world.make.message({"type": kind}, user=ANN, group=group)) is None
    assert await world.respond(world.make.text(QUESTION, user=ANN, group=group)) is None
    assert await world.respond(world.make.text("我的偏好", user=ANN, group=group)) is None
    assert world.requests == 0


async def test_a_group_is_answered_when_it_calls(world: World) -> None:
    """A mention of the bot is a question; the mention alone asks what it can do."""
    plan = await world.say(QUESTION, group=GROUP, mention_bot="LOCAL")
    assert "花壇鄉找到" in text_of(plan)
    alone = await world.say("", group=GROUP, mention_bot="LOCAL")
    assert "花壇有什麼吃的" in text_of(alone)


async def test_quoting_our_message_calls_us(world: World) -> None:
    """A quote of ours in that chat is a question; of anybody else's, or from elsewhere, is not."""
    ours = "500000000000000001"
    chat = world.names.chat(GROUP)
    arrival = Arrival(event_id="e", chat=chat, said_at_ms=world.now, body=b"x")
    await world.inbox.accept((arrival,), now_ms=world.now)
    (claim,) = await world.inbox.claim("w", now_ms=world.now, lease_ms=MINUTE)
    sent = (world.names.message(ours),)
    await world.inbox.finish(claim, State.SENT, now_ms=world.now, sent=sent)
    make = world.make
    assert await world.respond(make.text(QUESTION, user=ANN, group=GROUP, quoted=ours)) is not None
    assert await world.respond(make.text(QUESTION, user=ANN, group=GROUP, quoted="1")) is None
    assert await world.respond(make.text(QUESTION, user=ANN, group=ROOM, quoted=ours)) is None


async def test_a_group_never_sees_what_somebody_had_remembered(world: World) -> None:
    """In a group a person is a stranger to their own preferences, and they stay private."""
    await world.remember()
    plan = await world.say(QUESTION, group=GROUP, mention_bot="LOCAL")
    assert not plan.personal
    assert [call.preference_origin for call in world.reports[-1].tool_calls] == ["none"]
    for spoken in ("我的偏好", "忘記我的飲食偏好", "忘記全部", "記得我吃什麼嗎"):
        told = await world.say(spoken, group=GROUP, mention_bot="LOCAL")
        assert text_of(told) == words.PRIVATE_ONLY
        assert not told.personal
    assert await world.of(ANN) == {"dietary_type": "vegetarian"}


async def test_no_card_is_shown_in_a_group(world: World) -> None:
    """Others could press it; and a card pressed there, wherever it came from, does nothing."""
    plan = await world.say("記住我吃素", group=GROUP, mention_bot="LOCAL")
    assert text_of(plan) == words.PRIVATE_ONLY
    assert presses(plan.messages) == []
    approve = button(await world.say("記住我吃素"), Act.APPROVE)
    for user in (ANN, BEN):
        assert text_of(await world.press(approve, user=user, group=GROUP)) == words.PRIVATE_ONLY
    assert await world.of(ANN) == {}


async def test_a_groups_conversation_is_not_the_private_one(world: World) -> None:
    """What was said in a group is no context in the private chat, and the other way round."""
    await world.say("鹿港有什麼吃的？")
    in_group = await world.say("剛才那個鄉鎮有什麼吃的？", group=GROUP, mention_bot="LOCAL")
    assert "鹿港" not in text_of(in_group)
    await world.say("花壇有什麼吃的？", group=GROUP, mention_bot="LOCAL")
    assert "鹿港" in text_of(await world.say("剛才那個鄉鎮有什麼吃的？"))


async def test_somebody_without_an_id_is_nobody(world: World) -> None:
    """Invariant 11: answered, nothing remembered, and two of them share nothing (L10)."""
    call = {"user": None, "group": GROUP, "mention_bot": "LOCAL"}
    assert "鹿港鎮找到" in text_of(await world.say("鹿港有什麼吃的？", **call))
    assert "鹿港" not in text_of(await world.say("剛才那個鄉鎮有什麼吃的？", **call))
    assert text_of(await world.say("記住我吃素", **call)) == words.PRIVATE_ONLY
    assert text_of(await world.say("我的偏好", **call)) == words.PRIVATE_ONLY
    approve = button(await world.say("記住我吃素"), Act.APPROVE)
    incoming = world.read(world.make.postback(approve, user=ANN))
    plan = await world.conversation.respond(incoming.model_copy(update={"user_id": None}))
    assert plan is not None
    assert text_of(plan) == words.NOBODY
    unknown = world.read(world.make.text("我的偏好", user=ANN)).model_copy(update={"user_id": None})
    plan = await world.conversation.respond(unknown)
    assert plan is not None
    assert text_of(plan) == words.NOBODY
    assert await world.of(ANN) == {}


async def test_strangers_of_a_chat_share_its_turns(frugal: World) -> None:
    """Without ids the chat is counted, so that nobody's questions are not everybody's budget."""
    call = {"user": None, "group": GROUP, "mention_bot": "LOCAL"}
    for _ in range(2):
        await frugal.say(QUESTION, **call)
    assert text_of(await frugal.say(QUESTION, **call)) == words.DAILY_LIMIT
    elsewhere = await frugal.say(QUESTION, user=None, group=ROOM, mention_bot="LOCAL")
    assert "花壇鄉" in text_of(elsewhere)


async def test_a_group_is_greeted(world: World) -> None:
    """On joining LOCAL says how to call it, once."""
    plan = await world.respond(world.make.event("join", user=None, group=GROUP))
    assert plan is not None
    assert text_of(plan) == words.JOINED
