"""Where the history block goes, and what is pinned to a turn."""

from __future__ import annotations

from callbacks.adk.contents import insertion_index
from callbacks.adk.exchanges import of_invocation
from tests.support.past import answered, answers, asked, called, chat, said


def test_the_block_never_goes_between_a_call_and_its_answer() -> None:
    """A04: where the newest message is an answer, the block goes to the front instead."""
    contents = [e.content for e in (asked("order", "1"), called("A", turn="1"))]
    message = answers("A")
    assert insertion_index([c for c in contents if c] + [message], message, 0) == 0


def test_the_block_goes_right_before_the_newest_message() -> None:
    """Invariant 14: what was before it stays before it."""
    contents = [e.content for e in (asked("static", "1"), asked("now", "2")) if e.content]
    assert insertion_index(contents, contents[1], 1) == 1


def test_an_exchange_of_another_turn_is_pinned_whole() -> None:
    """A04, A05: the call that is answered now, its other answers and its question; no chatter."""
    question, call = asked("order", "1"), called("A", "B", turn="1", waiting=True)
    early = answered("B", turn="1")
    late = answered("A", turn="9", author="user")
    events = [asked("old", "0"), question, call, early, said("wait", "1"), *chat(range(3)), late]
    present = of_invocation(events, "9")
    assert [id(e) for e in present] == [id(e) for e in (question, call, early, late)]
