"""Spans and metrics of counting: numbers and names, no content.

They stand beside ADK's own: the same instrumentation scope, whose name ADK documents.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

from opentelemetry import metrics, trace
from opentelemetry.util.types import AttributeValue

from callbacks.counting.verdict import Verdict

SCOPE = "gcp.vertex.agent"
PREFIX = "context_budget"


@dataclass(slots=True)
class Measurement:
    """What one decision about a request came to; filled in while its span is open."""

    verdict: Verdict | None = None
    calls: int = 0
    cuts: int = 0


class Telemetry:
    """Reports decisions and broken promises through OpenTelemetry.

    Without an SDK set up by the application, both cost next to nothing and go nowhere.
    """

    def __init__(
        self, tracer: trace.Tracer | None = None, meter: metrics.Meter | None = None
    ) -> None:
        """Report to a tracer and a meter, or to those of ADK's scope."""
        self._tracer = tracer or trace.get_tracer(SCOPE)
        meter = meter or metrics.get_meter(SCOPE)
        self._decisions = meter.create_counter(
            f"{PREFIX}.decisions", unit="{request}", description="Requests decided, by decision"
        )
        self._units = meter.create_histogram(
            f"{PREFIX}.input", description="Size or bound of requests, by unit"
        )
        self._calls = meter.create_histogram(
            f"{PREFIX}.calls", unit="{call}", description="Calls to the count service per decision"
        )
        self._ms = meter.create_histogram(
            f"{PREFIX}.duration", unit="ms", description="Time to decide"
        )
        self._violations = meter.create_counter(
            f"{PREFIX}.violations", unit="{request}", description="Promises that a model call broke"
        )

    @contextmanager
    def deciding(self, *, unit: str, limit: int) -> Iterator[Measurement]:
        """Open the span of one decision; whoever decides fills the measurement in."""
        measurement = Measurement()
        began = perf_counter()
        with self._tracer.start_as_current_span(
            f"{PREFIX}.decide", record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield measurement
            finally:
                ms = (perf_counter() - began) * 1000
                verdict = measurement.verdict
                fits = verdict is not None and verdict.fits
                decision = verdict.decision if verdict is not None and fits else "refused"
                # No time here: a span has its own, and equal decisions make equal attributes.
                attributes: dict[str, AttributeValue] = {
                    f"{PREFIX}.unit": unit,
                    f"{PREFIX}.limit": limit,
                    f"{PREFIX}.decision": decision,
                    f"{PREFIX}.calls": measurement.calls,
                    f"{PREFIX}.cuts": measurement.cuts,
                }
                if verdict is not None:
                    known = verdict.units is not None
                    attributes[f"{PREFIX}.{'input' if known else 'bound'}_units"] = verdict.bound
                    self._units.record(
                        verdict.bound, {"unit": unit, "exact": known, "decision": decision}
                    )
                span.set_attributes(attributes)
                self._decisions.add(1, {"decision": decision, "unit": unit})
                self._calls.record(measurement.calls, {"decision": decision})
                self._ms.record(ms, {"decision": decision})

    def violated(self, *, decision: str, promised: int, measured: int) -> None:
        """Report that a model call measured more than was promised."""
        self._violations.add(1, {"decision": decision})
        span = trace.get_current_span()
        span.add_event(
            f"{PREFIX}.violated",
            {"decision": decision, "promised": promised, "measured": measured},
        )
