"""docs/codes.md against the code: one list, complete and without ghosts."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

CODE = re.compile(r"[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+")
ROOMS = ("local_agent", "callbacks", "stores", "examples", "build_context.py")
# Words of the same shape that are no codes: names of environment variables.
VARIABLES = ("LOCAL_", "GOOGLE_", "GEMINI_")


def strings_in(source: str) -> Iterator[str]:
    """Every string of a module, but for names in `__all__`."""
    tree = ast.parse(source)
    exported = {
        id(part)
        for node in tree.body
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets)
        for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in exported else None
        if isinstance(text, str):
            yield text


@pytest.fixture(scope="module")
def strings(checkout) -> set[str]:
    """Every string that stands in the code."""
    found: set[str] = set()
    for room in ROOMS:
        path: Path = checkout / room
        for module in path.rglob("*.py") if path.is_dir() else [path]:
            found.update(strings_in(module.read_text(encoding="utf-8")))
    return found


@pytest.fixture(scope="module")
def rows(checkout) -> dict[str, list[str]]:
    """The documented codes with the other cells of their rows."""
    text = (checkout / "docs/codes.md").read_text(encoding="utf-8")
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("| `")
    ]
    codes = [row[0].strip("`") for row in cells]
    assert len(set(codes)) == len(codes), "a code has two rows"
    return {code: row[1:] for code, row in zip(codes, cells, strict=True)}


def test_every_code_is_documented(strings, rows):
    """Each string of a code's shape has its row in docs/codes.md."""
    used = {text for text in strings if CODE.fullmatch(text) and not text.startswith(VARIABLES)}
    assert used - set(rows) == set()


def test_every_documented_code_is_used(strings, rows):
    """Each row is of a code in use, or names the part that is still being built."""
    later = {code for code, cells in rows.items() if cells[0].startswith("later: ")}
    assert set(rows) - later - strings == set()


def test_rows_say_where_and_what(rows):
    """Each row says where a code comes from and what it means."""
    assert [code for code, cells in rows.items() if len(cells) != 3 or not all(cells[:2])] == []
