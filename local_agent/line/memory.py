"""The garbage collector of a process that serves for days.

ADK and what it imports leave hundreds of thousands of objects that live as long as the process, and
a turn makes thousands that reference counting frees. Collections that walk the former again and
again took a seventh of a turn's processor time (benchmarks/RESULTS.md).
"""

from __future__ import annotations

import gc
from typing import Final

YOUNG_OBJECTS: Final = 20_000
"""Allocations, less frees, before the young are looked through; Python's own number is 700."""


def settle() -> None:
    """Leave alone what is there now, and look through the young less often.

    For a process's entry, once it is warm: it is the whole process that this changes.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 10, 10)
