"""Telling the past of a conversation from the turn that is running.

Contents carry no invocation id, and comparing user texts is wrong (people repeat themselves). So
the past contents are built again, by ADK's own function, from the events of other invocations,
and are found in the request as an ordered subsequence. Only those leave; whatever else stands in
the request (static instructions, per-turn context, pinned calls) stays, as the same objects.
"""

from __future__ import annotations

from collections.abc import Sequence

from google.adk.agents.invocation_context import InvocationContext
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from callbacks.adk.internals import contents_of
from callbacks.context.errors import ContextError
from callbacks.counting.request import CountRequest


class HistoryNotAligned(ContextError):
    """The past contents that ADK would build were not found in the request."""

    error_code = "HISTORY_NOT_ALIGNED"
    sentence = "The past of this conversation could not be told from the present."


def own_contents(
    context: InvocationContext, contents: Sequence[types.Content]
) -> list[types.Content]:
    """Return a request's contents without what ADK made of earlier invocations.

    Args:
        context: The running invocation.
        contents: The request's contents.

    Raises:
        HistoryNotAligned: The past is not where ADK would have put it.
    """
    if getattr(context.agent, "include_contents", "default") == "none":
        return list(contents)
    events = context.session.events
    past = [event for event in events if event.invocation_id != context.invocation_id]
    if not past:
        return list(contents)
    kept = without(contents, contents_of(context, past))
    if any(event.actions.compaction for event in events):
        return _with_all_of_this_turn(context, kept)
    return kept


def _with_all_of_this_turn(
    context: InvocationContext, kept: list[types.Content]
) -> list[types.Content]:
    """Bring back what a compaction record hid of the running turn.

    Whoever can write an event can write such a record, also one that reaches into the future, so
    none is believed about the present (invariant 2).
    """
    present = [
        event
        for event in context.session.events
        if event.invocation_id == context.invocation_id and not event.actions.compaction
    ]
    current = contents_of(context, present)
    found = 0
    for content in kept:
        if found < len(current) and content == current[found]:
            found += 1
    if found == len(current):
        return kept
    return [*(content for content in kept if content not in current), *current]


def without(
    contents: Sequence[types.Content], past: Sequence[types.Content]
) -> list[types.Content]:
    """Return the contents without the past ones; everything kept is the same object.

    Args:
        contents: The request's contents.
        past: The contents to take out, in order.

    Raises:
        HistoryNotAligned: `past` is not an ordered subsequence of `contents`.
    """
    kept: list[types.Content] = []
    found = 0
    for content in contents:
        if found < len(past) and content == past[found]:
            found += 1
        else:
            kept.append(content)
    if found < len(past):
        raise HistoryNotAligned(numbers={"expected": len(past), "found": found})
    return kept


def insertion_index(
    contents: Sequence[types.Content], user_content: types.Content | None, prefix: int
) -> int:
    """Return where the history block goes: right before this turn's own user message.

    Everything before it is the stable prefix (invariant 14). Where the turn has no message of
    its own (a resumed call), the block stands first after the static prefix.
    """
    if user_content is not None:
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
