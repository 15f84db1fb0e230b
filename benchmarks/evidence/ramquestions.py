"""Questions of RAMDocs as a policy sees them: no label, and an order made by hashing."""

import hashlib
import re
import unicodedata
from dataclasses import dataclass, field
from typing import Any

FUNCTION_WORDS = frozenset(
    [
        "the",
        "a",
        "an",
        "of",
        "in",
        "on",
        "at",
        "to",
        "for",
        "and",
        "or",
        "is",
        "was",
        "are",
        "were",
        "be",
        "by",
        "with",
        "from",
        "as",
        "it",
        "its",
        "that",
        "this",
        "which",
        "who",
        "whom",
        "what",
        "when",
        "where",
        "how",
        "did",
        "does",
        "do",
        "has",
        "have",
        "had",
        "into",
        "than",
        "then",
        "their",
        "his",
        "her",
        "he",
        "she",
        "they",
        "you",
        "we",
        "not",
        "but",
    ]
)
_WORD = re.compile(r"[a-z0-9]+")


@dataclass
class Question:
    """What the policy sees of a question.

    Attributes:
        text: The question.
        entities: Titles of what shares the name.
        texts: The documents, in the order of their hashes.
        asserted: What each asserts; empty strings in track B and where nothing is asserted.
        places: Where each stands in the file, for the judge.
    """

    text: str
    entities: list[str]
    texts: list[str]
    asserted: list[str]
    places: list[int]
    words: list[list[str]] = field(init=False)
    runs: list[set[tuple[str, ...]]] = field(init=False)

    def __post_init__(self) -> None:
        self.words = [words(text) for text in self.texts]
        self.runs = [{tuple(one[at : at + 3]) for at in range(len(one) - 2)} for one in self.words]

    def near(self, one: int, other: int) -> float:
        """Return the share of the smaller document's three-word runs that are the other's too."""
        first, second = self.runs[one], self.runs[other]
        return len(first & second) / max(1, min(len(first), len(second)))


def words(text: str) -> list[str]:
    """Return the words of a text, without case and accents."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    return _WORD.findall("".join(one for one in plain if not unicodedata.combining(one)))


def seen(row: dict[str, Any], *, answers: bool) -> Question:
    """Return what the policy may see of a row of the file.

    Args:
        row: The row.
        answers: Whether asserted answers are seen (track A).
    """
    order = sorted(
        range(len(row["documents"])),
        key=lambda at: (
            hashlib.sha256(row["documents"][at]["text"].encode("utf-8", "replace")).digest(),
            at,
        ),
    )
    texts = [row["documents"][at]["text"] for at in order]
    said = [row["documents"][at]["answer"] if answers else "" for at in order]
    return Question(
        row["question"],
        list(row["disambig_entity"]),
        texts,
        ["" if one == "unknown" else one for one in said],
        order,
    )


def stem(word: str) -> str:
    """Return a word without a common English ending."""
    for ending in ("ing", "ed", "es", "s", "er", "or", "ion"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def plain(text: str) -> str:
    """Return a text for comparing: one space between words, no case."""
    return " ".join(text.split()).casefold()
