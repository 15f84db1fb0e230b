"""promptfoo's provider: one question through the helpdesk of day 12, offline.

The output is what the person reads; beside it stand the trace of the minimizer and the context that
the model was given, for assertions. See `call_api`, the name that promptfoo looks for.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # promptfoo starts this file alone

from callbacks.context.history import prepare_history_context
from examples.day12.helpdesk import Helpdesk
from examples.day12.messages import SYNONYMS, with_newest
from local_agent import logs


def call_api(prompt: str, options: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
    """Ask the helpdesk.

    Args:
        prompt: The newest message.
        options: promptfoo's settings of the provider; not used.
        context: The test's variables; not used.

    Returns:
        `output` as text; `metadata` with trace, blocks, contents, tools and counts.
    """
    logs.set_up("ERROR")
    prepared = prepare_history_context(with_newest(prompt), synonyms=SYNONYMS)
    with tempfile.TemporaryDirectory() as folder:
        answered = asyncio.run(Helpdesk(Path(folder, "helpdesk.db")).ask(prompt))
    contents = answered.requests[0].contents if answered.requests else ()
    return {
        "output": answered.text,
        "metadata": {
            "trace": [row.as_json() for row in prepared.trace],
            "decisions": [
                block.as_json() for record in answered.records for block in record.blocks
            ],
            "contents": [part.text or "" for one in contents for part in one.parts or []],
            "tools": list(answered.tools),
            "units": [record.units for record in answered.records],
            "error_code": answered.error_code,
        },
    }
