"""The short memory of one conversation: a few projections and a ledger of what came before."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from callbacks.context.errors import InvalidSetting, SchemaChanged, UnsupportedContext
from callbacks.context.ledger import Ledger
from callbacks.context.projection import Projection
from callbacks.context.schema import ContextSchema

FORMAT = 1
"""Version of the JSON form."""


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """What a model may see of earlier exchanges.

    Attributes:
        projections: The newest exchanges, oldest first.
        ledger: What older ones left.
    """

    projections: tuple[Projection, ...] = ()
    ledger: Ledger = field(default_factory=Ledger)

    def __post_init__(self) -> None:
        if type(self.projections) is not tuple:
            object.__setattr__(self, "projections", tuple(self.projections))

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return not self.projections and self.ledger.is_empty

    def append(
        self, projection: Projection, schema: ContextSchema, max_turns: int = 2
    ) -> "ContextWindow":
        """Return the window with one more exchange, the oldest ones over the limit in the ledger.

        Args:
            projection: What the exchange left.
            schema: The schema the window follows.
            max_turns: How many projections stay whole; 0 keeps none.

        Raises:
            UnsupportedContext: The projection is outside the schema (invariant 5).
            InvalidSetting: ``max_turns`` is no whole number of at least zero.
        """
        schema.check(projection)
        return ContextWindow((*self.projections, projection), self.ledger).keep(max_turns, schema)

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
        return ContextWindow(self.projections[over:], ledger)

    def trim_oldest(self, schema: ContextSchema) -> "ContextWindow | None":
        """Return the next smaller window, or None where nothing is left to give up.

        The oldest projection moves into the ledger; when none is left, the ledger goes.

        Raises:
            UnsupportedContext: The projection that moves is outside the schema.
        """
        if self.projections:
            return self.keep(len(self.projections) - 1, schema)
        return None if self.ledger.is_empty else ContextWindow()

    def check(self, schema: ContextSchema) -> None:
        """Refuse a window the schema does not admit.

        Raises:
            UnsupportedContext: A topic, slot or value is outside the schema (invariant 5).
        """
        for projection in self.projections:
            schema.check(projection)
        self.ledger.check(schema)

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
            "turns": [
                {"topic": projection.topic, "slots": dict(projection.slots)}
                for projection in self.projections
            ],
            "ledger": {"goal": self.ledger.goal, "slots": dict(self.ledger.slots)},
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
        fields = _fields(content, "v", "schema", "turns", "ledger")
        if type(fields["v"]) is not int or fields["v"] != FORMAT:
            raise SchemaChanged("The context was written in another form.")
        if fields["schema"] != schema.fingerprint:
            raise SchemaChanged
        turns, ledger = fields["turns"], _fields(fields["ledger"], "goal", "slots")
        if not isinstance(turns, list):
            raise UnsupportedContext("The stored context is not readable.")
        window = cls(
            tuple(_projection(_fields(turn, "topic", "slots")) for turn in turns),
            Ledger(_goal(ledger["goal"]), _slots(ledger["slots"])),
        )
        window.check(schema)
        return window


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    # json keeps the last of two equal names; two readers could then see two windows.
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("A name stands twice.")
    return fields


def _fields(content: object, *names: str) -> Mapping[str, object]:
    if not isinstance(content, dict) or set(content) != set(names):
        raise UnsupportedContext("The stored context is not readable.")
    return content


def _projection(fields: Mapping[str, object]) -> Projection:
    topic = fields["topic"]
    if not isinstance(topic, str):
        raise UnsupportedContext("The stored context is not readable.")
    return Projection(topic, _slots(fields["slots"]))


def _goal(content: object) -> str | None:
    if content is not None and not isinstance(content, str):
        raise UnsupportedContext("The stored context is not readable.")
    return content


def _slots(content: object) -> Mapping[str, str]:
    if not isinstance(content, dict):
        raise UnsupportedContext("The stored context is not readable.")
    return content
