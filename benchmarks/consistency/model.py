"""The sequential model: one person as a value, and what each call may answer and leave behind.

It knows no signature, no transaction and no row, and decides by its own few lines.

What runs out may be taken away by any call of anybody in the tenant whose clock says so (stores
sweep on their way), and clocks jump. So beside what a call's own clock says, it may find gone what
had ended by the highest clock that any call had shown by then; once seen gone, it stays gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations
from typing import Any, NamedTuple


class Card(NamedTuple):
    """A card that was handed out, and what became of it."""

    token: str
    key: str
    value: str | None
    revision: int
    expires_at: int
    value_ends: int | None
    status: str = "pending"


class State(NamedTuple):
    """A person as they are between two calls."""

    revision: int = 0
    generation: int = 0
    window: str | None = None
    window_ends: int = 0
    last_event: str | None = None
    forgotten_at: int = -1
    values: tuple[tuple[str, str, int | None], ...] = ()
    cards: tuple[Card, ...] = ()


Step = tuple[Any, State]


def steps(state: State, call: str, told: dict[str, Any], highest: int) -> Iterator[Step]:
    """Yield each answer that a call may give here, with the state after it.

    Args:
        state: The person before.
        call: Its name.
        told: Its arguments; of ``propose`` also what the store made, if that is known.
        highest: The highest clock shown by anybody before the call ended.
    """
    if call == "snapshot":
        yield from _snapshot(state, told["now"], highest)
    elif call == "preferences":
        yield from _preferences(state, told["now"], highest)
    elif call == "release":
        # Something worked out with what was remembered was handed out: only under its revision.
        yield state.revision == told["revision"], state
    elif call == "append":
        yield _append(state, told)
    elif call == "clear":
        after = _moved(state)
        yield after.generation, after
    elif call == "propose":
        yield _propose(state, told)
    elif call in ("approve", "cancel"):
        yield from _press(state, told, highest, approve=call == "approve")
    elif call == "forget":
        after = _forgotten(state, told["key"], told["now"])
        yield after.revision, after
    else:
        raise ValueError(call)


def _snapshot(state: State, now: int, highest: int) -> Iterator[Step]:
    head = (state.revision, state.generation)
    alive = state.window is not None and now < state.window_ends
    yield [*head, state.window if alive else None, state.last_event], state
    if alive and state.window_ends <= highest:
        yield [*head, None, state.last_event], state._replace(window=None)


def _preferences(state: State, now: int, highest: int) -> Iterator[Step]:
    ended = [one for one in state.values if one[2] is not None and one[2] <= highest]
    for gone in chain.from_iterable(combinations(ended, size) for size in range(len(ended) + 1)):
        kept = tuple(one for one in state.values if one not in gone)
        shown = {key: value for key, value, ends in kept if ends is None or now < ends}
        yield [state.revision, shown], state._replace(values=kept)


def _append(state: State, told: dict[str, Any]) -> Step:
    if state.revision != told["revision"]:
        return "PREFERENCE_CHANGED", state
    if state.generation != told["generation"]:
        again = state.generation == told["generation"] + 1 and state.last_event == told["event"]
        return (state.generation if again else "CONVERSATION_CHANGED"), state
    after = state._replace(
        generation=state.generation + 1,
        window=told["window"],
        window_ends=told["now"] + told["ttl"],
        last_event=told["event"],
    )
    return after.generation, after


def _propose(state: State, told: dict[str, Any]) -> Step:
    expected = told["expected"]
    if expected is not None and expected != state.revision:
        return "PREFERENCE_CHANGED", state
    if told["said"] is not None and told["said"] <= state.forgotten_at:
        return "PREFERENCE_CHANGED", state
    made = told.get("made")
    if made is None:  # nobody ever heard of that card
        return state.revision, state
    token, expires_at = made
    card = Card(token, told["key"], told["value"], state.revision, expires_at, told["ends"])
    return state.revision, state._replace(cards=(*state.cards, card))


def _press(state: State, told: dict[str, Any], highest: int, *, approve: bool) -> Iterator[Step]:
    now = told["now"]
    card = next((one for one in state.cards if one.token == told["token"]), None)
    if card is None:
        yield ["invalid", state.revision], state
    elif card.status == "approved":
        yield ["already_applied", state.revision], state
    elif card.status == "cancelled":
        yield ["cancelled", state.revision], state
    elif card.status == "stale" or card.revision != state.revision:
        yield ["stale", state.revision], state
    elif card.status == "expired" or now >= card.expires_at:
        yield ["expired", state.revision], _closed(state, card, "expired")
    else:
        if card.expires_at <= highest:
            yield ["expired", state.revision], _closed(state, card, "expired")
        if not approve:
            after = _changed(_closed(state, card, "cancelled"))
            yield ["cancelled", after.revision], after
        elif card.value is None:
            after = _closed(_forgotten(state, card.key, now), card, "approved")
            yield ["forgotten", after.revision], after
        else:
            after = _changed(_closed(state, card, "approved"))
            others = [one for one in state.values if one[0] != card.key]
            values = tuple(sorted([*others, (card.key, card.value, card.value_ends)]))
            yield ["saved", after.revision], after._replace(values=values)


def _forgotten(state: State, key: str | None, now: int) -> State:
    cards = tuple(
        card._replace(status="stale")
        if card.status == "approved" and key in (None, card.key)
        else card
        for card in state.cards
    )
    return _changed(state)._replace(
        values=tuple(one for one in state.values if key not in (None, one[0])),
        cards=cards,
        forgotten_at=max(state.forgotten_at, now),
    )


def _closed(state: State, card: Card, status: str) -> State:
    return state._replace(
        cards=tuple(
            one._replace(status=status) if one.token == card.token else one for one in state.cards
        )
    )


def _moved(state: State) -> State:
    return state._replace(
        generation=state.generation + 1, window=None, window_ends=0, last_event=None
    )


def _changed(state: State) -> State:
    return _moved(state)._replace(revision=state.revision + 1)
