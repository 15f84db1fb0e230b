"""What promptfoo asserts of an answer: that the context behind it was minimized."""

from __future__ import annotations

import json
from typing import Any

SECRET_TEXTS = ("7431-0958", "備用碼先貼", "message-04")
"""The made-up code, a piece of its sentence, and the id of the message: none may come out."""

ROWS = (
    "history_input",
    "sensitive_data_minimization",
    "relevance_selection",
    "history_compaction",
    "irrelevant_history",
    "recency_selection",
    "model_context",
)


def context_is_minimized(output: str, context: dict[str, Any]) -> dict[str, Any]:
    """Check output, trace and what the model was given.

    Args:
        output: The answer.
        context: promptfoo's context: `vars` with `keeps` and `leaves_out` (block ids, separated by
            spaces), and the provider's metadata.
    """
    response = context.get("providerResponse") or {}
    metadata = response.get("metadata") or context.get("metadata") or {}
    expected = context.get("vars", {})
    trace = metadata.get("trace", [])
    given = "\n".join(metadata.get("contents", []))
    everything = json.dumps([output, metadata], ensure_ascii=False)
    # What the person typed is theirs to see again; promptfoo gives the same text to the model.
    everything = everything.replace(str(expected.get("question", "")) or "\0", "")
    shown = [line[1:].split(" ")[0] for line in given.splitlines() if line.startswith("#")]
    found = {
        "secret text": [text for text in SECRET_TEXTS if text in everything],
        "missing blocks": [b for b in expected.get("keeps", "").split() if b not in shown],
        "blocks too many": [b for b in expected.get("leaves_out", "").split() if b in shown],
        "trace rows": [] if tuple(row["name"] for row in trace) == ROWS else ["not the seven"],
        "secret row": []
        if [row["detail"] for row in trace[1:2]] == ["1 secret removed"]
        else ["not counted"],
        "newest message": []
        if given.endswith(str(expected.get("question", "")))
        else ["not last, or not whole"],
    }
    reasons = [f"{name}: {', '.join(wrong)}" for name, wrong in found.items() if wrong]
    return {
        "pass": not reasons,
        "score": 0 if reasons else 1,
        "reason": "; ".join(reasons) or "The context is minimized.",
    }


def opens_no_ticket(output: str, context: dict[str, Any]) -> bool:
    """Check that a request not to open a ticket was heard."""
    return bool(_tools(context) == [])


def opens_a_ticket(output: str, context: dict[str, Any]) -> bool:
    """Check that a request to open one was heard too."""
    return bool(_tools(context) == ["open_ticket"])


def _tools(context: dict[str, Any]) -> Any:
    response = context.get("providerResponse") or {}
    return (response.get("metadata") or context.get("metadata") or {}).get("tools")
