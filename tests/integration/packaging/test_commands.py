"""The commands that the README and the articles name, away from the checkout and in it."""

import json
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]


def passed(folder: Path) -> bool:
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))["passed"] is True


def test_help_answers_from_the_wheel(installed, tmp_path):
    """`local-agent --help` of the installed wheel lists the demo."""
    result = installed.run(installed.command, "--help", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert "demo" in result.stdout


def test_the_demo_passes_from_the_wheel(installed, tmp_path):
    """Outside the checkout the demo finds its catalog and migrations, and every check holds."""
    result = installed.run(installed.command, "demo", "--out", tmp_path / "a demo", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert passed(tmp_path / "a demo")


def test_the_articles_demo_command(tmp_path):
    """`python -m examples.day15.demo` runs the demo, and refuses a folder that is there already."""
    command = [sys.executable, "-m", "examples.day15.demo", "--out", str(tmp_path / "first-run")]
    first, second = (
        subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
        for _ in range(2)
    )
    assert (first.returncode, first.stderr) == (0, "")
    assert passed(tmp_path / "first-run")
    assert second.returncode == 2
    assert "[OUTPUT_EXISTS]" in second.stderr
