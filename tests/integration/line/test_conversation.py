"""What LOCAL answers to each kind of event, on its own store, with its rules as the model."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callbacks.adk.report import TurnReport
from local_agent import templates
from local_agent.bootstrap import Local, build
from local_agent.line import words
from local_agent.line.buttons import Act, Press, data_of, read
from local_agent.line.conversation import Conversation
from local_agent.line.incoming import Incoming
from local_agent.line.names import Names
from local_agent.line.peer_checks import faults
from local_agent.line.peer_events import EventMaker, line_id
from local_agent.line.plan import Plan
from local_agent.line.reading import read_event
from local_agent.service import LocalService
from local_agent.settings import load_settings
from stores.inbox import Arrival, State
from stores.open import open_store
from stores.records import Owner

ANN, BEN = line_id("user", 1), line_id("user", 2)
GROUP, ROOM = line_id("group", 1), line_id("room", 1)
KEY = "k" * 48
QUESTION = "花壇有什麼吃的？"
MINUTE, DAY = 60_000, 24 * 3_600_000


class World:
    """A conversation over a file, on a clock that stands still."""

    def __init__(self, folder: Path, **overrides: Any) -> None:
        self.now = 1_700_000_000_000
        self.requests = 0
        self.reports: list[TurnReport] = []
        self.settings = load_settings({"consent_keys": KEY, "store_keys": KEY, **overrides})
        self.names = Names(KEY.encode(), self.settings.tenant)
        self.store = open_store(
            f"sqlite+aiosqlite:///{folder}/line.db",
            signing_keys=self.settings.signing_keys,
            store_keys=self.settings.ring_keys,
            synchronous="OFF",
        )
        self.inbox = self.store.inbox(self.settings.tenant)
        self.service = LocalService(self._build)
        self.conversation = Conversation(
            service=self.service,
            inbox=self.inbox,
            names=self.names,
            settings=self.settings,
            clock=lambda: self.now,
        )
        self.make = EventMaker(lambda: self.now)

    def _build(self, sink: Callable[[TurnReport], None]) -> Local:
        def take(report: TurnReport) -> None:
            self.reports.append(report)
            sink(report)

        def count(*_: object) -> None:
            self.requests += 1

        return build(
            self.settings,
            store=self.store,
            clock=lambda: self.now,
            on_report=take,
            on_request=count,
        )

    def read(self, event: dict[str, Any]) -> Incoming:
        incoming = read_event(event, now_ms=self.now)
        assert incoming is not None
        return incoming

    async def respond(self, event: dict[str, Any]) -> Plan | None:
        plan = await self.conversation.respond(self.read(event))
        assert plan is None or faults(list(plan.messages)) == []
        return plan

    async def say(self, text: str, *, user: str | None = ANN, **more: Any) -> Plan:
        plan = await self.respond(self.make.text(text, user=user, **more))
        assert plan is not None
        return plan

    async def press(self, data: str, *, user: str | None = ANN, **more: Any) -> Plan:
        plan = await self.respond(self.make.postback(data, user=user, **more))
        assert plan is not None
        return plan

    async def remembered(self, person: str) -> dict[str, str]:
        owner = Owner(tenant=self.settings.tenant, person=person)
        held = await self.store.preferences(owner, now_ms=self.now)
        return {key: one.value for key, one in held.values.items()}

    async def of(self, user: str) -> dict[str, str]:
        return await self.remembered(self.names.person(user))

    async def remember(self, user: str = ANN) -> str:
        """Let somebody agree to a diet, and return the data of the button they pressed."""
        approve = button(await self.say("記住我吃素", user=user), Act.APPROVE)
        await self.press(approve, user=user)
        assert await self.of(user) == {"dietary_type": "vegetarian"}
        return approve


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    yield made
    await made.service.close()


@pytest.fixture
async def frugal(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path, daily_turns=2)
    yield made
    await made.service.close()


def text_of(plan: Plan) -> str:
    return "\n".join(str(m.get("text") or m.get("altText")) for m in plan.messages)


def presses(value: Any) -> list[tuple[str, Press]]:
    """Every button of ours in a message: its data, and what it asks for."""
    if isinstance(value, dict):
        data = value.get("data")
        press = read(data) if isinstance(data, str) else None
        own = [(str(data), press)] if press is not None else []
        return own + [one for inner in value.values() for one in presses(inner)]
    if isinstance(value, list | tuple):
        return [one for inner in value for one in presses(inner)]
    return []


def button(plan: Plan, act: Act) -> str:
    return next(data for data, press in presses(plan.messages) if press.act is act)


async def test_a_question_is_answered_with_places(world: World) -> None:
    """The town's places stand in one Flex message; nothing in it is personal."""
    plan = await world.say(QUESTION)
    assert "花壇鄉找到" in text_of(plan)
    assert plan.messages[0]["type"] == "flex"
    assert (plan.personal, plan.revision) == (False, 0)


async def test_a_card_is_pressed_once(world: World) -> None:
    """Invariant 9: approving is done once; the second press is told so."""
    card = await world.say("記住我吃素")
    assert card.personal
    assert await world.of(ANN) == {}
    approve = button(card, Act.APPROVE)
    first, second = await world.press(approve), await world.press(approve)
    assert text_of(first) == templates.OUTCOMES["saved"]
    assert text_of(second) == templates.OUTCOMES["already_applied"]
    assert await world.of(ANN) == {"dietary_type": "vegetarian"}
    owner = Owner(tenant=world.settings.tenant, person=world.names.person(ANN))
    held = await world.store.inspect(owner, now_ms=world.now)
    granted = [event.channel for event in held.events if event.kind.value == "granted"]
    assert granted == ["line"]


async def test_a_declined_card_is_void(world: World) -> None:
    """After 「不用了」 the same card's other button does nothing."""
    card = await world.say("記住我吃素")
    assert text_of(await world.press(button(card, Act.CANCEL))) == templates.OUTCOMES["cancelled"]
    again = await world.press(button(card, Act.APPROVE))
    assert text_of(again) != templates.OUTCOMES["saved"]
    assert await world.of(ANN) == {}


async def test_somebody_elses_card_does_nothing(world: World) -> None:
    """Invariant 11: a token proves a card of one person, and is nothing in another's hand."""
    approve = button(await world.say("記住我吃素"), Act.APPROVE)
    plan = await world.press(approve, user=BEN)
    assert text_of(plan) == templates.OUTCOMES["invalid"]
    assert (await world.of(ANN), await world.of(BEN)) == ({}, {})
    assert text_of(await world.press(approve)) == templates.OUTCOMES["saved"]


async def test_an_old_card_has_expired(world: World) -> None:
    """After five minutes the press says so and changes nothing."""
    approve = button(await world.say("記住我吃素"), Act.APPROVE)
    world.now += 6 * MINUTE
    assert text_of(await world.press(approve)) == templates.OUTCOMES["expired"]
    assert await world.of(ANN) == {}


async def test_an_older_card_is_stale_after_a_change(world: World) -> None:
    """Invariant 7: a card from before another consent is void."""
    old = button(await world.say("記住我吃素"), Act.APPROVE)
    await world.press(button(await world.say("記住我吃全素"), Act.APPROVE))
    assert text_of(await world.press(old)) == templates.OUTCOMES["stale"]
    assert await world.of(ANN) == {"dietary_type": "vegan"}


@pytest.mark.parametrize(
    "data",
    [
        "",
        "local.1 approve",
        "local.1 grant x",
        "action=approve",
        "local.1 places 台北市",
        "x" * 300,
        '{"act": "forget"}',
    ],
)
async def test_a_button_that_is_not_ours_does_nothing(world: World, data: str) -> None:
    """Malformed or foreign data gets a sentence; no model is asked, nothing is changed."""
    await world.remember()
    asked = world.requests
    assert text_of(await world.press(data)) == words.BAD_BUTTON
    assert await world.of(ANN) == {"dietary_type": "vegetarian"}
    assert world.requests == asked


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.text(max_size=320),
        st.builds(
            lambda act, token: f"local.1 {act.value} {token}",
            st.sampled_from(list(Act)),
            st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=210),
        ),
    )
)
async def test_no_postback_grants_anything(world: World, data: str) -> None:
    """Whatever a postback carries, without a card of the store nothing is remembered."""
    incoming = world.read(world.make.postback("x", user=ANN)).model_copy(update={"data": data})
    plan = await world.conversation.respond(incoming)
    assert plan is not None
    assert faults(list(plan.messages)) == []
    assert await world.of(ANN) == {}


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


async def test_strangers_of_a_chat_share_its_turns(frugal: World) -> None:
    """Without ids the chat is counted, so that nobody's questions are not everybody's budget."""
    call = {"user": None, "group": GROUP, "mention_bot": "LOCAL"}
    for _ in range(2):
        await frugal.say(QUESTION, **call)
    assert text_of(await frugal.say(QUESTION, **call)) == words.DAILY_LIMIT
    elsewhere = await frugal.say(QUESTION, user=None, group=ROOM, mention_bot="LOCAL")
    assert "花壇鄉" in text_of(elsewhere)


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


async def test_a_group_is_greeted(world: World) -> None:
    """On joining LOCAL says how to call it, once."""
    plan = await world.respond(world.make.event("join", user=None, group=GROUP))
    assert plan is not None
    assert text_of(plan) == words.JOINED


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
