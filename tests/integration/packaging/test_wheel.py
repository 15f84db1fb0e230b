"""The wheel: what is in it, and that it works away from the checkout."""

import tarfile
import zipfile
from pathlib import Path

from build_context import WHITELIST, read_whitelist

ROOTS = ("local_agent", "callbacks", "stores")
FOLDERS = tuple(f"{root}/" for root in ROOTS)


def names_in_wheel(dist: Path) -> set[str]:
    (wheel,) = dist.glob("*.whl")
    return set(zipfile.ZipFile(wheel).namelist())


def test_the_wheel_has_the_roots_whole_and_nothing_else(dist):
    """Every file of the three roots is in the wheel, data and migrations too, and nothing else."""
    names = names_in_wheel(dist)
    exported, left_out = read_whitelist(WHITELIST.read_text(encoding="utf-8"))
    known = [path for path in (*exported.values(), *left_out) if path.startswith(FOLDERS)]
    assert len(known) > len(ROOTS)
    # What the list leaves out as a folder has at least something of it in the wheel.
    assert [path for path in known if not any(name.startswith(path) for name in names)] == []
    (metadata,) = {name.partition("/")[0] for name in names} - set(ROOTS)
    assert metadata.endswith(".dist-info")
    assert {f"{root}/py.typed" for root in ROOTS} <= names
    assert "local_agent/data/catalog.json" in names


def test_the_wheel_has_a_license_and_a_command(dist):
    """The wheel carries the license's text and the command `local-agent`."""
    names = names_in_wheel(dist)
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert any(name.endswith(".dist-info/entry_points.txt") for name in names)


def test_the_sdist_builds_and_tests(dist):
    """The sdist has what it takes to build, test and export, and no environment or output."""
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"pyproject.toml", "Makefile", "build_context.py", "deploy/whitelist.txt", "LICENSE"}
    assert wanted | {"requirements/base.lock", "tests/conftest.py", "scripts/venv.sh"} <= names
    assert [name for name in names if name.startswith((".venv", "out/", ".git/"))] == []


def test_roots_import_from_the_wheel(installed, tmp_path):
    """Installed, all three roots come from the environment and none from the checkout."""
    code = "\n".join(f"import {root}; print({root}.__file__)" for root in ROOTS)
    result = installed.run(installed.python, "-W", "error", "-c", code, cwd=tmp_path)
    assert result.stderr == ""
    assert result.stdout.splitlines() == [
        str(installed.site / root / "__init__.py") for root in ROOTS
    ]


def test_a_persons_folder_shadows_the_wheel(installed, tmp_path):
    """In a folder with a callbacks of its own, the import says so and names both places."""
    (tmp_path / "callbacks").mkdir()
    (tmp_path / "callbacks/__init__.py").write_text("")
    result = installed.run(installed.python, "-c", "import local_agent", cwd=tmp_path)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == (
        f"ImportError: {tmp_path / 'callbacks'} shadows the 'callbacks' of local-agent in "
        f"{installed.site / 'callbacks'}: rename it, or keep its parent folder off Python's path."
    )
