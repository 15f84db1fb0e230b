"""The minimized history on ADK's side: older messages of the application's, beside the newest one.

For agents that must keep raw text, such as a helpdesk. The application keeps the messages, with
what it knows about each, and answers for access and retention; the session's own past still leaves
every request. What the policy admits stands in one block right before the person's message, is
measured with the whole request and passes the same gate.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from google.adk.agents.invocation_context import InvocationContext
from google.genai import types

from callbacks.adk import contents as adk_contents
from callbacks.adk.turn import Turn
from callbacks.context.history import Audience, prepare_history_context
from callbacks.context.history_block import render_history
from callbacks.context.history_message import HistoryMessage
from callbacks.context.history_wording import HISTORY_WORDINGS
from callbacks.context.prepared_history import PreparedHistory
from callbacks.context.query import NO_SYNONYMS, Synonyms
from callbacks.context.ranking import Ranker
from callbacks.context.render import ACK
from callbacks.context.schema import Language
from callbacks.context.trace import Block

Load = Callable[[InvocationContext], Awaitable[Sequence[HistoryMessage]]]
"""Gives the older messages that this turn's person may see, oldest first."""

Terms = Callable[[str], Sequence[str] | None]
"""Newest message -> what it is about; None takes its own words."""


class HistoryPolicy(Protocol):
    """Says what of an older history a turn's requests may hold.

    Attributes:
        language: Of the block and of the rules that explain it.
    """

    @property
    def language(self) -> Language:
        """Return the language of the block."""
        ...

    async def prepare(self, context: InvocationContext) -> PreparedHistory | None:
        """Return the blocks for the turn's newest message; asked once a turn."""
        ...


class HistoryMinimizer:
    """The history minimizer as a policy: `ContextBudgetPlugin(history=HistoryMinimizer(load))`."""

    def __init__(
        self,
        load: Load,
        *,
        query_terms: Terms | None = None,
        max_blocks: int = 3,
        max_facts: int = 8,
        synonyms: Synonyms = NO_SYNONYMS,
        ranker: Ranker | None = None,
        audience: Audience = "internal",
        language: Language = "zh-Hant",
        newest_id: str = "newest",
    ) -> None:
        """Bind the minimizer to where an application keeps its messages.

        Args:
            load: Gives the older messages.
            query_terms: What a message is about; by default its own words decide.
            max_blocks: The most blocks, the newest message among them.
            max_facts: The most prepared summaries that are told.
            synonyms: Words for the same thing.
            ranker: Ranks the older messages; None for BM25. It is called on the event loop.
            audience: `public` leaves internal messages out as well.
            language: Of the block, and of the rules that explain it.
            newest_id: What traces call the newest message; no older one may be called so.
        """
        self.language = language
        self._load = load
        self._terms = query_terms
        self._max_blocks = max_blocks
        self._max_facts = max_facts
        self._synonyms = synonyms
        self._ranker = ranker
        self._audience = audience
        self._newest_id = newest_id

    async def prepare(self, context: InvocationContext) -> PreparedHistory | None:
        """Return the blocks for the turn's message; None where it has no text.

        Raises:
            ContextError: The messages cannot be used, or not be ranked.
        """
        asked = _text(context.user_content)
        if not asked:
            return None
        # Public: whatever it holds, the person said it to this very model just now.
        newest = HistoryMessage(self._newest_id, "user", asked, "public")
        return prepare_history_context(
            [*await self._load(context), newest],
            query_terms=self._terms(asked) if self._terms is not None else None,
            max_blocks=self._max_blocks,
            max_facts=self._max_facts,
            synonyms=self._synonyms,
            ranker=self._ranker,
            audience=self._audience,
            language=self.language,
        )


def history_rules(policy: HistoryPolicy | None) -> list[str]:
    """Return the explanation of the block for the system instruction: the same in every request."""
    return [HISTORY_WORDINGS[policy.language].rules] if policy is not None else []


async def prepared_once(
    policy: HistoryPolicy, turn: Turn, context: InvocationContext
) -> PreparedHistory | None:
    """Return what a turn's requests may hold: prepared for its first, the same in every step."""
    if turn.history is None:
        turn.history = await policy.prepare(context)
    return turn.history


async def with_history(
    contents: Sequence[types.Content],
    index: int,
    *,
    prepared: PreparedHistory | None,
    language: Language,
    measure: Callable[[list[types.Content]], Awaitable[int]],
    limit: int,
) -> tuple[list[types.Content], tuple[Block, ...]]:
    """Put as many older blocks before the contents at `index` as the whole request has room for.

    Older messages go before the window does: they are the larger and the less settled part. Where
    even none of them fits, it is for the window's fit to say what else goes, or that nothing does.

    Args:
        contents: The turn's own contents.
        index: Where the newest message stands.
        prepared: All that the policy admits; None adds nothing.
        language: Of the block.
        measure: Measures the whole request with given contents and the whole window.
        limit: The budget, in the unit of `measure`.

    Returns:
        New contents, and what became of every message of the history.

    Raises:
        ContextError: A request could not be measured.
    """
    candidate = prepared
    while candidate is not None:
        block = render_history(candidate.older, language)
        placed = adk_contents.with_block(contents, index, block, ACK[language])
        smaller = candidate.cut()
        if smaller is None or await measure(placed) <= limit:
            return placed, candidate.decisions
        candidate = smaller
    return list(contents), ()


def _text(content: types.Content | None) -> str:
    parts = (content.parts if content is not None else None) or []
    return "\n".join(part.text for part in parts if part.text and not part.thought).strip()
