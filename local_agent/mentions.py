"""Finding known words in what a person typed, with what they deny.

Chinese has no spaces, so a word is found by longest match and kept out of longer words by a small
table of neighbours (`Word.not_after`, `Word.not_before`). Everything here is pure; no model, no
clock.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

#: 「有沒有」「要不要」「吃不吃」 ask, they do not deny.
_A_NOT_A = re.compile(r"([\u4e00-\u9fff])[不沒](?=\1)")

#: 「特別」「分別」 and their like end in a character that elsewhere says no.
_FALSE_NEGATORS = re.compile(r"[特分個區離告識差性級類]別|[除並]非")

_NEGATOR = r"(?:不|沒有|沒|別|非|勿|除了)"
_BETWEEN = r"(?:是|要|想|吃|找|去|在|到|再|看|查|說|講|問|用|給|我|幫)"
_DENIED_BEFORE = re.compile(rf"(?:{_NEGATOR}{_BETWEEN}*)+$")
_DENIED_AFTER = re.compile(
    r"^(?:鄉|鎮|市)?(?:的?(?:以外|除外)|(?:就|都|我)?(?:不要|不行|不是|不對|不算)(?:了|啦|喔)?(?=[\s，。,.!！?？、；;]|$))"
)
_CORRECTION = re.compile(r"不對|不是|改成|改找|改查|改看|換成|說錯|講錯|更正|而是")
#: How far around a mention a denial is looked for, in characters; bounds the work on any text.
_REACH = 24
_NEUTRAL = "\u30fb"


@dataclass(frozen=True, slots=True)
class Word:
    """One spelling of a value.

    Attributes:
        text: What people write.
        value: The value it stands for.
        not_after: Strings that, directly before, make it part of another word.
        not_before: Strings that, directly after, make it part of another word.
    """

    text: str
    value: str
    not_after: tuple[str, ...] = ()
    not_before: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mention:
    """A word found in a text: half-open character range, value, and whether it is denied."""

    start: int
    end: int
    value: str
    denied: bool


@dataclass(frozen=True, slots=True)
class Said:
    """What a message says about one subject.

    Attributes:
        value: The value the person means, or None.
        denied: Values the person ruled out.
    """

    value: str | None
    denied: frozenset[str]


def normalize(text: str) -> str:
    """Return the text with full-width forms folded and Latin letters in lower case."""
    return unicodedata.normalize("NFKC", text).casefold()


class Lexicon:
    """A closed set of words, compiled once, searched by longest match."""

    def __init__(self, words: Iterable[Word]) -> None:
        """Compile the words.

        Args:
            words: Spellings, each text once.

        Raises:
            ValueError: A spelling is listed twice.
        """
        self._values: dict[str, str] = {}
        ordered = sorted(words, key=lambda word: (-len(word.text), word.text))
        for word in ordered:
            if normalize(word.text) in self._values:
                raise ValueError("a lexicon lists each spelling once")
            self._values[normalize(word.text)] = word.value
        self._pattern = re.compile("|".join(_word_pattern(word) for word in ordered))

    def exact(self, text: str) -> str | None:
        """Return the value of a text that is one known spelling and nothing else."""
        return self._values.get(normalize(text).strip())

    def find(self, text: str) -> tuple[Mention, ...]:
        """Return every mention, left to right, never overlapping.

        Args:
            text: A message; offsets refer to `normalize(text)`.
        """
        folded = normalize(text)
        readable = _A_NOT_A.sub(rf"\1{_NEUTRAL}", folded)
        readable = _FALSE_NEGATORS.sub(lambda found: _NEUTRAL * len(found.group()), readable)
        return tuple(
            Mention(
                start=found.start(),
                end=found.end(),
                value=self._values[found.group()],
                denied=_is_denied(readable, found.start(), found.end()),
            )
            for found in self._pattern.finditer(folded)
        )

    def said(self, text: str) -> Said:
        """Return what is meant: the first value not denied, or the last after a correction."""
        mentions = self.find(text)
        denied = frozenset(mention.value for mention in mentions if mention.denied)
        wanted = [mention for mention in mentions if not mention.denied]
        if not wanted:
            return Said(None, denied)
        chosen = wanted[0]
        folded = normalize(text)
        for later in wanted[1:]:
            if _CORRECTION.search(folded, chosen.end, later.start):
                chosen = later
        return Said(chosen.value, denied - {chosen.value})


def _word_pattern(word: Word) -> str:
    """Return the regular expression of one word with its neighbours ruled out."""
    before = "".join(f"(?<!{re.escape(normalize(text))})" for text in word.not_after)
    after = "".join(f"(?!{re.escape(normalize(text))})" for text in word.not_before)
    return f"{before}{re.escape(normalize(word.text))}{after}"


def _is_denied(text: str, start: int, end: int) -> bool:
    """Tell whether the words around a mention rule it out; two negations cancel out."""
    before = _DENIED_BEFORE.search(text, max(0, start - _REACH), start)
    if before is not None:
        return len(re.findall(_NEGATOR, before.group())) % 2 == 1
    return _DENIED_AFTER.match(text[end : end + _REACH]) is not None
