"""The case from end to end: `python -m examples.procurement.demo --out out/procurement`.

Asks the question about the televisions through a real ADK Runner with offline rules as the model,
lets the balance expire, changes the amount, attaches a mail that gives orders, and makes the packet
again in another process from the store alone. Writes report.json, packet, record, answer and the
gate's verdicts as JSON, and page.html. The exit status is 0 only if every check held, 1 if one did
not, 2 if the folder cannot be used.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from examples.command import command, tell_checks
from examples.procurement.assistant import TENANT, Asked, store_in
from examples.procurement.findings import report
from examples.procurement.page import page
from examples.procurement.sources import READER
from examples.procurement.walk import Walk, walk

REPLAY_SECONDS = 120
"""The longest that another process may take to make the packet again."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo and write its report."""
    about = "Answer a purchasing question by evidence, claim by claim, offline."
    return command("examples.procurement.demo", about, _run, argv)


def _run(out: Path) -> bool:
    key = secrets.token_hex(32)
    print("86 萬元的電視：逐項舉證的回答（離線規則回答，不連網路）")
    print("1/3 經過 ADK Runner 問十次 …", flush=True)
    found = asyncio.run(_walk(out, key))
    print("2/3 在另一個行程裡，只憑紀錄重建證據包 …", flush=True)
    replayed = _replay(out, key, found.packet.spec.generation, found.packet.sha256)
    print("3/3 寫報告 …", flush=True)
    made = report(found, replayed)
    _write(out / "report.json", made)
    _write(out / "packet.json", {**found.packet.spec.as_json(), "text": found.packet.text,
                                 "sha256": found.packet.sha256})  # fmt: skip
    if found.asked.released is not None:
        _write(out / "record.json", found.asked.released.record.as_json())
    _write(out / "answer.json", _answers(found))
    _write(out / "gate.json", _verdicts(found))
    (out / "page.html").write_text(page(made), encoding="utf-8")
    print(f"\n{found.asked.answer}\n")
    return tell_checks(made["checks"], out / "page.html")


async def _walk(out: Path, key: str) -> Walk:
    async with store_in(out, key.encode()) as store:
        return await walk(store)


def _replay(out: Path, key: str, generation: str, sha256: str) -> bool:
    """Make a packet again by `local-agent evidence replay`, with another hash seed."""
    environment = {
        **os.environ,
        "LOCAL_DATABASE_URL": f"sqlite+aiosqlite:///{(out / 'procurement.db').resolve()}",
        "LOCAL_STORE_KEYS": key,
        "PYTHONHASHSEED": "4711",
    }
    command = ("evidence", "replay", generation, "--person", READER, "--tenant", TENANT, "--json")
    done = subprocess.run(  # noqa: S603 - our own command in our own interpreter
        [sys.executable, "-m", "local_agent.cli", *command],
        capture_output=True,
        text=True,
        timeout=REPLAY_SECONDS,
        env=environment,
        check=False,
    )
    if done.returncode != 0:
        return False
    told = json.loads(done.stdout)
    return told["equal"] is True and told["sha256"] == sha256


def _answers(found: Walk) -> dict[str, Any]:
    return {
        name: {
            "model_gave": asked.released.answer if asked.released else None,
            "released": asked.answer if not asked.error_code else None,
            "error_code": asked.error_code or None,
        }
        for name, asked in _named(found).items()
    }


def _verdicts(found: Walk) -> dict[str, Any]:
    return {
        name: asked.released.note.as_json() if asked.released else None
        for name, asked in _named(found).items()
    }


def _named(found: Walk) -> dict[str, Asked]:
    return {
        "question": found.asked,
        "balance_refreshed": found.refreshed,
        "balance_removed": found.removed,
        "amount_changed": found.changed.asked,
        "mail_with_orders": found.gullible,
        "wrong_twice": found.wrong,
        "ledger_down": found.down,
        "history_down": found.without_history,
        "other_contract": found.other_contract,
        "budget_too_small": found.too_small,
    }


def _write(path: Path, data: object) -> None:
    text = json.dumps(data, ensure_ascii=False, indent=2, default=str)
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
