"""The example as a reader starts it, and what its files hold."""

import json
import re
import secrets
import subprocess
import sys

import pytest
from click.testing import CliRunner

from examples.procurement import demo
from examples.procurement.assistant import TENANT
from examples.procurement.sources import READER
from local_agent import cli

WHO = ("--person", READER, "--tenant", TENANT)


@pytest.fixture(scope="module", name="made")
def _made(tmp_path_factory):
    """The folder of one run, and the key its store was opened with."""
    out = tmp_path_factory.mktemp("procurement") / "deep" / "out"
    keys = []

    def key(count):
        keys.append("k" * 2 * count)
        return keys[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secrets, "token_hex", key)
        assert demo.main(["--out", str(out)]) == 0
    return out, keys[0]


@pytest.fixture
def run(made, monkeypatch):
    """Runs `local-agent evidence` on the store of the demo, and returns status and output."""
    out, key = made
    monkeypatch.setenv("LOCAL_DATABASE_URL", f"sqlite+aiosqlite:///{out / 'procurement.db'}")
    monkeypatch.setenv("LOCAL_STORE_KEYS", key)

    def call(*arguments):
        return CliRunner().invoke(cli.command, ["evidence", *arguments])

    return call


def read(made, name="report.json"):
    return json.loads((made[0] / name).read_text(encoding="utf-8"))


def test_every_check_holds(made):
    """The demo passes only if all of its checks do, and says which they were."""
    report = read(made)
    assert report["passed"] is True
    assert len(report["checks"]) >= 25
    assert [check["name"] for check in report["checks"] if not check["ok"]] == []


def test_the_report_has_what_was_promised(made):
    """Claims, unknowns, exclusions, channels, expiry, change and stopped calls, as agreed."""
    report = read(made)
    assert [one["id"] for one in report["claims"]] == ["C1", "C2", "C3", "C4"]
    assert [item["id"] for item in report["claims"][1]["evidence"]] == [
        "PROC-AUTH-2025-v1/4.2",
        "PROC-AUTH-2025-v1/2",
    ]
    assert report["conflicts"] == []
    assert sorted(report["unknowns"]) == ["aggregation", "classification", "emergency", "framework"]
    assert report["excluded"] == [
        {"id": "L17", "reason": "superseded"},
        {"id": "MAIL-9", "reason": "untrusted"},
        {"id": "not-available", "reason": "not_available_to_you"},
    ]
    assert [one["name"] for one in report["channels"]] == [
        "contract", "task", "plan", "policy", "case", "tools", "conditions", "history", "output",
    ]  # fmt: skip
    assert sum(one["limit"] for one in report["channels"]) == report["limit"] == 25_000
    assert 0 < report["packet_units"] < report["input_units"] < report["limit"]
    assert report["after_amount_change"]["rebuilt"] == ["C2", "C3", "C4"]
    assert report["after_amount_change"]["kept"] == ["C1"]
    assert "hotel_master" not in report["after_amount_change"]["sources_asked"]
    assert not report["after_expiry"]["removed"]["old_balance_shown"]
    assert not report["after_expiry"]["refreshed"]["old_balance_shown"]
    assert report["after_expiry"]["refreshed"]["balance_as_of"] == "2026-07-21 10:20:00"
    assert {one["reason"] for one in report["stopped_tool_calls"]} == {
        "only_untrusted_origin",
        "tool_not_in_contract",
    }
    assert report["gate"]["released"] is True
    assert "approved" not in report["answer"]
    assert "已核准" not in report["answer"]


def test_the_files_are_there(made):
    """Packet, record, answers and verdicts are JSON beside the report; the page stands alone."""
    packet, record = read(made, "packet.json"), read(made, "record.json")
    assert packet["sha256"] == record["packet_sha256"]
    assert packet["text"].startswith("[contract PROC-ANSWER sha256=")
    assert "text" not in json.dumps(record["items"])
    verdicts = read(made, "gate.json")
    assert verdicts["wrong_twice"]["problems"] == [["C2", "comparator"]]
    assert read(made, "answer.json")["wrong_twice"]["released"] is None
    text = (made[0] / "page.html").read_text(encoding="utf-8")
    assert re.findall(r"""(?:src|href)\s*=\s*["'](?!data:)""", text) == []
    assert "@import" not in text
    assert "url(" not in text
    assert "APPX" not in "".join(
        path.read_text(encoding="utf-8") for path in made[0].glob("*.json")
    )


def test_no_secret_of_a_denied_source_is_in_the_store(made):
    """What the reader may not see is in no file at all, and no original lies in the clear."""
    stored = (made[0] / "procurement.db").read_bytes()
    assert "內部備忘".encode() not in stored
    assert "由集團委員會審批".encode() not in stored


def test_a_folder_that_exists_is_left_alone(made, capsys):
    """An output folder is never written into twice."""
    assert demo.main(["--out", str(made[0])]) == 2
    assert "OUTPUT_EXISTS" in capsys.readouterr().err


def test_show_tells_ids_and_reasons(run):
    """A record shows what was kept and cut, and why, and what became of the answer; no text."""
    told = json.loads(run("show", "CG-771-14", *WHO, "--json").output)
    assert told["outcome"] == "conditional"
    assert {block["reason"] for block in told["blocks"]} >= {"covers_a_claim", "superseded"}
    assert told["release"]["ending"] == "release"
    shown = run("show", "CG-771-14", *WHO)
    assert shown.exit_code == 0
    assert "審批" not in shown.output
    assert "id=FIN-B991 kind=tool_result" in shown.output


def test_originals_take_an_access_check(run):
    """Texts are shown to names that the access lists hold; how many were withheld is said."""
    told = json.loads(
        run("show", "CG-771-14", *WHO, "--originals", "--as", "group:staff", "--json").output
    )
    assert {one["id"] for one in told["originals"]} == {
        "HOTEL-H117", "PROC-AUTH-2025-v1/2", "PROC-AUTH-2025-v1/4.2", "PROC-AUTH-2025-v1/5.1",
    }  # fmt: skip
    assert told["withheld"] == 1
    nobody = run("show", "CG-771-14", *WHO, "--originals", "--as", "group:guests", "--json")
    assert json.loads(nobody.output)["originals"] == []
    assert run("show", "CG-771-14", *WHO, "--originals").exit_code != 0


def test_diff_names_what_changed(run):
    """From the first packet to the second the balance came, and nothing else."""
    told = json.loads(run("diff", "CG-771-13", "CG-771-14", *WHO, "--json").output)
    assert told["items_added"] == ["FIN-B991"]
    assert told["items_removed"] == []
    assert told["outcomes"] == [{"claim": "C4", "before": "unknown", "after": "supported"}]
    assert told["unknowns_gone"] == ["available_budget"]
    assert "items_added      FIN-B991" in run("diff", "CG-771-13", "CG-771-14", *WHO).output


def test_replay_gives_the_same_bytes(run, made):
    """Without any source the packet is made again, byte for byte (12)."""
    told = json.loads(run("replay", "CG-771-14", *WHO, "--json").output)
    assert (told["equal"], told["sha256"]) == (True, read(made, "packet.json")["sha256"])
    assert "equal" in run("replay", "CG-771-14", *WHO).output


def test_prov_is_prov(run):
    """The export is read back by the package that defines the form."""
    model = pytest.importorskip("prov.model", reason="needs the extra evidence")
    text = run("show", "CG-771-14", *WHO, "--prov").output
    document = model.ProvDocument.deserialize(content=text, format="json")
    assert len(list(document.get_records(model.ProvEntity))) == 8
    assert len(list(document.get_records(model.ProvDerivation))) == 6
    assert "審批" not in text


@pytest.mark.parametrize("who", [("--person", "somebody", "--tenant", TENANT), (*WHO[:3], "city")])
def test_nobody_elses_generation_is_found(made, who):
    """Another person or tenant has no such generation, and the command says so by its code (11)."""
    done = subprocess.run(
        [sys.executable, "-m", "local_agent.cli", "evidence", "replay", "CG-771-14", *who],
        capture_output=True,
        text=True,
        check=False,
        env={
            "LOCAL_DATABASE_URL": f"sqlite+aiosqlite:///{made[0] / 'procurement.db'}",
            "LOCAL_STORE_KEYS": made[1],
        },
    )
    assert done.returncode == 2
    assert "GENERATION_UNKNOWN" in done.stderr
