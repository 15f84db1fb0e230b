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
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmarks.evidence.ramquestions import FUNCTION_WORDS, Question, plain, seen, stem, words
from benchmarks.evidence.ramties import NAMED, OPENS, conflicts_by_ties, ties
from callbacks.evidence.admission import Asked, Reader
from callbacks.evidence.assembly import assemble
from callbacks.evidence.authority import AuthorityMatrix
from callbacks.evidence.case import CaseState
from callbacks.evidence.compression import extract
from callbacks.evidence.contract import TaskContract
from callbacks.evidence.inputs import Inputs
from callbacks.evidence.item import make_row
from callbacks.evidence.plan import Claim, make_plan

PER_ENTITY = 2  # documents kept for an entity that opens none
_YEAR = re.compile(r"\b1[0-9]{3}\b|\b20[0-2][0-9]\b")
_FIGURE = re.compile(r"\d[\d,.]*")

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
        mark = hashlib.sha256(plain(said).encode("utf-8")).hexdigest()[:8]
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
    asked = [word for word in words(question.text) if word not in FUNCTION_WORDS]
    names = {word for title in question.entities for word in words(title)}
    own = [stem(word) for word in asked if word not in names]
    called = [word for word in asked if word in names]
    present = set(question.words[at])
    stems = {stem(word) for word in present}
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
        values = {plain(said) for said in a.asserted if said}
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


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
