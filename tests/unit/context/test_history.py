"""The minimizer: which messages of a kept history a model may see."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callbacks.context.history import prepare_history_context
from callbacks.context.history_message import HistoryMessage
from callbacks.context.prepared_history import PreparedHistory
from callbacks.context.trace import Action
from tests.unit.context.helpdesk import DEVICE, HELPDESK, NEWEST, ids, rows, said
from tests.unit.context.histories import SECRET, histories


@pytest.mark.parametrize("terms", [("VPN", "E401"), None])
def test_the_helpdesk_history_becomes_three_blocks_and_seven_rows(terms):
    """An older VPN record beats a newer printer one, facts are summed up, the newest stays."""
    prepared = prepare_history_context(HELPDESK, query_terms=terms, max_blocks=3)
    assert [(block.block_id, block.reason, block.content) for block in prepared.blocks] == [
        ("history-summary", "summary", f"較早紀錄：{DEVICE}"),
        ("message-03", "relevance", "VPN 曾出現 E401，重新登入後暫時恢復"),
        ("message-06", "recency", NEWEST),
    ]
    assert rows(prepared) == [
        ("context", "history_input", "6_messages"),
        ("guardrail", "sensitive_data_minimization", "dropped"),
        ("context", "relevance_selection", "kept"),
        ("context", "history_compaction", "summarized"),
        ("context", "irrelevant_history", "dropped"),
        ("context", "recency_selection", "kept"),
        ("context", "model_context", "3_blocks"),
    ]
    assert [row.detail for row in prepared.trace] == [
        "",
        "1 secret removed",
        "message-03",
        "1 as safe summaries",
        "message-02, message-05",
        "message-06",
        "",
    ]


def test_every_message_has_a_decision():
    """Each message is kept, summarized or dropped for a reason; a secret one has no name (16)."""
    prepared = prepare_history_context(HELPDESK, query_terms=("VPN", "E401"))
    assert [(d.id, d.action, d.reason) for d in prepared.decisions] == [
        ("history-summary", Action.KEPT, "summary"),
        ("message-01", Action.SUMMARIZED, "safe_summary"),
        ("message-02", Action.DROPPED, "resolved"),
        ("message-03", Action.KEPT, "relevance"),
        ("secret#1", Action.DROPPED, "secret"),
        ("message-05", Action.DROPPED, "resolved"),
        ("message-06", Action.KEPT, "recency"),
    ]
    assert {decision.channel for decision in prepared.decisions} == {"history"}
    assert prepared.trace[1].as_json() == {
        "kind": "guardrail",
        "name": "sensitive_data_minimization",
        "outcome": "dropped",
        "detail": "1 secret removed",
    }
    assert SECRET not in repr(prepared)
    assert "message-04" not in repr(prepared)
    assert SECRET not in repr(HELPDESK)


@given(histories(), st.none() | st.just(("VPN",)), st.integers(1, 5))
def test_the_newest_safe_request_stays_whole_with_every_cut(history, terms, max_blocks):
    """Invariant 2: the newest safe message of the user is in every candidate, word for word."""
    prepared = prepare_history_context(history, query_terms=terms, max_blocks=max_blocks)
    asked = [m for m in history if m.role == "user" and m.sensitivity != "secret"]
    by_id = {message.id: message for message in history}
    candidate: PreparedHistory | None = prepared
    while candidate is not None:
        assert len(candidate.blocks) <= max_blocks
        kept = [block for block in candidate.blocks if block.reason == "recency"]
        assert [block.content for block in kept] == [message.text for message in asked[-1:]]
        for block in candidate.blocks:
            assert block.reason == "summary" or block.content == by_id[block.block_id].text
        smaller = candidate.cut()
        assert smaller is None or len(smaller.blocks) == len(candidate.blocks) - 1
        assert len(candidate.decisions) == len(prepared.decisions)
        candidate = smaller


@given(histories(), st.integers(1, 4))
def test_the_same_history_gives_the_same_blocks(history, max_blocks):
    """Invariant 12: equal inputs give equal blocks, decisions and traces."""
    one = prepare_history_context(history, max_blocks=max_blocks)
    other = prepare_history_context(
        [HistoryMessage.from_json(message.to_json()) for message in history],
        max_blocks=max_blocks,
    )
    assert one == other
    assert repr(one.trace) == repr(other.trace)


@given(histories(), st.integers(1, 4), st.integers(0, 3))
def test_every_message_is_accounted_for_once(history, max_blocks, max_facts):
    """Invariant 16: each message has exactly one decision, and each block one that keeps it."""
    prepared = prepare_history_context(history, max_blocks=max_blocks, max_facts=max_facts)
    of_messages = [d for d in prepared.decisions if d.id != "history-summary"]
    assert len(of_messages) == len(history)
    kept = [decision.id for decision in prepared.decisions if decision.action is Action.KEPT]
    assert kept == ids(prepared)
    assert len(prepared.trace) == 7
    assert prepared.trace[0].outcome == f"{len(history)}_messages"
    assert prepared.trace[-1].outcome == f"{len(prepared.blocks)}_blocks"


@pytest.mark.parametrize(
    ("max_blocks", "kept"),
    [
        (1, ["message-06"]),
        (2, ["message-03", "message-06"]),
        (3, ["history-summary", "message-03", "message-06"]),
        (9, ["history-summary", "message-03", "message-06"]),
    ],
)
def test_the_newest_goes_before_relevance_and_relevance_before_facts(max_blocks, kept):
    """With too few places the summary goes first, then the relevant message."""
    assert ids(prepare_history_context(HELPDESK, max_blocks=max_blocks)) == kept


def test_facts_take_the_place_that_nothing_relevant_needs():
    """With two places and nothing relevant, the second is for the facts."""
    prepared = prepare_history_context(HELPDESK, query_terms=(), max_blocks=2)
    assert ids(prepared) == ["history-summary", "message-06"]
    assert prepared.trace[2].outcome == "none"


def test_a_message_without_a_place_leaves_its_safe_summary():
    """A relevant message that finds no place is told by its prepared summary, even if resolved."""
    history = [
        said("a", "VPN E401 第一次", status="resolved", safe_summary="VPN 曾修好一次"),
        said("b", "VPN E401 第二次"),
        said("b-2", "VPN E401 第三次"),
        said("c", "印表機", status="resolved", safe_summary="印表機修過"),
        said("d", "VPN E401"),
    ]
    prepared = prepare_history_context(history, query_terms=("VPN", "E401"), max_blocks=3)
    assert ids(prepared) == ["history-summary", "b-2", "d"]
    assert prepared.blocks[0].content == "較早紀錄：VPN 曾修好一次"


def test_facts_are_told_once_newest_first_to_stay_oldest_first_in_order():
    """Equal facts are one; of too many the newest stay, in the order they were said."""
    history = [
        said(f"m{at}", f"x{at}", safe_summary=fact)
        for at, fact in enumerate(["one", "two", "one", "three"])
    ]
    prepared = prepare_history_context([*history, said("new", "hello")], max_facts=2, language="en")
    assert prepared.blocks[0].content == "Earlier records: one; three"
    assert ids(prepare_history_context([*history, said("new", "hello")], max_facts=0)) == ["new"]


def test_equal_texts_are_one():
    """What was said twice is kept once, as it was said last."""
    history = [said("a", "VPN 斷"), said("b", "VPN 斷 "), said("c", "VPN"), said("new", "VPN")]
    prepared = prepare_history_context(history, max_blocks=5)
    assert ids(prepared) == ["b", "new"]
    assert [d.reason for d in prepared.decisions] == [
        "repeated",
        "relevance",
        "repeated",
        "recency",
    ]


def test_an_empty_history_gives_nothing():
    """No messages, no blocks, and the same seven rows."""
    prepared = prepare_history_context(())
    assert (prepared.blocks, prepared.decisions, prepared.cut()) == ((), (), None)
    assert [row.outcome for row in prepared.trace] == [
        "0_messages",
        *["none"] * 5,
        "0_blocks",
    ]


def test_a_public_audience_sees_no_internal_message():
    """For the public, internal messages leave together with secret ones."""
    history = [
        said("in", "VPN E401"),
        said("out", "VPN", sensitivity="public"),
        said("new", "VPN 斷線", sensitivity="public"),
        said("s", SECRET, sensitivity="secret"),
    ]
    prepared = prepare_history_context(history, audience="public")
    assert ids(prepared) == ["out", "new"]
    assert prepared.trace[1].detail == "1 secret removed; 1 internal removed"
    assert [d.id for d in prepared.decisions] == ["internal#1", "out", "new", "secret#2"]
