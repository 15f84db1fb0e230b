"""A stranger's folder in the place of one of our import roots."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOTS = ("local_agent", "callbacks", "stores")


@pytest.fixture
def ours(checkout, tmp_path) -> Path:
    """The three roots as they lie in a checkout, and nothing else of it."""
    for name in ROOTS:
        (tmp_path / "ours" / name).mkdir(parents=True)
        shutil.copy(checkout / name / "__init__.py", tmp_path / "ours" / name)
    shutil.copy(checkout / "stores/_roots.py", tmp_path / "ours/stores")
    return tmp_path / "ours"


@pytest.fixture
def theirs(tmp_path) -> Path:
    """A person's own folder, with a space in its name."""
    (tmp_path / "their work").mkdir()
    return tmp_path / "their work"


def run(ours: Path, theirs: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Runs code where the person stands; ours comes later on the path, as installed packages do.

    -S keeps out what else is installed here, such as the checkout itself.
    """
    return subprocess.run(
        [
            sys.executable,
            "-S",
            "-W",
            "always",
            "-c",
            f"import sys; sys.path.append({str(ours)!r})\n{code}",
        ],
        cwd=theirs,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1", "PYTHONUTF8": "1"},
    )


def last_line(result: subprocess.CompletedProcess[str]) -> str:
    return result.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize("importer", ROOTS)
def test_alone_they_import(ours, theirs, importer):
    """Where nothing shadows them, the roots import without a word."""
    result = run(ours, theirs, f"import {importer}")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("importer", "name"),
    [("local_agent", "callbacks"), ("local_agent", "stores"), ("callbacks", "stores")],
)
@pytest.mark.parametrize("kind", ["folder", "module"])
def test_needed_root_is_shadowed(ours, theirs, importer, name, kind):
    """The import fails with one sentence that names their place and ours."""
    place = theirs / (name if kind == "folder" else f"{name}.py")
    if kind == "folder":
        place.mkdir()
        (place / "__init__.py").write_text("print('their code ran')")
    else:
        place.write_text("print('their code ran')")
    result = run(ours, theirs, f"import {importer}")
    assert result.returncode == 1
    assert result.stdout == ""
    assert last_line(result) == (
        f"ImportError: {place} shadows the {name!r} of local-agent in {ours / name}: "
        "rename it, or keep its parent folder off Python's path."
    )


def test_already_imported_root_is_noticed(ours, theirs):
    """It is the same where their module was imported before ours."""
    (theirs / "stores.py").write_text("")
    result = run(ours, theirs, "import stores, callbacks")
    assert result.returncode == 1
    assert f"{theirs / 'stores.py'} shadows the 'stores'" in last_line(result)


@pytest.mark.parametrize(
    ("importer", "name"),
    [("stores", "callbacks"), ("stores", "local_agent"), ("callbacks", "local_agent")],
)
def test_root_that_is_not_needed_is_only_warned_of(ours, theirs, importer, name):
    """A shadowed root above the imported one breaks nothing: it is a warning with both places."""
    (theirs / name).mkdir()
    (theirs / name / "__init__.py").write_text("")
    result = run(ours, theirs, f"import {importer}")
    assert result.returncode == 0
    assert f"UserWarning: {theirs / name} shadows the {name!r} of local-agent in {ours / name}" in (
        result.stderr
    )


def test_folder_without_init_shadows_nothing(ours, theirs):
    """A mere folder of that name loses to a package anywhere on the path, so nothing is said."""
    for name in ROOTS:
        (theirs / name).mkdir()
    result = run(ours, theirs, "import local_agent, callbacks, stores")
    assert (result.returncode, result.stderr) == (0, "")


def test_linked_files_shadow_nothing(ours, theirs, tmp_path):
    """An install that links every file to somewhere else, as some installers do, is still ours."""
    for name in ROOTS:
        for file in (ours / name).iterdir():
            kept = tmp_path / f"cache-{name}-{file.name}"
            file.rename(kept)
            file.symlink_to(kept)
    (tmp_path / "linked").symlink_to(ours)
    for place in (ours, tmp_path / "linked"):
        result = run(place, theirs, "import local_agent")
        assert (result.returncode, result.stderr) == (0, "")


def test_a_part_taken_alone_asks_for_no_other(ours, theirs):
    """Where only stores was taken along, somebody's callbacks is nobody's namesake."""
    shutil.rmtree(ours / "callbacks")
    (theirs / "callbacks.py").write_text("")
    result = run(ours, theirs, "import stores")
    assert (result.returncode, result.stderr) == (0, "")
