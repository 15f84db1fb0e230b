"""Lets an answer out only if the packet supports every field of it, at the moment of release.

What is released is not what the model wrote: each statement is matched with the fact it repeats,
and the application renders that fact.
"""

from dataclasses import dataclass
from typing import Literal

from callbacks.evidence import instant
from callbacks.evidence.ancestry import with_derived
from callbacks.evidence.contract import Outcome
from callbacks.evidence.errors import AnswerNotReleased
from callbacks.evidence.item import EvidenceItem, Fact
from callbacks.evidence.packet import EvidencePacket, Section
from callbacks.evidence.phrasebook import Phrasebook
from callbacks.evidence.render import (
    Sentence,
    conflict_lines,
    fact_line,
    headline,
    notice_lines,
    open_line,
    unknown_lines,
)
from callbacks.evidence.statements import Answer, Statement, read_answer
from callbacks.evidence.trust import Use
from callbacks.evidence.value import Vocabulary, equals

Step = Literal["release", "refresh", "reassemble", "person", "error"]
_SILENT = {Outcome.CONFLICT, Outcome.UNKNOWN, Outcome.UNAVAILABLE}


@dataclass(frozen=True, slots=True)
class Problem:
    """Something an answer is stopped for.

    Attributes:
        claim: The claim; empty where it is the whole answer.
        reason: Why, in short snake_case words.
    """

    claim: str
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of an answer.

    Attributes:
        released: Whether it goes out.
        problems: What it is stopped for.
        expired: Claims whose evidence has expired or fallen: refresh it, or drop the value.
        sentences: What goes out; empty where nothing does.
    """

    released: bool
    problems: tuple[Problem, ...]
    expired: tuple[str, ...]
    sentences: tuple[Sentence, ...]

    @property
    def text(self) -> str:
        """What goes out, one sentence a line; empty where nothing does."""
        return "\n".join(sentence.text for sentence in self.sentences)

    def require(self) -> None:
        """Stop where the answer is not released.

        Raises:
            AnswerNotReleased: With the number of problems and the first reason.
        """
        if not self.released:
            raise AnswerNotReleased(
                numbers={"problems": len(self.problems), "reason": self.problems[0].reason}
            )


def next_step(verdict: Verdict, *, reassembled: bool, person: bool) -> Step:
    """Say what follows from a verdict: never a release of what was stopped.

    Args:
        verdict: The verdict.
        reassembled: Whether the packet was put together again already.
        person: Whether there is somebody to hand it to.
    """
    if verdict.released:
        return "release"
    if verdict.expired and all(one.reason == "expired" for one in verdict.problems):
        return "refresh"
    if not reassembled:
        return "reassemble"
    return "person" if person else "error"


def check_text(
    text: str,
    packet: EvidencePacket,
    book: Phrasebook,
    *,
    now_ms: int,
    fallen: frozenset[str] = frozenset(),
    language: str | None = None,
) -> Verdict:
    """Judge a model's output as it came; see ``check``. What is not of the schema is stopped."""
    try:
        answer = read_answer(text)
    except AnswerNotReleased:
        return Verdict(
            released=False, problems=(Problem("", "not_the_schema"),), expired=(), sentences=()
        )
    return check(answer, packet, book, now_ms=now_ms, fallen=fallen, language=language)


def check(
    answer: Answer,
    packet: EvidencePacket,
    book: Phrasebook,
    *,
    now_ms: int,
    fallen: frozenset[str] = frozenset(),
    language: str | None = None,
) -> Verdict:
    """Judge an answer.

    Args:
        answer: The model's answer.
        packet: The packet it was given.
        book: The application's words.
        now_ms: The moment of release, in milliseconds UTC.
        fallen: Ids of items that have fallen since; what was made from them falls with them, as
            far as the packet's own items tell (`Assembly.lineage` tells more).
        language: In which language it is rendered; the task's where it is not given.
    """
    problems: list[Problem] = []
    fallen = with_derived(fallen, {one.id: one.lineage.derived_from for one in packet.items})
    expired = tuple(
        section.claim
        for section in packet.spec.sections
        if section.outcome not in {Outcome.UNKNOWN, Outcome.UNAVAILABLE}
        and _has_expired(packet, section, now_ms, fallen)
    )
    said: dict[tuple[str, str], Statement] = {}
    for statement in answer.statements:
        section = packet.section(statement.claim)
        if section is None:
            problems.append(Problem(statement.claim, "not_planned"))
            continue
        key = (statement.claim, _word(statement.predicate, book.vocabulary))
        if key in said:
            problems.append(Problem(statement.claim, "stated_twice"))
        said[key] = statement
    speech = language or packet.spec.task.language
    lines: list[Sentence] = []
    for section in packet.spec.sections:
        own = {key[1]: one for key, one in said.items() if key[0] == section.claim}
        found, sentences = _judge(section, own, packet, book, speech, gone=section.claim in expired)
        problems.extend(Problem(section.claim, reason) for reason in found)
        lines.extend(sentences)
    problems.extend(_whole(answer, packet, expired))
    if problems:
        return Verdict(released=False, problems=tuple(problems), expired=expired, sentences=())
    outcome = _outcome(packet, expired)
    sentences_out = (
        headline(outcome, speech),
        *unknown_lines(packet, book, speech),
        *conflict_lines(packet, book, speech),
        *lines,
        *notice_lines(packet, book, speech),
    )
    return Verdict(released=True, problems=(), expired=expired, sentences=sentences_out)


def drop_expired(answer: Answer, packet: EvidencePacket, expired: tuple[str, ...]) -> Answer:
    """Return the answer without the values that have expired; what is left says that they are gone.

    Args:
        answer: An answer that was right when its packet was made.
        packet: The packet.
        expired: Claims whose evidence has expired.
    """
    kept = [one for one in answer.statements if one.claim not in expired]
    kept.extend(Statement(claim=claim, outcome=Outcome.UNAVAILABLE) for claim in expired)
    return Answer(
        outcome=_outcome(packet, expired),
        statements=tuple(kept),
        unknowns=answer.unknowns,
        conflicts=answer.conflicts,
    )


def facts_of(packet: EvidencePacket, section: Section) -> list[tuple[EvidenceItem, Fact]]:
    """Return the facts that may be stated for a claim, the first item's first."""
    claim = packet.claim(section.claim)
    if claim is None:
        return []
    use = Use.QUOTE if claim.quotes else Use.PROVE
    return [
        (packet.item(placed.item), fact)
        for placed in section.items
        if placed.role == "evidence"
        for fact in packet.item(placed.item).asserts(claim.kind, use)
        if (not claim.parts or fact.predicate in claim.parts)
        and (claim.subject is None or fact.subject == claim.subject)
    ]


def _judge(
    section: Section,
    own: dict[str, Statement],
    packet: EvidencePacket,
    book: Phrasebook,
    language: str,
    *,
    gone: bool,
) -> tuple[list[str], list[Sentence]]:
    claim = packet.claim(section.claim)
    required = claim is None or claim.required
    outcome = Outcome.UNAVAILABLE if gone else section.outcome
    if not own:
        return (["not_stated"] if required else []), []
    if outcome in _SILENT:
        statement = next(iter(own.values()))
        if len(own) > 1:
            return ["stated_twice"], []
        reasons = _silence(statement, section, outcome)
        if gone and statement.outcome is not Outcome.UNAVAILABLE:
            reasons = ["expired"]
        return reasons, [open_line(packet, section.claim, outcome, book, language)]
    facts = facts_of(packet, section)
    parts = claim.parts if claim and claim.parts else ("",)
    if len(own) != len(parts):
        return ["not_stated" if len(own) < len(parts) else "stated_twice"], []
    reasons, lines = [], []
    for predicate, statement in sorted(own.items()):
        candidates = [pair for pair in facts if pair[1].predicate == predicate]
        found = [
            pair
            for pair in candidates
            if not _differences(statement, *pair, section=section, packet=packet, book=book)
        ]
        if found:
            item, fact = found[0]
            lines.append(fact_line(packet, section, fact, item=item, book=book, language=language))
        elif candidates:
            reasons.extend(
                _differences(statement, *candidates[0], section=section, packet=packet, book=book)
            )
        else:
            reasons.append("predicate")
    return reasons, lines


def _silence(statement: Statement, section: Section, outcome: Outcome) -> list[str]:
    """Return what is wrong with a statement for a claim of which nothing may be stated."""
    reasons = []
    if statement.outcome is not outcome:
        reasons.append("outcome")
    if (
        any(
            part is not None
            for part in (statement.value, statement.unit, statement.as_of, statement.comparator)
        )
        or statement.quote
    ):
        reasons.append("value_of_what_is_open")
    if statement.exceptions or statement.polarity.value != "affirmed":
        reasons.append("value_of_what_is_open")
    cited = {placed.item for placed in section.items} if outcome is Outcome.CONFLICT else set()
    if set(statement.citations) != cited:
        reasons.append("citations")
    return reasons


def _differences(
    statement: Statement,
    item: EvidenceItem,
    fact: Fact,
    *,
    section: Section,
    packet: EvidencePacket,
    book: Phrasebook,
) -> list[str]:
    """Return every field in which a statement differs from a fact."""
    words, reasons = book.vocabulary, []
    if _word(statement.subject, words) != fact.subject:
        reasons.append("subject")
    if _word(statement.predicate, words) != fact.predicate:
        reasons.append("predicate")
    if statement.comparator is not fact.comparator:
        reasons.append("comparator")
    if statement.polarity is not fact.polarity:
        reasons.append("polarity")
    if statement.value is None or not equals(fact.value, statement.value, statement.unit, words):
        reasons.append("value")
    if sorted(_word(one, words) for one in statement.exceptions) != list(fact.exceptions):
        reasons.append("exceptions")
    if item.as_of_ms is None:
        if statement.as_of is not None:
            reasons.append("as_of")
    elif statement.as_of is None or instant.parse(statement.as_of) != item.as_of_ms:
        reasons.append("as_of")
    if statement.outcome is not section.outcome:
        reasons.append("outcome")
    if sorted(statement.citations) != sorted(placed.item for placed in section.items):
        reasons.append("citations")
    if statement.quote is not None and not any(
        statement.quote in packet.item(placed.item).text
        for placed in section.items
        if placed.item in statement.citations
    ):
        reasons.append("quote")
    return reasons


def _whole(answer: Answer, packet: EvidencePacket, expired: tuple[str, ...]) -> list[Problem]:
    problems = []
    if answer.outcome is not _outcome(packet, expired):
        problems.append(Problem("", "answer_outcome" if not expired else "expired"))
    if answer.outcome not in packet.contract.outcomes:
        problems.append(Problem("", "outcome_not_in_contract"))
    if sorted(answer.unknowns) != sorted(unknown.id for unknown in packet.spec.unknowns):
        problems.append(Problem("", "unknowns"))
    if sorted(answer.conflicts) != sorted(conflict.id for conflict in packet.spec.conflicts):
        problems.append(Problem("", "conflicts"))
    return problems


def _outcome(packet: EvidencePacket, expired: tuple[str, ...]) -> Outcome:
    sections = tuple(
        one.model_copy(update={"outcome": Outcome.UNAVAILABLE}) if one.claim in expired else one
        for one in packet.spec.sections
    )
    return packet.spec.model_copy(update={"sections": sections}).outcome


def _has_expired(
    packet: EvidencePacket, section: Section, now_ms: int, fallen: frozenset[str]
) -> bool:
    if any(placed.item in fallen for placed in section.items):
        return True
    until = packet.expires_at_ms(section.claim)
    return until is not None and now_ms >= until


def _word(text: str | None, words: Vocabulary) -> str:
    """Return the id a text means; the text itself where the vocabulary does not know it."""
    if text is None:
        return ""
    return words.find(text) or text
