"""How well older messages answer to what is asked: BM25 over words and CJK bigrams, or embeddings.

A ranker is asked about terms one by one, so that whoever selects can see which of several topics a
message answers to, and not only how well it answers to all of them together.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from callbacks.context.errors import ContextError, InvalidSetting

CJK = (
    "\u3040-\u30ff\u3100-\u312f\u31a0-\u31bf\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\U00020000-\U0003ffff"
)
"""Scripts of which bigrams are compared (kana, bopomofo, Han, hangul), as ranges of a regex."""

# A word may be joined by hyphens and apostrophes ("re-login", "Wi-Fi") and hold a decimal point.
_TOKEN = re.compile(rf"([{CJK}]+)|([^\W_{CJK}]+(?:[-'’.][^\W_{CJK}]+)*)")
_JOINT = re.compile(r"[-'’]")
_STOP = re.compile(r"(?<!\d)\.|\.(?!\d)")
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
    """Return text as it is compared: NFKC, without invisible characters, without case."""
    return _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).casefold()


def tokens(text: str) -> list[str]:
    """Return the words of a text and the bigrams of its CJK runs, in order.

    Full-width forms are their narrow twins, joined words are one word ("Wi-Fi" is "wifi"), and a
    CJK run of one character is that character.
    """
    found: list[str] = []
    for run, word in _TOKEN.findall(folded(text)):
        if word:
            found.extend(_STOP.sub(" ", _JOINT.sub("", word)).split())
        elif len(run) == 1:
            found.append(run)
        else:
            found.extend(map("".join, zip(run, run[1:], strict=False)))
    return found


@dataclass(frozen=True, slots=True)
class Bm25Ranker:
    """Okapi BM25, with an inverse document frequency that is never negative.

    Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009).

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
        counted = [Counter(tokens(document)) for document in documents]
        lengths = [bag.total() for bag in counted]
        mean = sum(lengths) / len(lengths) if any(lengths) else 1.0
        norms = [self.k1 * (1 - self.b + self.b * length / mean) for length in lengths]
        rarity: dict[str, float] = {}

        def rare(token: str) -> float:
            if token not in rarity:
                holding = sum(token in bag for bag in counted)
                rarity[token] = math.log1p((len(counted) - holding + 0.5) / (holding + 0.5))
            return rarity[token]

        def score(wanted: Sequence[str], bag: Counter[str], norm: float, *, whole: bool) -> float:
            present = [token for token in wanted if token in bag]
            needed = len(wanted) if whole else (len(wanted) + 1) // 2
            if not present or len(present) < needed:
                return 0.0
            return sum(
                rare(token) * bag[token] * (self.k1 + 1) / (bag[token] + norm) for token in present
            )

        rows: list[list[float]] = []
        for term in terms:
            # dict keeps the order of first appearance, so that sums of floats do too (invariant 12)
            ways = [tuple(dict.fromkeys(tokens(way))) for way in term.alternatives]
            rows.append(
                [
                    max((score(way, bag, norm, whole=term.whole) for way in ways), default=0.0)
                    for bag, norm in zip(counted, norms, strict=True)
                ]
            )
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
