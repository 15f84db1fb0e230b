"""Which document of RAMDocs is about which entity, and where two of them contradict."""

import math
from collections import Counter
from itertools import combinations

from benchmarks.evidence.ramquestions import Question, plain, words

OPENS, WORDS, NAMED, ALIKE, COPY = 2.0, 1.0, 0.5, 2.0, 1.0
"""Weights of a tie: opens with the title, uses its own words, names it in full, is alike an
opening document, is its near-duplicate."""
NEAR = 0.3  # share of three-word runs from which two documents are near-duplicates
MARGIN = 0.3  # how much better a shared entity must fit two values than entities of their own


def ties(question: Question) -> list[list[float]]:
    """Return how strongly each document is tied to each entity."""
    titles = [words(title) for title in question.entities]
    asked = set(words(question.text))
    shared = Counter(word for title in titles for word in set(title))
    counts = [Counter(one) for one in question.words]
    present = Counter(word for one in question.words for word in set(one))
    rarity = {word: math.log((len(counts) + 1) / many) + 0.1 for word, many in present.items()}
    vectors = [_vector(one, rarity, asked) for one in counts]
    found = [[0.0] * len(titles) for _ in counts]
    for at, said in enumerate(question.words):
        joined = " " + " ".join(said) + " "
        opens = [k for k, title in enumerate(titles) if title and said[: len(title)] == title]
        longest = max((len(titles[k]) for k in opens), default=0)
        for k, title in enumerate(titles):
            if k in opens and len(title) == longest:
                found[at][k] += OPENS
            own = {word for word in title if shared[word] < len(titles)} - asked
            if own:
                found[at][k] += WORDS * sum(1 for word in own if counts[at][word]) / len(own)
            name = " ".join(title)
            inside = any(j != k and name in " ".join(titles[j]) for j in range(len(titles)))
            if f" {name} " in joined and not inside:
                found[at][k] += NAMED
    openers = [
        [at for at in range(len(counts)) if found[at][k] >= OPENS] for k in range(len(titles))
    ]
    result = [row[:] for row in found]
    for at in range(len(counts)):
        for k in range(len(titles)):
            others = [one for one in openers[k] if one != at]
            if others:
                result[at][k] += ALIKE * max(_cosine(vectors[at], vectors[one]) for one in others)
                if max(question.near(at, one) for one in others) >= NEAR:
                    result[at][k] += COPY
    return result


def conflicts_by_ties(question: Question, tied: list[list[float]]) -> tuple[bool, bool]:
    """Say whether something contradicts: by ties and copies alone, and with orphaned values.

    Returns:
        By ties alone; by ties, or by a value that fits no entity while each has its own.
    """
    speaking = [at for at, said in enumerate(question.asserted) if said]
    values = sorted({plain(question.asserted[at]) for at in speaking})
    if len(values) < 2:
        return False, False
    if len(question.entities) == 1:
        return True, True  # whatever the documents are about, it is this
    for one, other in combinations(speaking, 2):
        if (
            plain(question.asserted[one]) != plain(question.asserted[other])
            and question.near(one, other) >= NEAR
        ):
            return True, True
    fits = [
        [
            max(tied[at][k] for at in speaking if plain(question.asserted[at]) == value)
            for k in range(len(question.entities))
        ]
        for value in values
    ]
    together = sum(max(row) for row in fits)
    if together - _apart(fits, 0, 0) > MARGIN:
        return True, True
    answered = {
        k
        for k in range(len(question.entities))
        if any(tied[at][k] >= NAMED and tied[at][k] == max(tied[at]) for at in speaking)
    }
    orphan = any(max(row) < NAMED for row in fits)
    return False, orphan and len(answered) == len(question.entities)


def _apart(fits: list[list[float]], at: int, used: int) -> float:
    """Return the best fit where no two values share an entity; a value may have none."""
    if at == len(fits):
        return 0.0
    best = _apart(fits, at + 1, used)
    for k, fit in enumerate(fits[at]):
        if not used >> k & 1:
            best = max(best, fit + _apart(fits, at + 1, used | 1 << k))
    return best


def _vector(counts: Counter[str], rarity: dict[str, float], asked: set[str]) -> dict[str, float]:
    raw = {
        word: (1 + math.log(many)) * rarity[word]
        for word, many in sorted(counts.items())
        if word not in asked
    }
    length = math.sqrt(sum(one * one for one in raw.values())) or 1.0
    return {word: one / length for word, one in raw.items()}


def _cosine(one: dict[str, float], other: dict[str, float]) -> float:
    return sum(weight * other.get(word, 0.0) for word, weight in one.items())
