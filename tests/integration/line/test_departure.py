"""The last look before each request, and what is true of an answer that did or did not leave."""

import asyncio

import pytest

from local_agent.line.peer import Trouble
from local_agent.line.worker import Worker
from local_agent.offline_model import OfflineModel
from local_agent.templates import refusal
from stores.errors import StoreUnavailable
from stores.inbox import State
from stores.records import Owner, Proposal
from tests.support.line import until
from tests.support.line_worker import ANN, counts, texts, worker_of, working

ASK = "花壇有什麼吃的？"


def owner_of(app) -> Owner:
    return Owner(tenant="local", person=app.line.gateway.names.person(ANN))


async def window_of(app):
    return (await app.line.store.snapshot(owner_of(app), now_ms=0)).window


async def remember(app) -> None:
    """Let Ann have a preference, so that her answers are personal."""
    now = app.line.turns.clock()
    wish = Proposal(key="dietary_type", purpose="to choose", value="vegetarian")
    card = await app.line.store.propose(owner_of(app), wish, now_ms=now)
    await app.line.store.approve(owner_of(app), card.token, now_ms=now)


def forget_before_request(app, monkeypatch, name: str, number: int) -> None:
    """Let Ann's preferences be forgotten while LINE has the request of that number."""
    request, made = getattr(app.line.client, name), []

    async def then_forget(*arguments, **options):
        outcome = await request(*arguments, **options)
        made.append(outcome)
        if len(made) == number:
            await app.line.store.forget(owner_of(app), None, now_ms=app.line.turns.clock())
        return outcome

    monkeypatch.setattr(app.line.client, name, then_forget)


@pytest.mark.parametrize("personal", [False, True])
async def test_a_push_after_a_refused_reply_is_another_moment(app, peer, monkeypatch, personal):
    """Forgotten while the reply was refused: the answer does not follow as a push (7)."""
    if personal:
        await remember(app)
    event = peer.events.text(ASK, user=ANN)
    peer.events.issued.clear()  # LINE knows no such token
    forget_before_request(app, monkeypatch, "reply", 1)
    await peer.post(app.url, event)
    await app.line.worker.drain()
    assert [message["text"] for message in peer.said(ANN)] == [refusal("PREFERENCE_CHANGED")]
    assert await counts(app) == {State.SENT: 1}


async def test_a_repeated_reply_is_another_moment(app, peer, monkeypatch):
    """A reply that LINE failed at is not repeated under a newer consent, nor followed (7, 9)."""
    peer.trouble(Trouble.ERROR_BEFORE, on="reply")
    forget_before_request(app, monkeypatch, "reply", 1)
    await peer.post(app.url, peer.events.text(ASK, user=ANN))
    await app.line.worker.drain()
    assert peer.said(ANN) == []
    (letter,) = await app.line.inbox.letters(State.UNKNOWN)
    assert letter.error_code == "PREFERENCE_CHANGED"


@pytest.mark.parametrize("trouble", [Trouble.ERROR_BEFORE, Trouble.ERROR_AFTER])
async def test_a_repeated_push_says_at_most_one_thing(app, peer, monkeypatch, trouble):
    """A push that may be out is repeated under its key alone, now as the sentence (7, 9)."""
    event = peer.events.text(ASK, user=ANN)
    peer.events.issued.clear()
    peer.trouble(trouble, on="push")
    forget_before_request(app, monkeypatch, "push", 1)
    await peer.post(app.url, event)
    await app.line.worker.drain()
    assert len(peer.said(ANN)) == 1
    told = refusal("PREFERENCE_CHANGED") in texts(peer, ANN)
    assert told is (trouble is Trouble.ERROR_BEFORE)
    assert await counts(app) == {State.SENT: 1}


async def test_what_certainly_did_not_leave_is_tried_again(app, peer, clock, monkeypatch):
    """A refused reply is no answer: a store that then fails costs a rest, no more (9)."""
    sending, failures = app.line.inbox.sending, [StoreUnavailable(reason="lost")]

    async def down_once(claim, **options):
        if failures:
            raise failures.pop()
        await sending(claim, **options)

    monkeypatch.setattr(app.line.inbox, "sending", down_once)
    event = peer.events.text(ASK, user=ANN)
    peer.events.issued.clear()
    await peer.post(app.url, event)
    await app.line.worker.drain()
    assert await counts(app) == {State.READY: 1}
    clock.ahead += 2_000
    await app.line.worker.drain()
    assert await counts(app) == {State.SENT: 1}
    assert len(peer.said(ANN)) == 1


@pytest.mark.parametrize("answer", ["", "SAFETY"])
async def test_an_unanswered_turn_leaves_no_window(app, peer, monkeypatch, answer):
    """No conversation knows of an answer that nobody was given."""

    async def nothing(model, request, stream=False):
        from google.adk.models.llm_response import LlmResponse
        from google.genai import types

        if answer:
            yield LlmResponse(error_code=answer, error_message="blocked")
            return
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=" ")]))

    monkeypatch.setattr(OfflineModel, "generate_content_async", nothing)
    await peer.post(app.url, peer.events.text("我人在花壇，今天好累", user=ANN))
    await app.line.worker.drain()
    assert refusal("MODEL_FAILED") in texts(peer, ANN)
    assert await window_of(app) is None
    monkeypatch.undo()
    await peer.post(app.url, peer.events.text(ASK, user=ANN))
    await app.line.worker.drain()
    assert "花壇" in await window_of(app)


async def test_two_turns_of_one_event_have_a_window_each(idle, peer, clock, monkeypatch):
    """A turn that lost its lease drops its own window, not that of the turn that took over."""
    settle, append = idle.line.inbox.settle, idle.line.turns.journal.append
    frozen, go_on = asyncio.Event(), asyncio.Event()
    appended = []

    async def slow(claim, **options):
        if not frozen.is_set():
            frozen.set()
            await go_on.wait()
        await settle(claim, **options)

    async def counted(owner, **options):
        appended.append(owner)
        if len(appended) == 2:
            go_on.set()
        return await append(owner, **options)

    monkeypatch.setattr(idle.line.inbox, "settle", slow)
    monkeypatch.setattr(idle.line.turns.journal, "append", counted)
    async with working(worker_of(idle, clock, at_once=2)) as worker:
        await peer.post(idle.url, peer.events.text(ASK, user=ANN))
        worker.wake()
        await asyncio.wait_for(frozen.wait(), 60)
        clock.ahead += 31_000
        worker.wake()
        await until(lambda: len(peer.said(ANN)) == 1, "it is answered")
        await worker.drain()
    assert len(appended) == 2
    assert "花壇" in await window_of(idle)


async def test_held_answers_that_found_no_room_stay_held(idle, peer, clock):
    """A reply that is cut off makes unknown what rode with it, and nothing else (9)."""
    peer.quota = 0
    async with working(worker_of(idle, clock)) as worker:
        for town in ("花壇", "鹿港", "員林", "彰化", "田中", "北斗"):
            event = peer.events.text(f"{town}有什麼吃的？", user=ANN)
            peer.events.issued.clear()
            await peer.post(idle.url, event)
            await worker.drain()
        assert await counts(idle) == {State.HELD: 6}
        peer.trouble(Trouble.STALL_AFTER)
        await peer.post(idle.url, peer.events.text("溪湖有什麼吃的？", user=ANN))
        worker.wake()
        await until(lambda: len(peer.said(ANN)) == 5, "five messages are at LINE")
        await worker.stop(grace_seconds=0)
    assert await counts(idle) == {State.HELD: 2, State.UNKNOWN: 5}


async def test_a_stopped_turn_keeps_its_place_until_it_has_ended(idle, peer, clock, monkeypatch):
    """A turn whose lease was lost still cleans up: it is counted, and waited for."""
    from stores.inbox import LeaseLost

    alive, most = set(), [0]

    async def turn(claim):
        alive.add(claim.fence)
        most[0] = max(most[0], len(alive))
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(50):
                await asyncio.sleep(0)
            alive.discard(claim.fence)

    async def lost(claim, **options):
        raise LeaseLost

    monkeypatch.setattr(idle.line.inbox, "extend", lost)
    for number in range(6):
        user = f"U{number:032x}"
        await peer.post(idle.url, peer.events.text(ASK, user=user))
    worker = Worker(idle.line.inbox, turn, clock=clock, at_once=2, lease_ms=30)
    async with working(worker):
        await until(lambda: clock.ahead or most[0] == 2, "both places are taken")
        for _ in range(300):
            await asyncio.sleep(0.001)
            assert len(alive) <= len(worker._running) <= 2
    assert not alive
