"""What is left of a history for the model, what became of the rest, and the trace of both."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from callbacks.context.history_message import SUMMARY_ID
from callbacks.context.trace import Action, Block

Reason = Literal["summary", "relevance", "recency"]

CHANNEL = "history"
"""Where the pieces of a history travel, in the words of ``Block``."""


@dataclass(frozen=True, slots=True)
class ModelContextBlock:
    """One piece of history that the model will see.

    Attributes:
        block_id: The message's id, or ``history-summary``.
        reason: Why it stays: ``summary``, ``relevance`` or ``recency``.
        content: The message's text, whole, or the facts.
        role: Who said it; empty for the summary.
    """

    block_id: str
    reason: Reason
    content: str
    role: str = ""


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One row of the trace: what a rule did, never what it did it to.

    Attributes:
        kind: ``context`` or ``guardrail``.
        name: The rule.
        outcome: What became of its messages, or how many there are; ``none`` where it found none.
        detail: The same for people: ids and counts. A secret message's id is in no detail.
    """

    kind: str
    name: str
    outcome: str
    detail: str = ""

    def as_json(self) -> dict[str, str]:
        """Return the row as plain data."""
        return {
            "kind": self.kind,
            "name": self.name,
            "outcome": self.outcome,
            "detail": self.detail,
        }


@dataclass(frozen=True)
class PreparedHistory:
    """What the model will see of a history, and why.

    Attributes:
        blocks: The summary, if there is one, then messages, oldest first.
        decisions: What became of every message of the history (invariant 16).
        messages: How many messages the history had.
        cut_order: Ids of the blocks that may be given up, the first to go first.
    """

    blocks: tuple[ModelContextBlock, ...]
    decisions: tuple[Block, ...]
    messages: int
    cut_order: tuple[str, ...]

    @property
    def older(self) -> tuple[ModelContextBlock, ...]:
        """The blocks without the newest request, which stands for itself in a conversation."""
        return tuple(block for block in self.blocks if block.reason != "recency")

    @cached_property
    def trace(self) -> tuple[TraceRow, ...]:
        """Seven rows, one a rule, in the order in which the rules are told."""
        secret, internal = self._count("secret"), self._count("above_audience")
        kept = [block.block_id for block in self.blocks if block.reason == "relevance"]
        waiting = self._count("over_max_blocks")
        cut = self._count("over_budget")
        facts = sum(decision.action is Action.SUMMARIZED for decision in self.decisions)
        gone = [
            decision.id
            for decision in self.decisions
            if decision.reason in {"irrelevant", "resolved", "repeated"}
        ]
        newest = [block.block_id for block in self.blocks if block.reason == "recency"]
        removed = [
            text
            for number, text in (
                (secret, f"{secret} secret removed"),
                (internal, f"{internal} internal removed"),
            )
            if number
        ]
        related = [
            ", ".join(kept),
            f"{waiting} over max_blocks" if waiting else "",
            f"{cut} over budget" if cut else "",
        ]
        return (
            TraceRow("context", "history_input", f"{self.messages}_messages"),
            TraceRow(
                "guardrail",
                "sensitive_data_minimization",
                "dropped" if removed else "none",
                "; ".join(removed),
            ),
            TraceRow(
                "context",
                "relevance_selection",
                "kept" if kept else "none",
                "; ".join(filter(None, related)),
            ),
            TraceRow(
                "context",
                "history_compaction",
                "summarized" if facts else "none",
                f"{facts} as safe summaries" if facts else "",
            ),
            TraceRow("context", "irrelevant_history", "dropped" if gone else "none", _listed(gone)),
            TraceRow("context", "recency_selection", "kept" if newest else "none", "".join(newest)),
            TraceRow("context", "model_context", f"{len(self.blocks)}_blocks"),
        )

    def cut(self) -> "PreparedHistory | None":
        """Return the same without the block that is least missed; None where none may go.

        The least relevant message goes first, then the summary, the newest request never.
        """
        if not self.cut_order:
            return None
        first, *rest = self.cut_order
        return replace(
            self,
            blocks=tuple(block for block in self.blocks if block.block_id != first),
            decisions=tuple(_given_up(decision, first) for decision in self.decisions),
            cut_order=tuple(rest),
        )

    def _count(self, reason: str) -> int:
        return sum(decision.reason == reason for decision in self.decisions)


def _listed(ids: Sequence[str], most: int = 8) -> str:
    more = len(ids) - most
    return ", ".join(ids[:most]) + (f" and {more} more" if more > 0 else "")


def _given_up(decision: Block, cut: str) -> Block:
    with_summary = cut == SUMMARY_ID and decision.action is Action.SUMMARIZED
    if decision.id != cut and not with_summary:
        return decision
    return replace(decision, action=Action.DROPPED, reason="over_budget")
