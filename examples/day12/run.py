"""All that the demo of day 12 does: the minimizer alone, then the same through an ADK agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from callbacks.context.history import prepare_history_context
from callbacks.context.prepared_history import ModelContextBlock, PreparedHistory
from callbacks.context.ranking import Bm25Ranker, Term
from examples.day12.helpdesk import BUDGET, Answered, Helpdesk
from examples.day12.messages import NEWEST, QUERY_TERMS, SYNONYMS, with_newest
from examples.day12.offline_model import blocks_of

PRINTER = "打印機又卡紙了，請開工單。"
"""Another question: about what was resolved, in a word that no message holds, and with a ticket."""


class WatchedRanker:
    """BM25, with somebody taking down every text it is given."""

    def __init__(self) -> None:
        """Start with nothing seen."""
        self.seen: list[str] = []

    def scores(self, terms: Sequence[Term], documents: Sequence[str]) -> list[list[float]]:
        """Take the texts down, then rank them."""
        self.seen += documents
        return Bm25Ranker().scores(terms, documents)


@dataclass(frozen=True)
class Step:
    """One run with a budget: what it left of the blocks."""

    limit: int
    units: int | None
    blocks: tuple[str, ...]
    error_code: str | None
    model_calls: int


@dataclass(frozen=True)
class Found:
    """What was seen; the report and its checks only read it.

    Attributes:
        prepared: The minimizer's answer to the article's call.
        ranked: Every text that the ranker was given.
        last_three: What a window of the last three messages would have been.
        live: The newest question, through plugin, budget and gate.
        without: The same question of a helpdesk without a history policy.
        printer: Another question of the same history.
        steps: The newest question with ever smaller budgets, until it is refused.
    """

    prepared: PreparedHistory
    ranked: tuple[str, ...]
    last_three: tuple[str, ...]
    live: Answered
    without: Answered
    printer: Answered
    steps: tuple[Step, ...]


def shown(answered: Answered) -> tuple[ModelContextBlock, ...]:
    """Return the older blocks in the first request that left."""
    return tuple(blocks_of(answered.requests[0].contents)) if answered.requests else ()


async def everything(live: Path) -> Found:
    """Run it all; the store lies in `live`."""
    ranker = WatchedRanker()
    prepared = prepare_history_context(
        with_newest(), query_terms=QUERY_TERMS, max_blocks=3, synonyms=SYNONYMS, ranker=ranker
    )
    database = live / "helpdesk.db"
    answered = await Helpdesk(database).ask(NEWEST)
    return Found(
        prepared=prepared,
        ranked=tuple(ranker.seen),
        last_three=tuple(message.id for message in with_newest()[-3:]),
        live=answered,
        without=await Helpdesk(database, earlier=None).ask(NEWEST),
        printer=await Helpdesk(database).ask(PRINTER),
        steps=await _steps(database),
    )


async def _steps(database: Path) -> tuple[Step, ...]:
    """Ask with a budget one byte below what was sent last, until nothing is sent."""
    steps: list[Step] = []
    limit: int | None = BUDGET
    while limit is not None:
        answered = await Helpdesk(database, limit=limit).ask(NEWEST)
        units = answered.records[0].units if answered.records else None
        step = Step(
            limit=limit,
            units=units,
            blocks=tuple(block.block_id for block in shown(answered)),
            error_code=answered.error_code,
            model_calls=len(answered.requests),
        )
        steps.append(step)
        limit = units - 1 if units is not None and answered.error_code is None else None
    return tuple(steps)
