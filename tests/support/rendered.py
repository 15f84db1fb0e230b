"""A counter that asks one hidden rendering within this process."""

import json
from collections.abc import Callable

import pydantic_core

from benchmarks.countserver.tokens import ByteTokens, Tokens
from benchmarks.countserver.turns import render
from callbacks.context.budget import Unit
from callbacks.context.errors import CounterFailed
from callbacks.counting.request import CountRequest
from callbacks.counting.verdict import CallAllowance


class RenderedCounter:
    """Counts as the loopback service does; `declines` answers for HTTP 400."""

    unit: Unit = "tokens"

    def __init__(
        self,
        style: str = "compact-gemma",
        tokens: Tokens | None = None,
        *,
        declines: Callable[[CountRequest], bool] = lambda _: False,
    ) -> None:
        self.style = style
        self.tokens = tokens or ByteTokens()
        self.declines = declines
        self.asked: list[CountRequest] = []
        self.fails = False
        self.identity = f"test/{style}"

    async def count(self, request: CountRequest, *, calls: CallAllowance | None = None) -> int:
        if calls is not None:
            calls.take()
        self.asked.append(request)
        if self.fails:
            raise CounterFailed(numbers={"cause": "http_500"})
        if self.declines(request):
            raise CounterFailed(numbers={"cause": "http_400"})
        return self.truth(request)

    def truth(self, request: CountRequest) -> int:
        """The true count, without asking."""
        config = request.config
        body = json.loads(pydantic_core.to_json(config, by_alias=True, exclude_none=True))
        if isinstance(config.system_instruction, str):
            body["systemInstruction"] = {"parts": [{"text": config.system_instruction}]}
        body["contents"] = json.loads(request.contents_json)
        text, media = render(self.style, body)
        return self.tokens.count(text) + media
