"""What a message plainly contains, found without a model.

Closed vocabularies, dates, times, numbers with units, and references by order; Chinese and English.
Wherever a message leaves a doubt (two values, a denial, a name inside a longer one, two slots that
could be meant) nothing is taken: a value that was not found is asked for, a wrong one is believed.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import date

from callbacks.context.dates import find_dates
from callbacks.context.denial import Clause, clauses
from callbacks.context.errors import UnsupportedContext
from callbacks.context.listing import Entry
from callbacks.context.numerals import CHINESE
from callbacks.context.reference import referred
from callbacks.context.schema import ContextSchema
from callbacks.context.slot import ClosedSlot, DateSlot, NumberSlot, Slot, TimeSlot
from callbacks.context.span import Span
from callbacks.context.times import find_times
from callbacks.context.values import canonical
from callbacks.context.vocabulary import Vocabulary

MAX_MESSAGE = 2_000
"""Longer messages are not looked at, in characters: pasted text is not what a person plainly says,
and it bounds the work."""

# A digit, or a character of a Chinese date or time.
_MOMENT = re.compile("[0-9月天點点時时午]")
# One of two: the other one may be a word nobody knows here.
_EITHER_AFTER = re.compile(r"\s*(?:還是|还是|或|\bor\b)", re.IGNORECASE)
_EITHER_BEFORE = ("還是", "还是", "或", "或者", " or", "，or", ",or")


class MessageFinder:
    """Finds values for a schema's slots; built once, used for every message."""

    def __init__(self, schema: ContextSchema) -> None:
        """Build the automaton of the schema's vocabularies."""
        self._slots = schema.slots
        self._vocabulary = Vocabulary(
            (name, slot.spellings)
            for name, slot in schema.slots.items()
            if isinstance(slot, ClosedSlot)
        )
        self._numbers = {
            name: _number_form(slot.unit)
            for name, slot in schema.slots.items()
            if isinstance(slot, NumberSlot) and slot.unit
        }
        kinds = {kind: _of_kind(schema, kind) for kind in (DateSlot, TimeSlot)}
        self._moments = [(kind, names) for kind, names in kinds.items() if names]
        self._references = {listing.slot for listing in schema.listings.values() if listing.slot}

    def find(
        self,
        text: str,
        *,
        goal: str = "",
        listed: Sequence[Entry] = (),
        today: date | None = None,
    ) -> dict[str, str]:
        """Return the values of the slots that a message plainly settles.

        Args:
            text: The message.
            goal: The running topic: of several slots that could be meant, its own counts.
            listed: The last list that a tool gave.
            today: The day the message was written; None finds only dates that name their year.
        """
        text = canonical(text)
        if not text or len(text) > MAX_MESSAGE:
            return {}
        found: dict[str, list[Span]] = {}
        for hit in self._vocabulary.find(text):
            meant = dict(hit.meanings)
            name = self._meant(meant, goal)
            if name:
                found.setdefault(name, []).append(Span(hit.start, hit.end, meant[name]))
        for kind, names in self._moments if _is_timely(text) else ():
            spans = list(find_dates(text, today) if kind is DateSlot else find_times(text))
            name = self._meant(names, goal) if spans else ""
            if name:
                found.setdefault(name, []).extend(spans)
        for name, form in self._numbers.items():
            spans = [Span(m.start(), m.end(), m[1]) for m in form.finditer(text)]
            alike = [n for n, other in self._numbers.items() if other.pattern == form.pattern]
            if spans and self._meant(alike, goal) == name:
                found.setdefault(name, []).extend(spans)
        settled: dict[str, str] = {}
        if found:
            parts = clauses(text)
            for name, spans in found.items():
                value = _settled(self._slots[name], spans, parts, text)
                if value is not None:
                    settled[name] = value
        if len(self._references) == 1:
            entry = referred(text, listed)
            if entry is not None:
                settled[next(iter(self._references))] = entry.name
        return settled

    def _meant(self, names: Iterable[str], goal: str) -> str:
        """Return the one slot that can be meant: the goal's where it has one, else the only one."""
        possible = list(names)
        if goal and len(possible) > 1:
            possible = [name for name in possible if self._slots[name].belongs_to(goal)]
        return possible[0] if len(possible) == 1 else ""


def _settled(slot: Slot, spans: Sequence[Span], parts: Sequence[Clause], text: str) -> str | None:
    affirmed: dict[str, Clause] = {}
    ruled_out: set[str] = set()
    for span in spans:
        if any(o.start <= span.start and span.end <= o.end and o is not span for o in spans):
            continue  # "March 7" inside "March 7, 2026"
        clause = next(part for part in parts if span.start < part.end)
        try:
            value = slot.admit(span.value)
        except UnsupportedContext:
            return None
        if clause.denies:
            ruled_out.add(value)
        elif _EITHER_AFTER.match(text, span.end) or (
            text[: span.start].rstrip().lower().endswith(_EITHER_BEFORE)
        ):
            return None
        else:
            affirmed[value] = clause
    if len(affirmed) != 1 or ruled_out & set(affirmed):
        return None
    value, clause = next(iter(affirmed.items()))
    # After a denial, a bare second value may belong to it ("not A, B or C").
    return value if not ruled_out or clause.affirms else None


def _is_timely(text: str) -> bool:
    """Say whether a message can name a date or a time at all; most do not."""
    if _MOMENT.search(text):
        return True
    folded = text.lower()
    return "noon" in folded or "night" in folded or "today" in folded or "tomorrow" in folded


def _of_kind(schema: ContextSchema, kind: type[Slot]) -> tuple[str, ...]:
    return tuple(name for name, slot in schema.slots.items() if isinstance(slot, kind))


def _number_form(unit: str) -> re.Pattern[str]:
    tail = r"(?![A-Za-z])" if unit.isascii() else ""
    return re.compile(
        rf"(?<![\d.,A-Za-z{CHINESE}])(\d[\d,]*(?:\.\d+)?|[{CHINESE}]+)\s*[個个]?{re.escape(unit)}{tail}"
    )
