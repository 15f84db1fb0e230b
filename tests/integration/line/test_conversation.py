"""What LOCAL answers to each kind of event, on its own store, with its rules as the model."""

import pytest

from local_agent import templates
from local_agent.line import words
from local_agent.line.buttons import Act, Press, data_of
from stores.inbox import Arrival, State
from tests.support.line_world import (
    ANN,
    BEN,
    DAY,
    GROUP,
    MINUTE,
    QUESTION,
    World,
    button,
    presses,
    text_of,
)


async def test_a_question_is_answered_with_places(world: World) -> None:
    """The town's places stand in one Flex message; nothing in it is personal."""
    plan = await world.say(QUESTION)
    assert "花壇鄉找到" in text_of(plan)
    assert plan.messages[0]["type"] == "flex"
    assert (plan.personal, plan.revision) == (False, 0)


async def test_commands_need_no_model(world: World) -> None:
    """What is remembered is shown and forgotten, and help is given, with no request to a model."""
    await world.remember()
    asked = world.requests
    shown = await world.say("我的　偏好")
    assert "素食" in text_of(shown)
    assert shown.personal
    assert shown.revision is not None
    assert text_of(await world.press(button(shown, Act.FORGET))) == templates.OUTCOMES["forgotten"]
    assert await world.of(ANN) == {}
    empty = await world.say("我的偏好")
    assert text_of(empty) == templates.preferences(None)
    assert text_of(await world.say("忘記我的飲食偏好")) == templates.OUTCOMES["forgotten"]
    assert text_of(await world.say("忘記全部")) == templates.FORGOTTEN_ALL
    assert "花壇有什麼吃的" in text_of(await world.say("功能"))
    assert world.requests == asked


@pytest.mark.parametrize("spoken", ["忘記我的飲食偏好", "忘記全部"])
async def test_forgetting_by_command_forgets(world: World, spoken: str) -> None:
    """Invariant 8: after the words nothing is remembered, and a search is not filled any more."""
    await world.remember()
    assert (await world.say(QUESTION)).personal
    await world.say(spoken)
    assert await world.of(ANN) == {}
    assert not (await world.say(QUESTION)).personal


async def test_a_search_filled_from_memory_is_personal(world: World) -> None:
    """Its answer implies the diet, so it is marked as never to be stored, under its revision."""
    await world.remember()
    plan = await world.say(QUESTION)
    assert plan.personal
    assert plan.revision is not None
    assert plan.revision > 0


@pytest.mark.parametrize("kind", sorted(words.NOT_TEXT))
async def test_what_is_no_text_gets_a_polite_line(world: World, kind: str) -> None:
    """Stickers, places and media are answered once, with no turn of the model (L08)."""
    content = {"type": kind, "packageId": "1", "stickerId": "2", "keywords": ["hungry"]}
    plan = await world.respond(world.make.message(content, user=ANN))
    assert plan is not None
    assert text_of(plan) == words.NOT_TEXT[kind]
    assert len(plan.messages) == 1
    assert world.requests == 0


async def test_the_days_turns_are_counted_per_person(frugal: World) -> None:
    """Two turns here; then a sentence, while commands go on, and tomorrow is another day."""
    for _ in range(2):
        assert "花壇鄉" in text_of(await frugal.say(QUESTION))
    asked = frugal.requests
    assert text_of(await frugal.say(QUESTION)) == words.DAILY_LIMIT
    elsewhere = await frugal.say(QUESTION, group=GROUP, mention_bot="LOCAL")
    assert text_of(elsewhere) == words.DAILY_LIMIT
    assert frugal.requests == asked
    assert text_of(await frugal.say("我的偏好")) == templates.preferences(None)
    assert "花壇鄉" in text_of(await frugal.say(QUESTION, user=BEN))
    frugal.now += DAY
    assert "花壇鄉" in text_of(await frugal.say(QUESTION))


@pytest.mark.parametrize(
    ("text", "code"),
    [(" \n　", "INPUT_BLANK"), ("長" * 1_201, "INPUT_TOO_LONG"), ("", "INPUT_EMPTY")],
)
async def test_an_unusable_text_costs_no_turn(frugal: World, text: str, code: str) -> None:
    """Blank and endless messages get their sentence, and are not counted."""
    for _ in range(3):
        plan = await frugal.say(text)
        assert text_of(plan) == templates.input_error(code, limit=1_200)
    assert "花壇鄉" in text_of(await frugal.say(QUESTION))


async def test_a_town_is_asked_for_with_buttons(world: World) -> None:
    """A press searches there, for what the person was asking about."""
    asked = await world.say("剛才那個鄉鎮有什麼活動？")
    towns = [(press.act, press.town) for _, press in presses(asked.messages)]
    assert (Act.EVENTS, "鹿港鎮") in towns
    assert len(towns) == 27
    plan = await world.press(data_of(Press(Act.EVENTS, town="鹿港鎮")))
    assert "鹿港鎮" in text_of(plan)
    assert world.reports[-1].tool_calls[0].tool == "search_local_events"
    await world.press(data_of(Press(Act.PLACES)))
    assert world.reports[-1].tool_calls[0].tool == "search_local_places"


async def test_a_newcomer_is_welcomed_and_taken_off_the_list(world: World) -> None:
    """Whoever comes back before the days are over is not erased."""
    await world.remember()
    assert await world.respond(world.make.unfollow(user=ANN)) is None
    world.now += world.settings.unfollow_days * DAY
    due = [owner.person for owner in await world.inbox.leavers(now_ms=world.now)]
    assert due == [world.names.person(ANN)]
    plan = await world.respond(world.make.follow(user=ANN))
    assert plan is not None
    assert text_of(plan) == words.WELCOME
    assert "quickReply" in plan.messages[-1]
    assert await world.inbox.leavers(now_ms=world.now) == []


async def test_whoever_left_is_due_only_after_the_days(world: World) -> None:
    """Blocking the bot erases nothing at once."""
    await world.respond(world.make.unfollow(user=ANN))
    world.now += world.settings.unfollow_days * DAY - 1
    assert await world.inbox.leavers(now_ms=world.now) == []


async def test_an_unsent_message_is_dropped_without_a_word(world: World) -> None:
    """Its text leaves the inbox; an id that nobody knows is ignored; no reply (L11)."""
    event = world.make.text("我的密碼是 1234", user=ANN)
    incoming = world.read(event)
    assert incoming.message_id is not None
    arrival = Arrival(
        event_id=incoming.event_id,
        chat=world.names.chat(ANN),
        person=world.names.person(ANN),
        message=world.names.message(incoming.message_id),
        said_at_ms=incoming.said_at_ms,
        body=incoming.model_dump_json().encode(),
    )
    await world.inbox.accept((arrival,), now_ms=world.now)
    assert await world.respond(world.make.unsend(incoming.message_id, user=ANN)) is None
    assert await world.respond(world.make.unsend("999", user=ANN)) is None
    assert (await world.inbox.counts()).get(State.WAITING, 0) == 0
    assert await world.inbox.claim("w", now_ms=world.now, lease_ms=MINUTE) == []


async def test_the_same_event_makes_the_same_plan(world: World) -> None:
    """Invariant 12: a turn that runs again after a crash says the same, byte for byte."""
    event = world.make.text(QUESTION, user=ANN)
    one, two = await world.respond(event), await world.respond(event)
    assert one is not None
    assert two is not None
    assert one.messages == two.messages


async def test_what_is_said_late_teaches_nothing_older(world: World) -> None:
    """Invariant 8: words from before a "forget" make no card after it, however late they come."""
    late = world.make.text("記住我吃素", user=ANN)
    world.now += MINUTE
    await world.say("忘記全部")
    world.now += MINUTE
    plan = await world.respond(late)
    assert plan is not None
    assert presses(plan.messages) == []
    assert text_of(plan) == templates.refusal("PREFERENCE_CHANGED")
