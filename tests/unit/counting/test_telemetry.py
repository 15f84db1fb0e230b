"""Spans and metrics hold numbers and names."""

from typing import Any

import pytest
from google.adk.telemetry.tracing import tracer as adk_tracer
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from callbacks.counting import telemetry
from callbacks.counting.telemetry import Telemetry
from callbacks.counting.verdict import Verdict


@pytest.fixture
def recorded():
    spans = InMemorySpanExporter()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    reader = InMemoryMetricReader()
    meters = MeterProvider(metric_readers=[reader])
    yield Telemetry(tracers.get_tracer("t"), meters.get_meter("t")), spans, reader, tracers
    tracers.shutdown()
    meters.shutdown()


def _metrics(reader) -> dict[str, list[Any]]:
    data = reader.get_metrics_data()
    return {
        metric.name: list(metric.data.data_points)
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


@pytest.mark.parametrize(
    ("verdict", "decision", "units"),
    [
        (Verdict(True, None, 900, "proven"), "proven", {"bound_units": 900}),
        (Verdict(True, 700, 700, "counted"), "counted", {"input_units": 700}),
        (Verdict(False, 9000, 9000, "counted"), "refused", {"input_units": 9000}),
        (None, "refused", {}),
    ],
)
def test_a_decision_is_told_in_numbers(recorded, verdict, decision, units):
    """Size or bound, limit, calls, cuts and decision, and nothing else; unknown stays out."""
    told, spans, reader, _ = recorded
    with told.deciding(unit="tokens", limit=1000) as measurement:
        measurement.verdict = verdict
        measurement.calls = 2
        measurement.cuts = 1
    [span] = spans.get_finished_spans()
    attributes = {key.removeprefix("context_budget."): v for key, v in span.attributes.items()}
    assert attributes == {
        "unit": "tokens", "limit": 1000, "decision": decision, "calls": 2, "cuts": 1, **units
    }  # fmt: skip
    found = _metrics(reader)
    assert found["context_budget.decisions"][0].value == 1
    assert found["context_budget.calls"][0].sum == 2
    assert found["context_budget.duration"][0].sum >= 0
    assert ("context_budget.input" in found) == bool(units)


def test_a_failure_is_a_refusal_without_its_text(recorded):
    """An exception passes through; its message is in no span."""
    told, spans, _, _ = recorded
    with pytest.raises(ValueError, match="secret"), told.deciding(unit="tokens", limit=1):
        raise ValueError("secret")
    [span] = spans.get_finished_spans()
    assert span.attributes["context_budget.decision"] == "refused"
    assert "secret" not in span.to_json()


def test_a_broken_promise_is_counted(recorded):
    """A violation raises a metric and an event of the running span."""
    told, spans, reader, tracers = recorded
    with tracers.get_tracer("t").start_as_current_span("turn"):
        told.violated(decision="proven", promised=10, measured=11)
    [point] = _metrics(reader)["context_budget.violations"]
    assert point.value == 1
    [event] = spans.get_finished_spans()[0].events
    assert dict(event.attributes) == {"decision": "proven", "promised": 10, "measured": 11}


def test_the_scope_is_that_of_adk():
    """Spans stand beside ADK's own: the scope's name is the one its tracer was made with."""
    scope = getattr(adk_tracer, "_instrumenting_module_name", telemetry.SCOPE)
    assert scope == telemetry.SCOPE


def test_without_an_sdk_nothing_happens():
    """An application that set up no telemetry pays nothing and sees nothing."""
    told = Telemetry()
    with told.deciding(unit="tokens", limit=1):
        told.violated(decision="proven", promised=1, measured=2)
