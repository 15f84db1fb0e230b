"""Secrets in a history: given to no ranker, told nowhere, and changing nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from callbacks.context.history import prepare_history_context
from callbacks.context.ranking import Bm25Ranker
from tests.unit.context.helpdesk import ids, said
from tests.unit.context.histories import SECRET, histories


class Spy:
    """A ranker that remembers all it was given."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def scores(self, terms, documents):
        self.seen += [*documents, *(way for term in terms for way in term.alternatives)]
        return Bm25Ranker().scores(terms, documents)


@given(histories(), st.none() | st.just(("VPN", "E401")), st.integers(1, 4))
def test_no_ranker_is_given_a_secret_and_no_output_holds_one(history, terms, max_blocks):
    """Invariant 4: secret messages leave before ranking and summarizing, and leave nothing."""
    spy = Spy()
    prepared = prepare_history_context(
        history, query_terms=terms, max_blocks=max_blocks, ranker=spy
    )
    assert not any(SECRET in text for text in spy.seen)
    assert SECRET not in repr(prepared)
    assert SECRET not in repr(prepared.trace)
    secret = {message.id for message in history if message.sensitivity == "secret"}
    assert secret.isdisjoint(ids(prepared))
    assert secret.isdisjoint(decision.id for decision in prepared.decisions)
    removed = sum(decision.reason == "secret" for decision in prepared.decisions)
    assert removed == len(secret)
    assert (f"{removed} secret removed" in prepared.trace[1].detail) == bool(removed)


@given(histories(), st.integers(1, 4), st.integers(0, 3))
def test_secrets_change_nothing_else(history, max_blocks, max_facts):
    """Invariant 4: with secret messages and without them the model sees the same bytes."""
    options = {"max_blocks": max_blocks, "max_facts": max_facts}
    without = [message for message in history if message.sensitivity != "secret"]
    one = prepare_history_context(history, **options)
    other = prepare_history_context(without, **options)
    assert one.blocks == other.blocks
    assert one.cut_order == other.cut_order


def test_only_secrets_give_nothing():
    """A history of secrets alone leaves no block, and the trace says how many there were."""
    secrets = [said(f"s{at}", SECRET, sensitivity="secret") for at in range(2)]
    prepared = prepare_history_context(secrets, query_terms=(SECRET,))
    assert prepared.blocks == ()
    assert prepared.trace[1].detail == "2 secret removed"


def test_a_secret_newest_message_leaves_the_one_before_it():
    """The newest request is the newest safe one; what the model said is no request."""
    history = [
        said("asked", "VPN E401"),
        said("answer", "請重新登入 VPN", role="model"),
        said("secret", SECRET, sensitivity="secret"),
    ]
    prepared = prepare_history_context(history)
    assert [(b.block_id, b.reason, b.role) for b in prepared.blocks] == [
        ("asked", "recency", "user"),
        ("answer", "relevance", "model"),
    ]
    assert [block.block_id for block in prepared.older] == ["answer"]
