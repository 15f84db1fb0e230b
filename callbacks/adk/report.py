"""The turn's own report, for the operator: what was asked, what ran, what the model saw.

It is the one place outside the store and a running tool where a consented value may stand. It
lives in memory, is handed to `ContextBudgetPlugin(on_report=...)` when the turn ends, and is
written to no session, span or log by this package (invariant 6).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from callbacks.adk.refusal import Refusal
from callbacks.context.trace import Block

Origin = Literal["consented_memory", "this_turn", "none"]


@dataclass(frozen=True)
class ToolRecord:
    """What one tool call was asked and what it ran with."""

    tool: str
    proposed_arguments: Mapping[str, Any]
    effective_arguments: Mapping[str, Any] = field(repr=False)
    preference_origin: Origin
    memory_revision: int | None

    def as_dict(self) -> dict[str, Any]:
        """Return the record under its documented keys."""
        return {
            "tool": self.tool,
            "proposed_arguments": dict(self.proposed_arguments),
            "effective_arguments": dict(self.effective_arguments),
            "preference_origin": self.preference_origin,
            "memory_revision": self.memory_revision,
        }


@dataclass(frozen=True)
class RequestRecord:
    """What one model request was made of: ids, cuts and reasons, counts, hash (invariant 16).

    Attributes:
        agent: The agent whose request this was.
        unit: The counter's unit; `units` and `limit` are in it.
        units: The count of the request as sent, or of the smallest candidate when refused;
            None when it was proven to fit or could not be counted, never taken for zero.
        decision: `proven` by a bound, `counted` or `refused`.
        blocks: Every block kept, dropped, summarized or refused, with its reason.
        fingerprint: SHA-256 of the canonical request; None when nothing was to be sent.
        bound: What a proven request cannot exceed; None unless it was proven.
    """

    agent: str
    unit: str
    limit: int
    units: int | None
    decision: Literal["proven", "counted", "refused"]
    blocks: tuple[Block, ...]
    fingerprint: str | None
    bound: int | None = None


@dataclass(frozen=True)
class PrivateResult:
    """A tool result that goes to the person and to nobody else."""

    tool: str
    arguments: Mapping[str, Any] = field(repr=False)
    result: Any = field(repr=False)


@dataclass
class TurnReport:
    """All of one turn. Values stand in `tool_calls` and `private_results` only."""

    invocation_id: str
    session_id: str
    event_id: str
    revision: int | None = None
    tool_calls: list[ToolRecord] = field(default_factory=list)
    private_results: list[PrivateResult] = field(default_factory=list, repr=False)
    requests: list[RequestRecord] = field(default_factory=list)
    measured_prompt_tokens: list[int | None] = field(default_factory=list)
    refusal: Refusal | None = None
    recorded: bool = False
