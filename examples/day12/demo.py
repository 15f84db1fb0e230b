"""The article's command: `python -m examples.day12.demo --out out/day12`.

Shows which blocks a model sees of six helpdesk messages and why, then asks the same through an ADK
agent. Offline: fixed rules answer. The exit status is 0 only if every check held, 1 if one did not,
2 if the folder cannot be used.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from examples.command import command, tell_checks
from examples.day12.findings import report
from examples.day12.messages import SECRET
from examples.day12.page import page
from examples.day12.run import everything


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo and write its report."""
    about = "Show which blocks a model sees of six messages, and why."
    return command("examples.day12.demo", about, _run, argv)


def _run(out: Path) -> bool:
    print("Day 12：六則對話，模型只看三塊（離線規則回答，不連網路）")
    print("1/2 精簡歷史，再經過 ADK agent、預算與閘門問同一句話 …", flush=True)
    (out / "live").mkdir()
    found = asyncio.run(everything(out / "live"))
    print("2/2 寫報告，並在每個檔案裡找那段機密 …", flush=True)
    # Written once to be searched together with everything else, then with what was found.
    _write(out, report(found, ()))
    made = report(found, _files_with(SECRET, out))
    _write(out, made)
    print("\n模型看得到的區塊")
    _print_table([(b["block_id"], b["reason"], b["content"]) for b in made["blocks"]])
    print("\nTrace")
    _print_table([(r["kind"], r["name"], r["outcome"], r["detail"]) for r in made["trace"]])
    return tell_checks(made["checks"], out / "report.html")


def _write(out: Path, made: dict[str, object]) -> None:
    text = json.dumps(made, ensure_ascii=False, indent=2) + "\n"
    (out / "report.json").write_text(text, encoding="utf-8")
    (out / "report.html").write_text(page(made), encoding="utf-8")


def _files_with(text: str, folder: Path) -> tuple[str, ...]:
    """Return the files below a folder whose bytes hold a text, as its database's side files do."""
    return tuple(
        path.relative_to(folder).as_posix()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and text.encode() in path.read_bytes()
    )


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        print(f"  {'  '.join(cells)}".rstrip())


if __name__ == "__main__":
    sys.exit(main())
