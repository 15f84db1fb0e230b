"""One live question: `python -m examples.day12.ask "現在 VPN 又出現 E401，不要開工單"`.

With GOOGLE_API_KEY and LOCAL_MODEL set, Gemini answers; else the offline rules. Plugin, policy,
budget and gate are the same.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from examples.day12.helpdesk import Helpdesk, model_of
from examples.day12.messages import NEWEST
from local_agent.cli import speak_utf8
from local_agent.settings import SettingsError, load_settings


def main(argv: Sequence[str] | None = None) -> int:
    """Ask, print the answer and what the request was made of; 0 if it was answered."""
    speak_utf8()
    parser = argparse.ArgumentParser(
        prog="python -m examples.day12.ask", description="Ask the helpdesk one question."
    )
    parser.add_argument("question", nargs="?", default=NEWEST, help="the newest message")
    question = parser.parse_args(argv).question
    try:
        model = model_of(load_settings())
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        answered = asyncio.run(Helpdesk(Path(folder, "helpdesk.db"), model).ask(question))
    print(f"{model.model}\n{answered.text}")
    for record in answered.records:
        print(f"{record.decision} {record.units}/{record.limit} {record.unit}")
        for block in record.blocks:
            print(f"  {block.id:16} {block.action:11} {block.reason}")
    return 1 if answered.error_code else 0


if __name__ == "__main__":
    sys.exit(main())
