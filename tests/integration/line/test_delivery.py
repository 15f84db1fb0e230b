"""Delivery through LINE's own client to the loopback peer: once, or at most once and said so."""

import logging
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from local_agent.line import words
from local_agent.line.answer import said
from local_agent.line.client import LineClient
from local_agent.line.delivery import Delivered, Delivery, retry_key_of
from local_agent.line.incoming import Incoming
from local_agent.line.outcome import Verdict
from local_agent.line.peer import LinePeer, Trouble
from local_agent.line.peer_events import line_id
from local_agent.line.plan import Plan
from local_agent.line.reading import DUMMY_TOKENS, read_event
from stores.inbox import HeldPlan, State

SECRET, TOKEN = "secret-of-a-channel", "token-of-a-channel"
USER, GROUP = line_id("user", 1), line_id("group", 1)
START = 1_700_000_000_000


@dataclass
class World:
    """A peer, a client and a delivery on one clock that stands still."""

    peer: LinePeer
    delivery: Delivery
    time: list[int] = field(default_factory=lambda: [START])
    marks: list[str | None] = field(default_factory=list)

    def incoming(self, text: str = "您好", *, group: str | None = None) -> Incoming:
        event = self.peer.events.text(text, user=USER, group=group)
        read = read_event(event, now_ms=self.time[0])
        assert read is not None
        return read

    async def deliver(self, incoming: Incoming, plan: Plan, **given: Any) -> Delivered:
        async def mark(retry_key: str | None, riding: tuple[str, ...]) -> None:
            if self.marks[-1:] != [retry_key]:  # again under the same mark: a repeated request
                self.marks.append(retry_key)

        return await self.delivery.deliver(incoming, plan, mark=mark, **given)

    def texts(self, chat: str = USER) -> list[str]:
        return [message["text"] for message in self.peer.said(chat)]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with made(timeout_seconds=20) as world:
        yield world


class made:  # noqa: N801 - reads as the verb it is
    """A world while inside."""

    def __init__(self, *, timeout_seconds: float) -> None:
        self.time = [START]
        self.peer = LinePeer(channel_secret=SECRET, channel_token=TOKEN, clock=lambda: self.time[0])
        self.timeout_seconds = timeout_seconds

    async def __aenter__(self) -> World:
        await self.peer.start()
        self.client = LineClient(
            SecretStr(TOKEN), host=self.peer.url, timeout_seconds=self.timeout_seconds
        )
        delivery = Delivery(self.client, clock=lambda: self.time[0])
        return World(self.peer, delivery, self.time)

    async def __aexit__(self, *failure: object) -> None:
        await self.client.close()
        await self.peer.close()


def held(number: int, plan: Plan) -> HeldPlan:
    return HeldPlan(event_id=f"held-{number}", plan=plan.model_dump_json().encode())


def plan_of(*texts: str, **more: Any) -> Plan:
    return Plan(messages=tuple({"type": "text", "text": text} for text in texts), **more)


async def test_a_fresh_token_is_answered_by_reply(world: World) -> None:
    """A reply costs nothing, so it is the first choice; its ids are told."""
    done = await world.deliver(world.incoming(), said("好"))
    assert done.ending is State.SENT
    assert done.sent_ids == tuple(one.id for one in world.peer.chats[USER])
    assert [one.via for one in world.peer.chats[USER]] == ["reply"]
    assert world.marks == [None]


async def test_a_token_of_49_seconds_is_fresh_and_one_of_50_is_not(world: World) -> None:
    """From 50 s on the answer is pushed, under a key made of the event's id."""
    young, old = world.incoming(), world.incoming()
    world.time[0] += 49_999
    assert (await world.deliver(young, said("一"))).ending is State.SENT
    world.time[0] += 1
    assert (await world.deliver(old, said("二"))).ending is State.SENT
    assert [one.via for one in world.peer.chats[USER]] == ["reply", "push"]
    assert world.marks == [None, retry_key_of(old.event_id)]


@given(st.text(min_size=1, max_size=64))
def test_a_retry_key_is_a_uuid_of_the_event_alone(event_id: str) -> None:
    """Invariant 12: the same event has the same key in every process, in the form LINE takes."""
    key = retry_key_of(event_id)
    assert str(uuid.UUID(key)) == key
    assert key == retry_key_of(event_id)
    assert key != retry_key_of(event_id + "x")


@pytest.mark.parametrize("token", sorted(DUMMY_TOKENS))
async def test_a_dummy_token_is_never_used(world: World, token: str) -> None:
    """LINE's console tries webhooks with tokens of zeros or fs: nothing is sent, nor pushed."""
    incoming = world.incoming().model_copy(update={"reply_token": token})
    done = await world.deliver(incoming, said("好"))
    await world.delivery.loading(incoming)
    assert done.ending is State.SILENT
    assert (world.peer.requests, world.marks) == ([], [])


async def test_an_event_without_a_token_is_pushed(world: World) -> None:
    """Where LINE gave none, a push to the chat is what is left; a group is pushed as a group."""
    incoming = world.incoming(group=GROUP).model_copy(update={"reply_token": None})
    assert (await world.deliver(incoming, said("好"))).ending is State.SENT
    assert world.texts(GROUP) == ["好"]


async def test_a_spent_token_falls_back_to_a_push_once(world: World) -> None:
    """LINE says the token is invalid before anything of ours was sent by it: push."""
    incoming = world.incoming().model_copy(update={"reply_token": "9" * 32})
    done = await world.deliver(incoming, said("好"))
    assert done.ending is State.SENT
    assert world.texts() == ["好"]
    assert world.marks == [None, retry_key_of(incoming.event_id)]


@pytest.mark.parametrize("trouble", [Trouble.CUT_BEFORE, Trouble.CUT_AFTER])
async def test_a_reply_that_was_cut_off_is_unknown(world: World, trouble: Trouble) -> None:
    """Invariant 9: delivered or not, no second request is made."""
    world.peer.trouble(trouble)
    done = await world.deliver(world.incoming(), said("好"))
    assert done == Delivered(State.UNKNOWN, error_code="LINE_MAYBE_DELIVERED")
    assert len(world.peer.requests) == 1
    assert len(world.texts()) == (trouble is Trouble.CUT_AFTER)


@pytest.mark.parametrize("trouble", [Trouble.STALL_BEFORE, Trouble.STALL_AFTER])
async def test_a_reply_that_timed_out_is_unknown(trouble: Trouble) -> None:
    """The same for an answer of LINE's that does not come in time."""
    async with made(timeout_seconds=0.5) as world:
        world.peer.trouble(trouble)
        done = await world.deliver(world.incoming(), said("好"))
    assert done.ending is State.UNKNOWN
    assert len(world.peer.requests) == 1


async def test_a_reply_that_failed_at_line_is_tried_by_the_same_token(world: World) -> None:
    """After a 5xx the token decides: if it is good still, nothing had been delivered."""
    world.peer.trouble(Trouble.ERROR_BEFORE)
    assert (await world.deliver(world.incoming(), said("好"))).ending is State.SENT
    assert world.texts() == ["好"]


async def test_a_5xx_after_accepting_is_unknown_and_there_once(world: World) -> None:
    """Invariant 9: the token turns out spent, so the answer is out, and no push follows."""
    world.peer.trouble(Trouble.ERROR_AFTER)
    done = await world.deliver(world.incoming(), said("好"))
    assert done == Delivered(State.UNKNOWN, error_code="LINE_REPLY_TOKEN_SPENT")
    assert world.texts() == ["好"]
    assert all(path.endswith("/reply") for path, _ in world.peer.requests)


@pytest.mark.parametrize(
    ("trouble", "code"),
    [
        (Trouble.RATE_LIMITED, "LINE_BUSY"),
        (Trouble.UNAUTHORIZED, "LINE_UNAUTHORIZED"),
    ],
)
@pytest.mark.parametrize("via", ["reply", "push"])
async def test_what_line_did_not_process_is_tried_later(
    world: World, trouble: Trouble, code: str, via: str
) -> None:
    """A 429 of the rate and a 401 delivered nothing, so the same event may be tried again."""
    incoming = world.incoming()
    world.time[0] += 60_000 * (via == "push")
    world.peer.trouble(trouble, on=via)
    assert await world.deliver(incoming, said("好")) == Delivered(State.WAITING, error_code=code)
    assert (await world.deliver(incoming, said("好"))).ending is State.SENT
    assert world.texts() == ["好"]


async def test_no_connection_is_tried_later() -> None:
    """Nothing was sent, by reply or by push."""
    async with made(timeout_seconds=20) as world:
        young, old = world.incoming(), world.incoming()
        await world.peer.close()
        first = await world.deliver(young, said("好"))
        world.time[0] += 60_000
        second = await world.deliver(old, said("好"))
    assert first == second == Delivered(State.WAITING, error_code="LINE_UNREACHABLE")


@pytest.mark.parametrize("via", ["reply", "push"])
async def test_what_line_forbids_is_refused(world: World, via: str) -> None:
    """A 403 stays one: it is not tried again, and a reply's is not pushed."""
    incoming = world.incoming()
    world.time[0] += 60_000 * (via == "push")
    world.peer.trouble(Trouble.FORBIDDEN, on=via)
    done = await world.deliver(incoming, said("好"))
    assert done == Delivered(State.REFUSED, error_code="LINE_REFUSED")
    assert len(world.peer.requests) == 1


async def test_a_message_that_line_finds_faulty_is_refused(world: World) -> None:
    """A 400 about the message is no reason to push the same message."""
    faulty = Plan(messages=({"type": "text", "text": " "},))
    done = await world.deliver(world.incoming(), faulty)
    assert done.ending is State.REFUSED
    assert world.peer.chats == {}


@pytest.mark.parametrize(
    "trouble", [Trouble.CUT_BEFORE, Trouble.CUT_AFTER, Trouble.ERROR_BEFORE, Trouble.ERROR_AFTER]
)
async def test_a_push_that_may_be_out_is_sent_again_under_its_key(
    world: World, trouble: Trouble
) -> None:
    """Invariant 9: 409 means accepted; the chat has it once, and its ids are known."""
    incoming = world.incoming()
    world.time[0] += 60_000
    world.peer.trouble(trouble, on="push")
    done = await world.deliver(incoming, said("好"))
    assert done.ending is State.SENT
    assert done.sent_ids == tuple(one.id for one in world.peer.chats[USER])
    assert world.texts() == ["好"]


async def test_a_push_that_stays_unsure_waits_for_another_try(world: World) -> None:
    """Invariant 9: later, and in another process, the same key finds it accepted."""
    incoming = world.incoming()
    world.time[0] += 60_000
    world.peer.trouble(Trouble.CUT_AFTER, Trouble.CUT_BEFORE, on="push")
    done = await world.deliver(incoming, said("好"))
    assert done == Delivered(State.WAITING, error_code="LINE_MAYBE_DELIVERED")
    again = await world.deliver(incoming, said("好"), retry_key=world.marks[-1])
    assert again.ending is State.SENT
    assert world.texts() == ["好"]


async def test_a_personal_push_that_stays_unsure_is_unknown(world: World) -> None:
    """It is kept nowhere, so no later worker could send the very same again."""
    incoming = world.incoming()
    world.time[0] += 60_000
    world.peer.trouble(Trouble.CUT_BEFORE, Trouble.CUT_BEFORE, on="push")
    done = await world.deliver(incoming, plan_of("您同意我記住：素食。", personal=True))
    assert done == Delivered(State.UNKNOWN, error_code="LINE_MAYBE_DELIVERED")


@pytest.mark.parametrize("then", [Trouble.FORBIDDEN, None], ids=["refused", "quota"])
@pytest.mark.parametrize("worker", ["same", "next"])
async def test_a_push_that_may_be_out_is_neither_refused_nor_held(
    world: World, then: Trouble | None, worker: str
) -> None:
    """Invariant 9: what LINE says of the second request says nothing about the first."""
    incoming = world.incoming()
    world.time[0] += 60_000
    troubles = [Trouble.CUT_BEFORE] * (1 if worker == "same" else 2)
    world.peer.trouble(*troubles, *([then] if then else []), on="push")
    world.peer.quota = 0 if then is None else None
    done = await world.deliver(incoming, said("好"))
    if worker == "next":
        assert done.ending is State.WAITING
        done = await world.deliver(incoming, said("好"), retry_key=world.marks[-1])
    assert done.ending is State.UNKNOWN
    assert done.kept is None


async def test_a_kept_retry_key_is_pushed_though_the_token_is_fresh(world: World) -> None:
    """A push that an earlier worker may have sent is never followed by a reply."""
    incoming = world.incoming()
    await world.deliver(incoming, said("好"), retry_key=retry_key_of(incoming.event_id))
    await world.deliver(incoming, said("好"), retry_key=retry_key_of(incoming.event_id))
    assert [one.via for one in world.peer.chats[USER]] == ["push"]


async def test_a_used_up_quota_holds_the_answer_and_tells_the_operator(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """The plan is given back to be kept; the log has a code and a count, and no content."""
    world.peer.quota = 0
    incoming = world.incoming("我的祕密")
    world.time[0] += 60_000
    plan = said("花壇的店家")
    with caplog.at_level(logging.DEBUG, logger="local_agent"):
        done = await world.deliver(incoming, plan)
    assert done == Delivered(State.HELD, error_code="LINE_QUOTA_USED_UP", kept=plan)
    assert world.delivery.tally[Verdict.QUOTA] == 1
    lines = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(lines) == 1
    assert "LINE_QUOTA_USED_UP" in lines[0]
    for secret in ("花壇", "祕密", USER, incoming.reply_token, TOKEN, incoming.event_id):
        assert secret is None or secret not in caplog.text


async def test_a_personal_answer_is_not_held(world: World) -> None:
    """Invariant 6: what is kept in its place is a sentence that asks to ask again."""
    world.peer.quota = 0
    incoming = world.incoming()
    world.time[0] += 60_000
    done = await world.deliver(incoming, plan_of("您同意我記住：素食。", personal=True, revision=3))
    assert done.ending is State.HELD
    assert done.kept == said(words.HELD_PERSONAL)


async def test_held_answers_ride_with_the_next_reply(world: World) -> None:
    """The oldest first, in front of the new one, with a word of why; their ids are told."""
    waiting = (held(1, plan_of("一")), held(2, plan_of("二")))
    done = await world.deliver(world.incoming(), plan_of("三"), held=waiting)
    assert (done.ending, done.with_held) == (State.SENT, ("held-1", "held-2"))
    assert world.texts() == [words.HELD, "一", "二", "三"]
    assert len(done.sent_ids) == 4


async def test_held_answers_do_not_ride_with_a_push(world: World) -> None:
    """A push is what there was no quota for."""
    incoming = world.incoming()
    world.time[0] += 60_000
    done = await world.deliver(incoming, plan_of("三"), held=(held(1, plan_of("一")),))
    assert (done.ending, done.with_held) == (State.SENT, ())
    assert world.texts() == ["三"]


@pytest.mark.parametrize(
    ("sizes", "own", "riding"),
    [
        ((1, 1, 1, 1), 1, (1, 2, 3, 4)),
        ((1, 1, 1, 1, 1), 1, (1, 2, 3, 4)),
        ((2, 2, 2), 1, (1, 2)),
        ((5, 1), 1, (2,)),
        ((1,), 5, ()),
        ((3, 1), 2, (1,)),
        ((4, 1), 2, (2,)),
    ],
)
async def test_a_reply_has_five_messages_at_most(
    world: World, sizes: tuple[int, ...], own: int, riding: tuple[int, ...]
) -> None:
    """What has no room waits for the next reply, whole; the new answer is never cut for it."""
    waiting = tuple(
        held(number, plan_of(*[f"h{number}"] * size)) for number, size in enumerate(sizes, start=1)
    )
    done = await world.deliver(world.incoming(), plan_of(*["新"] * own), held=waiting)
    assert done.with_held == tuple(f"held-{number}" for number in riding)
    assert len(world.texts()) <= 5
    assert world.texts()[-own:] == ["新"] * own
    told = [text for text in world.texts() if text.startswith("h")]
    assert told == [f"h{number}" for number in riding for _ in range(sizes[number - 1])]


async def test_a_held_answer_that_line_refuses_does_not_block_the_chat(world: World) -> None:
    """The new answer goes alone, and the faulty one is not tried with every later reply."""
    faulty = held(1, Plan(messages=({"type": "text", "text": " "},)))
    done = await world.deliver(world.incoming(), plan_of("新"), held=(faulty,))
    assert (done.ending, done.with_held) == (State.SENT, ())
    assert done.dropped == ("held-1",)
    assert world.texts() == ["新"]


async def test_a_held_answer_of_another_version_is_dropped(world: World) -> None:
    """What cannot be read can never be sent."""
    unreadable = HeldPlan(event_id="held-1", plan=b'{"form": 2}')
    done = await world.deliver(world.incoming(), plan_of("新"), held=(unreadable,))
    assert (done.ending, done.with_held) == (State.SENT, ())
    assert done.dropped == ("held-1",)
    assert world.texts() == ["新"]


async def test_held_answers_that_may_be_out_are_not_sent_again(world: World) -> None:
    """Invariant 9: they left with the reply that is unknown, so they are as unknown as it is."""
    world.peer.trouble(Trouble.CUT_AFTER)
    done = await world.deliver(world.incoming(), plan_of("新"), held=(held(1, plan_of("一")),))
    assert (done.ending, done.with_held) == (State.UNKNOWN, ("held-1",))


async def test_nothing_is_sent_that_could_not_be_noted(world: World) -> None:
    """The mark comes first: a store that fails stops the request."""

    async def mark(_: str | None, __: tuple[str, ...]) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await world.delivery.deliver(world.incoming(), said("好"), mark=mark)
    assert world.peer.requests == []


async def test_the_loading_animation_is_never_in_the_way(world: World) -> None:
    """It shows in a one-to-one chat, not in a group, and a LINE that is gone harms nothing."""
    await world.delivery.loading(world.incoming())
    await world.delivery.loading(world.incoming(group=GROUP))
    assert world.peer.loading == [USER]
    await world.peer.close()
    await world.delivery.loading(world.incoming())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    troubles=st.lists(
        st.sampled_from([one for one in Trouble if not one.value.startswith("stall")]), max_size=6
    ),
    pushes=st.lists(
        st.sampled_from([one for one in Trouble if not one.value.startswith("stall")]), max_size=6
    ),
    age_ms=st.sampled_from([0, 49_000, 55_000, 70_000]),
    quota=st.sampled_from([None, 0, 1]),
)
@example(troubles=[], pushes=[Trouble.CUT_AFTER, Trouble.FORBIDDEN], age_ms=70_000, quota=None)
async def test_whatever_goes_wrong_an_answer_is_there_at_most_once(
    troubles: list[Trouble], pushes: list[Trouble], age_ms: int, quota: int | None
) -> None:
    """Invariant 9: tried as a worker would, it is delivered never twice, and `sent` means once."""
    async with made(timeout_seconds=20) as world:
        world.peer.quota = quota
        world.peer.trouble(*troubles)
        world.peer.trouble(*pushes, on="push")
        incoming = world.incoming()
        world.time[0] += age_ms
        for _ in range(6):
            kept = world.marks[-1] if world.marks else None
            done = await world.deliver(incoming, said("好"), retry_key=kept)
            if done.ending is not State.WAITING:
                break
            world.time[0] += 15_000
        delivered = len(world.texts())
    assert delivered <= 1
    if done.ending is State.SENT:
        assert delivered == 1
    if done.ending in {State.REFUSED, State.HELD}:
        assert delivered == 0
