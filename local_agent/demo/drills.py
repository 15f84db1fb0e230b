"""Two drills on the production path: a budget too small for anything; consent and forgetting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from callbacks.counting.request import CountRequest
from local_agent.demo import evidence, script
from local_agent.demo.setting import DATABASE, demo_settings
from local_agent.demo.ways import Bounded
from stores.records import Outcome


@dataclass(frozen=True)
class Refused:
    """What became of a turn with a budget of one byte."""

    code: str | None
    model_calls: int
    units: int | str | None
    limit: int
    text: str


async def refuse(database: Path, clock: Callable[[], int]) -> Refused:
    """Ask for a turn that may cost one byte, and count how often the model was called."""
    way = Bounded(demo_settings(database, budget_limit=1), clock)
    try:
        turn, reply = await way.ask(script.TURNS[0], "demo-refused")
        refusal = turn.report.refusal if turn.report is not None else None
        return Refused(
            code=reply.error_code,
            model_calls=len(way.seen.requests),
            units=refusal.numbers.get("units") if refusal is not None else None,
            limit=1,
            text=reply.text,
        )
    finally:
        await way.close()


@dataclass(frozen=True)
class Consent:
    """What the consent drill found.

    Attributes:
        before: The search's tool record while the value was remembered.
        after: The same search's record after it was forgotten.
        saved: What pressing the card came to.
        forgotten: What pressing the card to forget came to.
        old_card: What pressing the first card again came to.
        forms: The bytes that are looked for: the value, and what it was sealed as.
        found_before: Files of the live store that held one while it was remembered.
        found_after: The same after it was forgotten, store still open.
        requests: The two searches' requests; the value must make no difference to them.
        shown: What the person was shown after forgetting.
    """

    before: dict[str, Any]
    after: dict[str, Any]
    saved: Outcome | None
    forgotten: Outcome | None
    old_card: Outcome | None
    forms: tuple[bytes, ...]
    found_before: tuple[str, ...]
    found_after: tuple[str, ...]
    requests: tuple[CountRequest, CountRequest]
    shown: str


class DrillFailed(Exception):
    """The drill could not go on: a step gave nothing that the next one needs.

    Attributes:
        error_code: `DEMO_STEP_FAILED`.
        numbers: Which step.
    """

    error_code = "DEMO_STEP_FAILED"

    def __init__(self, step: str) -> None:
        """Name the step."""
        super().__init__("A step of the demo gave nothing for the next one to go on with.")
        self.numbers: dict[str, int | str] = {"step": step}


async def consent(way: Bounded, live: Path, copies: Path) -> Consent:
    """Propose, approve, search; forget, search; press the old card again.

    Args:
        way: The production path, with its store in `live`.
        live: The folder that is searched for the value.
        copies: Where the report's own copies of the store go, one from before forgetting.
    """
    person = "demo-consent"
    service = way.service

    async def card(step: str, message: str) -> str:
        _, reply = await way.ask(message, person)
        if reply.card is None:
            raise DrillFailed(step)
        return reply.card.token

    async def search() -> tuple[dict[str, Any], CountRequest]:
        turn, _ = await way.ask(script.SEARCH, person)
        if turn.report is None or not turn.report.tool_calls or not turn.requests:
            raise DrillFailed("search")
        return turn.report.tool_calls[0].as_dict(), turn.requests[0]

    token = await card("propose", script.REMEMBER)
    saved = await service.approve(person, token)
    before, request_before = await search()
    evidence.copy_database(live / DATABASE, copies / "before_forget.db")
    forms = evidence.forms_of(script.VALUE, copies / "before_forget.db")
    found_before = evidence.files_with(forms, live)
    forgotten = await service.approve(person, await card("forget", script.FORGET))
    found_after = evidence.files_with(forms, live)
    evidence.copy_database(live / DATABASE, copies / "after_forget.db")
    after, request_after = await search()
    old = await service.approve(person, token)
    found_after += evidence.files_with(forms, live)
    return Consent(
        before=before,
        after=after,
        saved=saved.outcome,
        forgotten=forgotten.outcome,
        old_card=old.outcome,
        forms=forms,
        found_before=found_before,
        found_after=found_after,
        requests=(request_before, request_after),
        shown=forgotten.text,
    )
