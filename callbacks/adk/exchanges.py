"""Calls and their answers, mended as whole exchanges.

A stored history may hold an answer without its call, a call without its answer, two answers to one
call, or one message that answers calls of different turns. Models refuse such requests, and a part
that is rebuilt loses its thought signature. So nothing is rebuilt here: an exchange (a call event
and its answers) stays with the very parts it had, or leaves whole.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence

from google.adk.events.event import Event
from google.genai import types

logger = logging.getLogger("local_agent.context")

PENDING = {"status": "pending"}
"""Stands for the answer of a long-running call that is still to come, beside answered ones."""

Key = tuple[str | None, str | None]
"""A call's id and, only where it has none, its name."""

Answers = dict[Key, tuple[int, types.Part]]
"""The newest answer to each call of one event, with the index of the event it came in."""

Latest = dict[int, Answers]
"""Answers by the index of their call event."""

Owners = dict[tuple[int, Key], int | None]
"""(index of an answering event, answer) -> index of its call event; None for an orphan."""


def call_key(call: types.FunctionCall | types.FunctionResponse) -> Key:
    """Return what ties an answer to its call."""
    return (call.id, None) if call.id else (None, call.name)


def is_compaction(event: Event) -> bool:
    """Tell whether an event claims to stand for others."""
    return bool(event.actions.compaction)


def of_invocation(events: Sequence[Event], invocation_id: str) -> list[Event]:
    """Return an invocation's own events, and the whole exchanges of others that it answers.

    A confirmation or a long-running result may answer a call of an earlier turn: that call, its
    other answers and the message that led to it are pinned. Compaction records are never among
    these: whoever can write an event can write one (invariant 2).

    Args:
        events: All events of the session, oldest first.
        invocation_id: The running invocation.
    """
    own = {index for index, e in enumerate(events) if e.invocation_id == invocation_id}
    owners = _owners(events)
    answered = {owners[key] for key in owners if key[0] in own}
    answered -= {None}
    pinned: set[int] = set()
    for index in answered:
        if index is None or index in own:
            continue
        pinned.add(index)
        pinned |= {at for (at, _), owner in owners.items() if owner == index}
        asked = _asked(events, index)
        if asked is not None:
            pinned.add(asked)
    return [e for i, e in enumerate(events) if i in own | pinned and not is_compaction(e)]


def mended(events: Sequence[Event], author: str) -> list[Event]:
    """Return the events with each of an agent's calls followed by exactly its answers.

    An answer without its call leaves. A call of `author` without an answer leaves with all that
    its event holds; one that is pending by design stays, with a word that it is pending where
    others beside it are answered. Of two answers to one call the later stays.

    Args:
        events: Events of one agent's turn, oldest first.
        author: The agent; calls of others are not judged, for they are shown to it as text.

    Returns:
        The same event objects wherever nothing was wrong with them.
    """
    owners = _owners(events)
    latest = _latest(events, owners)
    moved = _moved(events, owners, latest)
    # ADK itself lets nothing stand between the newest answer and its call, so that one stays last.
    last = max((c for c in moved if _newest(latest[c]) == len(events) - 1), default=None)
    result: list[Event] = []
    for index, event in enumerate(events):
        if event.get_function_responses() and not event.get_function_calls():
            if _in_place(event, index, owners, latest, moved):
                result.append(event)
            continue
        if event.author == author and not _complete(event, latest.get(index, {})):
            logger.warning("event=call_without_answer dropped=1")
            latest.pop(index, None)
            continue
        result.append(event)
        if index in moved and index != last:
            result.append(_answers_of(events, event, latest[index]))
    if last is not None and last in latest:
        result.append(_answers_of(events, events[last], latest[last]))
    return result


def _latest(events: Sequence[Event], owners: Owners) -> Latest:
    """Return each call event's answers, the newest of each call; orphans are none of them."""
    latest: Latest = {}
    orphans = 0
    for index, event in enumerate(events):
        for part in _parts(event):
            if part.function_response is None:
                continue
            key = call_key(part.function_response)
            owner = owners.get((index, key))
            if owner is None:
                orphans += 1
            else:
                latest.setdefault(owner, {})[key] = (index, part)
    if orphans:
        logger.warning("event=answers_without_call dropped=%d", orphans)
    return latest


def _newest(answers: Answers) -> int:
    return max(index for index, _ in answers.values())


def _owners(events: Sequence[Event]) -> Owners:
    """(event, answer) -> the newest call before it with the same key; None for an orphan."""
    newest: dict[Key, int] = {}
    owners: Owners = {}
    for index, event in enumerate(events):
        for response in event.get_function_responses():
            key = call_key(response)
            owners[index, key] = newest.get(key)
        for call in event.get_function_calls():
            newest[call_key(call)] = index
    return owners


def _asked(events: Sequence[Event], call: int) -> int | None:
    """Return the index of the message that led to a call."""
    invocation = events[call].invocation_id
    for index in range(call, -1, -1):
        event = events[index]
        if (
            event.invocation_id == invocation
            and event.author == "user"
            and event.content is not None
            and not event.get_function_responses()
        ):
            return index
    return None


def _moved(
    events: Sequence[Event],
    owners: Owners,
    latest: Latest,
) -> set[int]:
    """Return the call events whose answers are not exactly one event of their own."""
    moved: set[int] = set()
    for call in latest:
        calls = events[call].get_function_calls()
        first, *more = sorted({at for (at, _), owner in owners.items() if owner == call})
        responses = events[first].get_function_responses()
        alone = all(owners.get((first, call_key(r))) == call for r in responses)
        each = Counter(map(call_key, responses)) == Counter(map(call_key, calls))
        if more or not alone or not each:
            moved.add(call)
    return moved


def _in_place(
    event: Event,
    index: int,
    owners: Owners,
    latest: Latest,
    moved: set[int],
) -> bool:
    """Tell whether an answering event is right as it is; else its answers go to their calls."""
    answered = {owners.get((index, call_key(r))) for r in event.get_function_responses()}
    return all(call is not None and call not in moved and call in latest for call in answered)


def _complete(event: Event, answers: Answers) -> bool:
    pending = event.long_running_tool_ids or set()
    return all(
        call_key(call) in answers or (call.id is not None and call.id in pending)
        for call in event.get_function_calls()
    )


def _answers_of(events: Sequence[Event], call: Event, answers: Answers) -> Event:
    """Return one event with the answers to a call event, in the order of its calls."""
    parts: list[types.Part] = []
    for asked in call.get_function_calls():
        key = call_key(asked)
        if key in answers:
            parts.append(answers[key][1])
        else:
            pending = types.FunctionResponse(id=asked.id, name=asked.name, response=PENDING)
            parts.append(types.Part(function_response=pending))
    content = types.Content(role="user", parts=parts)
    return events[_newest(answers)].model_copy(update={"content": content})


def _parts(event: Event) -> Iterable[types.Part]:
    return (event.content.parts if event.content is not None else None) or ()
