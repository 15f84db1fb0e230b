"""The checkout, for tests that read the repository itself."""

import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The repository's top folder."""
    return CHECKOUT


@pytest.fixture(scope="session")
def tracked(checkout: Path) -> list[Path]:
    """Every file that git knows here, as absolute paths."""
    # A clone that belongs to another user than the one testing it is still to be read.
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z"],
        cwd=checkout,
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("this is no git checkout, so there are no tracked files to look at")
    return [checkout / name for name in listed.stdout.decode().split("\0") if name]
