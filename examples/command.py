"""What the commands of the examples have in common: a new folder, and a status that tells."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from local_agent import logs
from local_agent.cli import speak_utf8


def command(
    module: str, about: str, run: Callable[[Path], bool], argv: Sequence[str] | None = None
) -> int:
    """Run an example into a new folder.

    Args:
        module: What stands behind `python -m`.
        about: What it does, in a sentence.
        run: Writes into the folder; returns whether every check held.
        argv: What stands behind the command; None takes the process's own.

    Returns:
        The exit status: 0 if every check held, 1 if one did not, 2 if the folder cannot be used,
        130 if it was interrupted.
    """
    speak_utf8()
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=about)
    parser.add_argument("--out", type=Path, required=True, help="a new folder for the report")
    out: Path = parser.parse_args(argv).out
    if out.exists() or out.is_symlink():
        print("The output folder exists already; name a new one. [OUTPUT_EXISTS]", file=sys.stderr)
        return 2
    try:
        out.mkdir(parents=True)
    except OSError:
        print("The output folder could not be made. [SYSTEM_REFUSED]", file=sys.stderr)
        return 2
    logs.set_up("ERROR")
    try:
        return 0 if run(out) else 1
    except KeyboardInterrupt:
        print("Stopped. [INTERRUPTED]", file=sys.stderr)
        return 130


def tell_checks(checks: Sequence[Mapping[str, Any]], page: Path) -> bool:
    """Print how many checks held, those that did not, and where the report is.

    Returns:
        Whether all of them held.
    """
    failed = [check["name"] for check in checks if not check["ok"]]
    print(f"檢查：{len(checks) - len(failed)} / {len(checks)}")
    for name in failed:
        print(f"  失敗：{name}")
    print(f"報告：{page}")
    return not failed
