"""The name that somebody may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, names: Iterable[str]) -> str:
    """Return the one of some names that is most like a misspelt one; empty where none is near."""
    near = get_close_matches(name, sorted(names), n=1)
    return near[0] if near else ""
