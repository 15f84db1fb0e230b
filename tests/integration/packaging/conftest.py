"""A wheel built from this checkout, and an environment that has it and nothing of the checkout."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[3]


def clean_environment() -> dict[str, str]:
    """This process's environment without what leads Python to the checkout."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


@dataclass(frozen=True)
class Installed:
    """A fresh environment with the wheel in it.

    Attributes:
        python: Its interpreter.
        command: Its `local-agent`.
        site: The folder that the wheel was installed to.
    """

    python: Path
    command: Path
    site: Path

    def run(
        self, *command: str | Path, cwd: Path, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command as a person would who never saw the checkout."""
        environment: Mapping[str, str] = {**clean_environment(), **variables}
        return subprocess.run(
            [str(part) for part in command],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="session")
def dist(tmp_path_factory) -> Path:
    """Wheel and sdist, built by the backend that is installed, so that nothing is fetched."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(CHECKOUT)],
        check=True,
        env=clean_environment(),
        capture_output=True,
    )
    return folder


@pytest.fixture(scope="session")
def installed(dist, tmp_path_factory) -> Installed:
    """The wheel in an environment of its own; what it depends on is lent by this one."""
    folder = tmp_path_factory.mktemp("elsewhere") / "an environment"
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    venv.create(folder, with_pip=uv is None)
    python = folder / "bin/python"
    (wheel,) = dist.glob("*.whl")
    pip = [uv, "pip", "install", "--python", python] if uv else [python, "-m", "pip", "install"]
    subprocess.run(
        [*pip, "--quiet", "--no-index", "--no-deps", wheel],
        check=True,
        env=clean_environment(),
    )
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))
    # A path line in a .pth lends the folder's packages, and does not follow the .pth files in it:
    # an editable install of the checkout there stays out of reach.
    (site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return Installed(python, folder / "bin/local-agent", site)
