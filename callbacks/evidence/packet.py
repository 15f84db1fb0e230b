"""What the model is given: the decision, the items it names, and the bytes they make together."""

import hashlib
from functools import cached_property
from typing import Literal

from callbacks.evidence.admission import Exclusion
from callbacks.evidence.case import CaseFact
from callbacks.evidence.conflict import Conflict, Unknown
from callbacks.evidence.contract import Outcome, TaskContract
from callbacks.evidence.frozen import Frozen, Id
from callbacks.evidence.item import EvidenceItem
from callbacks.evidence.plan import Claim, ClaimPlan


class Task(Frozen):
    """What is asked, of when, by whom, about what: no sentence of the conversation.

    Attributes:
        reader: Who asks, by an id that names nobody outside.
        scope: The task's value in each dimension, by dimension.
        asked_at_ms: The time the answer is about, in milliseconds UTC.
        now_ms: When the packet was made.
        facts: The case's present facts.
        language: In which language the answer is rendered.
    """

    reader: Id
    scope: tuple[tuple[Id, str], ...]
    asked_at_ms: int
    now_ms: int
    facts: tuple[CaseFact, ...] = ()
    language: Literal["zh-Hant", "en"] = "zh-Hant"


class Placed(Frozen):
    """An item in its place.

    Attributes:
        item: Its id.
        role: What it is to its claim.
    """

    item: Id
    role: Literal["evidence", "condition", "counter"]


class Section(Frozen):
    """One claim with its evidence, conditions and counter-evidence together.

    Attributes:
        claim: Id of the claim.
        outcome: What the claim comes to.
        items: Items in order.
        applies: How the case compares with the claim's value; None where nothing is compared.
    """

    claim: Id
    outcome: Outcome
    items: tuple[Placed, ...] = ()
    applies: Literal["yes", "no", "open"] | None = None


class Notice(Frozen):
    """A source that did not answer and that no claim of this task needs.

    Attributes:
        source: Which source.
        why: What became of it.
    """

    source: Id
    why: Literal["unavailable", "partial"]


class PacketSpec(Frozen):
    """Everything decided about a packet, without the items' contents.

    From it, the contract and the items, ``arrangement.build`` makes the same bytes again without
    deciding anything anew.

    Attributes:
        generation: Id of the generation.
        contract_sha256: The contract's hash.
        task: What is asked.
        plan: The claims.
        sections: The claims' evidence, in the order in which it stands.
        unknowns: What is not known.
        conflicts: What contradicts.
        excluded: What does not count, and why.
        notices: Sources that did not answer and are not needed.
    """

    schema_version: Literal[1] = 1
    generation: Id
    contract_sha256: str
    task: Task
    plan: ClaimPlan
    sections: tuple[Section, ...]
    unknowns: tuple[Unknown, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    excluded: tuple[Exclusion, ...] = ()
    notices: tuple[Notice, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """What the whole answer comes to: the most cautious of its required claims."""
        required = {claim.id for claim in self.plan.claims if claim.required}
        found = {section.outcome for section in self.sections if section.claim in required}
        if Outcome.CONFLICT in found:
            return Outcome.CONFLICT
        if found and found <= {Outcome.UNKNOWN, Outcome.UNAVAILABLE}:
            return Outcome.UNKNOWN
        if self.unknowns or found != {Outcome.SUPPORTED}:
            return Outcome.CONDITIONAL
        return Outcome.SUPPORTED

    def item_ids(self) -> tuple[str, ...]:
        """Return the ids of the items, each once, in the order in which they stand."""
        return tuple(
            dict.fromkeys(placed.item for section in self.sections for placed in section.items)
        )


class EvidencePacket(Frozen):
    """A packet.

    Attributes:
        contract: The contract.
        spec: What was decided.
        items: The items it names, in order.
        text: What the model reads.
    """

    contract: TaskContract
    spec: PacketSpec
    items: tuple[EvidenceItem, ...]
    text: str

    @property
    def sha256(self) -> str:
        """The SHA-256 of the text's UTF-8 bytes, as 64 hex digits."""
        return hashlib.sha256(self.text.encode("utf-8")).hexdigest()

    def section(self, claim_id: str) -> Section | None:
        """Return a claim's section, or None."""
        return next((one for one in self.spec.sections if one.claim == claim_id), None)

    def claim(self, claim_id: str) -> Claim | None:
        """Return a claim of the plan, or None."""
        return self.spec.plan.claim(claim_id)

    def item(self, item_id: str) -> EvidenceItem:
        """Return an item of the packet.

        Raises:
            KeyError: The packet has no such item.
        """
        return self.by_id[item_id]

    @cached_property
    def by_id(self) -> dict[str, EvidenceItem]:
        """The items by id."""
        return {item.id: item for item in self.items}

    def expires_at_ms(self, claim_id: str) -> int | None:
        """Return when a claim's evidence may no longer be used; None when it does not age.

        That is the first of: an item's own end, the end of its validity where the present is asked
        about, and the freshness that the claim wants of what proves or contradicts it.
        """
        section, claim = self.section(claim_id), self.claim(claim_id)
        fresh = claim.freshness_ms if claim else None
        present = self.spec.task.asked_at_ms >= self.spec.task.now_ms
        times: list[int | None] = []
        for placed in section.items if section else ():
            item = self.item(placed.item)
            times.append(item.expires_at_ms)
            if present:
                times.append(item.valid_until_ms)
            if fresh is not None and item.as_of_ms is not None and placed.role != "condition":
                times.append(item.as_of_ms + fresh)
        return min((moment for moment in times if moment is not None), default=None)
