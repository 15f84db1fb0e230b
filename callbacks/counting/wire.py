"""The wire body of a request, made by the SDK's own converter.

The converter and the client's transport are private names of google-genai; this is the one module
that leans on them, and tests/contract/test_wire_body.py pins what it takes from there.
"""

import hashlib
import json
from typing import Any

from google import genai
from google.genai import _common, types
from google.genai.models import (
    _GenerateContentParameters_to_mldev,
    _GenerateContentParameters_to_vertex,
)

from callbacks.counting.request import CountRequest

_VERTEX_FIELDS = ("contents", "systemInstruction", "tools", "generationConfig")
"""What Vertex's countTokens takes; it knows no toolConfig."""


def generate_body(client: genai.Client, request: CountRequest) -> tuple[str, dict[str, Any]]:
    """Return the model's resource name and the body that generateContent would get.

    Labels are left out: they go to billing. So are names of inline files on the Developer API,
    where ADK removes them before it sends.

    Raises:
        ValueError: The SDK would refuse to send this configuration.
    """
    vertex = bool(client.vertexai)
    config = request.config
    if config.labels is not None or config.http_options is not None:
        config = config.model_copy(update={"labels": None, "http_options": None})
    contents = request.contents if vertex else [_unnamed(content) for content in request.contents]
    parameters = types._GenerateContentParameters(  # noqa: SLF001 - see the module's docstring
        model=request.model, contents=list(contents), config=config
    )
    convert = (
        _GenerateContentParameters_to_vertex if vertex else _GenerateContentParameters_to_mldev
    )
    converted = convert(_transport(client), parameters, None, parameters)
    model = str(converted.pop("_url")["model"])
    converted.pop("config", None)
    converted.pop("_query", None)
    body = _common.encode_unserializable_types(_common.convert_to_dict(converted))
    return model, body


def count_body(client: genai.Client, request: CountRequest) -> tuple[str, dict[str, Any]]:
    """Return the path and the body with which countTokens is asked about a request.

    The Developer API takes the whole request as ``generateContentRequest``; Vertex takes its
    parts side by side.

    Raises:
        ValueError: The SDK would refuse to send this configuration.
    """
    model, body = generate_body(client, request)
    path = f"{model}:countTokens"
    if client.vertexai:
        return path, {field: body[field] for field in _VERTEX_FIELDS if field in body}
    return path, {"generateContentRequest": {"model": model, **body}}


async def post(client: genai.Client, path: str, body: dict[str, Any], timeout_ms: int) -> object:
    """Send one request over the client's own connections and return the parsed JSON.

    The SDK's ``count_tokens`` is not used, since it turns ``true`` and ``12.0`` into counts; its
    own retries are off, since they sleep past any deadline.

    Raises:
        google.genai.errors.APIError: The service answered with an error.
        ValueError: The answer is no JSON.
    """
    options = types.HttpOptions(
        timeout=timeout_ms, retry_options=types.HttpRetryOptions(attempts=1)
    )
    response = await _transport(client).async_request("post", path, body, options)
    parsed: object = json.loads(response.body or "")
    return parsed


def identity(client: genai.Client) -> str:
    """Return which service and SDK this client speaks through; no key, project or address."""
    base = str(_transport(client)._http_options.base_url or "")  # noqa: SLF001 - module docstring
    where = hashlib.sha256(base.encode()).hexdigest()[:12]
    backend = "vertex" if client.vertexai else "developer"
    return f"{backend}/{where}/google-genai-{genai.__version__}"


def _transport(client: genai.Client) -> Any:
    return client._api_client  # noqa: SLF001 - see the module's docstring


def _unnamed(content: types.Content) -> types.Content:
    parts = content.parts or []
    if not any(part.inline_data is not None and part.inline_data.display_name for part in parts):
        return content
    copies = [
        part.model_copy(
            update={"inline_data": part.inline_data.model_copy(update={"display_name": None})}
        )
        if part.inline_data is not None
        else part
        for part in parts
    ]
    return content.model_copy(update={"parts": copies})
