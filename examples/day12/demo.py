"""The article's command: `python -m examples.day12.demo --out out/day12`.

Shows which blocks a model sees of six helpdesk messages and why, then asks the same through an ADK
agent. Offline: fixed rules answer. The exit status is 0 only if every check held, 1 if one did not,
2 if the folder cannot be used.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from examples.day12.findings import report
from examples.day12.messages import SECRET
from examples.day12.page import page
from examples.day12.run import everything
from local_agent import logs
from local_agent.cli import speak_utf8


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo and write its report."""
    speak_utf8()
    parser = argparse.ArgumentParser(
        prog="python -m examples.day12.demo",
        description="Show which blocks a model sees of six messages, and why.",
    )
    parser.add_argument("--out", type=Path, required=True, help="a new folder for the report")
    out: Path = parser.parse_args(argv).out
    if out.exists() or out.is_symlink():
        print("The output folder exists already; name a new one. [OUTPUT_EXISTS]", file=sys.stderr)
        return 2
    try:
        (out / "live").mkdir(parents=True)
    except OSError:
        print("The output folder could not be made. [SYSTEM_REFUSED]", file=sys.stderr)
        return 2
    logs.set_up("ERROR")
    try:
        return 0 if _run(out) else 1
    except KeyboardInterrupt:
        print("Stopped. [INTERRUPTED]", file=sys.stderr)
        return 130


def _run(out: Path) -> bool:
    print("Day 12：六則對話，模型只看三塊（離線規則回答，不連網路）")
    print("1/2 精簡歷史，再經過 ADK agent、預算與閘門問同一句話 …", flush=True)
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
    failed = [check["name"] for check in made["checks"] if not check["ok"]]
    print(f"\n檢查：{len(made['checks']) - len(failed)} / {len(made['checks'])}")
    for name in failed:
        print(f"  失敗：{name}")
    print(f"報告：{out / 'report.html'}")
    return not failed


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
