"""The locks: exact, hashed, and inside what pyproject and the pins allow."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement

LOCKS = ("base", "deploy", "dev")
# The extras that each lock installs beside the dependencies.
EXTRAS = {"base": ("line",), "deploy": ("line", "postgres", "firestore"), "dev": ("dev",)}


def entries(text: str) -> dict[str, tuple[str, list[str]]]:
    """Versions and hashes by package name."""
    found: dict[str, tuple[str, list[str]]] = {}
    for block in re.split(r"\n(?=\S)", text):
        match = re.match(r"([a-z0-9.-]+)(?:\[[a-z,-]+\])?==([^\s;]+)", block)
        if match:
            found[match[1]] = match[2], re.findall(r"--hash=sha256:([0-9a-f]{64})(?!\w)", block)
        else:
            assert block.startswith("#"), block
    return found


@pytest.fixture(params=LOCKS)
def lock(request, checkout) -> tuple[str, str]:
    """One lock's level and text."""
    return request.param, (checkout / f"requirements/{request.param}.lock").read_text()


def test_every_entry_has_hashes(lock):
    """Every locked package has one version and at least one SHA-256."""
    locked = entries(lock[1])
    assert len(locked) > 40
    assert [name for name, (_, hashes) in locked.items() if not hashes] == []


def test_no_option_or_address(lock):
    """A lock holds packages and hashes alone: no address, no path, no installer option."""
    lines = [line for line in lock[1].splitlines() if not line.startswith("#")]
    assert [line for line in lines if "/" in line or line.startswith("-")] == []


def test_lock_satisfies_pyproject_and_pins(lock, checkout):
    """What is locked lies inside pyproject's ranges and the versions that CI holds to."""
    level, text = lock
    project = tomllib.loads((checkout / "pyproject.toml").read_text())["project"]
    wanted = list(project["dependencies"])
    for extra in EXTRAS[level]:
        wanted += project["optional-dependencies"][extra]
    pins = (checkout / "requirements/pins.in").read_text().splitlines()
    wanted += [line for line in pins if line and not line.startswith("#")]
    locked = entries(text)
    for line in wanted:
        requirement = Requirement(line)
        assert requirement.specifier.contains(locked[requirement.name][0]), line


def test_dev_adds_to_base(checkout):
    """All locks agree on every package, so that tests run what people run and what is deployed."""
    base, deploy, dev = (
        entries((checkout / f"requirements/{level}.lock").read_text()) for level in LOCKS
    )
    assert {name: dev[name] for name in base} == base
    assert {name: deploy[name] for name in base} == base
    assert {name: dev[name] for name in deploy} == deploy
