"""The export by whitelist: what it copies, and what it refuses."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import build_context
from build_context import ExportRefused, export, read_whitelist


@pytest.fixture
def home(tmp_path) -> Path:
    """A small checkout with a list, a file that is on it, and one that is not."""
    (tmp_path / "home/room").mkdir(parents=True)
    (tmp_path / "home/room/a.py").write_text("a = 1\n")
    (tmp_path / "home/room/secret.key").write_text("not on the list")
    (tmp_path / "home/list").write_text("room/a.py # kept\n!room/b.py\nroom/a.py => moved/A\n")
    return tmp_path / "home"


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def refusal(home: Path, out: Path) -> str:
    with pytest.raises(ExportRefused) as caught:
        export(out, home=home, whitelist=home / "list")
    return caught.value.error_code


def test_exports_the_list_and_nothing_else(home, tmp_path):
    """What is listed is copied byte for byte, with a manifest of SHA-256, and nothing else."""
    out = tmp_path / "deep/er/out"
    digests = export(out, home=home, whitelist=home / "list")
    found = files(out)
    manifest = json.loads(found.pop("SOURCE_MANIFEST.json"))
    assert found == {"room/a.py": b"a = 1\n", "moved/A": b"a = 1\n"}
    assert manifest["files"] == digests
    assert digests == {name: hashlib.sha256(data).hexdigest() for name, data in found.items()}


def test_two_runs_give_equal_bytes(tmp_path):
    """Invariant 12: two exports of one checkout are equal, in their bytes and their modes."""
    old = os.umask(0o077)
    try:
        export(tmp_path / "one")
    finally:
        os.umask(old)
    export(tmp_path / "two")
    one, two = tmp_path / "one", tmp_path / "two"
    assert files(one) == files(two)
    assert [path.stat().st_mode for path in sorted(one.rglob("*"))] == [
        path.stat().st_mode for path in sorted(two.rglob("*"))
    ]


@pytest.mark.parametrize("kind", ["file", "folder above it", "broken"])
def test_refuses_links(home, tmp_path, kind):
    """A file that is a link, or is reached through one, is refused and nothing is written."""
    if kind == "file":
        (home / "room/a.py").rename(home / "room/real.py")
        (home / "room/a.py").symlink_to("real.py")
    elif kind == "folder above it":
        (home / "room").rename(home / "elsewhere")
        (home / "room").symlink_to("elsewhere")
    else:
        (home / "room/a.py").unlink()
        (home / "room/a.py").symlink_to("nowhere")
    assert refusal(home, tmp_path / "out") == "EXPORT_LINK_REFUSED"
    assert not (tmp_path / "out").exists()


def test_refuses_what_is_missing_or_no_file(home, tmp_path):
    """A listed file that is missing, or a folder, is refused and nothing is written."""
    (home / "room/a.py").unlink()
    assert refusal(home, tmp_path / "out") == "EXPORT_SOURCE_MISSING"
    (home / "room/a.py").mkdir()
    assert refusal(home, tmp_path / "out") == "EXPORT_SOURCE_MISSING"
    (home / "list").unlink()
    assert refusal(home, tmp_path / "out") == "EXPORT_SOURCE_MISSING"
    assert not (tmp_path / "out").exists()


def test_refuses_a_target_in_use(home, tmp_path):
    """A target that holds anything, is a file or is a link is refused and stays as it is."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full/.hidden").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    assert refusal(home, tmp_path / "full") == "EXPORT_TARGET_NOT_EMPTY"
    assert refusal(home, tmp_path / "file") == "EXPORT_TARGET_NOT_EMPTY"
    assert refusal(home, tmp_path / "link") == "EXPORT_LINK_REFUSED"
    assert files(tmp_path / "full") == {".hidden": b"mine"}
    assert list((tmp_path / "empty").iterdir()) == []
    export(tmp_path / "empty", home=home, whitelist=home / "list")


def test_refuses_a_target_that_cannot_be_written(home, tmp_path):
    """A target below a file is refused with a code, not with a traceback."""
    (tmp_path / "file").write_text("mine")
    assert refusal(home, tmp_path / "file/out") == "EXPORT_WRITE_FAILED"


@pytest.mark.parametrize(
    "line",
    [
        *("/etc/hosts", "../a", "a/../../b", "a => ../b", "a => /b", "=> a"),  # lead elsewhere
        *("a\\b", "a\0b"),  # mean something else to some system
        *("a\na", "!a\na", "a\n!a", "SOURCE_MANIFEST.json"),  # say two things of one file
    ],
)
def test_refuses_an_unsafe_list(line):
    """A path that is absolute, climbs, is twice there or would replace the manifest is refused."""
    with pytest.raises(ExportRefused) as caught:
        read_whitelist(line)
    assert caught.value.error_code == "EXPORT_LIST_INVALID"


@given(st.lists(st.text(max_size=20), max_size=6))
def test_no_list_leads_out_of_the_folder(lines):
    """Whatever a list says, every path it gives stays below the checkout and below the target."""
    try:
        exported, _ = read_whitelist("\n".join(lines))
    except ExportRefused:
        return
    for path in (*exported, *exported.values()):
        assert Path("/base", path).is_relative_to("/base")
        assert ".." not in Path(path).parts


def test_every_module_is_decided_upon():
    """A file of the rooms is on the whitelist, or on it as knowingly left out."""
    assert build_context.undecided() == []


def test_undecided_files_are_found(home):
    """A file that is neither listed nor left out, alone or with its folder, is reported."""
    for name in ("new.py", "left.py", "left/deep.py", "leftover.py"):
        (home / "stores" / name).parent.mkdir(parents=True, exist_ok=True)
        (home / "stores" / name).write_text("")
    (home / "list").write_text("!stores/left.py\n!stores/left/\n")
    found = build_context.undecided(home=home, whitelist=home / "list")
    assert found == ["stores/leftover.py", "stores/new.py"]


def test_the_list_names_nothing_that_is_gone(checkout):
    """Every path on the whitelist exists, those left out as well."""
    exported, left_out = read_whitelist(build_context.WHITELIST.read_text(encoding="utf-8"))
    paths = (*exported.values(), *left_out)
    assert [
        path
        for path in paths
        if not ((checkout / path).is_dir() if path.endswith("/") else (checkout / path).is_file())
    ] == []


@pytest.mark.parametrize("command", [["build_context.py"], ["-m", "examples.day15.build_context"]])
def test_the_two_commands(checkout, tmp_path, command):
    """Both commands export, and refuse a second time with status 2 and one line with a code."""
    line = [sys.executable, *command, "--out", str(tmp_path / "out")]
    first = subprocess.run(line, cwd=checkout, capture_output=True, text=True, check=False)
    second = subprocess.run(line, cwd=checkout, capture_output=True, text=True, check=False)
    assert (first.returncode, first.stderr) == (0, "")
    assert second.returncode == 2
    assert second.stderr == (
        f"The target is not an empty folder. ({tmp_path / 'out'}) [EXPORT_TARGET_NOT_EMPTY]\n"
    )


def test_the_container_runs_as_nobody_in_particular(checkout):
    """The Dockerfile starts the ASGI entry as a user that is not root, with hashes checked."""
    lines = (checkout / "deploy/Dockerfile").read_text().splitlines()
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert users
    assert users[-1] not in {"root", "0"}
    assert any("--require-hashes" in line for line in lines)
    assert any(build_context.ENTRY in line for line in lines if line.startswith("CMD"))
