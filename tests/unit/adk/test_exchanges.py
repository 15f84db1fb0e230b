"""Calls and answers mended as whole exchanges, for any history."""

from __future__ import annotations

from collections import Counter

from google.adk.events.event import Event
from hypothesis import assume, given
from hypothesis import strategies as st

from callbacks.adk.exchanges import call_key, mended, of_invocation
from tests.support.past import answered, asked, called, said

IDS = st.sampled_from(["A", "B", "C", None])
TURNS = st.sampled_from(["1", "2", "3"])
EVENTS = st.one_of(
    st.builds(asked, st.just("hi"), TURNS),
    st.builds(said, st.just("so"), TURNS),
    st.builds(
        lambda ids, turn, waiting: called(*ids, turn=turn, waiting=waiting),
        st.lists(IDS, min_size=1, max_size=2, unique=True),
        TURNS,
        st.booleans(),
    ),
    st.builds(
        lambda ids, turn, value: answered(*ids, turn=turn, value=value),
        st.lists(IDS, min_size=1, max_size=3),
        TURNS,
        st.integers(0, 9),
    ),
)
HISTORIES = st.lists(EVENTS, max_size=12)


def open_and_wrong(events: list[Event]) -> tuple[int, list[str]]:
    """Walk a history: count calls still open, list answers that nobody had asked for."""
    waiting: Counter[object] = Counter()
    wrong = []
    for event in events:
        for response in event.get_function_responses():
            key = call_key(response)
            if not waiting[key]:
                wrong.append(str(key))
            waiting[key] -= 1
        for call in event.get_function_calls():
            waiting[call_key(call)] += 1
    return sum(waiting.values()), wrong


@given(HISTORIES)
def test_every_answer_left_has_its_call_and_every_call_one_answer(events: list[Event]) -> None:
    """Invariant 2: after mending, only calls that wait by design are open, and nothing is extra."""
    whole = mended(events, "root")
    still_open, wrong = open_and_wrong(whole)
    assert wrong == []
    by_design = sum(
        len(event.get_function_calls()) for event in whole if event.long_running_tool_ids
    )
    assert still_open <= by_design


def test_one_message_with_two_answers_to_one_call_of_two() -> None:
    """Counts may agree where calls do not: two answers to one call leave the other one open."""
    whole = mended(
        [called("A", None, turn="1", waiting=True), answered(None, None, turn="1", value=0)], "root"
    )
    assert [call_key(r) for r in whole[1].get_function_responses()] == [("A", None), (None, "look")]


def ambiguous(events: list[Event]) -> bool:
    """Whether a call that waits by design has its id given to another one meanwhile."""
    waiting: set[object] = set()
    for event in events:
        waiting -= {call_key(response) for response in event.get_function_responses()}
        keys = {call_key(call) for call in event.get_function_calls()}
        if keys & waiting:
            return True
        if event.long_running_tool_ids:
            waiting |= keys
    return False


@given(HISTORIES)
def test_mending_twice_changes_nothing_more(events: list[Event]) -> None:
    """Invariant 12: what is mended is whole; mending it again gives the same contents.

    Where two calls wait under one id, an answer belongs to the newer one, and a word that the older
    one is pending would be taken for it: nobody can tell them apart, and nothing is claimed.
    """
    assume(not ambiguous(events))
    once = mended(events, "root")
    again = mended(once, "root")
    assert [event.content for event in again] == [event.content for event in once]


@given(HISTORIES)
def test_what_is_no_call_and_no_answer_is_untouched(events: list[Event]) -> None:
    """Invariant 2: words stay, in order, as the same objects; so does each part that is kept."""
    whole = mended(events, "root")

    def words(all_: list[Event]) -> list[int]:
        return [id(e) for e in all_ if not (e.get_function_calls() or e.get_function_responses())]

    assert words(whole) == words(events)
    had = {id(part) for event in events for part in (event.content and event.content.parts) or []}
    for event in whole:
        for part in (event.content and event.content.parts) or []:
            pending = part.function_response and part.function_response.response == {
                "status": "pending"
            }
            assert pending or id(part) in had


@given(HISTORIES, TURNS)
def test_a_turn_is_its_own_events_and_the_exchanges_it_answers(
    events: list[Event], turn: str
) -> None:
    """All own events, in order; of other turns only what belongs to a call that is answered."""
    present = of_invocation(events, turn)
    assert [e for e in present if e.invocation_id == turn] == [
        e for e in events if e.invocation_id == turn
    ]
    order = [next(i for i, e in enumerate(events) if e is one) for one in present]
    assert order == sorted(order)
    others = [e for e in present if e.invocation_id != turn]
    asked_for = {
        call_key(r) for e in present if e.invocation_id == turn for r in e.get_function_responses()
    }
    for event in others:
        if event.get_function_calls():
            assert any(call_key(call) in asked_for for call in event.get_function_calls())
        elif not event.get_function_responses():
            assert event.author == "user"


def test_a_whole_history_comes_back_as_the_same_objects() -> None:
    """What is right is not touched at all."""
    events = [
        asked("hi", "1"),
        called("A", "B", turn="1"),
        answered("A", "B", turn="1"),
        said("so", "1"),
        called("A", turn="1"),
        answered("A", turn="1"),
    ]
    assert all(a is b for a, b in zip(mended(events, "root"), events, strict=True))


def test_calls_of_other_agents_are_not_judged() -> None:
    """ADK shows them to this agent as text, answered or not."""
    events = [asked("hi", "1"), called("A", turn="1")]
    assert mended(events, "another") == events
    assert mended(events, "root") == events[:1]
