"""The commands of day 12, as a reader starts them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evals.assertions import context_is_minimized, opens_a_ticket, opens_no_ticket
from evals.provider import call_api
from examples.day12 import ask, demo
from examples.day12.messages import NEWEST, SECRET


@pytest.fixture(scope="module", name="made")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("day12") / "deep" / "out"
    assert demo.main(["--out", str(out)]) == 0
    return out


def test_every_check_holds(made: Path) -> None:
    """The demo passes only if all of its checks do, and says which they were."""
    report = json.loads((made / "report.json").read_text(encoding="utf-8"))
    assert report["passed"] is True
    assert len(report["checks"]) >= 20
    assert [check["name"] for check in report["checks"] if not check["ok"]] == []


def test_the_report_shows_the_promised_blocks_and_rows(made: Path) -> None:
    """report.json has the three blocks and the seven rows, and units without tokens."""
    report = json.loads((made / "report.json").read_text(encoding="utf-8"))
    assert [block["block_id"] for block in report["blocks"]] == [
        "history-summary",
        "message-03",
        "message-06",
    ]
    assert [(row["name"], row["outcome"]) for row in report["trace"]] == [
        ("history_input", "6_messages"),
        ("sensitive_data_minimization", "dropped"),
        ("relevance_selection", "kept"),
        ("history_compaction", "summarized"),
        ("irrelevant_history", "dropped"),
        ("recency_selection", "kept"),
        ("model_context", "3_blocks"),
    ]
    assert (report["unit"], report["input_tokens"]) == ("utf8_bytes", None)
    assert [len(step["older_blocks"]) for step in report["budgets"]] == [2, 1, 0, 0]


def test_the_secret_is_in_no_file(made: Path) -> None:
    """No file that the demo wrote, its database included, holds the secret."""
    files = [path for path in made.rglob("*") if path.is_file()]
    assert {"report.json", "report.html", "helpdesk.db"} <= {path.name for path in files}
    assert [path.name for path in files if SECRET.encode() in path.read_bytes()] == []


def test_the_page_needs_nothing_from_elsewhere(made: Path) -> None:
    """report.html is one file that loads nothing."""
    page = (made / "report.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "http" not in page
    assert "history-summary" in page


def test_a_folder_that_exists_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An existing folder, file or dangling link is refused with a sentence and status 2."""
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to("nowhere")
    for name in (".", "file", "link", "file/below"):
        assert demo.main(["--out", str(tmp_path / name)]) == 2
        assert "The output folder" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


def test_ask_answers_one_question(capsys: pytest.CaptureFixture[str]) -> None:
    """The live command names who answers, answers, and says what its request was made of."""
    assert ask.main([NEWEST]) == 0
    said = capsys.readouterr().out
    assert said.startswith("helpdesk-offline-rules\n")
    assert "message-03" in said
    assert "secret#1" in said
    assert SECRET not in said


def test_ask_refuses_a_wrong_setting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A setting that cannot be used is said in a sentence, with status 2."""
    monkeypatch.setenv("LOCAL_BUDGET_LIMIT", "many")
    assert ask.main([NEWEST]) == 2
    assert "LOCAL_BUDGET_LIMIT" in capsys.readouterr().err


def test_the_demo_speaks_chinese_under_any_locale(tmp_path: Path) -> None:
    """Where the locale is C the demo prints what it prints elsewhere, and no traceback."""
    ended = subprocess.run(
        [sys.executable, "-m", "examples.day12.demo", "--out", str(tmp_path / "out")],
        env={**os.environ, "LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert "報告：" in ended.stdout.decode("utf-8")


def test_a_demo_that_is_stopped_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C ends it with one sentence and status 130, as it does every command."""

    def stopped(_: Path) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "_run", stopped)
    assert demo.main(["--out", str(tmp_path / "out")]) == 130
    assert capsys.readouterr().err == "Stopped. [INTERRUPTED]\n"


def _evaluated(question: str, **expected: str) -> tuple[str, dict[str, Any]]:
    answer = call_api(question, {}, {})
    context = {"vars": {"question": question, **expected}, "providerResponse": answer}
    return answer["output"], context


def test_the_evaluation_holds_of_the_pipeline() -> None:
    """What promptfoo asserts holds of the pipeline it asks."""
    output, context = _evaluated(
        NEWEST, keeps="history-summary message-03", leaves_out="message-02 message-05"
    )
    assert context_is_minimized(output, context)["pass"] is True
    assert opens_no_ticket(output, context)
    assert not opens_a_ticket(output, context)


def test_the_evaluation_notices_what_is_wrong() -> None:
    """A secret, a missing or surplus block, another trace or a cut question fails the check."""
    output, context = _evaluated(NEWEST, keeps="message-05", leaves_out="message-03")
    context["providerResponse"]["metadata"]["trace"].pop()
    context["vars"]["question"] += "!"
    result = context_is_minimized(output + SECRET, context)
    assert result["pass"] is False
    for reason in ("secret text", "missing", "too many", "trace rows", "newest message"):
        assert reason in result["reason"]
    assert context_is_minimized("", {})["pass"] is False
