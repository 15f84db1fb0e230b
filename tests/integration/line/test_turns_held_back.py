"""Answers that nobody gets: unsent, made under another consent, or not in the journal."""

from local_agent.line.answer import said
from local_agent.templates import refusal
from stores.errors import ConversationChanged
from stores.inbox import State
from stores.records import Owner
from tests.support.line import until
from tests.support.line_worker import ANN, counts, texts, worker_of, working


async def test_what_was_unsent_is_not_answered(app, peer, gate):
    """A message taken back while its turn runs gets no answer and leaves no window (L11)."""
    event = peer.events.text("花壇有什麼吃的？", user=ANN)
    await peer.post(app.url, event)
    await until(lambda: len(gate.entered) == 1, "its turn runs")
    await peer.post(app.url, peer.events.unsend(event["message"]["id"], user=ANN))
    gate.opened.set()
    await app.line.worker.drain()
    assert peer.said(ANN) == []
    assert await counts(app) == {State.SILENT: 2}
    owner = Owner(tenant="local", person=app.line.gateway.names.person(ANN))
    assert (await app.line.store.snapshot(owner, now_ms=0)).window is None


async def test_a_changed_consent_holds_an_answer_back(app, peer, gate):
    """An answer made under an older consent is not sent: a sentence says so (invariant 7)."""
    person = Owner(tenant="local", person=app.line.gateway.names.person(ANN))
    await peer.post(app.url, peer.events.text("花壇有什麼吃的？", user=ANN))
    await until(lambda: len(gate.entered) == 1, "its turn runs")
    settle = app.line.inbox.settle

    async def forget_first(claim, **options):
        app.line.inbox.settle = settle
        await app.line.store.forget(person, None, now_ms=app.line.gateway.clock())
        await settle(claim, **options)

    app.line.inbox.settle = forget_first
    gate.opened.set()
    await app.line.worker.drain()
    assert refusal("PREFERENCE_CHANGED") in texts(peer, ANN)
    assert len(peer.said(ANN)) == 1


async def test_an_answer_that_waited_is_looked_at_again(idle, peer, clock):
    """An answer left by a worker that died is not sent under a newer consent (invariant 7)."""
    store, inbox = idle.line.store, idle.line.inbox
    owner = Owner(tenant="local", person=idle.line.gateway.names.person(ANN))
    await peer.post(idle.url, peer.events.text("花壇有什麼吃的？", user=ANN))
    (claim,) = await inbox.claim("dead", now_ms=clock(), lease_ms=1_000)
    seen = await store.snapshot(owner, now_ms=clock())
    plan = said("舊的答案").model_copy(update={"revision": seen.revision})
    kept = plan.model_dump_json().encode()
    await inbox.settle(claim, plan=kept, append=None, now_ms=clock())
    await store.forget(owner, None, now_ms=clock())
    clock.ahead += 1_000
    async with working(worker_of(idle, clock)) as worker:
        await worker.drain()
    assert "舊的答案" not in texts(peer, ANN)
    assert refusal("PREFERENCE_CHANGED") in texts(peer, ANN)


async def test_nothing_lies_between_the_last_look_and_the_answer(app, peer, monkeypatch):
    """The transaction that looks at the revision says that the answer leaves; then it does (7)."""
    calls = []

    def told(of, name):
        call = getattr(of, name)

        async def and_told(*arguments, **options):
            calls.append(name)
            return await call(*arguments, **options)

        monkeypatch.setattr(of, name, and_told)

    told(app.line.inbox, "settle")
    told(app.line.inbox, "sending")
    told(app.line.store, "snapshot")
    told(app.line.client, "reply")
    await peer.post(app.url, peer.events.text("花壇有什麼吃的？", user=ANN))
    await app.line.worker.drain()
    assert calls[-2:] == ["settle", "reply"]
    assert calls.count("settle") == 1


async def test_a_journal_that_moved_on_refuses_the_answer(app, peer):
    """Where the window cannot be written its answer is not given, and a sentence says so."""
    settle = app.line.inbox.settle

    async def moved(claim, *, append, **options):
        if append is not None:
            raise ConversationChanged
        await settle(claim, append=append, **options)

    app.line.inbox.settle = moved
    await peer.post(app.url, peer.events.text("花壇有什麼吃的？", user=ANN))
    await app.line.worker.drain()
    assert refusal("CONVERSATION_CHANGED") in texts(peer, ANN)
    assert len(peer.said(ANN)) == 1
