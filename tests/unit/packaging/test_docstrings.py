"""Every module and every test says in a sentence what it is about."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOMS = ("local_agent", "callbacks", "stores", "examples", "benchmarks", "build_context.py")


def python_files(
    tracked: list[Path], checkout: Path, *rooms: str
) -> Iterator[tuple[str, ast.Module]]:
    for path in tracked:
        name = path.relative_to(checkout)
        if name.parts[0] in rooms and name.suffix == ".py" and path.is_file():
            yield name.as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def test_modules_have_docstrings(tracked, checkout):
    """Every module that people read begins with a docstring."""
    modules = list(python_files(tracked, checkout, *ROOMS))
    assert modules
    assert [name for name, tree in modules if not ast.get_docstring(tree)] == []


def test_tests_state_their_rule(tracked, checkout):
    """Every test's docstring states the rule that it holds the code to."""
    silent = [
        f"{name}: {node.name}"
        for name, tree in python_files(tracked, checkout, "tests")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not ast.get_docstring(node)
    ]
    assert silent == []
