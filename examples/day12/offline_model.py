"""A model without a model for the helpdesk: it knows what stands in its request, and nothing else.

Whether the thread of a conversation was kept shows in its answer: it can point to an earlier record
only if the request holds one. It reports no usage: what was not measured is unknown.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from callbacks.context.errors import ContextError
from callbacks.context.history_block import parse_history
from callbacks.context.prepared_history import ModelContextBlock

OFFLINE_MODEL = "helpdesk-offline-rules"
_NO_TICKET = ("不要開", "別開", "不用開", "不需開")
_TICKET = ("開工單", "開單")


class HelpdeskRules(BaseLlm):
    """Fixed rules behind ADK's model interface."""

    model: str = OFFLINE_MODEL

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer with steps, or open a ticket where one is asked for."""
        newest = llm_request.contents[-1]
        if any(part.function_response for part in newest.parts or []):
            part = types.Part(text="工單已經開好了。")
        else:
            part = _answer(_text(newest), tuple(blocks_of(llm_request.contents)))
        yield LlmResponse(
            content=types.Content(role="model", parts=[part]),
            finish_reason=types.FinishReason.STOP,
            model_version=OFFLINE_MODEL,
        )


def blocks_of(contents: Sequence[types.Content]) -> Iterator[ModelContextBlock]:
    """Return the older blocks that a request holds before its newest message."""
    for content in contents[:-1]:
        if content.role != "user":
            continue
        try:
            yield from parse_history(_text(content), "zh-Hant")
        except ContextError:  # an ordinary message, not a block
            continue


def _answer(asked: str, older: Sequence[ModelContextBlock]) -> types.Part:
    wanted = any(words in asked for words in _TICKET)
    if wanted and not any(words in asked for words in _NO_TICKET):
        call = types.FunctionCall(name="open_ticket", args={"summary": asked[:60]})
        return types.Part(function_call=call)
    steps = [f"依紀錄 {block.block_id}：{block.content}" for block in older if block.role]
    steps += [f"（{block.content}）" for block in older if not block.role]
    steps += ["先登出、重新登入一次，確認時間與網路都正常，再試一次連線。"]
    if wanted:
        steps.append("依你的要求，不開工單。")
    return types.Part(text="\n".join(f"{at}. {step}" for at, step in enumerate(steps, start=1)))


def _text(content: types.Content) -> str:
    return "\n".join(part.text for part in content.parts or [] if part.text)
