"""A request has one canonical form, and everything the model is charged for is in it."""

import base64
import functools
import hashlib
import json
import os
import subprocess
import sys
import threading

import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from callbacks.context.errors import CounterFailed
from callbacks.counting.request import CountRequest
from tests.unit.counting.requests import (
    MODEL,
    PLACES,
    Answer,
    Diet,
    declaration,
    search_places,
    user,
)

SCHEMA = {
    "properties": {"text": {"title": "Text", "type": "string"}},
    "required": ["text"],
    "title": "Answer",
    "type": "object",
}


def canonical(config: types.GenerateContentConfig, *contents: types.Content) -> bytes:
    return CountRequest(MODEL, config, contents).canonical()


def config_json(**settings: object) -> object:
    config = types.GenerateContentConfig.model_validate(settings)
    return json.loads(canonical(config))["config"]


def compact(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def test_text_is_written_as_it_stands():
    """Text goes in as UTF-8, fields under their wire names, in one fixed order."""
    config = types.GenerateContentConfig(system_instruction="規則", max_output_tokens=512)
    assert canonical(config, user("花壇\n有什麼？")) == compact(
        {
            "model": MODEL,
            "config": {"systemInstruction": "規則", "maxOutputTokens": 512},
            "contents": [{"parts": [{"text": "花壇\n有什麼？"}], "role": "user"}],
        }
    )


def test_tools_are_counted_with_everything_they_declare():
    """Names, descriptions and parameter schemas of every tool are part of the request."""
    assert config_json(
        tools=[types.Tool(function_declarations=[PLACES]), types.Tool(google_search={})]
    ) == {
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "description": "Finds public places of one town.",
                        "name": "search_places",
                        "parametersJsonSchema": PLACES.parameters_json_schema,
                    }
                ]
            },
            {"googleSearch": {}},
        ]
    }


@pytest.mark.parametrize(
    ("schema", "described"),
    [
        (Answer, SCHEMA),
        (
            list[Answer],
            {
                "$defs": {"Answer": SCHEMA},
                "items": {"$ref": "#/$defs/Answer"},
                "type": "array",
            },
        ),
        (Diet, {"enum": ["vegan"], "title": "Diet", "type": "string"}),
        ({"type": "STRING"}, {"type": "STRING"}),
    ],
)
def test_a_response_schema_is_counted_as_its_json_schema(schema, described):
    """A schema class costs what its JSON schema says, not its name."""
    assert config_json(response_schema=schema) == {"responseSchema": described}


def test_a_callable_tool_is_counted_as_its_declaration():
    """A function costs its declaration; what the SDK cannot declare, its qualified name."""

    class Tool:
        def __call__(self, area):
            """Find."""

    described = config_json(tools=[search_places, Tool(), functools.partial(search_places, "x")])
    assert described == {
        "tools": [
            {
                "description": "Find places.",
                "name": "search_places",
                "parametersJsonSchema": {
                    "type": "object",
                    "properties": {
                        "area": {"type": "string"},
                        "limit": {"type": "integer", "default": 3},
                    },
                    "required": ["area"],
                },
                "responseJsonSchema": {"type": "string"},
            },
            {"name": f"{__name__}.{Tool.__qualname__}"},
            {"name": "functools.partial"},
        ]
    }


def test_inline_media_are_counted_as_base64():
    """A picture is in the request with all its bytes, never dropped."""
    data = bytes(range(256)) * 40
    part = types.Part(inline_data=types.Blob(mime_type="image/png", data=data))
    content = types.Content(role="user", parts=[part])
    written = json.loads(canonical(types.GenerateContentConfig(), content))
    inline = written["contents"][0]["parts"][0]["inlineData"]
    assert base64.urlsafe_b64decode(inline["data"]) == data
    assert inline["mimeType"] == "image/png"


def test_labels_and_transport_are_no_part_of_a_request():
    """What the model never sees changes neither size nor fingerprint."""
    plain = CountRequest(MODEL, types.GenerateContentConfig(temperature=0), [user("a")])
    labelled = CountRequest(
        MODEL,
        types.GenerateContentConfig(
            temperature=0, labels={"agent": "x"}, http_options=types.HttpOptions(timeout=3000)
        ),
        [user("a")],
    )
    assert plain.canonical() == labelled.canonical()
    assert plain.fingerprint == labelled.fingerprint


def test_names_that_look_like_transport_count_inside_a_schema():
    """Only the config's own labels are left out, not a tool's parameter of that name."""
    described = {"type": "object", "properties": {"labels": {"default": None}, "http_options": {}}}
    assert config_json(response_json_schema=described) == {"responseJsonSchema": described}


@pytest.mark.parametrize(
    "settings",
    [
        {"system_instruction": "\ud800 secret"},
        {"tools": [threading.Lock()]},
        {"response_schema": type(threading.Lock())},
        {"response_json_schema": {"secret": object()}},
    ],
)
def test_what_has_no_json_form_is_not_guessed(settings):
    """A part nobody can measure refuses the request, with a code and without the part (3)."""
    request = CountRequest(MODEL, types.GenerateContentConfig.model_validate(settings), [])
    for measure in (request.canonical, lambda: request.size, lambda: request.fingerprint):
        with pytest.raises(CounterFailed) as caught:
            measure()
        assert caught.value.error_code == "COUNT_UNAVAILABLE"
        assert str(caught.value) == "The request has no JSON form."
        assert set(caught.value.numbers) == {"cause"}
        assert caught.value.__context__ is None


def test_contents_without_a_json_form_refuse_too():
    """A lone surrogate in a message cannot be sent, so it is not counted (3)."""
    with pytest.raises(CounterFailed):
        CountRequest(MODEL, types.GenerateContentConfig(), [user("\udfff")]).canonical()


texts = st.lists(st.text(max_size=20), max_size=4)


@given(texts, texts, st.text(max_size=20))
def test_cuts_of_a_request_share_their_envelope(one, two, instruction):
    """With other contents a request is as if made anew, its envelope encoded once (12)."""
    config = types.GenerateContentConfig(
        system_instruction=instruction, tools=[types.Tool(function_declarations=[PLACES])]
    )
    request = CountRequest(MODEL, config, [user(text) for text in one])
    other = request.with_contents([user(text) for text in two])
    anew = CountRequest(MODEL, config, [user(text) for text in two])
    assert other.canonical() == anew.canonical()
    assert other.fingerprint == anew.fingerprint
    assert other.fingerprint == hashlib.sha256(other.canonical()).hexdigest()
    assert (other.fingerprint == request.fingerprint) == (one == two)
    assert other.envelope_json is request.envelope_json
    assert request.canonical() == CountRequest(MODEL, config, request.contents).canonical()


def test_an_envelope_is_encoded_once(monkeypatch):
    """Trying many cuts encodes model and config a single time."""
    from callbacks.counting import request as module

    encoded = []
    encode = module._encode

    def counting(value, exclude=None):
        encoded.append(type(value).__name__)
        return encode(value, exclude)

    monkeypatch.setattr(module, "_encode", counting)
    request = CountRequest(MODEL, types.GenerateContentConfig(temperature=0), [user("a")])
    for text in "abc":
        cut = request.with_contents([user(text)])
        assert cut.size == cut.size
    assert sorted(encoded) == ["GenerateContentConfig", "str", "tuple", "tuple", "tuple"]


def test_a_request_is_a_snapshot_of_its_list():
    """A list that grows later does not change what was counted."""
    contents = [user("a")]
    request = CountRequest(MODEL, types.GenerateContentConfig(), contents)
    contents.append(user("b"))
    assert len(request.contents) == 1
    with pytest.raises(AttributeError):
        request.model = "other"  # type: ignore[misc]  # that it cannot is what is tested


SCRIPT = """
from google.genai import types
from callbacks.counting.request import CountRequest
from tests.unit.counting.requests import Answer, Diet, MODEL, declaration, search_places, user
config = types.GenerateContentConfig(
    system_instruction="x", response_schema=Answer | Diet,
    tools=[types.Tool(function_declarations=[declaration("a")]), search_places, lambda x: x],
)
print(CountRequest(MODEL, config, [user("y")]).fingerprint)
"""


def test_a_fingerprint_is_the_same_in_every_process():
    """Neither hash seed nor addresses of objects are in a fingerprint (12)."""
    assert declaration("a") == declaration("a")
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(outputs) == 1
    assert len(outputs.pop().strip()) == 64
