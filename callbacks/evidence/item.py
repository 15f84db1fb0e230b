"""A piece of evidence: what it says, who says it, who may read it, when and where it holds."""

from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from callbacks.evidence.canonical import text_digest
from callbacks.evidence.frozen import Frozen, Id, Scope
from callbacks.evidence.trust import Trust, Use, allows
from callbacks.evidence.value import Label, Value

Text = Annotated[str, StringConstraints(max_length=200_000)]


class Comparator(StrEnum):
    """How a value bounds what it is about; 超過 is GT and 以上 is GE."""

    EQ = "eq"
    GT = "gt"
    GE = "ge"
    LT = "lt"
    LE = "le"


class Polarity(StrEnum):
    """Whether something is asserted or denied."""

    AFFIRMED = "affirmed"
    DENIED = "denied"


class Status(StrEnum):
    """Where a source stands in its own life."""

    DRAFT = "draft"
    IN_FORCE = "in_force"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"


class Fact(Frozen):
    """One thing that an item asserts, field by field.

    Attributes:
        claim: The kind of claim this may prove.
        subject: What or who it is about, as an id of the vocabulary.
        predicate: What is said about it.
        comparator: How the value bounds it.
        value: The value.
        polarity: Whether it is asserted or denied.
        exceptions: Where it does not hold, sorted ids of the vocabulary.
    """

    claim: Id
    subject: Id
    predicate: Id
    comparator: Comparator = Comparator.EQ
    value: Value
    polarity: Polarity = Polarity.AFFIRMED
    exceptions: tuple[Id, ...] = ()

    @model_validator(mode="after")
    def _sorted(self) -> Self:
        if list(self.exceptions) != sorted(set(self.exceptions)):
            raise ValueError("Exceptions of a fact stand sorted, each once.")
        return self


class Lineage(Frozen):
    """Where a text comes from.

    Attributes:
        document: The document, the same for each of its representations (page, PDF).
        section: Path of the section.
        start: First character of the span in the section.
        end: First character after the span.
        derived_from: Ids of the items this was made from; empty for an original.
        rule: How it was derived; empty for an original.
    """

    document: Id
    section: str = ""
    start: Annotated[int, Field(ge=0)] = 0
    end: Annotated[int, Field(ge=0)] = 0
    derived_from: tuple[Id, ...] = ()
    rule: str = ""


class Link(Frozen):
    """An approved relation to another item.

    Attributes:
        relation: What the other item is to this one.
        target: The other item's id.
        claims: The kinds of claims the relation matters for; empty means all.
    """

    relation: Literal["definition", "exception", "procedure", "condition"]
    target: Id
    claims: tuple[Id, ...] = ()


class EvidenceItem(Frozen):
    """A piece of canonical evidence, with its annotation apart.

    Attributes:
        id: Name of this very version.
        kind: What kind of evidence it is; a claim says which kinds it accepts.
        source: Which source it is in the authority matrix.
        entity: The source entity, whatever the version: ``PROC-AUTH-2025``.
        version: Version of the entity.
        owner: Who answers for it.
        access: Groups and persons who may read it; empty means nobody.
        status: Where the source stands in its own life.
        valid_from_ms: From when it holds, in milliseconds UTC.
        valid_until_ms: Until when, exclusive; None means open.
        scope: Where it holds.
        as_of_ms: When it was observed; None for what does not age.
        ttl_ms: How long an observation may be used after ``as_of_ms``.
        trust: As which kind of input it counts.
        facts: What it asserts.
        text: The original words. They are evidence.
        annotation: A description made for display or search. It proves nothing.
        lineage: Where it comes from.
        links: Approved relations to definitions, exceptions, procedures and conditions.
        citation: How people find it: ``§4.2``.
        content_sha256: SHA-256 of the text's raw UTF-8 bytes.
    """

    id: Id
    kind: Id
    source: Id
    entity: Id
    version: str = ""
    owner: Label = "unknown"
    access: tuple[str, ...]
    status: Status = Status.IN_FORCE
    valid_from_ms: int = 0
    valid_until_ms: int | None = None
    scope: Scope = ()
    as_of_ms: int | None = None
    ttl_ms: Annotated[int, Field(gt=0)] | None = None
    trust: Trust
    facts: tuple[Fact, ...] = ()
    text: Text
    annotation: str = ""
    lineage: Lineage
    links: tuple[Link, ...] = ()
    citation: str = ""
    content_sha256: str

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.content_sha256 != text_digest(self.text):
            raise ValueError("An item's hash is the hash of its text.")
        if self.ttl_ms is not None and self.as_of_ms is None:
            raise ValueError("What has a time to live has a time of observation.")
        if self.valid_until_ms is not None and self.valid_until_ms <= self.valid_from_ms:
            raise ValueError("A validity ends after it begins.")
        if list(self.scope) != sorted(self.scope) or any(
            list(members) != sorted(set(members)) for _, members in self.scope
        ):
            raise ValueError("A scope is sorted.")
        return self

    @property
    def expires_at_ms(self) -> int | None:
        """When an observation may no longer be used; None when it does not age."""
        if self.as_of_ms is None or self.ttl_ms is None:
            return None
        return self.as_of_ms + self.ttl_ms

    def asserts(self, claim_kind: str, use: Use = Use.PROVE) -> tuple[Fact, ...]:
        """Return what this item asserts for a kind of claim; nothing if its trust forbids it."""
        if not allows(self.trust, use):
            return ()
        return tuple(fact for fact in self.facts if fact.claim == claim_kind)


def make_row(**fields: Any) -> dict[str, Any]:
    """Return an item's raw row with its content hash filled in.

    Args:
        fields: Fields of an EvidenceItem as plain data.
    """
    return {**fields, "content_sha256": text_digest(fields["text"])}
