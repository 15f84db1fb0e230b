"""One open turn, and the bounded registry of those that are open."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from dataclasses import dataclass, field

from google.adk.models.llm_request import LlmRequest

from callbacks.adk.evidence_turn import TurnEvidence
from callbacks.adk.injection import PrivateState
from callbacks.adk.refusal import Refusal
from callbacks.adk.report import TurnReport
from callbacks.context.listing import Entry
from callbacks.context.prepared_history import PreparedHistory
from callbacks.context.projection import Projection
from callbacks.context.trace import Block
from callbacks.context.window import ContextWindow
from callbacks.counting.request import CountRequest
from callbacks.counting.verdict import CallAllowance
from stores.records import Owner

MAX_OPEN_TURNS = 4096
"""Turns whose end was never signalled (a cancelled task) are let go of past this many."""


@dataclass
class Turn:
    """What the plugin knows of one invocation while it runs.

    Attributes:
        owner: Whose turn; None is a stateless turn: nothing read, nothing remembered.
        revision: Of the preferences when the turn began; every later step must find the same.
        generation: Of the journal when the turn began, or after this turn's own append.
        window: The person's past exchanges when the turn began.
        history: What a history policy prepared for this turn, the same for each of its requests.
        projection: What this exchange will leave behind, if anything.
        grounds: What this turn's tools returned for grounded slots.
        listed: The last list that a tool gave in this turn.
        nested: Opened inside a tool of another turn (AgentTool): it shares the outer turn's
            owner and revision, sees no history of its own and leaves its projections there.
        private_state: The session's state as it was before tools whose results are private.
        calls: What the person's turn may still ask of a count service, in the root turn.
        sent: The request that left last, until its prompt was measured.
        evidence: What this turn's answer is to be proven from, where an application has that.
    """

    report: TurnReport
    owner: Owner | None
    revision: int = 0
    generation: int = 0
    window: ContextWindow = field(default_factory=ContextWindow)
    history: PreparedHistory | None = None
    projection: Projection | None = None
    grounds: dict[str, frozenset[str]] = field(default_factory=dict)
    listed: tuple[Entry, ...] = ()
    unsaved: bool = False
    replayed: bool = False
    refusal: Refusal | None = None
    outer: Turn | None = None
    private_state: PrivateState = field(default_factory=PrivateState)
    calls: CallAllowance = field(default_factory=CallAllowance)
    sent: CountRequest | None = None
    evidence: TurnEvidence | None = None

    @property
    def root(self) -> Turn:
        """The turn of the person's own message, however deeply this one is nested."""
        turn = self
        while turn.outer is not None:
            turn = turn.outer
        return turn

    def refuse(self, refusal: Refusal) -> Refusal:
        """Remember the first refusal; the rest of the turn answers with it."""
        root = self.root
        if root.refusal is None:
            root.refusal = refusal
            root.report.refusal = refusal
        if self.refusal is None:
            self.refusal = refusal
        return refusal


class OpenTurns:
    """The turns that are running, by invocation id; bounded, oldest let go of first."""

    def __init__(self, limit: int = MAX_OPEN_TURNS) -> None:
        """Keep at most `limit` turns."""
        self._limit = limit
        self._turns: OrderedDict[str, Turn] = OrderedDict()

    def __len__(self) -> int:
        """Return how many turns are open."""
        return len(self._turns)

    def get(self, invocation_id: str) -> Turn | None:
        """Return the open turn, or None."""
        return self._turns.get(invocation_id)

    def add(self, turn: Turn) -> Turn:
        """Open a turn; the oldest goes when there are too many."""
        self._turns[turn.report.invocation_id] = turn
        while len(self._turns) > self._limit:
            self._turns.popitem(last=False)
        return turn

    def close(self, invocation_id: str) -> Turn | None:
        """Take a turn out of the registry."""
        return self._turns.pop(invocation_id, None)


@dataclass(frozen=True)
class Awaited:
    """What the plugin built for a request that the gate has yet to see."""

    turn: Turn
    agent: str
    blocks: tuple[Block, ...]


class AwaitedRequests:
    """Ties a request at the gate to the turn that built it.

    By identity, since a later callback may change the request but not replace it; the entry goes
    with the request if it never reaches the gate.
    """

    def __init__(self) -> None:
        """Start with none."""
        self._awaited: dict[int, tuple[weakref.ref[LlmRequest], Awaited]] = {}

    def add(self, request: LlmRequest, awaited: Awaited) -> None:
        """Expect this request at the gate."""
        key = id(request)
        reference = weakref.ref(request, lambda _: self._awaited.pop(key, None))
        self._awaited[key] = (reference, awaited)

    def take(self, request: LlmRequest) -> Awaited | None:
        """Return what was built for this request, once; None for one that was not expected."""
        reference, awaited = self._awaited.get(id(request), (None, None))
        if reference is None or reference() is not request:
            return None
        del self._awaited[id(request)]
        return awaited
