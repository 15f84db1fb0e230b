"""The life of items as events, only ever added; when a source falls, what came of it falls."""

from collections.abc import Iterable
from enum import StrEnum

from callbacks.evidence.errors import EvidenceError
from callbacks.evidence.frozen import Frozen, Id


class Stage(StrEnum):
    """Where an item stands."""

    CANDIDATE = "candidate"
    ELIGIBLE = "eligible"
    SELECTED = "selected"
    DERIVED = "derived"
    PUBLISHED = "published"
    INVALIDATED = "invalidated"


_AFTER: dict[Stage | None, frozenset[Stage]] = {
    None: frozenset({Stage.CANDIDATE, Stage.DERIVED}),
    Stage.CANDIDATE: frozenset({Stage.ELIGIBLE, Stage.INVALIDATED}),
    Stage.ELIGIBLE: frozenset({Stage.SELECTED, Stage.INVALIDATED}),
    Stage.SELECTED: frozenset({Stage.PUBLISHED, Stage.INVALIDATED}),
    Stage.DERIVED: frozenset({Stage.SELECTED, Stage.PUBLISHED, Stage.INVALIDATED}),
    Stage.PUBLISHED: frozenset({Stage.INVALIDATED}),
    Stage.INVALIDATED: frozenset(),
}


class Event(Frozen):
    """One step of an item's life.

    Attributes:
        item: Id of the item.
        stage: The stage it enters.
        at_ms: When, in milliseconds UTC.
        reason: Why, in short snake_case words.
        inputs: What it was derived from; for DERIVED alone.
        cause: The item whose fall made this one fall; empty where it fell by itself.
    """

    item: Id
    stage: Stage
    at_ms: int
    reason: Id
    inputs: tuple[Id, ...] = ()
    cause: str = ""


class Lifecycle(Frozen):
    """Everything that happened to items, in order."""

    events: tuple[Event, ...] = ()

    def stages(self) -> dict[str, Stage]:
        """Return the stage of each item: the replay of the events."""
        return {event.item: event.stage for event in self.events}

    def inputs(self) -> dict[str, tuple[str, ...]]:
        """Return what each derived item was made from."""
        return {event.item: event.inputs for event in self.events if event.stage is Stage.DERIVED}

    def add(self, events: Iterable[Event]) -> "Lifecycle":
        """Return the life with more events.

        Raises:
            EvidenceError: A step that does not follow from the item's stage, or a derivation from
                nothing, from what is unknown or from what has fallen.
        """
        stages: dict[str, Stage] = self.stages()
        added = list(self.events)
        for event in events:
            if event.stage not in _AFTER[stages.get(event.item)]:
                raise EvidenceError("An item takes a step that its stage does not allow.")
            if (event.stage is Stage.DERIVED) != bool(event.inputs):
                raise EvidenceError("A derived item, and no other, names its inputs.")
            if any(stages.get(at, Stage.INVALIDATED) is Stage.INVALIDATED for at in event.inputs):
                raise EvidenceError("An item is derived from what is not or no longer there.")
            stages[event.item] = event.stage
            added.append(event)
        return Lifecycle(events=tuple(added))

    def invalidate(self, item: str, *, at_ms: int, reason: str) -> "Lifecycle":
        """Return the life after an item falls, and with it all that was derived from it.

        Args:
            item: Id of the item; one that is unknown or has fallen changes nothing.
            at_ms: When, in milliseconds UTC.
            reason: Why: ``withdrawn``, ``expired``, ``corrected``.
        """
        stages, inputs = self.stages(), self.inputs()
        falling, waiting = [], [(item, "")]
        seen: set[str] = set()
        while waiting:
            current, cause = waiting.pop(0)
            if current in seen or stages.get(current, Stage.INVALIDATED) is Stage.INVALIDATED:
                continue
            seen.add(current)
            falling.append(
                Event(
                    item=current,
                    stage=Stage.INVALIDATED,
                    at_ms=at_ms,
                    reason="input_invalidated" if cause else reason,
                    cause=cause,
                )
            )
            waiting.extend((made, current) for made in sorted(inputs) if current in inputs[made])
        return self.add(falling)

    def fallen(self) -> tuple[str, ...]:
        """Return the ids of what has fallen, sorted."""
        return tuple(
            sorted(item for item, stage in self.stages().items() if stage is Stage.INVALIDATED)
        )
