"""What the Dockerfile runs, run on what build_context.py exports: all but Docker itself."""

import base64
import hashlib
import hmac
import json
import os
import re
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import httpx
import pytest

from build_context import export

SECRET = "0123456789abcdef0123456789abcdef"
LIMIT_SECONDS = 120.0
"""The longest wait for it to listen: the first import of ADK can take most of a minute."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """An exported folder."""
    out = tmp_path_factory.mktemp("image") / "app"
    export(out)
    return out


def instruction(folder: Path, pattern: str) -> list[str]:
    """The JSON form of an instruction in the exported Dockerfile."""
    text = (folder / "Dockerfile").read_text(encoding="utf-8")
    found = re.search(rf"{pattern} (\[.*\])$", text, re.MULTILINE)
    assert found is not None
    command: list[str] = json.loads(found[1])
    return command


def environment(folder: Path, port: int, state: Path) -> dict[str, str]:
    """A container's: the image's variables and a deployment's; no editable install in reach."""
    tools = state / "bin"  # python and uvicorn, as an image has them on its PATH
    tools.mkdir(exist_ok=True)
    for name, rest in (("python", ""), ("uvicorn", " -m uvicorn")):
        script = tools / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S{rest} "$@"\n')
        script.chmod(0o755)
    return {
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": f"{folder}{os.pathsep}{sysconfig.get_path('purelib')}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "PORT": str(port),
        "LOCAL_DATABASE_URL": f"sqlite+aiosqlite:///{state}/local.db",
        "LOCAL_CONSENT_KEYS": "a-consent-key-that-nobody-ever-drew-at-all",
        "LOCAL_STORE_KEYS": "a-store-key-that-nobody-ever-drew-at-all-no",
        "LOCAL_PSEUDONYM_KEY": "a-pseudonym-key-that-nobody-ever-drew-at-all",
        "LOCAL_LINE_CHANNEL_SECRET": SECRET,
        "LOCAL_LINE_CHANNEL_TOKEN": "a-token-of-this-test",
    }


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def signed(body: bytes) -> dict[str, str]:
    digest = hmac.new(SECRET.encode(), body, hashlib.sha256).digest()
    return {"x-line-signature": base64.b64encode(digest).decode()}


def test_the_container_serves(folder, tmp_path):
    """The command of the image serves, its health check agrees, and SIGTERM ends it cleanly."""
    port = free_port()
    variables = environment(folder, port, tmp_path)
    before = sorted(folder.rglob("*"))
    health = instruction(folder, r"HEALTHCHECK .*\\\n +CMD")
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            instruction(folder, "^CMD"), cwd=folder, env=variables, stdout=log, stderr=log
        )
        try:
            deadline = time.monotonic() + LIMIT_SECONDS
            while True:
                checked = subprocess.run(
                    health, cwd=folder, env=variables, capture_output=True, check=False
                )
                if checked.returncode == 0:
                    break
                assert process.poll() is None, (tmp_path / "log").read_text()
                assert time.monotonic() < deadline
            url = f"http://127.0.0.1:{port}"
            assert httpx.get(f"{url}/readyz").json() == {"status": "ready"}
            verify = b'{"destination":"U00000000000000000000000000000000","events":[]}'
            answer = httpx.post(f"{url}/callback", content=verify, headers=signed(verify))
            assert answer.status_code == 200
            assert httpx.post(f"{url}/callback", content=verify).status_code == 401
            # Of the console nothing is there.
            for path in ("/", "/static/console.js", "/api/state"):
                assert httpx.get(f"{url}{path}").status_code == 404
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(LIMIT_SECONDS)
    # uvicorn hands the signal on to itself once everything is closed.
    assert process.returncode in {0, -signal.SIGTERM}
    said = (tmp_path / "log").read_text()
    assert "Traceback" not in said
    assert sorted(folder.rglob("*")) == before


def test_the_console_is_not_exported(folder, tmp_path):
    """The exported command says that it has no console; no file of it, and no peer, is there."""
    assert not (folder / "local_agent/console").exists()
    assert list(folder.glob("local_agent/line/peer*")) == []
    result = subprocess.run(
        [sys.executable, "-S", "-m", "local_agent.cli", "console"],
        cwd=folder,
        env=environment(folder, 0, tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stdout) == (2, "")
    assert "not part of this installation" in result.stderr


def test_the_exported_doctor_is_content(folder, tmp_path):
    """With a deployment's variables nothing fails, and nothing is written next to the code."""
    before = sorted(folder.rglob("*"))
    result = subprocess.run(
        [sys.executable, "-S", "-m", "local_agent.cli", "doctor", "--json"],
        cwd=folder,
        env=environment(folder, 0, tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    told = json.loads(result.stdout)
    assert [check["name"] for check in told["checks"] if check["status"] == "warn"] == ["line"]
    assert sorted(folder.rglob("*")) == before
