"""Records in a session that hide or replace others: believed only where this app writes them.

ADK honours a compaction record whether or not compaction is on, and a rewind wherever it stands.
So whoever can write an event (a tool's code, a route that takes events) could erase what was said
and put words into the model's mouth (A24).
"""

from __future__ import annotations

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.events.event_actions import EventCompaction

from callbacks.adk.exchanges import is_compaction


def distrust_stored(context: InvocationContext) -> None:
    """Take records that this app cannot have written out of the loaded session.

    With compaction off, all of them; with compaction on, those that are no `EventCompaction`, on
    which ADK itself would stumble. What is stored stays as it is; only this run's copy changes.
    """
    on = context.events_compaction_config is not None
    events = context.session.events
    if not any(is_compaction(event) for event in events):
        return
    believed: list[Event] = []
    for event in events:
        if not is_compaction(event) or (
            on and isinstance(event.actions.compaction, EventCompaction)
        ):
            believed.append(event)
        elif event.content is not None:
            believed.append(_without(event))
    events[:] = believed


def distrusted(event: Event) -> Event | None:
    """Return a running turn's event without such records; None where it has none.

    ADK's own records never come this way: its compactor and its rewind write to the session.
    """
    actions = event.actions
    if not is_compaction(event) and not actions.rewind_before_invocation_id:
        return None
    return _without(event)


def _without(event: Event) -> Event:
    nothing = {"compaction": None, "rewind_before_invocation_id": None}
    return event.model_copy(update={"actions": event.actions.model_copy(update=nothing)})
