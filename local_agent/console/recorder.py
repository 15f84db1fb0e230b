"""What happened to each event, kept while the console runs: reports, requests, deliveries.

It holds what people said and what was remembered, in memory and nowhere else; when something is
forgotten, it is taken out here as well.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from callbacks.adk.report import RequestRecord, ToolRecord, TurnReport
from callbacks.counting.request import CountRequest

KEPT_TURNS = 200
"""Older ones are let go of: the console is for trying things out, not for keeping them."""

_OPEN_REQUESTS = 64


@dataclass(frozen=True)
class Sent:
    """One model request of a turn.

    Attributes:
        record: What the plugin says of it.
        canonical: Its exact bytes; None where it was refused, and so never left.
    """

    record: RequestRecord
    canonical: bytes | None = field(repr=False)


@dataclass
class Turn:
    """One event that was posted to the gateway, and what came of it.

    Attributes:
        number: From 1, in the order of posting.
        event_id: LINE's.
        kind: `message`, `postback` or `follow`.
        said: What the person sees of it in the chat.
        deliveries: How often the webhook was posted.
        answers: How often something was delivered for it.
        report: Of the last run of its turn; None where no model was involved.
        sent: The requests of that run.
        runs: How often a turn ran for it.
        revisions: Of the person's preferences, right before it was posted and after its answer.
        raw_bytes: What all history would have cost in its place; None where nobody measured.
        forgotten: Values that it ran with were forgotten since, and taken out.
    """

    number: int
    event_id: str
    kind: str
    said: str = field(repr=False)
    deliveries: int = 0
    answers: int = 0
    report: TurnReport | None = field(default=None, repr=False)
    sent: tuple[Sent, ...] = field(default=(), repr=False)
    runs: int = 0
    revisions: tuple[int | None, int | None] = (None, None)
    raw_bytes: int | None = None
    forgotten: bool = False

    @property
    def units(self) -> int | None:
        """What all its requests measured together; None where one was refused or not measured."""
        if not self.sent or any(one.record.decision == "refused" for one in self.sent):
            return None
        units = [one.record.units for one in self.sent]
        known = [unit for unit in units if unit is not None]
        return sum(known) if len(known) == len(units) else None


class Recorder:
    """Takes down every turn; `on_report` and `on_request` go into `bootstrap.build`."""

    def __init__(self, changed: Callable[[], None]) -> None:
        """Start with nothing.

        Args:
            changed: Called whenever there is something new to show.
        """
        self._changed = changed
        self._turns: OrderedDict[str, Turn] = OrderedDict()
        self._requests: OrderedDict[str, bytes] = OrderedDict()
        self._posted = 0

    @property
    def turns(self) -> list[Turn]:
        """All turns that are kept, the oldest first."""
        return list(self._turns.values())

    def turn(self, number: int) -> Turn | None:
        """Return a turn by its number."""
        return next((turn for turn in self._turns.values() if turn.number == number), None)

    def of_event(self, event_id: str) -> Turn | None:
        """Return an event's turn."""
        return self._turns.get(event_id)

    def posted(self, event_id: str, *, kind: str, said: str) -> Turn:
        """Note that an event was posted; the same id again counts as a redelivery."""
        turn = self._turns.get(event_id)
        if turn is None:
            self._posted += 1
            turn = self._turns[event_id] = Turn(self._posted, event_id, kind, said)
            while len(self._turns) > KEPT_TURNS:
                self._turns.popitem(last=False)
        turn.deliveries += 1
        self._changed()
        return turn

    def answered(self, event_id: str) -> None:
        """Note that something was delivered for an event."""
        turn = self._turns.get(event_id)
        if turn is not None:
            turn.answers += 1
            self._changed()

    def on_request(self, request: CountRequest, record: RequestRecord) -> None:
        """Keep a request's bytes as it leaves; its report comes at the end of the turn."""
        self._requests[request.fingerprint] = request.canonical()
        while len(self._requests) > _OPEN_REQUESTS:
            self._requests.popitem(last=False)

    def on_report(self, report: TurnReport) -> None:
        """Keep a turn's report and what it sent."""
        turn = self._turns.get(report.event_id)
        if turn is None:  # long gone, or not an event of this console
            return
        turn.report = report
        turn.runs += 1
        turn.sent = tuple(
            Sent(
                record,
                # A record of a refusal has a fingerprint where the gate measured; it never left.
                None
                if record.decision == "refused" or record.fingerprint is None
                else self._requests.get(record.fingerprint),
            )
            for record in report.requests
        )
        self._changed()

    def forget(self) -> None:
        """Take out every value from memory that a turn ran with, and every private result."""
        for turn in self._turns.values():
            report = turn.report
            if report is None or not (report.private_results or report.tool_calls):
                continue
            turn.forgotten = turn.forgotten or _holds_a_value(report)
            turn.report = replace(
                report,
                tool_calls=[_forgotten(call) for call in report.tool_calls],
                private_results=[],
            )
        self._changed()


def _holds_a_value(report: TurnReport) -> bool:
    return any(call.preference_origin == "consented_memory" for call in report.tool_calls)


def _forgotten(call: ToolRecord) -> ToolRecord:
    if call.preference_origin != "consented_memory":
        return call
    own = {
        name: value
        for name, value in call.effective_arguments.items()
        if call.proposed_arguments.get(name) == value
    }
    return replace(call, effective_arguments=own)
