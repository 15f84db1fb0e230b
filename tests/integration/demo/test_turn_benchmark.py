"""`python -m benchmarks turn`, with sizes that take a moment."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import turn

CHECKOUT = Path(__file__).parents[3]
KEYS = {"past_turns", "turn_ms", "own_ms", "own_outside_store_ms", "adk_default_ms",
        "request_bytes", "adk_default_bytes"}  # fmt: skip


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What the command gives for 4 and 40 past turns."""
    out = tmp_path_factory.mktemp("bench") / "turn.json"
    command = [sys.executable, "-m", "benchmarks", "turn", "--json", "--turns", "40,4"]
    result = subprocess.run(
        [*command, "--rounds", "3", "--out", str(out)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "round 3 of 3" in result.stderr
    assert json.loads(result.stdout) == json.loads(out.read_text())
    return json.loads(result.stdout)


def test_rows_have_their_documented_keys(found):
    """Each size has a row with every figure; the plugin's part is a part of the turn."""
    assert [row["past_turns"] for row in found["rows"]] == [4, 40]
    for row in found["rows"]:
        assert set(row) >= KEYS
        assert 0 < row["own_outside_store_ms"] < row["own_ms"] < row["turn_ms"]


def test_requests_do_not_grow_with_the_past(found):
    """Invariant 15: LOCAL's request is as large after 40 turns as after 4; ADK's is not."""
    few, many = found["rows"]
    assert few["request_bytes"] == many["request_bytes"]
    assert few["adk_default_bytes"] < many["adk_default_bytes"]
    assert (few["adk_default_past_events"], many["adk_default_past_events"]) == (3, 39)


@pytest.mark.parametrize("turns", ["", "ten", "-1,5", "1,,2"])
def test_sizes_that_make_no_sense(turns):
    """Sizes that are no whole numbers of at least zero are refused before anything runs."""
    result = CliRunner().invoke(turn.main, ["--turns", turns])
    assert result.exit_code == 2
