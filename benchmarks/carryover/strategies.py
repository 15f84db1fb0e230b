"""What each strategy puts into a request of earlier exchanges, as ADK contents."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.context_filter_plugin import ContextFilterPlugin
from google.genai import types
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, trim_messages

from benchmarks.carryover.dialogues import Agent, Exchange
from callbacks.context.errors import ContextError
from callbacks.context.projection import Projection
from callbacks.context.render import ACK, render
from callbacks.context.window import ContextWindow


def raw(exchanges: Sequence[Exchange]) -> list[types.Content]:
    """Return exchanges as the texts that were said: calls and results are left out.

    In a real ADK session they are there as well, and larger; leaving them out favours the raw
    strategies, whose bytes are what the window is compared with.
    """
    return [
        content
        for exchange in exchanges
        for content in (said("user", exchange.user), said("model", exchange.system))
    ]


def said(role: str, text: str) -> types.Content:
    """Return one text as a content."""
    return types.Content(role=role, parts=[types.Part(text=text)])


def added_bytes(contents: Sequence[types.Content], newest: types.Content) -> int:
    """Return what contents add to a request in UTF-8 bytes of its JSON, wrappers included."""
    return _size([*contents, newest]) - _size([newest])


def _size(contents: Sequence[types.Content]) -> int:
    dumped = [content.model_dump(mode="json", exclude_none=True) for content in contents]
    return len(json.dumps(dumped, ensure_ascii=False, separators=(",", ":")).encode())


async def adk_filter(past: Sequence[types.Content], newest: types.Content, keep: int) -> int:
    """Return how many of the past contents ADK's own ContextFilterPlugin keeps, as it runs."""
    request = LlmRequest(contents=[*past, newest])
    plugin = ContextFilterPlugin(num_invocations_to_keep=keep)
    unused: Any = None  # the plugin reads nothing of the callback's context
    await plugin.before_model_callback(callback_context=unused, llm_request=request)
    return len(request.contents) - 1


def langchain_trim(past: Sequence[types.Content], limit: int) -> int:
    """Return how many of the past contents trim_messages keeps within so many bytes."""
    messages: list[BaseMessage] = [
        (HumanMessage if content.role == "user" else AIMessage)(_text(content)) for content in past
    ]

    def size(some: list[BaseMessage]) -> int:
        roles = {"human": "user", "ai": "model"}
        contents = [said(roles[message.type], str(message.content)) for message in some]
        return added_bytes(contents, _NEWEST)

    kept = trim_messages(
        messages, max_tokens=limit, token_counter=size, strategy="last", start_on="human"
    )
    return len(kept)


_NEWEST = said("user", "")


def tool_projections(agent: Agent, past: Sequence[Exchange], keep: int) -> ContextWindow:
    """Return a window of the last tool calls alone: their public arguments, and no ledger."""
    projections = []
    for exchange in [e for e in past if e.tool][-keep:]:
        service = agent.service_of(exchange.tool)
        admitted: dict[str, str] = {}
        for name, value in exchange.arguments.items():
            slot = agent.slot(name, service)
            if not slot or name in agent.private:
                continue
            try:
                admitted[slot] = agent.schema.slots[slot].admit(value)
            except ContextError:
                continue
        projections.append(Projection(service, admitted))
    return ContextWindow(tuple(projections))


def block(agent: Agent, window: ContextWindow) -> list[types.Content]:
    """Return a window as the pair of contents that the plugin sends."""
    text = render(window, agent.schema)
    return [said("user", text), said("model", ACK[agent.schema.language])] if text else []


def _text(content: types.Content) -> str:
    return (content.parts or [types.Part()])[0].text or ""
