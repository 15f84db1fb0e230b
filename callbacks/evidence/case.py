"""A case as typed facts: each change is an event, the state is their replay; chat has no part."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from callbacks.evidence.errors import CaseMismatch
from callbacks.evidence.frozen import Frozen, Id
from callbacks.evidence.money import Money
from callbacks.evidence.trust import Trust, Use, allows
from callbacks.evidence.value import Moment, Quantity, Word

Typed = Annotated[Money | Quantity | Word | Moment, Field(discriminator="kind")]
"""What a field may hold. No free text: a sentence of somebody's cannot live on in a case."""


class Confidence(StrEnum):
    """How sure a fact is."""

    STATED = "stated"
    CONFIRMED = "confirmed"
    VERIFIED = "verified"


class CaseField(Frozen):
    """A field of a case.

    Attributes:
        name: Its name.
        kind: Which kind of value it holds.
        words: Words it may hold, for fields of kind ``word``.
        verifiers: Who may verify it: names of roles or systems.
    """

    name: Id
    kind: Literal["money", "quantity", "word", "moment"]
    words: tuple[Id, ...] = ()
    verifiers: tuple[Id, ...] = ()


class CaseEvent(Frozen):
    """One change of a case.

    Attributes:
        seq: Its number, from 1 without gaps.
        action: What happens: a value is set, corrected or withdrawn, or confirmed as it stands.
        field: Which field.
        value: The new value; None for ``withdraw`` and ``confirm``.
        actor: Who did it.
        role: As whom: a role or system named among the verifiers, ``person`` or ``model``.
        trust: As which kind of input it came.
        at_ms: When, in milliseconds UTC.
        source: From which document or message.
        confidence: How sure it is.
    """

    seq: Annotated[int, Field(ge=1)]
    action: Literal["set", "correct", "withdraw", "confirm"]
    field: Id
    value: Typed | None = None
    actor: Id
    role: Id
    trust: Trust = Trust.STATED
    at_ms: int
    source: Id
    confidence: Confidence = Confidence.STATED


class CaseFact(Frozen):
    """A field's value as it stands, or as it stood.

    Attributes:
        field: Which field.
        value: Its value.
        revision: Counts the values the field has had.
        confidence: How sure it is.
        source: From which document or message.
        seq: The event that made it.
        superseded_by: The event that ended it; None for the present value.
    """

    field: Id
    value: Typed
    revision: int
    confidence: Confidence
    source: Id
    seq: int
    superseded_by: int | None = None


class CaseState(Frozen):
    """A case as it stands: its events and what they add up to.

    Attributes:
        fields: What the case may hold.
        events: Everything that happened, in order.
        facts: The present values by name, then the past ones by event.
    """

    schema_version: Literal[1] = 1
    fields: tuple[CaseField, ...]
    events: tuple[CaseEvent, ...] = ()
    facts: tuple[CaseFact, ...] = ()

    def apply(self, events: Iterable[CaseEvent]) -> "CaseState":
        """Return the case after more events.

        Raises:
            CaseMismatch: An event that may not be: out of order, of an unknown field or of
                another kind, from input that may not update a case, a model's change of a
                verified field, or a vague amount over an exact one.
        """
        added = list(self.events)
        for event in events:
            _admit(tuple(added), event, {one.name: one for one in self.fields})
            added.append(event)
        return CaseState(fields=self.fields, events=tuple(added), facts=_project(tuple(added)))

    def check(self) -> None:
        """Stop where the stored facts are not the replay of the events.

        Raises:
            CaseMismatch: They differ.
        """
        replayed = CaseState(fields=self.fields).apply(self.events)
        if replayed.facts != self.facts:
            raise CaseMismatch(numbers={"events": len(self.events)})

    def current(self) -> tuple[CaseFact, ...]:
        """Return the present facts, by name."""
        return tuple(fact for fact in self.facts if fact.superseded_by is None)

    def fact(self, field: str) -> CaseFact | None:
        """Return a field's present fact, or None."""
        return next((fact for fact in self.current() if fact.field == field), None)

    def known(self) -> frozenset[str]:
        """Return the fields whose value somebody entitled has confirmed or verified."""
        return frozenset(
            fact.field for fact in self.current() if fact.confidence is not Confidence.STATED
        )


def changed_fields(before: CaseState, after: CaseState) -> tuple[str, ...]:
    """Return the fields whose present value or confidence differs, sorted."""
    old = {fact.field: (fact.value, fact.confidence) for fact in before.current()}
    new = {fact.field: (fact.value, fact.confidence) for fact in after.current()}
    return tuple(sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name)))


def _project(events: tuple[CaseEvent, ...]) -> tuple[CaseFact, ...]:
    present: dict[str, CaseFact] = {}
    past: list[CaseFact] = []
    revisions: dict[str, int] = {}
    for event in events:
        old = present.pop(event.field, None)
        if old is not None:
            past.append(old.model_copy(update={"superseded_by": event.seq}))
        value = old.value if event.action == "confirm" and old else event.value
        if event.action == "withdraw" or value is None:
            continue
        revisions[event.field] = revisions.get(event.field, 0) + 1
        present[event.field] = CaseFact(
            field=event.field,
            value=value,
            revision=revisions[event.field],
            confidence=event.confidence,
            source=event.source,
            seq=event.seq,
        )
    return (*(present[name] for name in sorted(present)), *past)


def _admit(past: tuple[CaseEvent, ...], event: CaseEvent, fields: dict[str, CaseField]) -> None:
    field = fields.get(event.field)
    present = next(
        (
            fact
            for fact in _project(past)
            if fact.field == event.field and fact.superseded_by is None
        ),
        None,
    )
    problem = ""
    if event.seq != len(past) + 1:
        problem = "An event of a case is out of order."
    elif field is None:
        problem = "A case has no such field."
    elif not allows(event.trust, Use.STATE_UPDATE):
        problem = "Text nobody vouches for does not change a case."
    elif (event.value is None) != (event.action in {"withdraw", "confirm"}):
        problem = "An event sets a value, or confirms or withdraws the one there is."
    elif event.value is not None and event.value.kind != field.kind:
        problem = "A field of a case holds another kind of value."
    elif isinstance(event.value, Word) and event.value.word not in field.words:
        problem = "A field of a case does not know this word."
    elif (present is None) != (event.action == "set"):
        problem = "A value is set once; later it is corrected, confirmed or withdrawn."
    elif event.confidence is Confidence.VERIFIED and event.role not in field.verifiers:
        problem = "A fact is verified by those entitled to."
    elif event.role == "model" and event.confidence is not Confidence.STATED:
        problem = "A model confirms nothing."
    elif present is not None:
        problem = _change(present, event, field)
    if problem:
        raise CaseMismatch(problem, numbers={"seq": event.seq})


def _change(present: CaseFact, event: CaseEvent, field: CaseField) -> str:
    if present.confidence is Confidence.VERIFIED and event.role not in field.verifiers:
        return "A verified fact is changed by those who may verify it."
    if present.confidence is not Confidence.STATED and event.role == "model":
        return "A model does not change what people confirmed."
    if (
        isinstance(event.value, Money)
        and isinstance(present.value, Money)
        and present.value.exact
        and not event.value.exact
        and event.confidence is Confidence.STATED
    ):
        return "A vague amount does not replace an exact one until somebody confirms it."
    return ""
