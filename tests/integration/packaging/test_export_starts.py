"""What build_context.py exports, started on its own."""

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from build_context import export

ASK = """
import asyncio, json
from examples.day15.main import app

async def ask():
    sent = []
    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}
    async def send(message):
        sent.append(message)
    await app({"type": "http", "method": "GET", "path": "/"}, receive, send)
    print(json.dumps([sent[0]["status"], json.loads(sent[1]["body"])["error_code"]]))

asyncio.run(ask())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """An exported folder."""
    out = tmp_path_factory.mktemp("cloud") / "context"
    export(out)
    return out


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs Python in the export: -S keeps an editable install of the checkout out of reach."""
    return subprocess.run(
        [sys.executable, "-S", *arguments],
        cwd=folder,
        env={"PYTHONPATH": sysconfig.get_path("purelib"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_asgi_entry_answers(folder):
    """The entry imports and answers in a fresh process that has the export alone."""
    result = run(folder, "-c", ASK)
    assert result.stderr == ""
    assert result.stdout == '[503, "NOT_STARTED"]\n'


def test_every_module_imports(folder):
    """Every exported module imports without a file that was not exported."""
    modules = [
        path.relative_to(folder).with_suffix("").as_posix().replace("/", ".")
        for room in ("local_agent", "callbacks", "stores", "examples")
        for path in sorted((folder / room).rglob("*.py"))
        if "migrations" not in path.parts  # run by alembic, which sets their scene
    ]
    names = [module.removesuffix(".__init__") for module in modules]
    code = (
        f"from importlib import import_module\nfor name in {names}:\n"
        f"    file = import_module(name).__file__\n"
        f"    assert file.startswith({str(folder)!r}), file"
    )
    result = run(folder, "-c", code)
    assert (result.returncode, result.stderr) == (0, "")


def test_the_export_is_not_changed_by_running(folder):
    """Running it leaves every byte as SOURCE_MANIFEST.json has it."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    run(folder, "-c", ASK)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_the_command_answers(folder):
    """The exported service's own command line works there."""
    result = run(folder, "-m", "local_agent.cli", "demo", "--help")
    assert (result.returncode, result.stderr) == (0, "")
    assert "--out" in result.stdout
