"""Judges an answer that a person has edited: it goes out in the application's words or not at all.

A line that is exactly a rendered one stays. A line in which only the way of writing the value
changed is re-typed: the gate judges it and the application renders it again. Anything else goes to
a person; no edited word is ever released as it was typed.
"""

from dataclasses import dataclass
from typing import Literal

from callbacks.evidence.gate import Verdict, check, facts_of
from callbacks.evidence.numeral import fold
from callbacks.evidence.packet import EvidencePacket
from callbacks.evidence.phrasebook import Phrasebook
from callbacks.evidence.render import Sentence
from callbacks.evidence.statements import Answer
from callbacks.evidence.value import equals


@dataclass(frozen=True, slots=True)
class Edited:
    """What becomes of an edited answer.

    Attributes:
        step: ``release`` as it stands, ``retyped`` (released, rendered again) or ``person``.
        text: What goes out; empty for ``person``.
        unread: Numbers, from 0, of edited lines that nobody but a person can judge.
        missing: What must be shown and is no longer there.
    """

    step: Literal["release", "retyped", "person"]
    text: str
    unread: tuple[int, ...] = ()
    missing: tuple[str, ...] = ()


def check_edited(
    text: str,
    answer: Answer,
    packet: EvidencePacket,
    book: Phrasebook,
    *,
    now_ms: int,
    fallen: frozenset[str] = frozenset(),
    language: str | None = None,
) -> Edited:
    """Judge an edited answer.

    Args:
        text: The edited text, one sentence a line.
        answer: The answer that was rendered.
        packet: Its packet.
        book: The application's words.
        now_ms: The moment of release, in milliseconds UTC.
        fallen: Ids of items that have fallen since.
        language: In which language it was rendered; the task's where it is not given.
    """
    verdict = check(answer, packet, book, now_ms=now_ms, fallen=fallen, language=language)
    if not verdict.released:
        return Edited("person", "", missing=tuple(one.reason for one in verdict.problems))
    if text == verdict.text:
        return Edited("release", verdict.text)
    lines = [line for line in text.split("\n") if line.strip()]
    found: list[str] = []
    unread: list[int] = []
    for number, line in enumerate(lines):
        sentence = _recognize(line, verdict, packet, book)
        if sentence is None or sentence.about in found:
            unread.append(number)
        else:
            found.append(sentence.about)
    missing = tuple(one.about for one in verdict.sentences if one.about not in found)
    if unread or missing:
        return Edited("person", "", tuple(unread), missing)
    return Edited("retyped", verdict.text)


def _recognize(
    line: str, verdict: Verdict, packet: EvidencePacket, book: Phrasebook
) -> Sentence | None:
    for sentence in verdict.sentences:
        if fold(line) == fold(sentence.text):
            return sentence
    for sentence in verdict.sentences:
        if sentence.value and _same_but_value(line, sentence, packet, book):
            return sentence
    return None


def _same_but_value(
    line: str, sentence: Sentence, packet: EvidencePacket, book: Phrasebook
) -> bool:
    before, _, after = fold(sentence.text).partition(fold(sentence.value))
    clean = fold(line)
    if not (clean.startswith(before) and clean.endswith(after)):
        return False
    typed = clean[len(before) : len(clean) - len(after)].strip()
    _, claim_id, predicate = sentence.about.split(":", 2)
    section = packet.section(claim_id)
    if not typed or section is None:
        return False
    # The line is the rendered one around the value; so only the value is to be judged.
    return any(
        fact.predicate == predicate and equals(fact.value, typed, None, book.vocabulary)
        for _, fact in facts_of(packet, section)
    )
