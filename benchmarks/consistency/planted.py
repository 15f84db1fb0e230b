"""Three bugs to plant, so that it can be shown that the checker finds them.

Each takes one check out of the running process, as somebody's change one day might.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

from callbacks.adk.keeper import TurnKeeper
from callbacks.adk.tools import ToolCalls
from stores import consent
from stores.records import CardStatus, Owner
from stores.sql import people
from stores.sql.session import Session

Undo = Callable[[], None]

_after_a_tool: ContextVar[bool] = ContextVar("after_a_tool", default=False)


def gate_after_the_tool() -> Undo:
    """What a tool made of a remembered value is handed out without asking once more."""
    run, preferences = ToolCalls._run, TurnKeeper.preferences  # noqa: SLF001 - what is taken out is inside

    async def unguarded(self: ToolCalls, *arguments: Any) -> Any:
        token = _after_a_tool.set(True)
        try:
            return await run(self, *arguments)
        finally:
            _after_a_tool.reset(token)

    async def unasked(self: TurnKeeper, turn: Any) -> Any:
        return None if _after_a_tool.get() else await preferences(self, turn)

    return _set((ToolCalls, "_run", unguarded), (TurnKeeper, "preferences", unasked))


def generation_check() -> Undo:
    """A turn overwrites the window of one that was kept in the meantime."""
    append = people.append

    def overwrites(session: Session, owner: Owner, **told: Any) -> int:
        found = people.find(session, owner).generation
        return append(session, owner, **{**told, "expected_generation": found})

    return _set((people, "append", overwrites))


def card_nonce_check() -> Undo:
    """A card that was used can be used again: its row is not asked for what became of it."""
    decide = consent.decide

    def forgetful(row: consent.CardRow | None, revision: int, now_ms: int) -> Any:
        fresh = row and row.model_copy(update={"status": CardStatus.PENDING, "revision": revision})
        return decide(fresh, revision, now_ms)

    return _set((consent, "decide", forgetful))


BUGS: Final[dict[str, Callable[[], Undo]]] = {
    "gate": gate_after_the_tool,
    "generation": generation_check,
    "nonce": card_nonce_check,
}


def _set(*changes: tuple[Any, str, Any]) -> Undo:
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in changes]
    for owner, name, value in changes:
        setattr(owner, name, value)

    def undo() -> None:
        for owner, name, value in before:
            setattr(owner, name, value)

    return undo
