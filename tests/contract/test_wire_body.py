"""What is counted is what is sent: bodies captured over loopback from ADK's own Gemini."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.google_llm import Gemini
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.google_search_tool import google_search
from google.genai import types
from pydantic import BaseModel

from callbacks.adk.contents import count_request
from callbacks.counting import wire
from callbacks.counting.gemini import GeminiTokenCounter
from tests.support.count_service import CountService, count_service, model_answer, total

PICTURE = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"\x89PNG\r\n" * 50))
COUNTED_BY_VERTEX = ("contents", "systemInstruction", "tools", "generationConfig")


class Place(BaseModel):
    """A place."""

    name: str
    open_now: bool = True


def search_places(area: str, dietary_type: str | None = None, limit: int = 3) -> dict[str, Any]:
    """Searches places.

    Args:
        area: The town.
        dietary_type: What is eaten there.
        limit: How many at most.
    """
    return {}


class Recording(Gemini):
    """Counts each request as the model gate would, then sends it."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        counter = GeminiTokenCounter(self.api_client, approve_external=True)
        self._maybe_append_user_content(llm_request)
        await counter.count(count_request(llm_request))
        async for response in super().generate_content_async(llm_request, stream):
            yield response


def _agents() -> dict[str, dict[str, Any]]:
    helper = LlmAgent(name="helper", model="gemini-flash-latest", description="Helps.")
    return {
        "text": {},
        "function tool": {"tools": [FunctionTool(search_places)]},
        "agent tool": {"tools": [AgentTool(helper), search_places]},
        "built-in search": {"tools": [google_search]},
        "output schema": {"output_schema": Place},
        "list schema": {"output_schema": list[Place]},
        "thinking": {
            "generate_content_config": types.GenerateContentConfig(
                thinking_config=types.ThinkingConfig(thinking_budget=64),
                temperature=0.2,
                max_output_tokens=99,
                stop_sequences=["止"],
                labels={"team": "town"},
            )
        },
        "tool config": {
            "tools": [search_places],
            "generate_content_config": types.GenerateContentConfig(
                tool_config=types.ToolConfig(
                    function_calling_config=types.FunctionCallingConfig(
                        mode=types.FunctionCallingConfigMode.ANY
                    )
                )
            ),
        },
        "static instruction": {
            "static_instruction": "一直都在的規則",
            "instruction": "今天的規則",
        },
    }


async def _captured(
    case: dict[str, Any], *, vertex: bool, parts: list[types.Part], stream: bool = False
) -> tuple[CountService, dict[str, Any], dict[str, Any]]:
    """Run one turn; return what countTokens and what generateContent were sent."""
    async with count_service(total(7), model_answer()) as service:
        client = service.client(vertex=vertex)
        model = Recording(model="gemini-flash-latest")
        model.__dict__["api_client"] = client  # cached property: ADK would build one from env
        agent = LlmAgent(name="local", model=model, **{"instruction": "規則。", **case})
        runner = InMemoryRunner(agent, app_name="contract")
        session = await runner.session_service.create_session(app_name="contract", user_id="u")
        async for _ in runner.run_async(
            user_id="u",
            session_id=session.id,
            new_message=types.Content(role="user", parts=parts),
        ):
            pass
        await runner.close()
        await client.aio.aclose()
        assert [path.rpartition(":")[2] for path in service.paths] == [
            "countTokens",
            "generateContent",
        ]
        counted, sent = service.bodies
        return service, counted, sent


@pytest.mark.parametrize("name", list(_agents()))
@pytest.mark.parametrize("media", [False, True], ids=["text", "picture"])
async def test_the_developer_api_counts_the_body_it_gets(name: str, media: bool):
    """All that generateContent gets there stands in generateContentRequest, but labels."""
    parts = [types.Part(text="花壇有素食嗎？"), *([PICTURE] if media else [])]
    _, counted, sent = await _captured(_agents()[name], vertex=False, parts=parts)
    assert list(counted) == ["generateContentRequest"]
    request = counted["generateContentRequest"]
    assert request.pop("model") == "models/gemini-flash-latest"
    sent.pop("labels", None)
    assert request == sent


@pytest.mark.parametrize("name", list(_agents()))
@pytest.mark.parametrize("media", [False, True], ids=["text", "picture"])
async def test_vertex_counts_the_fields_its_count_takes(name: str, media: bool):
    """Contents, instruction, tools and generation config are counted as they are sent."""
    parts = [types.Part(text="花壇有素食嗎？"), *([PICTURE] if media else [])]
    _, counted, sent = await _captured(_agents()[name], vertex=True, parts=parts)
    assert counted == {field: sent[field] for field in COUNTED_BY_VERTEX if field in sent}
    # All that is sent beside them costs no input, or the service has no field for it.
    assert set(sent) - set(counted) <= {"labels", "toolConfig", "safetySettings"}


@pytest.mark.parametrize("vertex", [False, True])
async def test_a_tool_loop_counts_the_call_and_its_response(vertex: bool):
    """Calls and responses reach the count as they reach the model."""
    contents = [
        types.Content(role="user", parts=[types.Part(text="找")]),
        types.Content(
            role="model",
            parts=[
                types.Part(
                    function_call=types.FunctionCall(
                        id="1", name="search_places", args={"area": "花壇鄉", "limit": 2}
                    ),
                    thought_signature=b"\x01\x02",
                )
            ],
        ),
        types.Content(
            role="user",
            parts=[
                types.Part(
                    function_response=types.FunctionResponse(
                        id="1", name="search_places", response={"places": [{"name": "é\u2028"}]}
                    )
                )
            ],
        ),
    ]
    async with count_service(total(7), model_answer()) as service:
        client = service.client(vertex=vertex)
        request = LlmRequest(
            model="gemini-2.5-flash", contents=contents, config=types.GenerateContentConfig()
        )
        request.config.tools = [types.Tool(function_declarations=[])]
        counter = GeminiTokenCounter(client, approve_external=True)
        await counter.count(count_request(request))
        await client.aio.models.generate_content(
            model="gemini-2.5-flash", contents=contents, config=request.config
        )
        counted, sent = service.bodies
        await client.aio.aclose()
    counted = counted.get("generateContentRequest", counted)
    counted.pop("model", None)
    assert counted == sent


@pytest.mark.parametrize(
    ("given", "resource"),
    [
        ("gemini-flash-latest", "models/gemini-flash-latest"),
        ("models/gemini-3-pro-preview", "models/gemini-3-pro-preview"),
        ("tunedModels/mine", "tunedModels/mine"),
    ],
)
async def test_any_model_name_is_asked_about(given: str, resource: str):
    """Names and aliases are passed on as the SDK resolves them; there is no list of models here."""
    async with count_service(total(7)) as service:
        client = service.client()
        request = LlmRequest(model=given, contents=[types.UserContent("hi")])
        request.config = types.GenerateContentConfig()
        await GeminiTokenCounter(client, approve_external=True).count(count_request(request))
        await client.aio.aclose()
        assert service.paths[0].endswith(f"/{resource}:countTokens")
        assert service.bodies[0]["generateContentRequest"]["model"] == resource


def test_a_file_name_is_not_counted_where_adk_removes_it():
    """The Developer API takes no display name; ADK drops it, and so does the count, in a copy."""
    named = types.Part(
        inline_data=types.Blob(mime_type="image/png", data=b"1", display_name="map.png")
    )
    request = LlmRequest(model="m", contents=[types.Content(role="user", parts=[named])])
    request.config = types.GenerateContentConfig()
    client = CountService().client()
    _, body = wire.generate_body(client, count_request(request))
    assert "map.png" not in json.dumps(body)
    assert named.inline_data is not None
    assert named.inline_data.display_name == "map.png"


def test_identity_tells_backends_and_sdks_apart_and_holds_no_address():
    """Counts are kept under backend and SDK version, without key, project or address."""
    developer = wire.identity(CountService().client())
    vertex = wire.identity(CountService().client(vertex=True))
    assert developer != vertex
    assert developer == wire.identity(CountService().client())
    assert developer != wire.identity(CountService(port=1).client())
    for hidden in ("127.0.0.1", "no-key"):
        assert hidden not in developer + vertex
