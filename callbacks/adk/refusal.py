"""A refusal: the machine-readable answer given instead of a model or tool call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from google.adk.events.event import Event
from google.adk.models.llm_response import LlmResponse
from google.genai import types

_NOT_SET_UP = "This app is not set up correctly, so nothing was sent."
"""Its author finds in the log what is wrong; nobody else could mend it."""

SENTENCES: Mapping[str, str] = {
    "CURRENT_AND_RULES_EXCEED_INPUT_BUDGET": (
        "The newest message and the rules alone exceed the input budget; nothing was sent."
    ),
    "COUNT_UNAVAILABLE": "The request could not be measured, so it was not sent.",
    "COUNTER_UNIT_MISMATCH": (
        "The counter and the budget use different units, so the request was not sent."
    ),
    "INVALID_COUNTER_RESULT": "The counter gave no usable number, so the request was not sent.",
    "HISTORY_NOT_ALIGNED": (
        "The past of this conversation could not be told from the present, so it was not sent."
    ),
    "LIVE_NOT_SUPPORTED": "Live sessions cannot be measured before they are sent; use run_async.",
    "MODEL_NOT_GATED": (
        "An agent of this app calls a model that cannot be measured, so the turn was not run."
    ),
    "TOOL_NOT_GATED": (
        "A tool of this app cannot be run behind the gate, so the turn was stopped."
    ),
    "PREFERENCE_IN_PROMPT": (
        "A remembered preference would have stood in a prompt, so the turn was stopped."
    ),
    "RAW_PAST_KEPT": ("This app brings past sentences into requests, so the turn was not run."),
    "EVENT_HIDDEN": _NOT_SET_UP,
    "TOOL_UNKNOWN": _NOT_SET_UP,
    "ANSWER_WITHOUT_CALL": "That request is no longer waiting for an answer; please ask anew.",
    "PREFERENCE_CHANGED": "A preference was just changed or forgotten; please ask once more.",
    "CONVERSATION_CHANGED": "This conversation moved on in the meantime; please ask once more.",
    "UNSUPPORTED_PUBLIC_CONTEXT": (
        "Something outside the declared vocabulary was about to be kept, so this turn was stopped."
    ),
    "HISTORY_INVALID": "The kept messages could not be used, so the request was not sent.",
    "RANKING_UNAVAILABLE": "The kept messages could not be ranked, so the request was not sent.",
    "STORE_UNAVAILABLE": "The store cannot be reached right now; nothing was sent or changed.",
    "STORE_KEY_MISSING": "What is remembered cannot be opened right now; nothing was changed.",
    "TOOL_FAILED": "The tool failed; its message is withheld because it may hold a private value.",
    "EVIDENCE_INSUFFICIENT": "The evidence at hand does not prove what the answer needs.",
    "CONTRACT_MISMATCH": "The task contract is not the approved one, so nothing was sent.",
    "ANSWER_NOT_RELEASED": "The answer was not supported by its evidence, so it is not given.",
    "TOOL_CALL_STOPPED": (
        "The tool was not run: what it was asked for comes from text nobody vouches for."
    ),
    "INTERNAL_ERROR": "Something failed inside the context layer, so the request was not sent.",
}
"""One English sentence for each code; an application may bring its own (`refusal_text`)."""

RefusalText = Callable[[str], str]


def guarded(sentence: RefusalText) -> RefusalText:
    """Return sentences of the application's that fall back to English where they fail."""

    def safe(code: str) -> str:
        try:
            return sentence(code)
        except Exception:  # noqa: BLE001 - a refusal must not fail for want of words
            return english(code)

    return safe


def english(code: str) -> str:
    """Return the English sentence for a code; an unknown code gets the general one."""
    return SENTENCES.get(code, SENTENCES["INTERNAL_ERROR"])


@dataclass(frozen=True)
class Refusal:
    """What was refused, as data.

    Attributes:
        code: One of the codes listed in docs/codes.md.
        numbers: Counts beside the code (units, limit, unit); never content of a conversation.
    """

    code: str
    numbers: Mapping[str, int | str] = field(default_factory=dict)

    @classmethod
    def of(cls, error: BaseException) -> Refusal:
        """Take code and numbers from an exception that carries them; else INTERNAL_ERROR.

        The exception's text is left behind on purpose: it may quote what it failed on.
        """
        code = getattr(error, "error_code", None)
        numbers = getattr(error, "numbers", None)
        if not isinstance(code, str):
            return cls("INTERNAL_ERROR", {"error_type": type(error).__name__})
        return cls(code, dict(numbers) if isinstance(numbers, Mapping) else {})

    def metadata(self) -> dict[str, Any]:
        """Return what goes into `custom_metadata`: JSON-able, without any content."""
        return {"refusal": {"error_code": self.code, **self.numbers}}

    def as_llm_response(self, sentence: RefusalText) -> LlmResponse:
        """Return the answer that stands in for a model call.

        It carries both a code and text: ADK drops a response with neither, and one without
        content would leave two user contents in a row in the next request.
        """
        text = sentence(self.code)
        return LlmResponse(
            content=types.Content(role="model", parts=[types.Part(text=text)]),
            error_code=self.code,
            error_message=text,
            custom_metadata=self.metadata(),
        )

    def as_tool_result(self, sentence: RefusalText) -> dict[str, Any]:
        """Return the result that stands in for a tool call."""
        return {"error_code": self.code, "error": sentence(self.code)}


def withheld(event: Event, refusal: Refusal, sentence: RefusalText) -> Event:
    """Return the event without its answer; a call keeps its response (invariant 2)."""
    text = sentence(refusal.code)
    responses = event.get_function_responses()
    if responses:
        result = refusal.as_tool_result(sentence)
        parts = [
            types.Part(
                function_response=types.FunctionResponse(id=r.id, name=r.name, response=result)
            )
            for r in responses
        ]
    else:
        parts = [types.Part(text=text)]
    return event.model_copy(
        update={
            "content": types.Content(role="user" if responses else "model", parts=parts),
            "error_code": refusal.code,
            "error_message": text,
            "custom_metadata": {**(event.custom_metadata or {}), **refusal.metadata()},
        }
    )
