"""Telling the past of a conversation from the turn that is running.

Contents carry no invocation id, and comparing user texts is wrong (people repeat themselves). So
the contents are built again, by ADK's own function, once from all events and once from this
turn's: the first are found in the request as an ordered subsequence, and of those only the second
stay. Whatever else stands in the request (static instructions, per-turn context) stays too, all as
the same objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_

from google.adk.agents.invocation_context import InvocationContext
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from callbacks.adk.exchanges import mended, of_invocation
from callbacks.adk.internals import contents_of
from callbacks.context.errors import ContextError
from callbacks.counting.request import CountRequest


class HistoryNotAligned(ContextError):
    """The past contents that ADK would build were not found in the request."""

    error_code = "HISTORY_NOT_ALIGNED"
    sentence = "The past of this conversation could not be told from the present."


def own_contents(
    context: InvocationContext, contents: Sequence[types.Content], *, stateful: bool = False
) -> list[types.Content]:
    """Return a request's contents without what ADK made of earlier invocations.

    What ADK would build of this turn's events alone, its exchanges mended, and whatever stands in
    no event (static instructions, per-turn context). What was right stays as the same objects.

    Args:
        context: The running invocation.
        contents: The request's contents.
        stateful: Whether the request goes on from an earlier one (`previous_interaction_id`).

    Raises:
        HistoryNotAligned: What ADK built is not where it would have put it.
    """
    events = context.session.events
    present = of_invocation(events, context.invocation_id)
    whole = mended(present, context.agent.name if context.agent is not None else "")
    sees_no_past = getattr(context.agent, "include_contents", "default") == "none"
    if len(whole) == len(events) and all(map(is_, whole, events)):
        kept = list(contents)
    else:
        # A stateful connection leaves the past to the server; ADK then builds this turn alone.
        built = contents_of(context, events, current_turn=sees_no_past or stateful)
        places = _aligned(contents, built)
        own = contents_of(context, whole)
        kept = _only(contents, places, own, complete=not sees_no_past)
    return _message_last(context, kept) if sees_no_past else kept


def _aligned(contents: Sequence[types.Content], built: Sequence[types.Content]) -> list[int]:
    places: list[int] = []
    for index, content in enumerate(contents):
        if len(places) < len(built) and content == built[len(places)]:
            places.append(index)
    if len(places) < len(built):
        raise HistoryNotAligned(numbers={"expected": len(built), "found": len(places)})
    return places


def _only(
    contents: Sequence[types.Content],
    places: Sequence[int],
    own: Sequence[types.Content],
    *,
    complete: bool,
) -> list[types.Content]:
    """Return of the contents at `places` only those in `own`, and all contents elsewhere.

    Args:
        contents: The request's contents.
        places: Where contents built of events stand.
        own: What ADK builds of this turn's events.
        complete: Whether all of `own` must be there; ADK hides part of a turn from an agent that
            is to see no past.
    """
    built = set(places)
    others = [index for index in range(len(contents)) if index not in built]
    # From the end: this turn's contents are the newest, and people repeat themselves.
    kept: set[int] = set()
    at = len(places)
    for content in reversed(own):
        found = next((i for i in range(at - 1, -1, -1) if contents[places[i]] == content), None)
        if found is not None:
            kept.add(places[found])
            at = found
        elif complete:
            # A compaction record hid it, or it is mended: this turn is told as it happened.
            return [*(contents[index] for index in others), *own]
    return [contents[index] for index in sorted({*kept, *others})]


def _message_last(context: InvocationContext, kept: list[types.Content]) -> list[types.Content]:
    """Put the person's message behind what other agents said before this one took over.

    For an agent that is to see no past, ADK may begin the turn at another agent's words, or put
    the notes of a transfer behind the message: it must be there, and be the newest word.
    """
    message = context.user_content
    if message is None or _answers(message):
        return kept
    known = next((c for c in kept if c.role == "user" and c.parts == message.parts), None)
    rest = [content for content in kept if content is not known]
    index = next((i for i, c in enumerate(rest) if c.role != "user" or _answers(c)), len(rest))
    return [*rest[:index], known or message, *rest[index:]]


def _answers(content: types.Content) -> bool:
    return any(part.function_response is not None for part in content.parts or [])


def insertion_index(
    contents: Sequence[types.Content], user_content: types.Content | None, prefix: int
) -> int:
    """Return where the history block goes: right before this turn's own user message.

    Everything before it is the stable prefix (invariant 14). Where the turn has no message of
    its own (a resumed call), the block stands first after the static prefix: never between a
    call and its answer.
    """
    if user_content is not None and not _answers(user_content):
        for index, content in enumerate(contents):
            if content.role == "user" and content.parts == user_content.parts:
                return index
    return min(prefix, len(contents))


def with_block(
    contents: Sequence[types.Content], index: int, block: str, acknowledgement: str
) -> list[types.Content]:
    """Return new contents with the history block at `index`; an empty block adds nothing.

    The block is a user content followed by a short model one, so that roles alternate; the second
    is left out where a model content follows anyway (a resumed call).
    """
    if not block:
        return list(contents)
    pair = [types.Content(role="user", parts=[types.Part(text=block)])]
    if index >= len(contents) or contents[index].role != "model":
        pair.append(types.Content(role="model", parts=[types.Part(text=acknowledgement)]))
    return [*contents[:index], *pair, *contents[index:]]


def count_request(request: LlmRequest) -> CountRequest:
    """Return the request in the form that counters measure."""
    return CountRequest(
        model=request.model or "", config=request.config, contents=tuple(request.contents)
    )
