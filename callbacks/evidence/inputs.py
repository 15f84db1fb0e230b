"""Everything a packet is made from."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from callbacks.evidence.admission import Asked, Reader, Row
from callbacks.evidence.authority import AuthorityMatrix
from callbacks.evidence.case import CaseState
from callbacks.evidence.conflict import Duty, Lookup, Resolution
from callbacks.evidence.contract import TaskContract
from callbacks.evidence.dependencies import MAX_CHAIN
from callbacks.evidence.packet import Notice
from callbacks.evidence.plan import ClaimPlan
from callbacks.evidence.reduction import Table
from callbacks.evidence.selection import DEFAULT_NODES
from callbacks.evidence.value import Vocabulary


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything a packet is made from.

    Attributes:
        generation: Id of the generation.
        contract: The contract.
        approved_sha256: Hash of the contract that was approved.
        plan: The claims.
        rows: Candidates as plain data.
        reader: Who asks, with every verified name.
        reader_id: Who asks, by an id for the packet.
        asked: What is asked and of which time.
        matrix: Who decides what.
        case: The case.
        duties: Who answers for which kind of claim or field.
        lookups: What became of asking for kinds of claims.
        resolutions: Owners' decisions about conflicts.
        fallen: Ids of items whose life has ended.
        conflict_due_ms: By when owners are to decide conflicts.
        language: In which language the answer is rendered.
        nodes: How many nodes selection may search.
        chain: Most items a chain of dependencies may have.
        tables: Present rows behind aggregates, by the aggregate's id; one that they no longer give
            does not count.
        vocabulary: Names that no shortening may lose, and what words are called in texts.
        notices: Sources that did not answer and that no claim needs: the answer says so.
        total: A limit of the evidence's size below the contract's own; None for no other.
    """

    generation: str
    contract: TaskContract
    approved_sha256: str
    plan: ClaimPlan
    rows: Iterable[Row]
    reader: Reader
    reader_id: str
    asked: Asked
    matrix: AuthorityMatrix
    case: CaseState
    duties: tuple[Duty, ...] = ()
    lookups: tuple[Lookup, ...] = ()
    resolutions: tuple[Resolution, ...] = ()
    fallen: tuple[str, ...] = ()
    conflict_due_ms: int | None = None
    language: Literal["zh-Hant", "en"] = "zh-Hant"
    nodes: int = DEFAULT_NODES
    chain: int = MAX_CHAIN
    tables: Mapping[str, Table] = field(default_factory=dict)
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    notices: tuple[Notice, ...] = ()
    total: int | None = None
