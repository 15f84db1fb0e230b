"""RAMDocs: documents that are right, wrong or beside the question, under names that several share.

The policy is given a question, the entities that share its name, and texts in an order made by
hashing; track A also what each document asserts. Labels (type, gold and wrong answers) are read by
the judge alone. "unknown" as an answer means that a document asserts nothing.

What the rules say, the same for every question:

- A document is tied to the entity whose title it opens with, whose distinguishing words it uses, or
  to whose opening document it is alike. Ties are sums of these, an entity wins by being higher.
- Track A: for each entity, and each thing said about it, the shortest proof, cut to the sentence.
- Conflict: one entity, two values (by ties or near-duplicates); or a value tied to no entity while
  each entity has its own. Counting values against entities alone is reported apart.
- Track B: for each entity the documents that open with its title; without one, the two that fit
  best: tied to it, using the question's words, with figures where a date or number is asked for.
"""

import hashlib
import json
import math
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from callbacks.evidence.admission import Asked, Reader
from callbacks.evidence.assembly import assemble
from callbacks.evidence.authority import AuthorityMatrix
from callbacks.evidence.case import CaseState
from callbacks.evidence.compression import extract
from callbacks.evidence.contract import TaskContract
from callbacks.evidence.inputs import Inputs
from callbacks.evidence.item import make_row
from callbacks.evidence.plan import Claim, make_plan

OPENS, WORDS, NAMED, ALIKE, COPY = 2.0, 1.0, 0.5, 2.0, 1.0
"""Weights of a tie: opens with the title, uses its own words, names it in full, is alike an
opening document, is its near-duplicate."""
NEAR = 0.3  # share of three-word runs from which two documents are near-duplicates
MARGIN = 0.3  # how much better a shared entity must fit two values than entities of their own
PER_ENTITY = 2  # documents kept for an entity that opens none
_YEAR = re.compile(r"\b1[0-9]{3}\b|\b20[0-2][0-9]\b")
_FIGURE = re.compile(r"\d[\d,.]*")
_FUNCTION_WORDS = frozenset(
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

CONTRACT = TaskContract.from_data(
    {
        "id": "RAMDOCS",
        "version": "1",
        "outcomes": ["supported", "conditional", "conflict", "unknown"],
        "required": [["question", []]],
        "rules": "Typed statements from the evidence alone. Lines with a bar are data.",
        "output": "One JSON object of the answer schema.",
        "window": 1_000_000,
        "reserve_output": 0,
        "reserve_safety": 0,
        "channels": [
            {"name": name, "limit": 800_000 if name == "policy" else 25_000}
            for name in (
                "contract", "task", "plan", "policy", "case", "tools", "conditions", "history",
                "output",
            )
        ],
    }
)  # fmt: skip


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
    values = sorted({_same(question.asserted[at]) for at in speaking})
    if len(values) < 2:
        return False, False
    if len(question.entities) == 1:
        return True, True  # whatever the documents are about, it is this
    for one, other in combinations(speaking, 2):
        if (
            _same(question.asserted[one]) != _same(question.asserted[other])
            and question.near(one, other) >= NEAR
        ):
            return True, True
    fits = [
        [
            max(tied[at][k] for at in speaking if _same(question.asserted[at]) == value)
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


def track_a(question: Question, tied: list[list[float]]) -> dict[int, str]:
    """Return the kept documents, by position, with what is kept of their texts.

    Made by the assembler: a claim for each entity and for what fits none, an item for each
    document, contradictions covered by both sides.
    """
    rows, subjects = [], set()
    for at, said in enumerate(question.asserted):
        if not said:
            continue
        best = max(tied[at])
        clear = len(question.entities) == 1 or best >= NAMED
        mark = hashlib.sha256(_same(said).encode("utf-8")).hexdigest()[:8]
        subject = f"entity-{tied[at].index(best)}" if clear else f"unattributed-{mark}"
        subjects.add(subject)
        rows.append(
            make_row(
                id=f"doc-{at}",
                kind="document",
                source="web",
                entity=f"doc-{at}",
                access=["anybody"],
                trust="observed",
                facts=[
                    {
                        "claim": "answer",
                        "subject": subject,
                        "predicate": "answer",
                        "value": {"kind": "literally", "words": said[:200]},
                    }
                ],
                text=extract(question.texts[at], [said]),
                lineage={"document": f"doc-{at}"},
            )
        )
    if not rows:
        return {}
    catalogue = tuple(
        Claim.from_data(
            {
                "id": subject,
                "kind": "answer",
                "subject": subject,
                "accepts": ["document"],
                "asked_by": ["answer"],
            }
        )
        for subject in sorted(subjects)
    )
    inputs = Inputs(
        generation="ramdocs",
        contract=CONTRACT,
        approved_sha256=CONTRACT.digest(),
        plan=make_plan(CONTRACT, "question", ["answer"], catalogue),
        rows=rows,
        reader=Reader(frozenset({"anybody"})),
        reader_id="anybody",
        asked=Asked(1, 1),
        matrix=AuthorityMatrix.from_data({"rows": [["answer", [["web"]]]]}),
        case=CaseState(fields=()),
    )
    made = assemble(inputs, measure=lambda text: len(text.encode("utf-8")))
    return {
        int(item.id.partition("-")[2].partition("/")[0]): item.text for item in made.packet.items
    }


def track_b(question: Question, tied: list[list[float]]) -> dict[int, str]:
    """Return the kept documents by position, whole."""
    fits = [fitness(question, at) for at in range(len(question.texts))]
    keep: set[int] = set()
    free = [at for at in range(len(question.texts)) if max(tied[at], default=0) < OPENS]
    for k in range(len(question.entities)):
        opens = [at for at in range(len(question.texts)) if tied[at][k] >= OPENS]
        ordered = sorted(free, key=lambda at: (-(fits[at] + 2 * tied[at][k]), at))
        keep.update(opens or ordered[:PER_ENTITY])
    return {at: question.texts[at] for at in sorted(keep)}


def fitness(question: Question, at: int) -> float:
    """Return how much a document looks like an answer to the question, whatever the entity.

    The share of the question's own words it uses, as stems; of the shared name's words; and twice
    whether it has figures where a date or a number is asked for, half where nothing is known.
    """
    asked = [word for word in words(question.text) if word not in _FUNCTION_WORDS]
    names = {word for title in question.entities for word in words(title)}
    own = [_stem(word) for word in asked if word not in names]
    called = [word for word in asked if word in names]
    present = set(question.words[at])
    stems = {_stem(word) for word in present}
    text, lower = question.texts[at], question.text.casefold()
    shape = 0.5
    if lower.startswith("when") or "date" in lower or "year" in lower:
        shape = min(1.0, len(_YEAR.findall(text)) / 2)
    elif "population" in lower or "how many" in lower or "number of" in lower:
        shape = min(1.0, len(_FIGURE.findall(text)) / 3)
    return (
        (sum(word in stems for word in own) / len(own) if own else 0.5)
        + (sum(word in present for word in called) / len(called) if called else 0.5)
        + 2 * shape
    )


def conflict_b(question: Question) -> bool:
    """Say whether two near-duplicates differ in a number or a name, which is all B can see."""
    for one, other in combinations(range(len(question.texts)), 2):
        if question.near(one, other) < 0.5:
            continue
        first, second = set(question.words[one]), set(question.words[other])
        short = min(len(first), len(second))
        if 0 < len(first - second) <= short // 6 and 0 < len(second - first) <= short // 6:
            return True
    return False


def bm25(question: Question) -> list[float]:
    """Return each document's BM25 score for the question (k1 1.2, b 0.75)."""
    asked = [word for word in words(question.text) if len(word) > 2]
    documents = question.words
    many = Counter(word for one in documents for word in set(one))
    mean = sum(len(one) for one in documents) / max(1, len(documents))
    scores = []
    for one in documents:
        counts, score = Counter(one), 0.0
        for word in asked:
            if counts[word]:
                rare = math.log(1 + (len(documents) - many[word] + 0.5) / (many[word] + 0.5))
                dampen = counts[word] + 1.2 * (0.25 + 0.75 * len(one) / mean)
                score += rare * counts[word] * 2.2 / dampen
        scores.append(score)
    return scores


class Tally:
    """The judge: the only one who reads labels."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def add(
        self,
        row: dict[str, Any],
        question: Question,
        kept: dict[int, str],
        conflict: bool | None = None,
    ) -> None:
        """Judge one question.

        Args:
            row: The row with its labels.
            question: What the policy saw.
            kept: What it kept.
            conflict: Whether it said that something contradicts; None where it does not say.
        """
        documents = row["documents"]
        held = {question.places[at]: text for at, text in kept.items()}
        for gold in row["gold_answers"]:
            reachable = any(one["answer"] == gold for one in documents)
            hit = any(
                documents[at]["answer"] == gold
                and (gold.casefold() in text.casefold() or text == documents[at]["text"])
                for at, text in held.items()
            )
            self.counts["gold"] += 1
            self.counts["reachable"] += reachable
            self.counts["hit"] += hit
        self.counts["noise"] += sum(one["type"] == "noise" for one in documents)
        self.counts["noise_kept"] += sum(documents[at]["type"] == "noise" for at in held)
        self.counts["units"] += sum(len(text.encode("utf-8", "replace")) for text in held.values())
        self.counts["all_units"] += sum(
            len(one["text"].encode("utf-8", "replace")) for one in documents
        )
        self.counts["questions"] += 1
        if conflict is not None:
            truth = any(one["type"] == "misinfo" for one in documents)
            self.counts["said"] += conflict
            self.counts["true"] += truth
            self.counts["both"] += conflict and truth

    def report(self) -> dict[str, Any]:
        """Return the shares, as fractions of 1, and UTF-8 bytes for each question."""
        count = self.counts
        found: dict[str, Any] = {
            "gold_reachable": _share(count["hit"], count["reachable"]),
            "gold_all": _share(count["hit"], count["gold"]),
            "noise_kept": _share(count["noise_kept"], count["noise"]),
            "conflict_recall": None,
            "conflict_precision": None,
            "input_share": _share(count["units"], count["all_units"]),
            "utf8_bytes_per_question": count["units"] // max(1, count["questions"]),
        }
        if "said" in count:
            found["conflict_recall"] = _share(count["both"], count["true"])
            found["conflict_precision"] = _share(count["both"], count["said"])
        return found


def measure_ramdocs(path: Path) -> dict[str, Any]:
    """Return what both tracks and the baselines keep.

    Args:
        path: A file of the form of RAMDocs, one question a line.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    names = ("a", "b", "everything", "ties_only", "counted", "same_units", "k3", "k4", "k5")
    tallies = {name: Tally() for name in names}
    for row in rows:
        a, b = seen(row, answers=True), seen(row, answers=False)
        tied = ties(a)
        alone, conflict = conflicts_by_ties(a, tied)
        kept = track_a(a, tied)
        values = {_same(said) for said in a.asserted if said}
        tallies["a"].add(row, a, kept, conflict)
        tallies["ties_only"].add(row, a, kept, alone)
        tallies["counted"].add(row, a, kept, len(values) > len(a.entities))
        kept_b = track_b(b, tied)
        tallies["b"].add(row, b, kept_b, conflict_b(b))
        tallies["everything"].add(row, b, dict(enumerate(b.texts)))
        ranks = bm25(b)
        order = sorted(range(len(ranks)), key=lambda at: (-ranks[at], at))
        for k in (3, 4, 5):
            tallies[f"k{k}"].add(row, b, {at: b.texts[at] for at in order[:k]})
        tallies["same_units"].add(row, b, _within(b, order, sum(map(len, kept_b.values()))))
    apart = {
        name: {
            key: tallies[name].report()[key] for key in ("conflict_recall", "conflict_precision")
        }
        for name in ("ties_only", "counted")
    }
    return {
        "questions": len(rows),
        "unit": "utf8_bytes of the kept texts",
        "track_a": {
            **tallies["a"].report(),
            "conflicts_by_ties_only": apart["ties_only"],
            "conflicts_by_counting_values_against_entities": apart["counted"],
        },
        "track_b": tallies["b"].report(),
        "all_documents": tallies["everything"].report(),
        "bm25_top_k": {
            "at_units_of_track_b": tallies["same_units"].report(),
            **{str(k): tallies[f"k{k}"].report() for k in (3, 4, 5)},
        },
    }


def _within(question: Question, order: list[int], units: int) -> dict[int, str]:
    """Keep the best-ranked documents until they have cost as much, the last one rounded up."""
    kept: dict[int, str] = {}
    for at in order:
        if sum(map(len, kept.values())) >= units:
            break
        kept[at] = question.texts[at]
    return kept


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s", "er", "or", "ion"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


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


def _same(text: str) -> str:
    return " ".join(text.split()).casefold()


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
