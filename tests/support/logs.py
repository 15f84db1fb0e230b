"""Logging as it was: commands set it up for a whole process, and tests share one."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from local_agent.logs import OWN


@contextmanager
def logging_restored() -> Iterator[None]:
    """Takes back, at the end, what was set up inside."""
    root = logging.getLogger()
    handlers = root.handlers[:]
    levels = {name: logging.getLogger(name).level for name in OWN}
    try:
        yield
    finally:
        logging.captureWarnings(capture=False)
        root.handlers[:] = handlers
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
