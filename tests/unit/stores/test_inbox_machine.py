"""Any order of calls on an inbox, with hypothesis choosing it, shows what a small model shows."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from stores.errors import ConversationChanged, PreferenceChanged
from stores.inbox import ENDINGS, KEPT_MS, STUCK_MS, Append, Arrival, LeaseLost, Leaving, State
from stores.open import open_store
from stores.records import Owner
from stores.reference import Reference

LEASE = 1_000
TTL = 900_000
CHATS = ["c1", "c2"]
PEOPLE = ["ann", "ben", None]
IDS = [f"e{number}" for number in range(6)]
OPEN = {State.WAITING, State.READY, State.SENDING}
STUCK = {State.HELD, State.DEAD}
events = st.sampled_from(IDS)


@dataclass
class Event:
    """An event as the model knows it."""

    event_id: str
    chat: str
    person: str | None
    message: str | None
    order: tuple[int, int]
    state: State
    changed: int
    attempts: int = 0
    plan: bytes | None = None
    key: str | None = None

    def move(self, state, now):
        self.state, self.changed = state, now
        if state in ENDINGS:
            self.plan = self.key = None


@dataclass
class Chat:
    """Who is at work in a chat, and from when on it may be claimed."""

    holder: int | None = None
    event_id: str | None = None
    due: int = 0
    lapsed: int = 0


@dataclass
class Model:
    """One list of events and a lease a chat; leases are numbered over everything."""

    events: dict[str, Event] = field(default_factory=dict)
    chats: dict[str, Chat] = field(default_factory=lambda: {name: Chat() for name in CHATS})
    people: Reference = field(default_factory=Reference)
    arrivals: int = 0
    leases: int = 0

    def heads(self, chat):
        found = [one for one in self.events.values() if one.chat == chat and one.state in OPEN]
        return sorted(found, key=lambda one: one.order)

    def held(self, chat):
        found = [one for one in self.events.values() if one.chat == chat]
        return sorted((one for one in found if one.state is State.HELD), key=lambda one: one.order)

    def free(self, chat, due):
        self.chats[chat] = Chat(due=due)

    def at_it(self, lease, now):
        """The event a lease may change; None if it may not, and then a chat it holds is free."""
        number, chat, event_id = lease
        if self.chats[chat].holder != number:
            return None
        event = self.events.get(event_id)
        if event is None or event.state not in OPEN:
            self.free(chat, now)
            return None
        return event

    def take_back(self, event, now):
        chat = self.chats[event.chat]
        at_work = chat.holder is not None and (
            chat.event_id != event.event_id or event.state is State.SENDING
        )
        if event.state not in ENDINGS:
            event.move(State.SILENT, now)
        event.plan = event.key = None
        event.changed = now
        if not at_work:
            self.free(event.chat, now)


class InboxMachine(RuleBasedStateMachine):
    """A store in memory beside the model; claims and snapshots are kept for later."""

    claims = Bundle("claims")

    def __init__(self):
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.store = open_store(
            "sqlite+aiosqlite://", signing_keys=[b"k" * 32], store_keys=[b"s" * 32]
        )
        self.inbox = self.store.inbox("town")
        self.model = Model()
        self.now = 1_000_000

    def run(self, call):
        return self.loop.run_until_complete(call)

    def teardown(self):
        self.run(self.store.close())
        self.loop.close()

    def attempt(self, call):
        """The result of a call, or which refusal it met."""
        try:
            return self.run(call)
        except (LeaseLost, PreferenceChanged, ConversationChanged) as error:
            return type(error)

    @rule(step=st.sampled_from([1, LEASE - 1, LEASE, KEPT_MS, STUCK_MS]))
    def time_passes(self, step):
        self.now += step

    @rule(
        wanted=st.lists(
            st.tuples(events, st.sampled_from(CHATS), st.sampled_from(PEOPLE), st.integers(0, 2)),
            max_size=3,
        )
    )
    def accept(self, wanted):
        arrivals, new = [], 0
        for event_id, chat, person, said in wanted:
            arrivals.append(
                Arrival(
                    event_id=event_id,
                    chat=chat,
                    person=person,
                    message=f"m-{event_id}",
                    said_at_ms=said,
                    body=event_id.encode(),
                )
            )
            if event_id in self.model.events:
                continue
            if not self.model.heads(chat) and self.model.chats[chat].holder is None:
                self.model.chats[chat].due = self.now
            new += 1
            self.model.arrivals += 1
            self.model.events[event_id] = Event(
                event_id,
                chat,
                person,
                f"m-{event_id}",
                (said, self.model.arrivals),
                State.WAITING,
                self.now,
            )
        assert self.run(self.inbox.accept(tuple(arrivals), now_ms=self.now)) == new

    @rule(
        target=claims,
        worker=st.sampled_from(["w1", "w2"]),
        chat=st.one_of(st.none(), st.sampled_from(CHATS)),
    )
    def claim(self, worker, chat):
        found = self.run(
            self.inbox.claim(worker, now_ms=self.now, lease_ms=LEASE, most=9, chat=chat)
        )
        seen = {
            (one.chat, one.event_id, one.state, one.plan, one.retry_key, one.attempts,
             tuple(held.event_id for held in one.held))
            for one in found
        }  # fmt: skip
        expected, leases = set(), []
        for name in CHATS:
            heads, at = self.model.heads(name), self.model.chats[name]
            if chat not in (None, name) or not heads or at.due > self.now:
                continue
            head = heads[0]
            again = at.holder is not None and at.event_id == head.event_id
            lapsed = at.lapsed + 1 if again else 0
            self.model.leases += 1
            self.model.chats[name] = Chat(
                self.model.leases, head.event_id, self.now + LEASE, lapsed
            )
            leases.append((self.model.leases, name, head.event_id))
            held = tuple(one.event_id for one in self.model.held(name))
            expected.add(
                (name, head.event_id, head.state, head.plan, head.key, head.attempts + lapsed, held)
            )
        assert seen == expected
        assert all(one.body == one.event_id.encode() for one in found)
        by_chat = {one.chat: one for one in found}
        return multiple(*((lease, by_chat[lease[1]]) for lease in leases))

    @rule(claim=claims)
    def extend(self, claim):
        lease, told = claim
        result = self.attempt(self.inbox.extend(told, now_ms=self.now, lease_ms=LEASE))
        chat, event = self.model.chats[told.chat], self.model.events.get(told.event_id)
        if chat.holder != lease[0] or event is None or event.state not in OPEN:
            assert result is LeaseLost
            return
        chat.due = self.now + LEASE
        assert result is None

    @rule(
        claim=claims,
        plan=st.sampled_from([None, b"a plan"]),
        late=st.sampled_from([None, 0, 1]),
        leaving=st.sampled_from([None, Leaving(), Leaving(retry_key="k")]),
    )
    def settle(self, claim, plan, late, leaving):
        """The turn may have begun before the journal moved on, or write no journal."""
        lease, told = claim
        append = None
        if told.person is not None and late is not None:
            owner = Owner(tenant="town", person=told.person)
            seen = self.model.people.snapshot(owner, now_ms=self.now)
            append = Append(
                owner=owner,
                event_id=told.event_id,
                window="{}",
                expected_revision=seen.revision,
                expected_generation=max(seen.generation - late, 0),
                ttl_ms=TTL,
            )
        result = self.attempt(
            self.inbox.settle(told, plan=plan, append=append, now_ms=self.now, leaving=leaving)
        )
        event = self.model.at_it(lease, self.now)
        if event is None:
            assert result is LeaseLost
            return
        if append is not None:
            refused = None
            try:
                self.model.people.append(
                    append.owner,
                    event_id=append.event_id,
                    window=append.window,
                    expected_revision=append.expected_revision,
                    expected_generation=append.expected_generation,
                    now_ms=self.now,
                    ttl_ms=TTL,
                )
            except (PreferenceChanged, ConversationChanged) as error:
                refused = type(error)
            if refused is not None:
                assert result is refused
                return
        assert result is None
        event.plan, event.key = plan, leaving.retry_key if leaving else None
        event.move(State.SENDING if leaving else State.READY, self.now)

    @rule(claim=claims, key=st.sampled_from([None, "a key"]))
    def sending(self, claim, key):
        lease, told = claim
        result = self.attempt(self.inbox.sending(told, retry_key=key, now_ms=self.now))
        event = self.model.at_it(lease, self.now)
        if event is None:
            assert result is LeaseLost
            return
        event.key = key
        event.move(State.SENDING, self.now)

    @rule(claim=claims, ending=st.sampled_from(sorted(ENDINGS)), along=st.integers(0, 2))
    def finish(self, claim, ending, along):
        lease, told = claim
        held = tuple(one.event_id for one in told.held)
        gone, dropped = (held[:along], held[along:]) if along else ((), ())
        result = self.attempt(
            self.inbox.finish(
                told,
                ending,
                now_ms=self.now,
                with_held=gone,
                dropped=dropped,
                sent=(f"s-{told.event_id}",),
            )
        )
        if self.model.chats[told.chat].holder != lease[0]:
            assert result is LeaseLost
            return
        event = self.model.at_it(lease, self.now)
        if event is not None:
            event.move(ending, self.now)
        for name in (*gone, *dropped):
            one = self.model.events.get(name)
            if one is not None and one.state is State.HELD and one.chat == told.chat:
                one.move(ending if name in gone else State.REFUSED, self.now)
        self.model.free(told.chat, self.now)
        assert result is None
        assert self.run(self.inbox.is_ours(told.chat, f"s-{told.event_id}"))

    @rule(claim=claims)
    def hold(self, claim):
        lease, told = claim
        result = self.attempt(self.inbox.hold(told, b"held", now_ms=self.now, error_code="QUOTA"))
        event = self.model.at_it(lease, self.now)
        if event is None:
            assert result is LeaseLost
            return
        event.plan, event.key = b"held", None
        event.move(State.HELD, self.now)
        self.model.free(told.chat, self.now)

    @rule(
        claim=claims, code=st.sampled_from([None, "BUSY"]), most=st.sampled_from([1, 3]),
        wait=st.sampled_from([0, LEASE]),
    )  # fmt: skip
    def release(self, claim, code, most, wait):
        lease, told = claim
        result = self.attempt(
            self.inbox.release(
                told, now_ms=self.now, retry_at_ms=self.now + wait, error_code=code,
                most_attempts=most,
            )
        )  # fmt: skip
        event = self.model.at_it(lease, self.now)
        if event is None:
            assert result is LeaseLost
            return
        state = event.state
        if state is State.SENDING and (event.plan is None or event.key is None):
            state, event.key = State.READY, None
        event.attempts = told.attempts + (code is not None)
        dead = code is not None and event.attempts >= most
        event.move(State.DEAD if dead else state, self.now)
        self.model.free(told.chat, self.now if dead else self.now + wait)
        assert result is event.state

    @rule(event_id=events)
    def unsend(self, event_id):
        found = self.run(self.inbox.unsend(f"m-{event_id}", now_ms=self.now))
        event = self.model.events.get(event_id)
        if event is None or event.message is None:
            assert found is None
            return
        assert (found.event_id, found.person, found.body) == (event_id, event.person, b"")
        if event.person is not None and event.state is not State.WAITING:
            self.model.people.clear(Owner(tenant="town", person=event.person))
        self.model.take_back(event, self.now)

    @rule(person=st.sampled_from(["ann", "ben"]))
    def erase(self, person):
        owner = Owner(tenant="town", person=person)
        assert self.run(self.store.erase(owner, now_ms=self.now)).complete
        self.model.people.erase(owner, now_ms=self.now)
        for event in self.model.events.values():
            if event.person == person:
                self.model.take_back(event, self.now)
                event.person = event.message = None

    @rule(event_id=events)
    def requeue(self, event_id):
        event = self.model.events.get(event_id)
        dead = event is not None and event.state is State.DEAD
        assert self.run(self.inbox.requeue(event_id, now_ms=self.now)) is dead
        if event is None or not dead:
            return
        if not self.model.heads(event.chat) and self.model.chats[event.chat].holder is None:
            self.model.chats[event.chat].due = self.now
        state = State.READY if event.key is None else State.SENDING
        event.attempts = 0
        event.move(State.WAITING if event.plan is None else state, self.now)

    @rule()
    def purge(self):
        old = [
            event.event_id
            for event in self.model.events.values()
            if (event.state in ENDINGS and event.changed <= self.now - KEPT_MS)
            or (event.state in STUCK and event.changed <= self.now - STUCK_MS)
        ]
        assert self.run(self.inbox.purge(now_ms=self.now)) == len(old)
        for event_id in old:
            del self.model.events[event_id]

    @invariant()
    def everything_is_as_in_the_model(self):
        states = Counter(event.state for event in self.model.events.values())
        assert self.run(self.inbox.counts()) == dict(states)
        dead = self.run(self.inbox.letters(State.DEAD))
        assert {(one.event_id, one.attempts) for one in dead} == {
            (event.event_id, event.attempts)
            for event in self.model.events.values()
            if event.state is State.DEAD
        }
        for person in ("ann", "ben"):
            owner = Owner(tenant="town", person=person)
            seen = self.run(self.store.snapshot(owner, now_ms=self.now))
            assert seen == self.model.people.snapshot(owner, now_ms=self.now)
            waiting = [
                event
                for event in self.model.events.values()
                if event.person == person and event.state in OPEN | STUCK
            ]
            held = self.run(self.store.inspect(owner, now_ms=self.now))
            assert held.open_events == len(waiting)


def test_the_inbox_follows_the_model():
    """The inbox follows the model in order, leases, journal and erasure (8, 9, 10, 11)."""
    # Not made smaller when found: that takes minutes, and forty calls can be read.
    phases = [Phase.reuse, Phase.generate]
    run_state_machine_as_test(
        InboxMachine,
        settings=settings(max_examples=60, stateful_step_count=40, deadline=None, phases=phases),
    )
