"""The history minimizer: of messages that had to be kept, the few that this request needs.

Secret messages leave first: what ranks and what summarizes is never given one. Then the newest safe
request stays, older messages stay by relevance, stable facts of the others become one summary, and
the rest goes. A message that stays is whole; "do not open a ticket" cannot lose its "not".
"""

from collections.abc import Callable, Sequence
from operator import mul
from typing import Literal, get_args

from callbacks.context.budget import Budget
from callbacks.context.errors import BudgetExceeded, InvalidCount, InvalidSetting, UnitMismatch
from callbacks.context.history_message import (
    SUMMARY_ID,
    HistoryMessage,
    check_history,
)
from callbacks.context.history_wording import HISTORY_WORDINGS
from callbacks.context.prepared_history import (
    CHANNEL,
    ModelContextBlock,
    PreparedHistory,
    Reason,
)
from callbacks.context.query import NO_SYNONYMS, Synonyms, asked_terms, chosen_terms
from callbacks.context.ranking import Bm25Ranker, Ranker, checked_scores
from callbacks.context.schema import Language
from callbacks.context.trace import Action, Block

Audience = Literal["internal", "public"]

_COVERED = 0.5
"""What a term still counts for each time a chosen message has answered to it."""

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
    Of the others, those that answer to a query term stay, the most relevant first; one about a term
    that no chosen one answers to goes before another about the same. From three blocks on, one is
    left for the stable facts, if there are any: prepared summaries of messages that do not stay
    themselves, except of matters that are resolved and irrelevant.

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
    fresh = _without_repeats(others, newest)
    rows = checked_scores(ranker or Bm25Ranker(), terms, [_words(message) for message in fresh])
    relevant = {m.id for at, m in enumerate(fresh) if any(row[at] for row in rows)}
    room = max_blocks - (newest is not None)
    picked = [fresh[at] for at in _picked(rows, len(fresh), room)]
    facts = _facts(others, picked, relevant, max_facts)
    if facts and len(picked) == room:
        # From two places on, one is for the facts; the message that makes way may be among them.
        picked = picked[:-1] if room > 1 else picked
        facts = _facts(others, picked, relevant, max_facts) if room > 1 else []
    prepared = PreparedHistory(
        blocks=_blocks(messages, newest, picked, facts, language),
        decisions=_decisions(
            messages,
            hidden=hidden,
            newest=newest,
            picked=picked,
            facts=facts,
            relevant=relevant,
            fresh={m.id for m in fresh},
        ),
        messages=len(messages),
        cut_order=(*(m.id for m in reversed(picked)), *([SUMMARY_ID] if facts else [])),
    )
    return prepared if budget is None else _within(prepared, budget, measure, unit)


def _check_settings(max_blocks: int, max_facts: int, audience: str, language: str) -> None:
    # bool is an int to Python, but True is no number of blocks.
    if type(max_blocks) is not int or max_blocks < 1:
        raise InvalidSetting("The number of blocks is a whole number of at least one.")
    if type(max_facts) is not int or max_facts < 0:
        raise InvalidSetting("The number of facts is a whole number of at least zero.")
    if audience not in get_args(Audience):
        raise InvalidSetting("The audience of a history is internal or public.")
    if language not in HISTORY_WORDINGS:
        raise InvalidSetting("The language of a history is zh-Hant or en.")


def _words(message: HistoryMessage) -> str:
    return "\n".join((message.text, *message.topics))


def _without_repeats(
    others: Sequence[HistoryMessage], newest: HistoryMessage | None
) -> list[HistoryMessage]:
    """Keep of equal texts the newest: saying a thing twice makes it no more relevant."""
    said = {newest.text.strip()} if newest is not None else set()
    kept: list[HistoryMessage] = []
    for message in reversed(others):
        text = message.text.strip()
        if text not in said:
            said.add(text)
            kept.append(message)
    kept.reverse()
    return kept


def _picked(rows: Sequence[Sequence[float]], documents: int, room: int) -> list[int]:
    """Return the places of the most relevant documents, the first to choose first.

    A term counts half as much each time it has been answered to, so that one topic of a request
    does not take every place. Ties go to the newer document; no two have the same place, so that
    there is nothing left to decide.
    """
    columns = list(zip(*rows, strict=True)) or [()] * documents
    waiting = [at for at in range(documents) if any(columns[at])]
    weights = [1.0] * len(rows)
    picked: list[int] = []
    while waiting and len(picked) < room:
        gains = {at: sum(map(mul, weights, columns[at])) for at in waiting}
        best = max(waiting, key=lambda at: (gains[at], at))
        waiting.remove(best)
        picked.append(best)
        weights = [
            weight * (_COVERED if score else 1)
            for weight, score in zip(weights, columns[best], strict=True)
        ]
    return picked


def _facts(
    others: Sequence[HistoryMessage],
    picked: Sequence[HistoryMessage],
    relevant: set[str],
    max_facts: int,
) -> list[HistoryMessage]:
    """Return the messages whose prepared summaries are told, oldest first."""
    whole = {message.id for message in picked}
    told: set[str] = set()
    facts: list[HistoryMessage] = []
    for message in reversed(others):
        summary = message.safe_summary
        done = message.status == "resolved" and message.id not in relevant
        if summary is None or done or message.id in whole or summary in told:
            continue
        told.add(summary)
        facts.append(message)
    return facts[:max_facts][::-1]


def _blocks(
    messages: Sequence[HistoryMessage],
    newest: HistoryMessage | None,
    picked: Sequence[HistoryMessage],
    facts: Sequence[HistoryMessage],
    language: Language,
) -> tuple[ModelContextBlock, ...]:
    blocks: list[ModelContextBlock] = []
    if facts:
        wording = HISTORY_WORDINGS[language]
        told = wording.between.join(message.safe_summary or "" for message in facts)
        blocks.append(ModelContextBlock(SUMMARY_ID, "summary", wording.earlier + told))
    whole = {message.id for message in picked}
    for message in messages:
        if message is newest or message.id in whole:
            reason: Reason = "recency" if message is newest else "relevance"
            blocks.append(ModelContextBlock(message.id, reason, message.text, message.role))
    return tuple(blocks)


def _decisions(
    messages: Sequence[HistoryMessage],
    *,
    hidden: set[str],
    newest: HistoryMessage | None,
    picked: Sequence[HistoryMessage],
    facts: Sequence[HistoryMessage],
    relevant: set[str],
    fresh: set[str],
) -> tuple[Block, ...]:
    whole, told = {message.id for message in picked}, {message.id for message in facts}
    decisions = [Block(SUMMARY_ID, CHANNEL, Action.KEPT, "summary")] if facts else []
    removed = 0
    for message in messages:
        name, action = message.id, Action.DROPPED
        if message.sensitivity in hidden:
            # Numbered, not named; "#" is in no id, so that no message can be mistaken for it.
            removed += 1
            name = f"{message.sensitivity}#{removed}"
            reason = "secret" if message.sensitivity == "secret" else "above_audience"
        elif message is newest:
            action, reason = Action.KEPT, "recency"
        elif name in whole:
            action, reason = Action.KEPT, "relevance"
        elif name in told:
            action, reason = Action.SUMMARIZED, "safe_summary"
        elif name not in fresh:
            reason = "repeated"
        elif name in relevant:
            reason = "over_max_blocks"
        else:
            reason = "resolved" if message.status == "resolved" else "irrelevant"
        decisions.append(Block(name, CHANNEL, action, reason))
    return tuple(decisions)


def _within(
    prepared: PreparedHistory, budget: Budget, measure: Measure, unit: str
) -> PreparedHistory:
    """Return the fullest cut whose blocks are within the budget; see `prepare_history_context`."""
    if unit != budget.unit:
        raise UnitMismatch(numbers={"counter": str(unit), "budget": budget.unit})
    candidate = prepared
    while True:
        units = measure(candidate.blocks)
        # bool is an int to Python, but True is no count.
        if type(units) is not int or units < 0:
            raise InvalidCount(blocks=candidate.decisions)
        if units <= budget.limit:
            return candidate
        smaller = candidate.cut()
        if smaller is None:
            raise BudgetExceeded(
                units=units, limit=budget.limit, unit=budget.unit, blocks=candidate.decisions
            )
        candidate = smaller
