"""The wiring of the README in a program that runs: `python -m examples.wiring`.

Offline: a stand-in for a model calls the tool in the first turn and answers in the second. It shows
what the model is given the second time: a block of two lines, and no sentence of the first turn.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps.app import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types
from pydantic import Field

from callbacks.adk.injection import Preference
from callbacks.adk.plugin import ContextBudgetPlugin
from callbacks.context.budget import Budget
from callbacks.context.schema import ContextSchema, Topic
from callbacks.context.slot import Slot
from callbacks.counting.bytes import ByteCounter
from stores.open import open_store


def search_places(town: str, diet: str) -> dict[str, Any]:
    """Search places in a town; leave `diet` empty unless it was asked for."""
    return {"town": town, "found": 2}


class Stand(BaseLlm):
    """Stands in for a model: a tool call first, then words. Keeps what it was given."""

    model: str = "stand-in"
    seen: list[list[str]] = Field(default_factory=list)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer with the next of two steps."""
        self.seen.append([part.text or "" for c in llm_request.contents for part in c.parts or []])
        call = types.FunctionCall(name="search_places", args={"town": "Huatan", "diet": ""})
        step = types.Part(function_call=call) if len(self.seen) == 1 else types.Part(text="Done.")
        yield LlmResponse(content=types.Content(role="model", parts=[step]))


def wire(agent: LlmAgent, url: str, signing_key: bytes, store_key: bytes) -> App:
    """Return an app whose every request is bounded, measured and free of consented values."""
    schema = ContextSchema(
        topics={"places": Topic("find places")},
        slots={"town": Slot.closed(["Huatan", "Lukang"])},
    )
    plugin = ContextBudgetPlugin(
        schema=schema,
        store=open_store(url, signing_keys=[signing_key], store_keys=[store_key]),
        counter=ByteCounter(),
        budget=Budget(16_384, "utf8_bytes"),
        projectors={
            "search_places": lambda asked, found: schema.project("places", {"town": asked["town"]})
        },
        preferences=[
            Preference(
                "diet",
                ["vegan"],
                purpose="so that places suit you",
                fills={"search_places": "diet"},
                otherwise="any",
            )
        ],
    )
    return App(name="town", root_agent=agent, plugins=[plugin])


async def main() -> list[list[str]]:
    """Run two turns and return what the model was given in each step."""
    model = Stand(seen=[])
    agent = LlmAgent(name="town", model=model, tools=[search_places])
    signing_key, store_key = secrets.token_bytes(32), secrets.token_bytes(32)
    app = wire(agent, "sqlite+aiosqlite:///:memory:", signing_key, store_key)
    sessions = InMemorySessionService()
    runner = Runner(app=app, session_service=sessions)
    await sessions.create_session(app_name="town", user_id="somebody", session_id="1")
    for text in ("What is there to eat in Huatan?", "And something else there?"):
        message = types.Content(role="user", parts=[types.Part(text=text)])
        async for _ in runner.run_async(user_id="somebody", session_id="1", new_message=message):
            pass
    await runner.close()
    return model.seen


if __name__ == "__main__":
    for number, contents in enumerate(asyncio.run(main()), start=1):
        print(f"request {number}: {contents}")
