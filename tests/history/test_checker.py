"""The checker: which histories it takes for one order of events, and which it does not."""

import pytest

from benchmarks.consistency.checker import Call, check

NEVER = float("inf")


def call(began, ended, name, told=None, answer=None):
    return Call("p", name, {"now": 0} | (told or {}), began, "c", ended, answer)


def forget(began, ended, revision):
    return call(began, ended, "forget", {"key": None}, revision)


def seen(began, ended, revision, generation):
    return call(began, ended, "snapshot", None, [revision, generation, None, None])


def append(began, ended, generation, answer, event="e"):
    told = {"event": event, "window": "w", "revision": 0, "generation": generation, "ttl": 10}
    return call(began, ended, "append", told, answer)


def proposal(**told):
    plain = {"key": "k", "value": "v", "ends": None, "said": None, "expected": None}
    return plain | {"made": ["t", 100]} | told


def press(began, ended, answer, name="approve", now=0):
    return call(began, ended, name, {"token": "t", "now": now}, answer)


FITTING = {
    "one after the other": [forget(1, 2, 1), seen(3, 4, 1, 1), forget(5, 6, 2)],
    "at once, in either order": [forget(1, 9, 2), forget(1, 9, 1), seen(2, 8, 1, 1)],
    "a read beside a write sees before or after": [forget(1, 9, 1), seen(2, 3, 0, 0)],
    "an unanswered call happened": [forget(1, NEVER, None), seen(2, 3, 1, 1)],
    "an unanswered call did not happen": [forget(1, NEVER, None), seen(2, 3, 0, 0)],
    "an unanswered call happened late": [
        forget(1, NEVER, None),
        seen(2, 3, 0, 0),
        seen(4, 5, 1, 1),
    ],
    "one event twice": [append(1, 2, 0, 1), append(3, 4, 0, 1)],
    "a card is pressed once": [
        call(1, 2, "propose", proposal(), 0),
        press(3, 9, ["already_applied", 1]),
        press(4, 8, ["saved", 1]),
        call(10, 11, "preferences", None, [1, {"k": "v"}]),
    ],
    "a card runs out": [
        call(1, 2, "propose", proposal(), 0),
        press(3, 4, ["expired", 0], now=100),
        press(5, 6, ["expired", 0]),
    ],
    "somebody's clock swept it away": [
        call(1, 2, "propose", proposal(), 0),
        call(3, 4, "snapshot", {"now": 100}, [0, 0, None, None]),
        press(5, 6, ["expired", 0]),
    ],
}
UNFITTING = {
    "a revision goes back": [forget(1, 2, 1), seen(3, 4, 0, 0)],
    "a write was lost": [forget(1, 2, 1), forget(3, 4, 1)],
    "what was unanswered comes and goes": [
        forget(1, NEVER, None),
        seen(2, 3, 1, 1),
        seen(4, 5, 0, 0),
    ],
    "two turns on one window": [append(1, 9, 0, 1, "e"), append(2, 8, 0, 1, "f")],
    "a card is applied twice": [
        call(1, 2, "propose", proposal(), 0),
        press(3, 4, ["saved", 1]),
        press(5, 6, ["saved", 2]),
    ],
    "a value comes back": [
        call(1, 2, "propose", proposal(), 0),
        press(3, 4, ["saved", 1]),
        forget(5, 6, 2),
        call(7, 8, "preferences", None, [2, {"k": "v"}]),
    ],
    "old words make a card": [
        forget(1, 2, 1),
        call(3, 4, "propose", proposal(said=0), 1),
    ],
    "a card runs out too early": [
        call(1, 2, "propose", proposal(), 0),
        press(3, 4, ["expired", 0], now=99),
    ],
    "handed out after it was forgotten": [
        forget(1, 2, 1),
        call(3, 4, "release", {"revision": 0}, True),
    ],
}


@pytest.mark.parametrize("name", FITTING)
def test_what_can_be_one_order_fits(name):
    """A history for which there is an order that the model would answer so is no violation."""
    verdict = check(FITTING[name])
    assert (verdict.violations, verdict.undecided) == ([], [])


@pytest.mark.parametrize("name", UNFITTING)
def test_what_cannot_be_one_order_does_not_fit(name):
    """A history for which there is no such order is a violation, told with its person."""
    verdict = check(UNFITTING[name])
    assert [line[:2] for line in verdict.violations] == ["p:"]


def test_each_person_has_their_own_order():
    """Calls of two people need no order between them (11)."""
    other = forget(1, 2, 1)
    other.person = "q"
    verdict = check([forget(1, 2, 1), other])
    assert (verdict.people, verdict.violations) == (2, [])
