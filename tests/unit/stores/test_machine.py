"""Any order of calls, with hypothesis choosing it, shows what the sequential model shows."""

import asyncio

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from stores.consent import CARD_TTL_MS
from stores.errors import ConversationChanged, PreferenceChanged, StoreError
from stores.open import open_store
from stores.records import PRIVATE, CardAction, Owner, Proposal
from stores.reference import Reference

OWNERS = [
    Owner(tenant="town", person="ann"),
    Owner(tenant="town", person="ben"),
    Owner(tenant="city", person="ann"),
]
CHATS = [PRIVATE, "the club"]
owners = st.sampled_from(OWNERS)
keys = st.sampled_from(["drink", "distance"])
proposals = st.one_of(
    st.builds(
        Proposal,
        key=keys,
        purpose=st.sampled_from(["p", "q"]),
        value=st.sampled_from(["tea", "花茶"]),
        scope=st.sampled_from(CHATS),
    ),
    st.builds(Proposal, key=keys, purpose=st.just("p"), action=st.just(CardAction.FORGET)),
)


class StoreMachine(RuleBasedStateMachine):
    """A store in memory beside the model, with cards and snapshots kept for later."""

    cards = Bundle("cards")
    snapshots = Bundle("snapshots")

    def __init__(self):
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.store = open_store(
            "sqlite+aiosqlite://", signing_keys=[b"k" * 32], store_keys=[b"s" * 32]
        )
        self.model = Reference()
        self.now = 1_000_000

    def run(self, call):
        return self.loop.run_until_complete(call)

    def teardown(self):
        self.run(self.store.close())
        self.loop.close()

    @rule(step=st.sampled_from([1, 1_000, CARD_TTL_MS - 1, CARD_TTL_MS, 900_000]))
    def time_passes(self, step):
        self.now += step

    @rule(target=snapshots, owner=owners)
    def begin_turn(self, owner):
        return owner, self.run(self.store.snapshot(owner, now_ms=self.now))

    @rule(
        turn=snapshots, event=st.sampled_from(["e1", "e2"]), window=st.sampled_from(["{}", "[1]"])
    )
    def end_turn(self, turn, event, window):
        """A turn may end late, twice, or after another one."""
        owner, seen = turn
        wanted = {
            "event_id": event,
            "window": window,
            "expected_revision": seen.revision,
            "expected_generation": seen.generation,
            "now_ms": self.now,
        }
        assert self.attempt(self.store.append(owner, **wanted)) == self.modelled(owner, wanted)

    def attempt(self, call):
        try:
            return self.run(call)
        except (PreferenceChanged, ConversationChanged) as error:
            return type(error)

    def modelled(self, owner, wanted):
        try:
            return self.model.append(owner, **wanted)
        except StoreError as error:
            return type(error)

    @rule(owner=owners)
    def clear(self, owner):
        assert self.run(self.store.clear(owner, now_ms=self.now)) == self.model.clear(owner)

    @rule(
        target=cards,
        owner=owners,
        proposal=proposals,
        life=st.one_of(st.none(), st.sampled_from([1, 1_000, CARD_TTL_MS + 1])),
        age=st.one_of(st.none(), st.sampled_from([0, 1_000])),
    )
    def propose(self, owner, proposal, life, age):
        if proposal.value is not None and life is not None:
            proposal = proposal.model_copy(update={"expires_at_ms": self.now + life})
        if age is not None:
            proposal = proposal.model_copy(update={"said_at_ms": self.now - age})
        if self.model.refuses(owner, proposal):
            refused = self.attempt(self.store.propose(owner, proposal, now_ms=self.now))
            assert refused is PreferenceChanged
            return multiple()
        card = self.run(self.store.propose(owner, proposal, now_ms=self.now))
        self.model.shown(owner, proposal, card)
        return owner, card.token

    @rule(card=cards, approve=st.booleans())
    def press(self, card, approve):
        self.press_as(card[0], card[1], approve)

    @rule(card=consumes(cards), owner=owners, approve=st.booleans())
    def press_anybodys(self, card, owner, approve):
        self.press_as(owner, card[1], approve)

    def press_as(self, owner, token, approve):
        call = self.store.approve if approve else self.store.cancel
        result = self.run(call(owner, token, now_ms=self.now))
        assert result.outcome is self.model.press(owner, token, approve=approve, now_ms=self.now)
        assert result.revision == self.model.snapshot(owner, now_ms=self.now).revision

    @rule(owner=owners, key=st.one_of(st.none(), keys))
    def forget(self, owner, key):
        result = self.run(self.store.forget(owner, key, now_ms=self.now))
        assert (result.revision, result.complete) == (
            self.model.forget(owner, key, now_ms=self.now),
            True,
        )

    @rule(owner=owners)
    def erase(self, owner):
        result = self.run(self.store.erase(owner, now_ms=self.now))
        assert (result.revision, result.complete) == (
            self.model.erase(owner, now_ms=self.now),
            True,
        )

    @rule(tenant=st.sampled_from(["town", "city"]))
    def sweep(self, tenant):
        """Nothing that can be seen changes, which the invariant checks."""
        self.run(self.store.sweep(tenant, now_ms=self.now))

    @invariant()
    def everybody_is_as_in_the_model(self):
        for owner in OWNERS:
            seen = self.run(self.store.snapshot(owner, now_ms=self.now))
            assert seen == self.model.snapshot(owner, now_ms=self.now)
            for chat in CHATS:
                kept = self.run(self.store.preferences(owner, now_ms=self.now, chat=chat))
                assert kept == self.model.preferences(owner, now_ms=self.now, chat=chat)


def test_the_store_follows_the_model():
    """The store follows the model in revisions, forgetting, and events (7, 8, 9, 11)."""
    run_state_machine_as_test(StoreMachine, settings=settings(max_examples=25, deadline=None))
