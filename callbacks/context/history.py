"""The history minimizer: of messages that had to be kept, the few that this request needs.

Secret messages leave first: what ranks and what summarizes is never given one. Then the newest safe
request stays, older messages stay by relevance, stable facts of the others become one summary, and
the rest goes. A message that stays is whole; "do not open a ticket" cannot lose its "not".
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from callbacks.context.budget import Budget
from callbacks.context.errors import BudgetExceeded, InvalidCount, InvalidSetting, UnitMismatch
from callbacks.context.history_message import (
    SUMMARY_ID,
    HistoryMessage,
    InvalidHistory,
    check_history,
)
from callbacks.context.history_wording import HISTORY_WORDINGS
from callbacks.context.query import NO_SYNONYMS, Synonyms, asked_terms, chosen_terms
from callbacks.context.ranking import Bm25Ranker, Ranker, checked_scores
from callbacks.context.schema import Language
from callbacks.context.trace import Action, Block

Audience = Literal["internal", "public"]
Reason = Literal["summary", "relevance", "recency"]

CHANNEL = "history"
"""Where the pieces of a history travel, in the words of ``Block``."""

_COVERED = 0.5
"""What a term still counts for each time a chosen message has answered to it."""


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
            TraceRow(
                "context", "irrelevant_history", "dropped" if gone else "none", ", ".join(gone)
            ),
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


Measure = Callable[[tuple[ModelContextBlock, ...]], int]
"""Measures blocks in the budget's unit."""


def content_bytes(blocks: tuple[ModelContextBlock, ...]) -> int:
    """Return the length of all contents in UTF-8 bytes."""
    return sum(len(block.content.encode()) for block in blocks)


def prepare_history_context(
    history: Sequence[HistoryMessage],
    *,
    query_terms: Sequence[str] | None = None,
    max_blocks: int = 3,
    max_facts: int = 8,
    synonyms: Synonyms = NO_SYNONYMS,
    ranker: Ranker | None = None,
    audience: Audience = "internal",
    language: Language = "zh-Hant",
    budget: Budget | None = None,
    measure: Measure = content_bytes,
    unit: str = "utf8_bytes",
) -> PreparedHistory:
    """Choose what the model may see of a history.

    In this order: secret messages leave. The newest message of the user that is left stays.
    Of the others, those that answer to a query term stay, the most relevant first, a message about a topic
    that no chosen one has covered before a second one about the same. From three blocks on, one is
    left for the stable facts, if there are any: prepared summaries of messages that do not stay themselves,
    except of matters that are resolved and irrelevant.

    Args:
        history: The messages, oldest first.
        query_terms: What the request is about; None takes the terms of the newest request itself,
            without those it turns down. Empty means that nothing older is relevant.
        max_blocks: How many blocks there may be; at least 1.
        max_facts: How many prepared summaries there may be, newest first to stay; 0 for none.
        synonyms: Words for the same thing.
        ranker: Ranks the older messages; None for BM25.
        audience: ``public`` leaves ``internal`` messages out together with the secret ones.
        language: Of the words around the facts.
        budget: How large the blocks may be together; None for no such limit.
        measure: Measures blocks; by default the bytes of their contents.
        unit: The unit ``measure`` counts in.

    Raises:
        InvalidHistory: Something in the history is no message, or an id stands twice.
        InvalidSetting: A limit, an audience, a language or the query terms make no sense.
        RankerFailed: The ranker raised, or gave no usable scores.
        UnitMismatch: ``unit`` is not the budget's.
        InvalidCount: ``measure`` gave no whole number of at least zero.
        BudgetExceeded: The newest request alone is over the budget.
    """
    messages = check_history(history)
    _check_settings(max_blocks, max_facts, audience, language)
    hidden = {"secret"} if audience == "internal" else {"secret", "internal"}
    safe = [message for message in messages if message.sensitivity not in hidden]
    newest = next((message for message in reversed(safe) if message.role == "user"), None)
    others = [message for message in safe if message is not newest]
    if query_terms is not None:
        terms = chosen_terms(query_terms, synonyms)
    else:
        terms = asked_terms(newest.text, synonyms) if newest is not None else ()
    picked, relevant, repeated = _relevant(
        others, newest, checked_scores(ranker or Bm25Ranker(), terms, [_words(m) for m in others])
    )
    room = max_blocks - (newest is not None)
    facts = _facts(others, picked, relevant, room, max_facts)
    if facts and len(picked) >= room > 1:
        # One place for the facts; the message that made way for it may be one of them.
        room -= 1
        facts = _facts(others, picked, relevant, room, max_facts)
    chosen = picked[:room]
    if len(chosen) >= room:
        facts = facts if len(chosen) < max_blocks - (newest is not None) else []
    prepared = PreparedHistory(
        blocks=_blocks(messages, newest, chosen, facts, language),
        decisions=_decisions(messages, hidden, newest, chosen, facts, relevant, repeated),
        messages=len(messages),
        cut_order=(*(m.id for m in reversed(chosen)), *([SUMMARY_ID] if facts else [])),
    )
    return prepared if budget is None else _within(prepared, budget, measure, unit)
