"""What the extras of this project bring, and how one is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

LINE: Final = ("linebot", "aiohttp", "fastapi", "uvicorn")
"""Modules that LOCAL on LINE and the console need beyond the base."""


def missing_line() -> bool:
    """Tell whether something of the extra `line` is not installed."""
    return any(find_spec(name) is None for name in LINE)


def install(*extras: str) -> str:
    """Return the command that installs extras: from a checkout, for no index has this project."""
    named = f"[{','.join(extras)}]" if extras else ""
    return f"pip install '.{named}' in the project's folder"
