"""A model that says what it is told to say, and keeps every request it was given."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import PrivateAttr

Step = LlmResponse | Callable[[LlmRequest], LlmResponse]


def say(text: str) -> LlmResponse:
    """A final text."""
    return LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))


def call(name: str, **args: Any) -> LlmResponse:
    """One tool call."""
    return calls((name, args))


def calls(*wanted: tuple[str, dict[str, Any]]) -> LlmResponse:
    """Several tool calls in one response."""
    parts = [
        types.Part(function_call=types.FunctionCall(name=name, args=args)) for name, args in wanted
    ]
    return LlmResponse(content=types.Content(role="model", parts=parts))


class ScriptedModel(BaseLlm):
    """Answers with the next step of its script; says "done" when there is none."""

    model: str = "scripted"
    _script: list[Step] = PrivateAttr(default_factory=list)
    _seen: list[bytes] = PrivateAttr(default_factory=list)
    _contents: list[list[types.Content]] = PrivateAttr(default_factory=list)

    @classmethod
    def of(cls, *script: Step) -> ScriptedModel:
        made = cls()
        made._script = list(script)
        return made

    def then(self, *script: Step) -> None:
        self._script.extend(script)

    @property
    def requests(self) -> Sequence[bytes]:
        """Each request as JSON, in order."""
        return self._seen

    @property
    def contents(self) -> Sequence[list[types.Content]]:
        """The contents of each request: the very objects."""
        return self._contents

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        config = llm_request.config.model_copy(update={"response_schema": None})
        self._seen.append(
            (config.model_dump_json(exclude_none=True) + "\n").encode()
            + b"\n".join(
                content.model_dump_json(exclude_none=True).encode()
                for content in llm_request.contents
            )
        )
        self._contents.append(list(llm_request.contents))
        step = self._script.pop(0) if self._script else say("done")
        yield step(llm_request) if callable(step) else step

    @property
    def calls_made(self) -> int:
        return len(self._seen)
