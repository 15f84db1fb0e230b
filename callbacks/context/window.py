"""The short memory of one conversation: a few projections and a ledger of what came before."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from callbacks.context.errors import InvalidSetting, SchemaChanged, UnsupportedContext
from callbacks.context.ledger import Ledger
from callbacks.context.listing import MAX_ENTRIES, MAX_ID, MAX_TITLE, Entry
from callbacks.context.projection import Projection
from callbacks.context.schema import ContextSchema
from callbacks.context.slot import grounded_text

FORMAT = 2
"""Version of the JSON form."""

_UNREADABLE = "The stored context is not readable."


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """What a model may see of earlier exchanges.

    Attributes:
        projections: The newest exchanges, oldest first.
        ledger: What older ones left and newer ones do not say.
        listed: The last list that a tool gave, while its topic is the goal.
    """

    projections: tuple[Projection, ...] = ()
    ledger: Ledger = field(default_factory=Ledger)
    listed: tuple[Entry, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "projections", tuple(self.projections))
        object.__setattr__(self, "listed", tuple(Entry(*entry) for entry in self.listed))

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return not self.projections and self.ledger.is_empty and not self.listed

    def goal(self, schema: ContextSchema) -> str:
        """Return the running goal: the newest topic that sticks; empty for none."""
        newest = (p.topic for p in reversed(self.projections) if schema.is_sticky(p.topic))
        return next(newest, self.ledger.goal or "")

    def append(
        self,
        projection: Projection,
        schema: ContextSchema,
        max_turns: int = 2,
        listed: Sequence[Entry] = (),
    ) -> "ContextWindow":
        """Return the window with one more exchange, the oldest ones over the limit in the ledger.

        A projection without a topic gets the one its slots can only belong to, if that is not the
        goal anyway. Values that take the place of others are marked as changed.

        Args:
            projection: What the exchange left.
            schema: The schema the window follows.
            max_turns: How many projections stay whole; 0 keeps none.
            listed: The list that a tool gave in it; none keeps the last one, as long as the goal
                stays the same.

        Raises:
            UnsupportedContext: The projection is outside the schema (invariant 5).
            InvalidSetting: ``max_turns`` is no whole number of at least zero.
        """
        schema.check(projection)
        goal = self.goal(schema)
        topic = projection.topic or schema.topic_for(projection.slots, goal)
        past = self.keep(0, schema).ledger
        after = past.absorb(replace(projection, topic=topic), schema)
        newest = {name: line for line in after.lines for name in line.slots}
        now = after.line(topic if schema.is_sticky(topic) else after.goal or "")
        changed = {
            name
            for name in projection.slots
            if name in (now if now is not None and name in now.slots else newest[name]).changed
        }
        appended = replace(projection, topic=topic, changed=frozenset(changed))
        moved_on = schema.is_sticky(topic) and topic != goal
        kept = () if moved_on else self.listed
        window = ContextWindow(
            (*self.projections, appended), self.ledger, tuple(listed)[:MAX_ENTRIES] or kept
        )
        return window.keep(max_turns, schema)

    def keep(self, max_turns: int, schema: ContextSchema) -> "ContextWindow":
        """Return the window with the newest ``max_turns`` projections, the others in the ledger.

        Raises:
            UnsupportedContext: A projection that moves is outside the schema.
            InvalidSetting: ``max_turns`` is no whole number of at least zero.
        """
        if type(max_turns) is not int or max_turns < 0:
            raise InvalidSetting("The number of turns to keep is a whole number of at least zero.")
        # Counted from the front: [-max_turns:] would keep all of them when max_turns is 0.
        over = max(0, len(self.projections) - max_turns)
        ledger = self.ledger
        for projection in self.projections[:over]:
            ledger = ledger.absorb(projection, schema)
        kept = self.projections[over:]
        return ContextWindow(kept, ledger.without(kept, schema), self.listed)

    def trim_oldest(self, schema: ContextSchema) -> "ContextWindow | None":
        """Return the next smaller window, or None where nothing is left to give up.

        The oldest projection moves into the ledger; when none is left, the list goes, and then the
        ledger.

        Raises:
            UnsupportedContext: The projection that moves is outside the schema.
        """
        if self.projections:
            return self.keep(len(self.projections) - 1, schema)
        if self.listed and not self.ledger.is_empty:
            return ContextWindow((), self.ledger)
        return None if self.is_empty else ContextWindow()

    def check(self, schema: ContextSchema) -> None:
        """Refuse a window the schema does not admit.

        Raises:
            UnsupportedContext: A topic, slot or value is outside the schema (invariant 5).
        """
        for projection in self.projections:
            schema.check(projection)
        self.ledger.check(schema)
        if len(self.listed) > MAX_ENTRIES or (self.listed and not schema.listings):
            raise UnsupportedContext("The list of the context is not one of its schema.")
        for entry in self.listed:
            if len(entry.id) > MAX_ID or len(entry.name) > MAX_TITLE:
                raise UnsupportedContext("The list of the context is not one of its schema.")
            if (entry.id and grounded_text(entry.id) != entry.id) or (
                grounded_text(entry.name) != entry.name
            ):
                raise UnsupportedContext("A value of the context is not canonical.")

    def to_json(self, schema: ContextSchema) -> str:
        """Return the window as compact JSON that carries the schema's fingerprint.

        Equal windows give equal text (invariant 12).

        Raises:
            UnsupportedContext: The window is outside the schema.
        """
        self.check(schema)
        content = {
            "v": FORMAT,
            "schema": schema.fingerprint,
            "turns": [_stored(projection, {}) for projection in self.projections],
            "ledger": [
                _stored(line, ages)
                for line, ages in zip(self.ledger.lines, self.ledger.ages, strict=True)
            ],
            "listed": [list(entry) for entry in self.listed],
        }
        return json.dumps(content, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str, schema: ContextSchema) -> "ContextWindow":
        """Read a window back, trusting nothing.

        Raises:
            SchemaChanged: It was written under another schema.
            UnsupportedContext: It is no window, has unknown or missing fields, or holds something
                outside the schema.
        """
        try:
            content = json.loads(text, object_pairs_hook=_without_repeats)
        except (TypeError, ValueError, RecursionError):
            content = None
        fields = _fields(content, "v", "schema", "turns", "ledger", "listed")
        if type(fields["v"]) is not int or fields["v"] != FORMAT:
            raise SchemaChanged("The context was written in another form.")
        if fields["schema"] != schema.fingerprint:
            raise SchemaChanged
        lines = [_line(line) for line in _several(fields["ledger"])]
        window = cls(
            tuple(_line(turn)[0] for turn in _several(fields["turns"])),
            Ledger(tuple(line for line, _ in lines), tuple(ages for _, ages in lines)),
            tuple(_entry(entry) for entry in _several(fields["listed"])),
        )
        window.check(schema)
        return window


def _stored(projection: Projection, ages: Mapping[str, int]) -> dict[str, object]:
    stored: dict[str, object] = {"topic": projection.topic, "slots": dict(projection.slots)}
    if projection.changed:
        stored["changed"] = sorted(projection.changed)
    # A tool is where most values come from, and this exchange when most were set.
    sources = {name: source for name, source in projection.sources.items() if source != "tool"}
    if sources:
        stored["sources"] = sources
    older = {name: age for name, age in sorted(ages.items()) if age}
    if older:
        stored["ages"] = older
    return stored


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    # json keeps the last of two equal names; two readers could then see two windows.
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("A name stands twice.")
    return fields


def _fields(content: object, *names: str, optional: tuple[str, ...] = ()) -> Mapping[str, object]:
    if not isinstance(content, dict) or set(content) - set(optional) != set(names):
        raise UnsupportedContext(_UNREADABLE)
    return content


def _line(content: object) -> tuple[Projection, Mapping[str, int]]:
    fields = _fields(content, "topic", "slots", optional=("changed", "sources", "ages"))
    topic, slots = fields["topic"], _mapping(fields["slots"])
    changed, ages = _several(fields.get("changed", [])), _mapping(fields.get("ages", {}))
    if not isinstance(topic, str) or not all(isinstance(name, str) for name in changed):
        raise UnsupportedContext(_UNREADABLE)
    if not set(ages) <= set(slots) or not all(type(a) is int and a >= 0 for a in ages.values()):
        raise UnsupportedContext(_UNREADABLE)
    sources = {**dict.fromkeys(slots, "tool"), **_mapping(fields.get("sources", {}))}
    return Projection(topic, slots, frozenset(changed), sources), ages


def _entry(content: object) -> Entry:
    entry = _several(content)
    if len(entry) != len(Entry._fields) or not all(isinstance(text, str) for text in entry):
        raise UnsupportedContext(_UNREADABLE)
    return Entry(*entry)


def _several(content: object) -> list[Any]:
    if not isinstance(content, list):
        raise UnsupportedContext(_UNREADABLE)
    return content


def _mapping(content: object) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise UnsupportedContext(_UNREADABLE)
    return content
