"""What a turn knows of its evidence while it runs, and what an application is asked for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from google.adk.agents.invocation_context import InvocationContext
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from callbacks.evidence.admission import Row
from callbacks.evidence.arguments import Stopped
from callbacks.evidence.assembly import Assembly
from callbacks.evidence.gate import Verdict
from callbacks.evidence.inputs import Inputs
from callbacks.evidence.item import EvidenceItem
from callbacks.evidence.record import GenerationRecord
from callbacks.evidence.release import ReleaseNote


@dataclass(frozen=True, slots=True)
class Ask:
    """For which packet an application is asked.

    Attributes:
        generation: The id it will have.
        revision: 1 for the turn's first packet; more after a tool said something, or after an
            answer was stopped or had expired: then what ages is to be fetched anew.
        now_ms: The present, in milliseconds UTC.
        observed: Rows that were made of this turn's tool results.
        failed: Tools whose results made none.
    """

    generation: str
    revision: int
    now_ms: int
    observed: tuple[Row, ...] = ()
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """What a turn's question is to be answered from.

    Attributes:
        inputs: Everything its packet is made from.
        said: Values that the application read from the person's own words of this turn.
        seen: Texts outside the packet that the model sees and nobody vouches for: attachments of
            the message, for one. A tool's results of this turn are added to them.
    """

    inputs: Inputs
    said: tuple[str, ...] = ()
    seen: tuple[EvidenceItem, ...] = ()


class EvidenceSource(Protocol):
    """An application's side: it knows the tasks, the sources and who may read what."""

    async def gather(self, context: InvocationContext, ask: Ask) -> Question | None:
        """Return what a question is to be answered from; None where it needs no evidence.

        Access is verified here, for this very turn. A source that is down is a `Lookup` with the
        state ``unavailable`` where a claim needs it, and a `Notice` where none does.
        """

    def observed(
        self, tool: str, arguments: Mapping[str, Any], result: Any, now_ms: int
    ) -> Sequence[Row] | None:
        """Return the rows that a tool's result makes, validated by its schema.

        A result that lacks a field, or is an error's text, makes no row: then none are returned,
        and the next packet is to say that the source did not answer. None stands for a tool that
        is no source.
        """

    async def fallen(self, items: Sequence[str]) -> frozenset[str]:
        """Return which of these items have fallen: withdrawn, corrected, invalidated.

        They are the packet's, and all that those go back to in the rows of `gather`; what was
        made of what has fallen need not be named.
        """


@dataclass(frozen=True, slots=True)
class Handover:
    """What somebody gets who is to judge an answer that was not released.

    Attributes:
        generation: Whose record tells the rest.
        answer: What the model gave.
        problems: Why it was stopped: pairs of claim and reason.
    """

    generation: str
    answer: str = field(repr=False)
    problems: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Released:
    """How a turn ended, for the operator; it holds what was asked and answered.

    Attributes:
        note: What is recorded.
        assembly: The packet that was judged last.
        record: Its record.
        verdict: The gate's last verdict.
        answer: What the model gave.
    """

    note: ReleaseNote
    assembly: Assembly = field(repr=False)
    record: GenerationRecord = field(repr=False)
    verdict: Verdict = field(repr=False)
    answer: str = field(repr=False)


@dataclass
class TurnEvidence:
    """The evidence of one turn.

    Attributes:
        question: What it is answered from; None where the application has nothing to prove.
        assembly: The packet in force.
        record: Its record.
        revision: How many packets there were.
        observed: Rows of this turn's tools.
        failed: Tools whose results made none.
        stale: Whether a tool said something since the packet was made.
        results: This turn's tool results, as text nobody vouches for.
        stopped: Tool calls that were not made.
        block: The content in which the packet stands.
        request: The request it stands in.
        again: Whether it was put together again for an answer already.
        released: What the gate let out; None for nothing.
    """

    question: Question | None = None
    assembly: Assembly | None = None
    record: GenerationRecord | None = None
    revision: int = 0
    observed: list[Row] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    stale: bool = False
    results: list[EvidenceItem] = field(default_factory=list)
    stopped: list[Stopped] = field(default_factory=list)
    block: types.Content | None = None
    request: LlmRequest | None = None
    again: bool = False
    released: str | None = None
