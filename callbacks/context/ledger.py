"""The structured summary of what has left the window: a goal and the newest value of each slot."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from callbacks.context.errors import UnsupportedContext
from callbacks.context.projection import Projection
from callbacks.context.schema import ContextSchema
from callbacks.context.values import Values

MAX_AGE = 64
"""A value that nobody came back to for so many exchanges is dropped."""

MAX_TOPICS = 12
"""So many topics keep values of their own; the one left longest ago goes first."""


class _Fact(NamedTuple):
    value: str
    source: str
    changed: bool
    age: int


_Facts = dict[str, _Fact]


@dataclass(frozen=True, slots=True)
class Ledger:
    """What projections leave when they move out of the window. No model is involved.

    It has a line a topic, the newest last. A slot with topics of its own has a value in each of
    their lines; a shared one has its one value in the newest line. It cannot outgrow its schema:
    a bounded number of topics, and one bounded value a slot in each (invariant 15).

    Attributes:
        lines: One projection a topic, newest last; the last one's topic is the goal. The first
            may have no topic: what was said before there was any.
        ages: For each line, how many exchanges ago each value was last set. No part of what a
            model reads; ledgers that differ in it alone are equal.
    """

    lines: tuple[Projection, ...] = ()
    ages: tuple[Mapping[str, int], ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", tuple(self.lines))
        if not self.ages:
            object.__setattr__(self, "ages", tuple({} for _ in self.lines))

    @property
    def goal(self) -> str | None:
        """The last topic that sticks, if any."""
        return (self.lines[-1].topic or None) if self.lines else None

    @property
    def slots(self) -> Mapping[str, str]:
        """The newest value of each slot, whatever its topic."""
        newest: dict[str, str] = {}
        for line in self.lines:
            newest.update(line.slots)
        return Values(newest)

    @property
    def is_empty(self) -> bool:
        """Whether the ledger says nothing."""
        return not self.lines

    def line(self, topic: str) -> Projection | None:
        """Return a topic's own line, or None."""
        return next((line for line in self.lines if line.topic == topic), None)

    def absorb(self, projection: Projection, schema: ContextSchema) -> "Ledger":
        """Return the ledger with a newer projection in it.

        A topic that does not stick never replaces the goal, and one left open goes on with it;
        slots count all the same. Shared values move to the newest line, and so does what was said
        about a topic before it was the topic.

        Raises:
            UnsupportedContext: The projection is outside the schema.
        """
        schema.check(projection)
        topic = projection.topic if schema.is_sticky(projection.topic) else self.goal or ""
        lines = self._facts(older=1)
        target = lines.pop(topic, {})
        for other, facts in lines.items():
            for name in [n for n in facts if _moves(schema, n, other, topic)]:
                target.setdefault(name, facts.pop(name))
        for name, value in projection.slots.items():
            home = target
            scope = schema.slots[name].topics
            if scope and topic not in scope:
                # Said in passing about another topic: it belongs there, if there is such a line.
                home = lines.get(_home(lines, scope), target)
            old = home.get(name)
            replaced = old is not None and (old.changed or old.value != value)
            home[name] = _Fact(
                value,
                projection.sources.get(name, "tool"),
                replaced or name in projection.changed,
                0,
            )
        lines[topic] = target
        for facts in lines.values():
            for name in [n for n, fact in facts.items() if fact.age > MAX_AGE]:
                del facts[name]
        return _ledger(lines, topic)

    def without(self, projections: Iterable[Projection], schema: ContextSchema) -> "Ledger":
        """Return the ledger without what newer projections say, so that nothing is said twice.

        Args:
            projections: The projections that stand below the ledger, oldest first.
            schema: The schema of both.
        """
        lines = self._facts()
        running = self.goal or ""
        said = False
        for projection in projections:
            if schema.is_sticky(projection.topic):
                running = projection.topic
            for name in projection.slots:
                scope = schema.slots[name].topics
                # The line it will move to, and every line that only keeps it for want of one.
                home = running if running in scope else _home(lines, scope)
                for topic, facts in lines.items():
                    if topic == home or topic not in scope:
                        said = facts.pop(name, None) is not None or said
        return _ledger(lines, self.goal or "") if said else self

    def check(self, schema: ContextSchema) -> None:
        """Refuse a ledger that no projections of the schema could have left.

        Raises:
            UnsupportedContext: A topic, a slot or a value is outside the schema.
        """
        topics = [line.topic for line in self.lines]
        if len(set(topics)) != len(topics) or "" in topics[1:] or len(topics) > MAX_TOPICS:
            raise UnsupportedContext("The ledger's topics are not in order.")
        for line in self.lines:
            if line.topic and not schema.is_sticky(line.topic):
                raise UnsupportedContext("A topic that does not stick is no goal.")
            if line.is_empty:
                raise UnsupportedContext("A line of the ledger is empty.")
            schema.check(line)

    def _facts(self, older: int = 0) -> dict[str, _Facts]:
        return {
            line.topic: {
                name: _Fact(
                    value,
                    line.sources.get(name, "tool"),
                    name in line.changed,
                    ages.get(name, 0) + older,
                )
                for name, value in line.slots.items()
            }
            for line, ages in zip(self.lines, self.ages, strict=True)
        }


def _home(lines: Iterable[str], scope: tuple[str, ...]) -> str:
    return next((topic for topic in reversed(list(lines)) if topic in scope), "")


def _moves(schema: ContextSchema, name: str, line: str, topic: str) -> bool:
    slot = schema.slots[name]
    return not slot.topics or (topic in slot.topics and line not in slot.topics)


def _ledger(lines: dict[str, _Facts], goal: str) -> Ledger:
    kept = [(topic, facts) for topic, facts in lines.items() if facts or (topic and topic == goal)]
    kept = kept[-MAX_TOPICS:]
    return Ledger(
        tuple(
            Projection(
                topic,
                {name: fact.value for name, fact in facts.items()},
                frozenset(name for name, fact in facts.items() if fact.changed),
                {name: fact.source for name, fact in facts.items()},
            )
            for topic, facts in kept
        ),
        tuple({name: fact.age for name, fact in facts.items()} for _, facts in kept),
    )
