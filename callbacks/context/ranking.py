"""How well older messages answer to what is asked: BM25 over words and CJK bigrams, or embeddings.

A ranker is asked about terms one by one, so that whoever selects can see which of several topics a
message answers to, and not only how well it answers to all of them together.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from callbacks.context.errors import ContextError, InvalidSetting

CJK = (
    "\u3040-\u30ff\u3100-\u312f\u31a0-\u31bf\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\U00020000-\U0003ffff"
)
"""Scripts of which bigrams are compared (kana, bopomofo, Han, hangul), as ranges of a regex."""

_LETTER = rf"[^\W_{CJK}]"
# A word may be joined by hyphens and apostrophes ("re-login", "Wi-Fi") and hold a decimal point.
_JOINER = re.compile("[-'’]")
_JOINT = re.compile(rf"(?<={_LETTER})[-'’](?={_LETTER})")
_TOKEN = re.compile(rf"([{CJK}]+)|({_LETTER}+(?:(?<=\d)\.(?=\d){_LETTER}+)*)")
_ONE_CJK = re.compile(f"[{CJK}]")
# Texts of these alone, which are most, are in NFKC but for punctuation; normalizing costs more than
# all the rest of ranking.
_USUAL = re.compile("[\x00-\x7f\u4e00-\u9fff，。：；！？、（）「」]*")
# Drawn as nothing, so a word that holds one reads like a word that does not.
_INVISIBLE = re.compile("[\u00ad\u034f\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")


class RankerFailed(ContextError):
    """The ranker raised or answered with something that is no score (invariant 3)."""

    error_code = "RANKING_UNAVAILABLE"
    sentence = "The older messages could not be ranked."


@dataclass(frozen=True, slots=True)
class Term:
    """One thing that is asked about.

    Attributes:
        alternatives: Ways to say it; the best match of them counts.
        whole: Whether every token of an alternative must be there. Terms that a person chose are
            whole; for those found in a sentence, half of the tokens are enough.
    """

    alternatives: tuple[str, ...]
    whole: bool = True


class Ranker(Protocol):
    """Says how well each document answers to each term. It never sees a secret message."""

    def scores(self, terms: Sequence[Term], documents: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return one row a term, one finite number of at least 0 a document; 0 is irrelevant."""
        ...


def folded(text: str) -> str:
    """Return text as it is compared: words in NFKC, without invisible characters, without case.

    Words that are joined by a hyphen or apostrophe become one ("Wi-Fi" is "wifi").
    """
    plain = text
    if not _USUAL.fullmatch(text):
        plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    return _JOINT.sub("", plain.casefold()) if _JOINER.search(plain) else plain.casefold()


def tokens(text: str) -> list[str]:
    """Return the words of a text and the bigrams of its CJK runs, in order.

    A CJK run of one character is that character.
    """
    found: list[str] = []
    for run, word in _TOKEN.findall(folded(text)):
        if word:
            found.append(word)
        elif len(run) == 1:
            found.append(run)
        else:
            found.extend(map("".join, pairwise(run)))
    return found


def count(token: str, text: str) -> int:
    """Return how often a token stands in a folded text, without taking the text apart."""
    at = text.find(token)
    if at < 0:
        return 0
    if _ONE_CJK.match(token):
        return text.count(token)
    found = 0
    while at >= 0:
        end = at + len(token)
        found += not (_joined(text, at) or _joined(text, end))
        at = text.find(token, end)
    return found


def _joined(text: str, at: int) -> bool:
    """Say whether a word goes on across a place: "E401" is neither "E4011" nor "E401.5"."""
    before, after = text[at - 1 : at], text[at : at + 1]
    if after == ".":
        return before.isdecimal() and text[at + 1 : at + 2].isdecimal()
    if before == ".":
        return after.isdecimal() and text[at - 2 : at - 1].isdecimal()
    return _in_word(before) and _in_word(after)


def _in_word(character: str) -> bool:
    # Nothing before the kana is CJK, and most characters beside a word are a space.
    return character.isalnum() and (character < "\u3040" or not _ONE_CJK.match(character))


@dataclass(frozen=True, slots=True)
class Bm25Ranker:
    """Okapi BM25, with an inverse document frequency that is never negative.

    Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009). The
    length of a document is taken in characters: a CJK bigram is one, a word a few.

    Attributes:
        k1: How soon a repeated token stops counting; 0 counts it once.
        b: How much a long document is held against itself, from 0 to 1.
    """

    k1: float = 1.2
    b: float = 0.75

    def __post_init__(self) -> None:
        if not (0 <= self.k1 < math.inf and 0 <= self.b <= 1):
            raise InvalidSetting("The parameters of BM25 are out of range.")

    def scores(self, terms: Sequence[Term], documents: Sequence[str]) -> list[list[float]]:
        """Return one row a term: the BM25 of its best alternative in each document."""
        texts = [folded(document) for document in documents]
        mean = sum(map(len, texts)) / len(texts) if any(texts) else 1.0
        norms = [self.k1 * (1 - self.b + self.b * len(text) / mean) for text in texts]
        known: dict[str, list[float]] = {}

        def weights(token: str) -> list[float]:
            if token not in known:
                counts = [count(token, text) for text in texts]
                holding = len(counts) - counts.count(0)
                rare = math.log1p((len(counts) - holding + 0.5) / (holding + 0.5))
                known[token] = [
                    rare * often * (self.k1 + 1) / (often + norm) if often else 0.0
                    for often, norm in zip(counts, norms, strict=True)
                ]
            return known[token]

        def score(way: str, *, whole: bool) -> list[float]:
            # dict keeps the order of first appearance, so that sums of floats do too (invariant 12)
            wanted = [weights(token) for token in dict.fromkeys(tokens(way))]
            needed = len(wanted) if whole else (len(wanted) + 1) // 2
            found = [0.0] * len(texts)
            for at, parts in enumerate(zip(*wanted, strict=True)):
                if len(parts) - parts.count(0.0) >= needed:
                    # A mean: a term is one vote, however many bigrams its script makes of it.
                    found[at] = sum(parts) / len(parts)
            return found

        rows: list[list[float]] = []
        for term in terms:
            ways = [score(way, whole=term.whole) for way in term.alternatives]
            rows.append([max(parts) for parts in zip(*ways, strict=True)] or [0.0] * len(texts))
        return rows


Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Turns texts into vectors of one length, in order; called once a ranking."""


@dataclass(frozen=True, slots=True)
class EmbeddingRanker:
    """Ranks by the cosine of vectors that somebody else's model makes.

    Cosines of one model cannot be compared to those of another, and many models find everything
    alike; so by default only the order counts: the nearest ``keep`` documents of a term are
    relevant, with scores 1, 1/2, 1/3.

    Attributes:
        embed: Makes the vectors.
        keep: How many documents may answer to a term; at least 1.
        at_least: Documents whose cosine is not above this are irrelevant.
        query_prefix: Put before each term, where a model wants one ("query: ").
        document_prefix: Put before each document ("passage: ").
    """

    embed: Embed
    keep: int = 3
    at_least: float = 0.0
    query_prefix: str = ""
    document_prefix: str = ""

    def __post_init__(self) -> None:
        if type(self.keep) is not int or self.keep < 1:
            raise InvalidSetting("How many documents may answer is a whole number above zero.")

    def scores(self, terms: Sequence[Term], documents: Sequence[str]) -> list[list[float]]:
        """Return one row a term; what is nearest to one of its alternatives scores highest.

        Raises:
            RankerFailed: The vectors are not as many as the texts, or of different lengths.
        """
        ways = [way for term in terms for way in term.alternatives]
        if not documents or not ways:
            return [[0.0] * len(documents) for _ in terms]
        texts = [self.document_prefix + text for text in documents]
        vectors = self.embed([*texts, *(self.query_prefix + way for way in ways)])
        if len(vectors) != len(texts) + len(ways) or len({len(vector) for vector in vectors}) != 1:
            raise RankerFailed("The embedding did not give one vector of one length a text.")
        units = [_unit(vector) for vector in vectors]
        placed, asked = units[: len(texts)], iter(units[len(texts) :])
        rows: list[list[float]] = []
        for term in terms:
            wanted = [next(asked) for _ in term.alternatives]
            near = [max((_dot(way, place) for way in wanted), default=-1.0) for place in placed]
            # Of two that are equally near, the newer one: documents come oldest first.
            order = sorted(range(len(near)), key=lambda at: (-near[at], -at))[: self.keep]
            row = [0.0] * len(near)
            for rank, at in enumerate(order, start=1):
                row[at] = 1 / rank if near[at] > self.at_least else 0.0
            rows.append(row)
        return rows


def checked_scores(
    ranker: Ranker, terms: Sequence[Term], documents: Sequence[str]
) -> list[list[float]]:
    """Ask a ranker, and believe only what can be scores.

    Raises:
        RankerFailed: It raised, or did not answer with a finite number of at least 0 for each term
            and document.
    """
    cause = ""
    try:
        rows = [[float(score) for score in row] for row in ranker.scores(terms, documents)]
    except ContextError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a ranker raises, nothing is selected by it
        cause = type(error).__name__
    if cause:
        # Outside the handler: the ranker's own error may quote a message.
        raise RankerFailed(numbers={"cause": cause})
    shaped = len(rows) == len(terms) and all(len(row) == len(documents) for row in rows)
    if not shaped or not all(0 <= score < math.inf for row in rows for score in row):
        raise RankerFailed("The ranker did not give one finite score a term and message.")
    return rows


def _unit(vector: Sequence[float]) -> list[float]:
    length = math.sqrt(math.fsum(part * part for part in vector))
    return [part / length for part in vector] if length else [0.0] * len(vector)


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))
