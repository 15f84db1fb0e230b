"""The nearest of the names that there are to one that there is not: what a misspelling meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, names: Iterable[str]) -> str:
    """Return ` (nearest: …)`, to be put behind a name; empty where no name is like it."""
    near = get_close_matches(name, sorted(names), n=1)
    return f" (nearest: {near[0]})" if near else ""
