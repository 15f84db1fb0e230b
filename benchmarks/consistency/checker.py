"""Is there an order of one person's calls, each inside its time, that the model would answer so?

The search of Wing and Gong, with the memory of Lowe: depth first over which calls have been given
their place, never twice in the same state. A call without an answer (its process was killed, its
connection dropped) may have happened at any time after it began, or never.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from benchmarks.consistency.model import State, steps

MOST_STATES = 300_000
"""A person whose search looks at more is undecided; there must be none."""


@dataclass
class Call:
    """A call as a client saw it.

    Attributes:
        began: By the clock that all processes share, in nanoseconds.
        ended: The same; infinite if no answer came.
        answer: As the model writes it; undefined if no answer came.
        highest: The highest clock shown by anybody before it ended, in milliseconds.
    """

    person: str
    name: str
    told: dict[str, Any]
    began: int
    client: str = ""
    ended: float = inf
    answer: Any = None
    highest: int = 0

    @property
    def answered(self) -> bool:
        """Whether an answer came."""
        return self.ended != inf


@dataclass
class Verdict:
    """What checking came to.

    Attributes:
        violations: One line a person for whom there is no such order.
        undecided: People whose search was given up.
    """

    people: int = 0
    calls: int = 0
    unanswered: int = 0
    violations: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)


def check(calls: Sequence[Call]) -> Verdict:
    """Check each person by themselves: what is linearizable for each is so for all."""
    _note_highest(calls)
    by_person: dict[str, list[Call]] = {}
    for call in calls:
        by_person.setdefault(call.person, []).append(call)
    verdict = Verdict(people=len(by_person), calls=len(calls))
    verdict.unanswered = sum(not call.answered for call in calls)
    for person, theirs in sorted(by_person.items()):
        found = _search(sorted(theirs, key=lambda call: call.began))
        if found is None:
            verdict.undecided.append(person)
        elif found:
            verdict.violations.append(f"{person}: {found}")
    return verdict


def _note_highest(calls: Sequence[Call]) -> None:
    ordered = sorted(calls, key=lambda call: call.began)
    begins, highest, most = [call.began for call in ordered], [], 0
    for call in ordered:
        most = max(most, call.told.get("now", 0))
        highest.append(most)
    for call in calls:
        call.highest = highest[bisect_right(begins, call.ended) - 1]


def _search(calls: list[Call]) -> str | None:
    """Return "" if there is an order, else what could not be placed; None if unknown."""
    wanted = sum(1 << number for number, call in enumerate(calls) if call.answered)
    pending: list[tuple[int, State]] = [(0, State())]
    seen: set[tuple[int, State]] = set()
    furthest, stuck = -1, ""
    while pending:
        placed, state = pending.pop()
        placed, candidates = _place_what_changes_nothing(calls, placed, state)
        if placed & wanted == wanted:
            return ""
        if (placed, state) in seen:
            continue
        seen.add((placed, state))
        if len(seen) > MOST_STATES:
            return None
        if placed.bit_count() > furthest:
            furthest = placed.bit_count()
            stuck = _tell([calls[number] for number in candidates], state)
        # The last one pushed is tried first: answered calls, the earliest to end first of all.
        for number in sorted(candidates, key=lambda number: -calls[number].ended):
            call = calls[number]
            for answer, after in steps(state, call.name, call.told, call.highest):
                if after != state and (not call.answered or answer == call.answer):
                    pending.append((placed | 1 << number, after))
    return stuck or "nothing fits"


def _place_what_changes_nothing(
    calls: list[Call], placed: int, state: State
) -> tuple[int, list[int]]:
    """Place every call that fits here and leaves the state as it is; no order needs it later."""
    while True:
        candidates, first_end = [], inf
        for number in range(_lowest_free(placed), len(calls)):
            if placed >> number & 1:
                continue
            call = calls[number]
            if call.began > first_end:
                break
            first_end = min(first_end, call.ended)
            candidates.append(number)
        fitting = [
            number
            for number in candidates
            if calls[number].answered
            and (calls[number].answer, state)
            in list(steps(state, calls[number].name, calls[number].told, calls[number].highest))
        ]
        if not fitting:
            return placed, candidates
        for number in fitting:
            placed |= 1 << number


def _lowest_free(placed: int) -> int:
    free = ~placed
    return (free & -free).bit_length() - 1


def _tell(calls: list[Call], state: State) -> str:
    told = "; ".join(
        f"{call.client} {call.name} answered {call.answer!r}" for call in calls if call.answered
    )
    return f"at revision {state.revision}, generation {state.generation}, none fits of: {told}"
