"""The demo from the command to the last file."""

import hashlib
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from local_agent import cli
from local_agent.demo import evidence, findings, script
from local_agent.settings import OFFLINE_MODEL
from tests.support.logs import logging_restored


def demo(out: Path) -> int:
    """The exit status of `local-agent demo`."""
    with logging_restored(), pytest.raises(SystemExit) as ended:
        cli.main(["demo", "--out", str(out)])
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.fixture(scope="module")
def out(tmp_path_factory) -> Path:
    """A demo that ran in a folder whose name has to be quoted, with a key in the environment."""
    folder = tmp_path_factory.mktemp("demo") / "new parent" / "50% of 花壇?"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOOGLE_API_KEY", "nobody's key")
        patch.setenv("LOCAL_MODEL", "gemini-3.8-flash")
        patch.setenv("LOCAL_BUDGET_LIMIT", "not a number")
        assert demo(folder) == 0
    return folder


@pytest.fixture(scope="module")
def report(out):
    """Its report.json."""
    return json.loads((out / "report.json").read_text(encoding="utf-8"))


def test_report_has_its_documented_keys(report):
    """Invariant 13: the report counts bytes under that name, and tokens are unknown, not zero."""
    assert report["passed"] is True
    assert report["unit"] == "utf8_bytes"
    assert report["input_tokens"] is None
    assert [turn["turn"] for turn in report["turns"]] == [1, 2, 3, 4, 5]
    for turn in report["turns"]:
        assert {
            "turn", "user", "raw_history", "projected_history", "budgeted",
            "tool", "effective_arguments", "preference_origin",
        } <= set(turn)  # fmt: skip
    assert {"code", "model_calls"} <= set(report["refusal"])
    assert {"before", "after", "old_card", "value_found_in_files"} <= set(report["consent"])


def test_every_check_has_a_name_and_held(report):
    """Every check is listed once, with words for people, and held."""
    from local_agent.demo.words import CHECKS

    assert [check["name"] for check in report["checks"]] == list(CHECKS)
    assert all(check["ok"] for check in report["checks"])


def test_turn_5_is_resolved_from_the_ledger(report):
    """In turn 5 the town comes from the ledger, and the bounded request is the smallest."""
    last = report["turns"][-1]
    assert last["tool"] == "search_local_places"
    assert last["effective_arguments"]["area"] == "花壇鄉"
    assert last["budgeted"] < last["projected_history"] < last["raw_history"]
    assert "\n*找活動|區域=花壇鄉\n" in report["history_block"]["text"]
    assert 0 < report["history_block_bytes"] <= 450
    assert report["without_ledger"]["tool"] == "show_local_help"


def test_refused_without_a_model_call(report):
    """Invariant 3: with a budget of one byte the model is never called."""
    assert report["refusal"]["code"] == "CURRENT_AND_RULES_EXCEED_INPUT_BUDGET"
    assert report["refusal"]["model_calls"] == 0


def test_consent_and_forgetting(report):
    """Invariant 8: after forgetting the value is used nowhere and found in no live file."""
    consent = report["consent"]
    assert consent["before"]["effective_arguments"]["dietary_type"] == "vegetarian"
    assert consent["before"]["preference_origin"] == "consented_memory"
    assert consent["before"]["memory_revision"] == 1
    assert consent["after"]["effective_arguments"]["dietary_type"] == "any"
    assert consent["after"]["preference_origin"] == "none"
    assert consent["after"]["memory_revision"] == 2
    assert consent["old_card"] == "stale"
    assert consent["value_found_in_files_before"] >= 1
    assert consent["value_found_in_files"] == 0


def test_the_environment_had_no_say(report, out):
    """A key or a setting in the environment changes nothing: offline rules answer, no network."""
    assert report["model"] == OFFLINE_MODEL
    assert report["network_attempts"] == 0
    requests = sorted((out / "requests").rglob("*.json"))
    assert {json.loads(path.read_bytes())["model"] for path in requests} == {OFFLINE_MODEL}


def test_requests_are_the_bytes_that_were_measured(report, out):
    """Invariant 16: each saved request has the size and the hash that the report gives."""
    for turn in report["turns"]:
        for way in findings.WAYS:
            saved = (out / "requests" / way / f"turn-{turn['turn']}.json").read_bytes()
            assert len(saved) == turn[way]
        assert turn["request_sha256"] == [
            hashlib.sha256(
                (out / "requests" / "budgeted" / f"turn-{turn['turn']}.json").read_bytes()
            ).hexdigest()
        ]


def test_copies_of_the_store_show_the_difference(out):
    """Invariant 8: the copy from before holds the value sealed, the later one in no form."""
    copies = out / "copies"
    value, *sealed = evidence.forms_of(script.VALUE, copies / "before_forget.db")
    assert len(sealed) == 2
    for name, holds in (("before_forget.db", True), ("after_forget.db", False)):
        content = (copies / name).read_bytes()
        assert value not in content
        assert [body in content for body in sealed] == [holds, holds]
        with closing(sqlite3.connect(copies / name)) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_manifest_covers_every_file(out):
    """Every file but the manifest stands in it, with its hash."""
    listed = json.loads((out / "MANIFEST.sha256.json").read_text(encoding="utf-8"))["files"]
    files = {
        path.relative_to(out).as_posix(): path
        for path in out.rglob("*")
        if path.is_file() and path.name != "MANIFEST.sha256.json"
    }
    assert set(listed) == set(files)
    for name, path in files.items():
        assert listed[name]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_page_needs_nothing_from_outside(out):
    """report.html is one file: no script, no address but its empty icon, three drawings."""
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "http" not in page
    assert re.findall(r'(?:src|href)="([^"]*)"', page) == ["data:,"]
    assert "url(" not in page
    assert page.count("<svg ") == 3
    assert 'lang="zh-Hant-TW"' in page
    assert "prefers-color-scheme: dark" in page


def test_logs_hold_no_content(out):
    """Invariant 4: the log of the live store quotes neither a message nor a value."""
    log = (out / "live" / "local.log").read_text(encoding="utf-8")
    assert "event=demo_started" in log
    for said in (*script.TURNS, script.SEARCH, script.VALUE, "花壇"):
        assert said not in log


def test_two_runs_send_the_same_bytes(out, report, tmp_path):
    """Invariant 12: but for times, two runs give the same requests and the same report."""
    assert demo(tmp_path / "again") == 0
    for path in sorted((out / "requests").rglob("*.json")):
        other = tmp_path / "again" / path.relative_to(out)
        assert other.read_bytes() == path.read_bytes()
    again = json.loads((tmp_path / "again" / "report.json").read_text(encoding="utf-8"))
    times = ("seconds", "made_at")
    assert {k: v for k, v in again.items() if k not in times} == {
        k: v for k, v in report.items() if k not in times
    }


def test_a_broken_check_gives_status_1(tmp_path, monkeypatch, capsys):
    """One check that does not hold is named, and the exit status is 1; the report is there."""
    monkeypatch.setattr(findings, "BLOCK_LIMIT", 1)
    assert demo(tmp_path / "broken") == 1
    assert "history_block_within_450_bytes" in capsys.readouterr().out
    written = json.loads((tmp_path / "broken" / "report.json").read_text(encoding="utf-8"))
    assert written["passed"] is False
    assert [check["name"] for check in written["checks"] if not check["ok"]] == [
        "history_block_within_450_bytes"
    ]
    page = (tmp_path / "broken" / "report.html").read_text(encoding="utf-8")
    assert 'class="verdict fail"' in page


@pytest.mark.parametrize("kind", ["folder", "file", "dangling link"])
def test_existing_output_is_left_alone(tmp_path, capsys, kind):
    """What exists under the output's name is refused in one sentence with a code, and untouched."""
    out = tmp_path / "taken"
    if kind == "folder":
        out.mkdir()
    elif kind == "file":
        out.write_text("mine")
    else:
        out.symlink_to(tmp_path / "nowhere")
    assert demo(out) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "The output folder exists already; name a new one. [OUTPUT_EXISTS]\n"
    assert not (tmp_path / "nowhere").exists()
    assert kind != "folder" or list(out.iterdir()) == []


def test_parent_that_cannot_be_written(tmp_path, capsys, monkeypatch):
    """A parent that cannot be written gets one sentence with a code, and status 1."""

    def read_only(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied", str(tmp_path / "out"))

    monkeypatch.setattr(Path, "mkdir", read_only)  # root may write everywhere, so it is acted out
    assert demo(tmp_path / "out") == 1
    assert "Permission denied" in capsys.readouterr().err


def test_parent_that_is_a_file(tmp_path, capsys):
    """A parent that is a file gets one sentence with a code, and status 1."""
    (tmp_path / "file").write_text("")
    assert demo(tmp_path / "file" / "out") == 1
    assert capsys.readouterr().err.strip().endswith("[SYSTEM_REFUSED]")


def test_a_step_without_a_card_is_said(tmp_path, capsys, monkeypatch):
    """A step that gives nothing for the next one ends the demo with a code, not a traceback."""
    monkeypatch.setattr(script, "REMEMBER", "花壇有什麼吃的？")
    assert demo(tmp_path / "out") == 1
    assert capsys.readouterr().err.strip().endswith("[DEMO_STEP_FAILED]")
