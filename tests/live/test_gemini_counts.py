"""countTokens beside measured prompts, against Google; runs only when that is approved.

GOOGLE_API_KEY=... LOCAL_APPROVE_LIVE=yes python -m pytest tests/live

LOCAL_LIVE_MODEL names the model. What was seen is written to out/live/counting.json: counts and
hashes, no texts and no key.
"""

import json
import os
from pathlib import Path

import pytest
from google import genai
from google.genai import types

from callbacks.counting.certified import CertifiedCounter
from callbacks.counting.gemini import GeminiTokenCounter
from callbacks.counting.probes import exchange, said
from callbacks.counting.request import CountRequest

# Read here, since the fixture for all tests takes keys away.
KEY = os.environ.get("GOOGLE_API_KEY", "")
APPROVED = os.environ.get("LOCAL_APPROVE_LIVE") == "yes"
MODEL = os.environ.get("LOCAL_LIVE_MODEL", "gemini-flash-latest")
OUT = Path("out/live/counting.json")

pytestmark = pytest.mark.skipif(
    not (KEY and APPROVED), reason="live: set GOOGLE_API_KEY and LOCAL_APPROVE_LIVE=yes"
)

TOOL = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(
            name="search_local_places",
            description="查詢店家。",
            parameters_json_schema={
                "type": "object",
                "properties": {"area": {"type": "string"}},
                "required": ["area"],
            },
        )
    ]
)
PLACES = {"places": [{"name": "花壇蔬食", "hours": "11:00-20:00", "open": True}] * 12}


def _requests() -> list[CountRequest]:
    plain = types.GenerateContentConfig(max_output_tokens=16)
    ruled = types.GenerateContentConfig(
        system_instruction="只用繁體中文回答。", max_output_tokens=16, tools=[TOOL]
    )
    schema = types.GenerateContentConfig(
        response_mime_type="application/json",
        response_json_schema={"type": "object", "properties": {"a": {"type": "string"}}},
        max_output_tokens=16,
    )
    loop = (
        said("user", "花壇？"),
        *exchange({"area": "花壇鄉"}, PLACES, name="search_local_places"),
    )
    talk = (said("user", "你好"), said("model", "你好！"), said("user", "再說一次"))
    return [
        CountRequest(MODEL, plain, (said("user", "hello"),)),
        CountRequest(MODEL, plain, (said("user", "花壇有什麼吃的？" * 40),)),
        CountRequest(MODEL, plain, (said("user", "👨‍👩‍👧 ก็ مرحبا é " * 20),)),
        CountRequest(MODEL, plain, (said("user", "0123456789" * 50),)),
        CountRequest(MODEL, plain, talk),
        CountRequest(MODEL, plain, (said("user", "一", "二"),)),
        CountRequest(MODEL, ruled, (said("user", "花壇？"),)),
        CountRequest(MODEL, ruled, talk),
        CountRequest(MODEL, ruled, loop),
        CountRequest(MODEL, schema, (said("user", '{"a": "b"}'),)),
    ]


async def test_counts_and_bounds_hold_for_measured_prompts():
    """Ten requests: what countTokens says, what was proven, and what the model measured."""
    client = genai.Client(api_key=KEY)
    asking = GeminiTokenCounter(client, approve_external=True, timeout_s=30)
    certified = CertifiedCounter(asking, learn="never")
    provable = await certified.warm_up(MODEL)
    seen: list[dict[str, str | int | None]] = []
    for request in _requests():
        counted = await asking.count(request)
        proof = await certified.prove(request, 10**9) if provable else None
        answer = await client.aio.models.generate_content(
            model=request.model, contents=list(request.contents), config=request.config
        )
        usage = answer.usage_metadata
        measured = usage.prompt_token_count if usage is not None else None
        bound = proof.bound if proof is not None else None
        seen.append(
            {
                "request": request.fingerprint,
                "counted": counted,
                "bound": bound,
                "measured": measured,
                # Unknown is no violation, and no confirmation either.
                "held": int(measured is None or measured <= min(counted, bound or counted)),
            }
        )
    await client.aio.aclose()
    _write({"model": MODEL, "provable": provable, "requests": seen})
    assert all(row["held"] for row in seen)


def _write(saw: dict[str, object]) -> None:
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(saw, indent=2) + "\n", encoding="utf-8")
