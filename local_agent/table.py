"""Tables for a terminal, where a Chinese character is two columns wide."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence


def width(text: str) -> int:
    """Return how many columns a terminal needs for a text (Unicode TR11; ambiguous ones are 1)."""
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def aligned(
    rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = (), gap: str = "  "
) -> list[str]:
    """Return the rows as lines with aligned columns.

    Args:
        rows: Cells; every row has the same number.
        numbers: The columns that are set flush right.
        gap: Stands between columns.
    """
    widest = [max(width(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = []
        for column, (cell, columns) in enumerate(zip(row, widest, strict=True)):
            blank = " " * (columns - width(cell))
            cells.append(blank + cell if column in numbers else cell + blank)
        lines.append(gap.join(cells).rstrip())
    return lines
