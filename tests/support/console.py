"""The console as a person starts it: the command, in a process of its own, ended by its number."""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 120.0
"""The longest wait for it to listen: a machine's first import of ADK may take most of a minute."""


@dataclass
class Running:
    """A console that runs.

    Attributes:
        url: Of its page.
        said: What it printed so far.
    """

    process: subprocess.Popen[str]
    url: str
    said: str

    def stop(self, how: signal.Signals = signal.SIGINT) -> tuple[int, str, str]:
        """End it as Ctrl-C does; returns its status, what else it said, and what it complained."""
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=START_SECONDS)
        return self.process.returncode, out, err


@contextmanager
def console(
    temporary: Path,
    *arguments: str,
    command: Sequence[str] = (sys.executable, "-m", "local_agent.cli"),
    cwd: Path | None = None,
) -> Iterator[Running]:
    """Start the console, with its temporary folder in this one.

    Args:
        temporary: Where it makes its folder.
        arguments: What the command gets.
        command: Another `local-agent` than the checkout's.
        cwd: Where it is started.

    Raises:
        TimeoutError: It does not listen in time.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment = {**own, "TMPDIR": str(temporary), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [*command, "console", *arguments],
        env=environment,
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        said = _until_listening(process)
        yield Running(process, re.findall(r"http://\S+/", said)[0], said)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.communicate(timeout=START_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def _until_listening(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    said = ""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while "http://" not in said:
            if not selector.select(START_SECONDS):
                raise TimeoutError("The console does not listen.")
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"The console ended: {process.communicate()[1]}")
            said += line
    return said
