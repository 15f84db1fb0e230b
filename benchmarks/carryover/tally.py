"""What is counted of a strategy, and what is searched for in what it sends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from google.genai import types

from benchmarks.carryover.dialogues import Agent, Exchange
from benchmarks.carryover.reader import Carried, Shown, is_shown, is_wrong

LATE = 10
"""Exchanges after this many are late ones."""

_SENTENCE_END = re.compile(r"[.!?。！？\n]+")
_HAN = re.compile(r"[\u4e00-\u9fff]")


@dataclass
class Tally:
    """The figures of one strategy."""

    carried: int = 0
    recalled: int = 0
    wrong: int = 0
    raw_sentences: int = 0
    private_values: int = 0
    sizes: list[int] = field(default_factory=list)
    late_sizes: list[int] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take over the counts of another part of the file."""
        self.carried += other.carried
        self.recalled += other.recalled
        self.wrong += other.wrong
        self.raw_sentences += other.raw_sentences
        self.private_values += other.private_values
        self.sizes += other.sizes
        self.late_sizes += other.late_sizes

    def size(self, place: int, size: int) -> None:
        """Note what the history added to the first request of an exchange, in bytes."""
        self.sizes.append(size)
        if place >= LATE:
            self.late_sizes.append(size)

    def arguments(
        self, agent: Agent, arguments: Sequence[Carried], shown: Shown, *, by_slot: bool
    ) -> None:
        """Note which carried arguments a request says, and which it says wrongly."""
        for argument in arguments:
            name = argument.slot if by_slot else argument.name
            self.carried += 1
            self.recalled += is_shown(shown, agent, argument)
            self.wrong += is_wrong(shown, agent, argument, name)

    def search(self, text: str, sentences: Iterable[str], private: Iterable[str]) -> None:
        """Search a text for sentences and for private values."""
        folded = text.casefold()
        self.raw_sentences += sum(sentence in folded for sentence in sentences)
        self.private_values += sum(value in folded for value in private)

    def as_json(self) -> dict[str, Any]:
        """Return the figures; sizes are UTF-8 bytes of JSON."""
        return {
            "carryover_recall": _share(self.recalled, self.carried),
            "mean_bytes": _mean(self.sizes),
            "mean_bytes_late": _mean(self.late_sizes),
            "max_bytes": max(self.sizes, default=0),
            "raw_sentences_found": self.raw_sentences,
            "private_values_found": self.private_values,
            "wrong_values": _share(self.wrong, self.carried),
        }


def text_of(contents: Sequence[types.Content]) -> str:
    """Return the texts of contents."""
    return "\n".join(part.text or "" for content in contents for part in content.parts or ())


def sentences_of(exchanges: Sequence[Exchange]) -> set[str]:
    """Return what people said, whole and by sentence: four words or eight Han characters at least.

    A value that the exchange gives is not a sentence, even where somebody said nothing else.
    """
    values = {value.casefold() for exchange in exchanges for value in exchange.given.values()}
    found: set[str] = set()
    for exchange in exchanges:
        for text in (exchange.user, exchange.system):
            pieces = {text, *_SENTENCE_END.split(text)}
            found.update(piece.strip().casefold() for piece in pieces if _speaks(piece))
    return found - values


def _speaks(text: str) -> bool:
    return len(text.split()) >= 4 or len(_HAN.findall(text)) >= 8


def private_values_of(agent: Agent, exchanges: Sequence[Exchange]) -> set[str]:
    """Return the values of private slots that stand for nothing public in this dialogue as well."""
    private: set[str] = set()
    public: set[str] = set()
    for exchange in exchanges:
        rows = [dict(row) for row in exchange.rows]
        for values in (exchange.given, exchange.arguments, *rows):
            for name, value in values.items():
                (private if name in agent.private else public).add(str(value).casefold())
    # A digit or two occur anywhere.
    return {value for value in private - public if len(value) >= 3}


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def _mean(sizes: Sequence[int]) -> float:
    return round(sum(sizes) / len(sizes), 1) if sizes else 0.0
