"""The shell scripts behind make: what they say, and what they leave alone."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def copy(checkout, tmp_path) -> Path:
    """A checkout of scripts and locks alone, in a folder with a space in its name."""
    home = tmp_path / "a checkout"
    shutil.copytree(checkout / "scripts", home / "scripts")
    shutil.copytree(checkout / "requirements", home / "requirements")
    shutil.copy(checkout / "pyproject.toml", home)
    return home


@pytest.fixture
def tools(tmp_path) -> Path:
    """A PATH of its own: only what POSIX has, and what a test puts there."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in ("sh", "cat", "cksum", "dirname", "rm", "mv", "id", "env"):
        (folder / name).symlink_to(str(shutil.which(name)))
    return folder


def program(tools: Path, name: str, body: str) -> None:
    (tools / name).write_text(f"#!/bin/sh\n{body}\n")
    (tools / name).chmod(0o755)


def run(copy: Path, tools: Path, script: str, *arguments: str, **variables: str):
    """Runs one of the scripts with nothing but the tools."""
    return subprocess.run(
        [str(copy / "scripts" / script), *arguments],
        cwd=copy,
        env={"PATH": str(tools), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_no_python_is_said(copy, tools):
    """Without a Python one sentence says what to install."""
    result = run(copy, tools, "venv.sh", "base")
    assert result.returncode == 1
    assert result.stderr.startswith("Python 3.11 or newer is needed and none was found: install it")
    assert len(result.stderr.splitlines()) == 1


def test_old_python_is_said(copy, tools):
    """A Python that is too old counts as none; one that was named is called too old."""
    program(tools, "python3", "exit 1")
    assert "none was found" in run(copy, tools, "venv.sh", "base").stderr
    named = run(copy, tools, "venv.sh", "base", PYTHON="python3")
    assert named.stderr == "'python3' is older than Python 3.11: set PYTHON to a newer one.\n"
    missing = run(copy, tools, "venv.sh", "base", PYTHON="no-such-python")
    assert missing.stderr.startswith("There is no Python at 'no-such-python'")
    assert {named.returncode, missing.returncode} == {1}


def test_missing_venv_module_is_said(copy, tools):
    """Where Python lacks venv, as on a bare Debian, one sentence names the package."""
    program(
        tools,
        "python3",
        'case "$1" in -c) exit 0 ;; *) echo "ensurepip is not available"; exit 1 ;; esac',
    )
    result = run(copy, tools, "venv.sh", "base")
    assert result.returncode == 1
    assert result.stderr == (
        "Python's venv module is missing: install it (Debian: apt-get install python3-venv) "
        "and run make again.\n"
    )
    assert not (copy / ".venv").exists()


def test_without_uv_pip_does_the_work(copy, tools):
    """Where uv is not to be had, the environment's own pip installs, and that is said."""
    program(
        tools,
        "python3",
        'echo "$*" >>calls\n'
        'case "$*" in\n'
        "*without-pip* | *' uv') exit 1 ;;\n"
        '"-m venv .venv") /bin/mkdir -p .venv/bin\n'
        "/bin/ln -s ../../../tools/python3 .venv/bin/python ;;\n"
        "esac",
    )
    result = run(copy, tools, "venv.sh", "base")
    assert result.returncode == 0
    assert "uv could not be had; pip does the same, slower." in result.stderr
    installs = [
        line
        for line in (copy / "calls").read_text().splitlines()
        if line.startswith("-m pip install -q ")
    ]
    assert len(installs) == 2
    assert installs[0].endswith("--require-hashes -r requirements/base.lock")
    assert installs[1].endswith("--no-deps --editable .")


def test_failed_install_is_said_and_tried_again(copy, tools):
    """An install that fails ends with a sentence, and is not taken for done the next time."""
    program(tools, "python3", "exit 0")
    program(
        tools,
        "uv",
        'case "$1" in venv) /bin/mkdir -p .venv/bin ;; *) echo "no route" >&2; exit 2 ;; esac',
    )
    for _ in range(2):
        result = run(copy, tools, "venv.sh", "base")
        assert result.returncode == 1
        assert result.stderr.endswith(
            "Installing failed (see above): is the package index reachable from here?\n"
        )
        (copy / ".venv/bin/python").unlink(missing_ok=True)
        (copy / ".venv/bin/python").symlink_to(tools / "python3")


def test_somebodys_own_venv_is_not_removed(copy, tools):
    """A .venv that make did not make is never removed, even where it is of no use."""
    program(tools, "python3", "exit 0")
    program(tools, "python-without-pip", '[ "$1" = -c ]')
    (copy / ".venv/bin").mkdir(parents=True)
    (copy / ".venv/mine").write_text("")
    for python in ("nowhere", tools / "python-without-pip"):
        (copy / ".venv/bin/python").unlink(missing_ok=True)
        (copy / ".venv/bin/python").symlink_to(python)
        result = run(copy, tools, "venv.sh", "base")
        assert result.returncode == 1
        assert "move it away and run make again" in result.stderr
        assert (copy / ".venv/mine").exists()


def test_half_an_environment_does_not_stay(copy, tools):
    """Where making the environment is cut short, nothing half-made is in the next try's way."""
    program(tools, "python3", "exit 0")
    program(tools, "uv", '[ "$1" = venv ] && { /bin/mkdir -p .venv/bin; kill -TERM $PPID; }')
    assert run(copy, tools, "venv.sh", "base").returncode == 130
    assert not (copy / ".venv").exists()


def test_done_is_done(copy, tools):
    """What is installed already is not installed again, unless the lock or the place changed."""
    program(tools, "python3", "exit 0")
    program(
        tools,
        "uv",
        'echo "$1" >>calls; [ "$1" = pip ] || '
        "{ /bin/mkdir -p .venv/bin; /bin/ln -s ../../../tools/python3 .venv/bin/python; }",
    )
    calls = copy / "calls"
    for _ in range(2):
        assert run(copy, tools, "venv.sh", "base").returncode == 0
    assert calls.read_text().split() == ["venv", "pip", "pip"]
    with (copy / "requirements/base.lock").open("a") as lock:
        lock.write("# changed\n")
    assert run(copy, tools, "venv.sh", "base").returncode == 0
    assert calls.read_text().split() == ["venv", "pip", "pip", "pip", "pip"]
    moved = copy.rename(copy.parent / "moved")
    assert run(moved, tools, "venv.sh", "base").returncode == 0
    assert (moved / "calls").read_text().split()[5:] == ["venv", "pip", "pip"]


def test_set_aside_loses_nothing(copy, tools):
    """A folder in the way gets the first free number; a path that is free is left alone."""
    (copy / "out").mkdir()
    for text in ("first", "second"):
        assert run(copy, tools, "set_aside.sh", "out").returncode == 0
        (copy / "out").mkdir(exist_ok=True)
        (copy / "out/report").write_text(text)
    assert run(copy, tools, "set_aside.sh", "out").stdout == (
        "out was there already: kept as out-3.\n"
    )
    assert not (copy / "out").exists()
    assert (copy / "out-2/report").read_text() == "first"
    assert (copy / "out-3/report").read_text() == "second"
    assert run(copy, tools, "set_aside.sh", "out").stdout == ""


def test_debian_packages_where_it_can(copy, tools):
    """Missing packages are installed by root with apt-get, and named where that cannot be done."""
    (copy / "requirements/debian.txt").write_text("# why\nchromium  # browser tests\n\npresent\n")
    program(tools, "dpkg", '[ "$2" = present ]')
    program(tools, "id", "echo 1000")
    without = run(copy, tools, "debian.sh")
    assert (without.returncode, without.stderr) == (
        0,
        "Not installed (that takes root and apt-get): chromium\n",
    )
    program(tools, "apt-get", 'echo "$*" >>calls')
    (tools / "id").unlink()
    program(tools, "id", "echo 0")
    assert run(copy, tools, "debian.sh").returncode == 0
    assert (copy / "calls").read_text().splitlines() == [
        "update -qq",
        "install -y -qq --no-install-recommends chromium",
    ]


def test_ci_calls_make_test(checkout):
    """CI runs exactly what a person runs, and fails where that fails."""
    lines = (checkout / ".ci/run").read_text().splitlines()
    assert lines[:2] == ["#!/usr/bin/env bash", "set -euo pipefail"]
    assert lines[-1] == "make test"
    assert os.access(checkout / ".ci/run", os.X_OK)
