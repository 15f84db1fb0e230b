"""Line plots as inline SVG: no script, no font, no file beside the page.

Colours come from the page's CSS, so that one drawing serves light and dark. The drawing is narrow
enough that its letters stay readable on a telephone of 360 pixels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 340, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 58, 14, 34
_MOST_TICKS = 8
"""More labels than these would run into each other below the turns."""

_LABEL_STEP = 15
"""Least distance between two labels at the lines' ends, in drawing units."""


def line_plot(
    series: Mapping[str, Sequence[int | None]],
    *,
    title: str,
    labels: Mapping[str, str],
    turns: Sequence[str],
    from_zero: bool = True,
) -> str:
    """Return an `<svg>` with a line a series.

    Args:
        series: Name (a CSS class) -> one number a turn; None for a turn that has none, where the
            line breaks off.
        title: What is drawn, for whoever does not see it.
        labels: Name -> what a screen reader says.
        turns: What stands below the turns.
        from_zero: Whether the axis starts at zero; else near the least number.

    Raises:
        ValueError: There is no number at all.
    """
    values = [value for numbers in series.values() for value in numbers if value is not None]
    low, high, step = _scale(0 if from_zero else min(values), max(values))

    def x(index: int) -> float:
        return _LEFT + index * (WIDTH - _LEFT - _RIGHT) / max(1, len(turns) - 1)

    def y(value: float) -> float:
        return HEIGHT - _BOTTOM - (value - low) / (high - low) * (HEIGHT - _TOP - _BOTTOM)

    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">',
        f"<title>{escape(title)}</title>",
    ]
    for tick in range(low, high + 1, step):
        across = f'x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"'
        parts.append(f'<line class="grid" {across}/>')
        parts.append(_tick(_LEFT - 6, y(tick) + 4, "end", _short(tick)))
    every = math.ceil(len(turns) / _MOST_TICKS)
    shown = [(i, turn) for i, turn in enumerate(turns) if (len(turns) - 1 - i) % every == 0]
    parts.extend(_tick(x(i), HEIGHT - 12, "middle", turn) for i, turn in shown)
    last = {
        name: known[-1]
        for name, numbers in series.items()
        if (known := [value for value in numbers if value is not None])
    }
    ends = _apart({name: y(value) for name, value in last.items()})
    for name, numbers in series.items():
        parts.append(f'<g class="{escape(name)}">')
        for stretch in _stretches(numbers):
            points = " ".join(f"{x(i):.1f},{y(value):.1f}" for i, value in stretch)
            parts.append(f'<polyline points="{points}"/>')
        for index, value in enumerate(numbers):
            if value is None:
                continue
            said = escape(f"{labels[name]} {turns[index]}: {value:,}")
            place = f'cx="{x(index):.1f}" cy="{y(value):.1f}"'
            parts.append(f'<circle {place} r="3.2"><title>{said}</title></circle>')
        if name in last:
            place = f'x="{WIDTH - _RIGHT + 8}" y="{ends[name] + 4:.1f}"'
            parts.append(f"<text {place}>{last[name]:,}</text>")
        parts.append("</g>")
    parts.append("</svg>")
    return "".join(parts)


def _stretches(numbers: Sequence[int | None]) -> list[list[tuple[int, int]]]:
    """Return the runs of turns that have a number, each with its turns' indices."""
    found: list[list[tuple[int, int]]] = [[]]
    for index, value in enumerate(numbers):
        if value is not None:
            found[-1].append((index, value))
        elif found[-1]:
            found.append([])
    return [stretch for stretch in found if stretch]


def _scale(least: int, most: int) -> tuple[int, int, int]:
    """Return a round lower end, upper end and step for three to six grid lines."""
    span = max(1, most - least)
    rough = span / 4
    power = 10 ** math.floor(math.log10(rough)) if rough >= 1 else 1
    step = next(int(f * power) for f in (1, 2, 2.5, 5, 10) if f * power >= rough and f * power >= 1)
    low = least // step * step
    return low, max(low + step, math.ceil(most / step) * step), step


def _tick(x: float, y: float, anchor: str, text: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="tick" {place}>{escape(text)}</text>'


def _short(number: int) -> str:
    return f"{number / 1000:g}k" if number >= 1000 else str(number)


def _apart(wanted: Mapping[str, float]) -> dict[str, float]:
    """Return label heights near the wanted ones and far enough from each other."""
    placed: dict[str, float] = {}
    last = -math.inf
    for name in sorted(wanted, key=lambda n: wanted[n]):
        last = max(wanted[name], last + _LABEL_STEP)
        placed[name] = last
    over = max(placed.values()) - (HEIGHT - _BOTTOM)
    return {name: height - max(0.0, over) for name, height in placed.items()}
