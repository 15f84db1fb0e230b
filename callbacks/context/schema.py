"""Which topics and slots a context may hold, and in which language the model reads them."""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Literal, Protocol, TypeVar

from callbacks.context.derive import derive
from callbacks.context.errors import InvalidSchema, UnsupportedContext
from callbacks.context.listing import Listing
from callbacks.context.nearest import nearest
from callbacks.context.projection import Projection, Source
from callbacks.context.slot import GroundedSlot, Slot
from callbacks.context.values import MAX_NAME, canonical, schema_text
from callbacks.context.wording import WORDINGS, Wording

Language = Literal["zh-Hant", "en"]
_Part = TypeVar("_Part")


class Filling(Protocol):
    """A preference, as far as a schema is concerned: tool name -> the argument it fills."""

    @property
    def fills(self) -> Mapping[str, str]:
        """Return the arguments."""
        ...


@dataclass(frozen=True)
class Topic:
    """Something an exchange can be about.

    Attributes:
        label: What people and the model read.
        sticky: Whether the topic may become the goal. One that does not stick, such as a question
            about the service itself, leaves the goal as it was.
    """

    label: str
    sticky: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", schema_text(self.label, MAX_NAME))
        if not isinstance(self.sticky, bool):
            raise InvalidSchema("Whether a topic sticks is true or false.")


@dataclass(frozen=True)
class ContextSchema:
    """The closed world of a context.

    Attributes:
        topics: Topics by name; at least one.
        slots: Slots by name.
        language: The language of the block and its rules, ``zh-Hant`` or ``en``.
        listings: Tool name -> where its result has a list that people may refer to by order.

    Raises:
        InvalidSchema: The parts contradict each other, in one sentence.
    """

    topics: Mapping[str, Topic]
    slots: Mapping[str, Slot] = field(default_factory=dict)
    language: Language = "en"
    listings: Mapping[str, Listing] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.language not in WORDINGS:
            raise InvalidSchema("The language of a schema is zh-Hant or en.")
        topics = _named(self.topics, lambda part: isinstance(part, Topic))
        slots = _named(self.slots, lambda part: isinstance(part, Slot))
        listings = _named(self.listings, lambda part: isinstance(part, Listing))
        if not topics:
            raise InvalidSchema("A schema needs at least one topic.")
        object.__setattr__(self, "topics", MappingProxyType(topics))
        object.__setattr__(self, "slots", MappingProxyType(slots))
        object.__setattr__(self, "listings", MappingProxyType(listings))
        for name, slot in slots.items():
            if unknown := [topic for topic in slot.topics if topic not in topics]:
                listed = ", ".join(f"{topic}{nearest(topic, topics)}" for topic in unknown)
                raise InvalidSchema(
                    "A slot names a topic that the schema does not have.",
                    numbers={"name": name, "topics": listed},
                )
        for tool, listing in listings.items():
            if listing.slot and not isinstance(slots.get(listing.slot), GroundedSlot):
                raise InvalidSchema(
                    "A listing sets a slot that is not grounded.", numbers={"name": tool}
                )
        # The block shows labels alone, so two equal labels could not be told apart again.
        _apart("Two topics have the same label.", [topic.label for topic in topics.values()])
        _apart("Two slots have the same label.", [s.label or name for name, s in slots.items()])

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(
        self,
    ) -> tuple[
        type["ContextSchema"],
        tuple[dict[str, Topic], dict[str, Slot], Language, dict[str, Listing]],
    ]:
        # The read-only mappings cannot be copied or pickled; agents that hold a schema are.
        parts = (dict(self.topics), dict(self.slots), self.language, dict(self.listings))
        return (ContextSchema, parts)

    @classmethod
    def from_tools(
        cls,
        agent: object,
        *,
        private: Collection[str] = (),
        public: Collection[str] = (),
        preferences: Iterable[Filling] = (),
        language: Language = "en",
        tell: Callable[[str], object] | None = print,
    ) -> "ContextSchema":
        """Return a first schema, read off an agent's tools, and say what was left out and why.

        Args:
            agent: The root agent; those below it are read too.
            private: Parameters that never become a slot, by their names.
            public: Parameters that sound private and are not.
            preferences: What may be filled from memory; such arguments never become a slot.
            language: The language of the block.
            tell: Gets the derivation as text; None for nobody.

        Raises:
            InvalidSchema: No tool could be read, or a name given is no parameter's.
        """
        filled = {pair for preference in preferences for pair in preference.fills.items()}
        derived = derive(agent, private=private, public=public, filled=filled)
        if tell is not None:
            tell(derived.text())
        topics = {name: Topic(label, sticky) for name, (label, sticky) in derived.topics.items()}
        return cls(topics, derived.slots, language)

    @cached_property
    def topics_by_label(self) -> Mapping[str, str]:
        """Topic names by label."""
        return MappingProxyType({topic.label: name for name, topic in self.topics.items()})

    @cached_property
    def slots_by_label(self) -> Mapping[str, str]:
        """Slot names by what the block shows: the label, or the name where there is none."""
        return MappingProxyType({slot.label or name: name for name, slot in self.slots.items()})

    @property
    def wording(self) -> Wording:
        """The fixed words of the block in the schema's language."""
        return WORDINGS[self.language]

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the schema's canonical JSON, in hexadecimal."""
        content: dict[str, object] = {
            "language": self.language,
            "topics": {
                name: {"label": topic.label, "sticky": topic.sticky}
                for name, topic in self.topics.items()
            },
            "slots": {name: slot.canonical_json() for name, slot in self.slots.items()},
        }
        if self.listings:
            content["listings"] = {
                tool: listing.canonical_json() for tool, listing in self.listings.items()
            }
        text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def is_sticky(self, topic: str) -> bool:
        """Say whether a topic may become the goal; none cannot.

        Raises:
            UnsupportedContext: The schema has no such topic.
        """
        return topic != "" and self._topic(topic).sticky

    def project(
        self,
        topic: str,
        slots: Mapping[str, object] | None = None,
        source: Source = "tool",
    ) -> Projection:
        """Return what an exchange leaves behind.

        Args:
            topic: Name of a topic; empty goes on with the running goal.
            slots: Values by slot name; None and blank text mean that nothing was said.
            source: Where the values come from.

        Raises:
            UnsupportedContext: The topic, a slot or a value is outside the schema (invariant 5).
        """
        if topic != "":
            self._topic(topic)
        admitted: dict[str, str] = {}
        for name, value in (slots or {}).items():
            slot = self.slots.get(name)
            if slot is None:
                raise UnsupportedContext("The schema has no such slot.")
            if value is None or (isinstance(value, str) and not canonical(value)):
                continue
            admitted[name] = slot.admit(value)
        return Projection(topic, admitted, sources=dict.fromkeys(admitted, source))

    def topic_for(self, names: Iterable[str], goal: str) -> str:
        """Return the topic of an exchange in which no tool said one.

        It is the running goal's (empty) wherever that has all the slots, or where none of them
        tells topics apart; the one topic that has them all; and the running goal's again where
        several do.

        Args:
            names: The slots that the exchange settled.
            goal: The running goal; empty for none.
        """
        scopes = [set(self.slots[name].topics) for name in names if self.slots[name].topics]
        if not scopes or all(goal in scope for scope in scopes):
            return ""
        fit = [topic for topic in sorted(set.intersection(*scopes)) if self.is_sticky(topic)]
        return fit[0] if len(fit) == 1 else ""

    def check(self, projection: Projection) -> None:
        """Refuse a projection this schema would not have made.

        Raises:
            UnsupportedContext: The topic, a slot or a value is outside the schema, or a value is
                not in its canonical form.
        """
        if projection.is_empty:
            raise UnsupportedContext("The context holds an exchange that left nothing.")
        if projection.topic != "":
            self._topic(projection.topic)
        self.check_values(projection.slots)

    def check_values(self, values: Mapping[str, str]) -> None:
        """Refuse values this schema would not have admitted as they stand.

        Raises:
            UnsupportedContext: A slot or value is outside the schema, or not canonical.
        """
        for name, value in values.items():
            slot = self.slots.get(name)
            if slot is None:
                raise UnsupportedContext("The schema has no such slot.")
            if slot.admit(value) != value:
                raise UnsupportedContext("A value of the context is not canonical.")

    def rules(self) -> str:
        """Return the one explanation of the history block, for the system instruction.

        It does not change from turn to turn, so it belongs to the stable prefix (invariant 14).
        """
        return self.wording.rules + (self.wording.listing_rule if self.listings else "")

    def _topic(self, name: object) -> Topic:
        topic = self.topics.get(name) if isinstance(name, str) else None
        if topic is None:
            raise UnsupportedContext("The schema has no such topic.")
        return topic


def _named(given: Mapping[str, _Part], right: Callable[[object], bool]) -> dict[str, _Part]:
    if not isinstance(given, Mapping):
        raise InvalidSchema("The topics and slots of a schema are given by name.")
    named: dict[str, _Part] = {}
    for name, part in given.items():
        clean = schema_text(name, MAX_NAME)
        if not right(part):
            raise InvalidSchema(
                "A schema is made of Topic and Slot objects.", numbers={"name": clean}
            )
        if clean in named:
            raise InvalidSchema(
                "Two parts of a schema have the same name.", numbers={"name": clean}
            )
        named[clean] = part
    # The order in which the author wrote them decides nothing (invariant 12).
    return dict(sorted(named.items()))


def _apart(sentence: str, labels: list[str]) -> None:
    for index, label in enumerate(labels):
        if label in labels[:index]:
            raise InvalidSchema(sentence, numbers={"label": label})
