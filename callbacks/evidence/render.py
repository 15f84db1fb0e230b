"""Says a released answer: every sentence is the application's, every value the evidence's."""

from dataclasses import dataclass

from callbacks.evidence.authority import applies
from callbacks.evidence.contract import Outcome
from callbacks.evidence.fence import escape
from callbacks.evidence.instant import local
from callbacks.evidence.item import EvidenceItem, Fact, Polarity
from callbacks.evidence.money import Money
from callbacks.evidence.packet import EvidencePacket, Section
from callbacks.evidence.phrasebook import Phrasebook
from callbacks.evidence.value import Moment, shown
from callbacks.evidence.wording import APPLIES, COMPARISONS, HEADLINES, OUTCOMES, PHRASES


@dataclass(frozen=True, slots=True)
class Sentence:
    """One line of an answer.

    Attributes:
        about: ``headline``, ``unknown:ID``, ``conflict:ID``, ``notice:SOURCE`` or
            ``claim:ID:PREDICATE``.
        text: The line.
        value: The value as it stands in the line; empty where there is none.
    """

    about: str
    text: str
    value: str = ""


def headline(outcome: Outcome, language: str) -> Sentence:
    """Return the line that says what the whole answer comes to."""
    return Sentence("headline", HEADLINES[language][outcome])


def unknown_lines(packet: EvidencePacket, book: Phrasebook, language: str) -> list[Sentence]:
    """Return a line for each thing that is not known: what, and who can say it."""
    words, found = PHRASES[language], []
    for unknown in packet.spec.unknowns:
        text = words["unknown"].format(
            name=book.vocabulary.label(unknown.id, language),
            owner=book.vocabulary.label(unknown.owner, language),
            supplies=book.vocabulary.label(unknown.supplies, language),
        )
        if unknown.retry_at_ms is not None:
            time = local(unknown.retry_at_ms, packet.contract.utc_offset_minutes)
            text += words["retry"].format(time=time)
        found.append(Sentence(f"unknown:{unknown.id}", text + words["stop"]))
    return found


def notice_lines(packet: EvidencePacket, book: Phrasebook, language: str) -> list[Sentence]:
    """Return a line for each source that did not answer and was not needed."""
    words = PHRASES[language]
    return [
        Sentence(
            f"notice:{one.source}",
            words["notice"].format(source=book.vocabulary.label(one.source, language)),
        )
        for one in packet.spec.notices
    ]


def conflict_lines(packet: EvidencePacket, book: Phrasebook, language: str) -> list[Sentence]:
    """Return a line for each conflict: both sides by their sources, and who decides."""
    words, found = PHRASES[language], []
    for conflict in packet.spec.conflicts:
        text = words["conflict"].format(
            id=conflict.id,
            sides=words["list"].join(_citation(packet.item(side)) for side in conflict.sides),
            owner=escape(book.vocabulary.label(conflict.owner, language)),
        )
        if conflict.due_ms is not None:
            time = local(conflict.due_ms, packet.contract.utc_offset_minutes)
            text += words["due"].format(time=time)
        found.append(Sentence(f"conflict:{conflict.id}", text + words["stop"]))
    return found


def fact_line(
    packet: EvidencePacket,
    section: Section,
    fact: Fact,
    *,
    item: EvidenceItem,
    book: Phrasebook,
    language: str,
) -> Sentence:
    """Return the line that states a claim's fact, with condition, time, exceptions and sources.

    Args:
        packet: The packet.
        section: The claim's section.
        fact: The fact.
        item: The item that asserts it.
        book: The application's words.
        language: ``zh-Hant`` or ``en``.
    """
    words, offset = PHRASES[language], packet.contract.utc_offset_minutes
    value = (
        local(fact.value.at_ms, offset)
        if isinstance(fact.value, Moment)
        else escape(shown(fact.value, book.vocabulary, language))
    )
    comparison = COMPARISONS[language][fact.comparator].replace("{value}", value)
    denied = fact.polarity is Polarity.DENIED
    template = book.template(fact.predicate, language, denied=denied)
    general = template is None
    if template is None:
        template = book.template(fact.predicate, language, denied=False) or words["fact"]
    sentence = (
        template.replace("{subject}", book.vocabulary.label(fact.subject, language))
        .replace("{predicate}", book.vocabulary.label(fact.predicate, language))
        .replace("{comparison}", comparison)
    )
    if denied and general:
        sentence = words["denied"].format(sentence=sentence)
    notes = []
    if item.as_of_ms is not None:
        notes.append(words["as_of"].format(time=local(item.as_of_ms, offset)))
    if fact.exceptions:
        names = words["list"].join(book.vocabulary.label(one, language) for one in fact.exceptions)
        notes.append(words["exceptions"].format(names=names))
    if section.applies:
        notes.append(_applies(packet, section, fact, language))
    names = words["list"].join(
        dict.fromkeys(_citation(packet.item(placed.item)) for placed in section.items)
    )
    notes.append(words["citations"].format(names=names))
    text = (
        f"[{section.claim}] {OUTCOMES[language][section.outcome]}{sentence}"
        f"{words['open']}{words['between'].join(notes)}{words['close']}{words['stop']}"
    )
    return Sentence(f"claim:{section.claim}:{fact.predicate}", text, value)


def open_line(
    packet: EvidencePacket, claim_id: str, outcome: Outcome, book: Phrasebook, language: str
) -> Sentence:
    """Return the line of a claim for which nothing is stated: conflict, unknown, not available."""
    words = PHRASES[language]
    claim = packet.claim(claim_id)
    name = book.vocabulary.label(claim.kind if claim else claim_id, language)
    text = f"[{claim_id}] {name}{words['between']}{OUTCOMES[language][outcome]}"
    if outcome is Outcome.CONFLICT:
        text += words["list"].join(one.id for one in packet.spec.conflicts if one.claim == claim_id)
    return Sentence(f"claim:{claim_id}:", text)


def _applies(packet: EvidencePacket, section: Section, stated: Fact, language: str) -> str:
    """Say how the case compares with the fact that is stated: another may be bounded otherwise."""
    claim = packet.claim(section.claim)
    field = claim.compares if claim else None
    fact = next((one for one in packet.spec.task.facts if one.field == field), None)
    value = (
        fact.value.text() if fact and fact.value.kind == "money" else PHRASES[language]["unstated"]
    )
    found = section.applies or "open"
    if isinstance(stated.value, Money):
        found = applies(fact.value if fact else None, stated)
    return APPLIES[language][found].replace("{value}", value)


def _citation(item: EvidenceItem) -> str:
    return " ".join(part for part in (item.entity, escape(item.citation)) if part)
