"""What each room may import: the allowlists behind import-linter's forbidden lists."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PURE = (
    "callbacks/context",
    "callbacks/evidence",
    "stores/records.py",
    "stores/consent.py",
    "stores/checks.py",  # helpers of the two, held to the same
    "stores/errors.py",
    "stores/framing.py",
)
# The one solver, of the extra `evidence`, in the one module that is named after it.
SOLVER = ("callbacks/evidence/highs.py", "highspy")
# The world outside a function's arguments: clocks, randomness, files, processes, networks.
IMPURE = {
    "asyncio", "glob", "http", "io", "os", "pathlib", "random", "secrets", "shutil", "socket",
    "sqlite3", "subprocess", "tempfile", "threading", "time", "urllib", "uuid",
}  # fmt: skip


def modules(checkout: Path, *places: str) -> Iterator[Path]:
    for place in places:
        path = checkout / place
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path] * path.exists()


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports anywhere in it, by its full name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_policy_imports_the_standard_library_and_pydantic_alone(checkout):
    """Policy imports nothing but the standard library, pydantic and itself."""
    own = {room.removesuffix(".py").replace("/", ".") for room in PURE}
    strangers = [
        (str(path.relative_to(checkout)), name)
        for path in modules(checkout, *PURE)
        for name in imports(path)
        if name.partition(".")[0] not in sys.stdlib_module_names | {"pydantic", "pydantic_core"}
        and ".".join(name.split(".")[:2]) not in own
    ]
    assert [found for found in strangers if found != SOLVER] == []


def test_policy_has_no_clock_no_randomness_no_io(checkout):
    """Invariant 12: policy imports no clock, no randomness and nothing that does I/O."""
    found = [
        (str(path.relative_to(checkout)), name)
        for path in modules(checkout, *PURE)
        for name in imports(path)
        if name.partition(".")[0] in IMPURE
    ]
    assert found == []


def test_adk_is_known_in_few_places(checkout):
    """Of what is installed, callbacks/adk and the application alone import google.adk."""
    found = [
        str(path.relative_to(checkout))
        for path in modules(checkout, "callbacks", "stores")
        if not path.is_relative_to(checkout / "callbacks/adk")
        and any(name.startswith("google.adk") for name in imports(path))
    ]
    assert found == []


def test_stores_import_only_what_a_store_needs(checkout):
    """The store imports the standard library, pydantic, SQLAlchemy, alembic and itself.

    What it ships for testing other people's stores imports pytest as well.
    """
    allowed = sys.stdlib_module_names | {
        "pydantic",
        "pydantic_core",
        "sqlalchemy",
        "alembic",
        "stores",
    }
    allowed |= {
        "aiosqlite",
        "asyncpg",
        "cryptography",
    }  # drivers and ciphers, by the backend that is named after them
    suites = {checkout / "stores/testing.py", *modules(checkout, "stores/conformance")}
    own = {suite: {"pytest"} for suite in suites}
    own[checkout / "stores/firestore/client.py"] = {"google"}  # the one module that talks to it
    found = [
        (str(path.relative_to(checkout)), name)
        for path in modules(checkout, "stores")
        for name in imports(path)
        if name.partition(".")[0] not in allowed | own.get(path, set())
    ]
    assert found == []


@pytest.mark.parametrize("room", PURE[:1])
def test_the_rooms_named_here_exist(checkout, room):
    """A renamed room does not slip through these tests by being empty."""
    assert list(modules(checkout, room))
