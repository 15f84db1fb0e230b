"""The benchmark of LOCAL on LINE: its report's form, and that it counts what it says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.line.load import Orders, event_id_of, token_of
from benchmarks.line.measuring import Tally, percentile
from local_agent.line.delivery import retry_key_of

ROOT = Path(__file__).parents[3]
WANTED = {
    "store",
    "ack_p50_ms",
    "ack_p99_idle_ms",
    "ack_p99_ms",
    "turn_cpu_ms",
    "turns_per_second",
    "events",
    "answered_once",
    "answered_twice",
    "lost",
    "out_of_order",
    "two_workers_speedup",
}


@pytest.mark.skipif(
    "HISTORY_OPERATIONS" not in os.environ, reason="starts ten processes: make soak"
)
def test_the_report_has_its_form(tmp_path):
    """A small run on a file has every figure, and every event was answered once and in order."""
    small = ["--rate", "20", "--seconds", "1", "--chats", "20", "--messages", "3"]
    out = tmp_path / "line.json"
    arguments = ["line", "--json", "--stores", "sqlite", *small, "--out", str(out)]
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    report = json.loads(ended.stdout)
    assert report == json.loads(out.read_text(encoding="utf-8"))
    (run,) = report["runs"]
    assert set(run) >= WANTED
    assert (run["store"], run["events"], run["answered_once"]) == ("sqlite", 160, 160)
    assert (run["answered_twice"], run["lost"], run["out_of_order"]) == (0, 0, 0)
    assert run["ack_p50_ms"] <= run["ack_p99_ms"]
    assert run["turns_per_second"] > 0


def test_the_tally_tells_faults_apart():
    """An answer said twice, missing, or before an earlier one of its chat is counted as that."""
    orders = Orders(port=1, rate=1, events=6, chats=2, name="0" * 8)
    names = [token_of(orders, number) for number in range(6)]
    names[5] = retry_key_of(event_id_of(orders, 5))  # pushed
    right = Tally()
    right.add(orders, [(name, 0.0) for name in names])
    assert (right.events, right.once, right.twice, right.lost, right.out_of_order) == (
        6,
        6,
        0,
        0,
        0,
    )
    wrong = Tally()
    wrong.add(orders, [(names[number], 0.0) for number in (2, 0, 1, 3, 3)])
    assert (wrong.once, wrong.twice, wrong.lost, wrong.out_of_order) == (3, 1, 2, 1)


def test_percentiles_are_of_what_was_measured():
    """A percentile is one of the values, and the highest one at most."""
    values = [float(number) for number in range(100, 0, -1)]
    assert percentile(values, 0.5) == 51.0
    assert percentile(values, 0.99) == 100.0
    assert percentile([1.0], 0.99) == 1.0
