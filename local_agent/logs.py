"""Logging, set up once by whoever starts a process: one line an event, `field=value`, no content.

Our own messages are written so that nothing of a conversation is in them. Libraries' are not:
theirs may quote a request, an argument or a result, so only where a line came from is kept of them
(invariants 4 and 6).
"""

from __future__ import annotations

import hashlib
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

OWN = ("local_agent", "callbacks", "stores")
"""Roots of the loggers whose messages are ours."""

_EVERY_OFFLINE_TURN = "Skipping missing token usage metadata"
"""ADK warns of it at each answer of a model that measures no tokens. Ours says so by not giving a
number, so the line would only teach people to overlook warnings."""


def reference(event_id: str) -> str:
    """Return eight digits by which log lines of one event are found together."""
    return hashlib.sha256(event_id.encode()).hexdigest()[:8]


class FieldFormatter(logging.Formatter):
    """Writes `time=… level=… logger=… ` and then the fields of our message."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; never a traceback, whose lines may quote values."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        line = f"time={stamp} level={record.levelname} logger={record.name} "
        if _is_ours(record):
            line += " ".join(record.getMessage().splitlines())
        else:
            line += f"event=library_message at={record.filename}:{record.lineno}"
        if record.exc_info and record.exc_info[0] is not None:
            line += f" error_type={record.exc_info[0].__name__}"
        return line


def handler_for(stream: TextIO, level: str) -> logging.Handler:
    """Return a handler that writes fields, and leaves out what is not worth a line."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(FieldFormatter())
    handler.addFilter(_worth_a_line)
    handler.setLevel(level)
    return handler


def set_up(level: str, stream: TextIO | None = None) -> None:
    """Send what is logged to `stream`, stderr if None; what an earlier call set up is replaced.

    Libraries are heard from WARNING on, whatever the level: below it they log content.

    Args:
        level: DEBUG, INFO, WARNING or ERROR, for our own loggers.
        stream: Where lines go.
    """
    root = logging.getLogger()
    for known in [h for h in root.handlers if isinstance(h.formatter, FieldFormatter)]:
        root.removeHandler(known)
    root.addHandler(handler_for(sys.stderr if stream is None else stream, level))
    for name in OWN:
        logging.getLogger(name).setLevel(level)
    logging.captureWarnings(capture=True)


@contextmanager
def also_to(stream: TextIO, level: str) -> Iterator[None]:
    """While open, log to `stream` too, at a level of its own."""
    handler = handler_for(stream, level)
    loggers = [logging.getLogger(name) for name in OWN]
    before = [logger.level for logger in loggers]
    logging.getLogger().addHandler(handler)
    for logger in loggers:
        logger.setLevel(level)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        for logger, was in zip(loggers, before, strict=True):
            logger.setLevel(was)


def _worth_a_line(record: logging.LogRecord) -> bool:
    if _is_ours(record):
        return True
    return record.levelno >= logging.WARNING and not str(record.msg).startswith(_EVERY_OFFLINE_TURN)


def _is_ours(record: logging.LogRecord) -> bool:
    return record.name.partition(".")[0] in OWN
