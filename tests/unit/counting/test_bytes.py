"""A byte counter counts bytes, says so, and cannot be made to say anything else."""

import asyncio
import base64
import json

import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from callbacks.context.errors import CounterFailed
from callbacks.counting.bytes import ByteCounter
from callbacks.counting.counter import Counter
from callbacks.counting.request import CountRequest
from tests.unit.counting.requests import MODEL, PLACES, Answer, search_places, user


def count(config: types.GenerateContentConfig, *contents: types.Content) -> int:
    counter: Counter = ByteCounter()
    return asyncio.run(counter.count(CountRequest(MODEL, config, contents)))


PICTURE = b"\x89PNG" * 2000
image = types.Content(
    role="user",
    parts=[types.Part(inline_data=types.Blob(mime_type="image/png", data=PICTURE))],
)
call = types.Content(
    role="model",
    parts=[types.Part(function_call=types.FunctionCall(name="search", args={"area": "花壇鄉"}))],
)

# What each request is made of, written by hand as the wire would carry it.
HAND_MADE = [
    ({}, [], {}, []),
    (
        {"system_instruction": "規則", "temperature": 0.5},
        [user("花壇有什麼吃的？\n")],
        {"systemInstruction": "規則", "temperature": 0.5},
        [{"parts": [{"text": "花壇有什麼吃的？\n"}], "role": "user"}],
    ),
    (
        {"tools": [types.Tool(function_declarations=[PLACES])]},
        [user("a"), call],
        {
            "tools": [
                {
                    "functionDeclarations": [
                        {
                            "name": "search_places",
                            "description": "Finds public places of one town.",
                            "parametersJsonSchema": {
                                "type": "object",
                                "properties": {
                                    "area": {"type": "string"},
                                    "limit": {"type": "integer"},
                                },
                                "required": ["area"],
                            },
                        }
                    ]
                }
            ]
        },
        [
            {"parts": [{"text": "a"}], "role": "user"},
            {
                "parts": [{"functionCall": {"name": "search", "args": {"area": "花壇鄉"}}}],
                "role": "model",
            },
        ],
    ),
    (
        {"response_schema": Answer},
        [user("a")],
        {
            "responseSchema": {
                "title": "Answer",
                "type": "object",
                "properties": {"text": {"title": "Text", "type": "string"}},
                "required": ["text"],
            }
        },
        [{"parts": [{"text": "a"}], "role": "user"}],
    ),
    (
        {"tools": [search_places]},
        [user("a")],
        {
            "tools": [
                {
                    "name": "search_places",
                    "description": "Find places.",
                    "parametersJsonSchema": {
                        "type": "object",
                        "properties": {
                            "area": {"type": "string"},
                            "limit": {"type": "integer", "default": 3},
                        },
                        "required": ["area"],
                    },
                    "responseJsonSchema": {"type": "string"},
                }
            ]
        },
        [{"parts": [{"text": "a"}], "role": "user"}],
    ),
    (
        {},
        [image],
        {},
        [
            {
                "parts": [
                    {
                        "inlineData": {
                            "mimeType": "image/png",
                            "data": base64.b64encode(PICTURE).decode(),
                        }
                    }
                ],
                "role": "user",
            }
        ],
    ),
]


@pytest.mark.parametrize(("settings", "contents", "config_json", "contents_json"), HAND_MADE)
def test_a_count_is_the_length_of_the_requests_json(settings, contents, config_json, contents_json):
    """The count is what Python's own json makes of the same request, written by hand."""
    by_hand = {"model": MODEL, "config": config_json, "contents": contents_json}
    written = json.dumps(by_hand, ensure_ascii=False, separators=(",", ":")).encode()
    config = types.GenerateContentConfig.model_validate(settings)
    assert count(config, *contents) == len(written)


@given(st.lists(st.text(max_size=30), max_size=5), st.text(max_size=30))
def test_every_byte_counts_in_utf8_bytes(texts, instruction):
    """A count is the canonical length in bytes, and grows with whatever is added (13)."""
    config = types.GenerateContentConfig(system_instruction=instruction)
    contents = [user(text) for text in texts]
    units = count(config, *contents)
    assert type(units) is int
    assert units == len(CountRequest(MODEL, config, contents).canonical())
    assert count(config, *contents, user("花")) >= units + len("花".encode())


def test_the_unit_cannot_be_changed():
    """Bytes cannot be passed off as tokens by a setting (13)."""
    counter = ByteCounter()
    assert counter.unit == "utf8_bytes"
    with pytest.raises(AttributeError):
        counter.unit = "tokens"  # type: ignore[misc]  # that it cannot is what is tested
    with pytest.raises(TypeError):
        ByteCounter("tokens")  # type: ignore[call-arg]  # the same


def test_a_picture_counts_all_its_bytes():
    """Inline media cost their Base64, four characters for three bytes."""
    config = types.GenerateContentConfig()
    assert count(config, image) >= 8000 * 4 // 3
    assert count(config, image) < 8000 * 4 // 3 + 200


def test_what_cannot_be_counted_is_not_zero():
    """An unknown size is an error, never a number (13)."""
    with pytest.raises(CounterFailed):
        count(types.GenerateContentConfig(), user("\ud800"))
