"""The whole of what a model request costs, in one canonical form."""

import hashlib
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pydantic
import pydantic_core
from google.genai import types

from callbacks.context.errors import CounterFailed

_UNCOUNTED = {"labels", "http_options"}
"""What goes to billing and to the transport, not to the model."""

_CONTENTS, _END = b',"contents":', b"}"


class _Envelope:
    """The part of a request that stays the same while contents are cut, encoded once."""

    def __init__(self, model: str, config: types.GenerateContentConfig) -> None:
        self._model = model
        self._config = config

    @cached_property
    def json(self) -> bytes:
        config = _encode(self._config, exclude=_UNCOUNTED)
        return b'{"model":' + _encode(self._model) + b',"config":' + config


@dataclass(frozen=True, eq=False)
class CountRequest:
    """A request as a counter sees it: model, generation config and contents.

    The config is encoded once and the contents once; a request describes what they were then. Build
    a new one after anything has changed them.

    Attributes:
        model: Name of the model.
        config: System instruction, tools and everything else that is not contents.
        contents: The contents, in order.
    """

    model: str
    config: types.GenerateContentConfig
    contents: Sequence[types.Content]
    _envelope: _Envelope = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "contents", tuple(self.contents))
        object.__setattr__(self, "_envelope", _Envelope(self.model, self.config))

    @property
    def envelope_json(self) -> bytes:
        """The canonical JSON up to the contents, computed once for all cuts of a request.

        Raises:
            CounterFailed: Something in the config has no JSON form.
        """
        return self._envelope.json

    @cached_property
    def contents_json(self) -> bytes:
        """The canonical JSON of the contents.

        Raises:
            CounterFailed: Something in the contents has no JSON form.
        """
        return _encode(self.contents)

    @property
    def size(self) -> int:
        """Length of ``canonical()`` in bytes.

        Raises:
            CounterFailed: Something in the request has no JSON form.
        """
        return len(self.envelope_json) + len(_CONTENTS) + len(self.contents_json) + len(_END)

    def canonical(self) -> bytes:
        """Return the request as one compact UTF-8 JSON object with model, config and contents.

        Fields carry their wire names, unset ones are left out, bytes are Base64. ``labels`` and
        ``http_options`` are no part of it: the model never sees them.

        Raises:
            CounterFailed: Something in the request has no JSON form.
        """
        return self.envelope_json + _CONTENTS + self.contents_json + _END

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of ``canonical()``, in hexadecimal."""
        digest = hashlib.sha256(self.envelope_json)
        for piece in (_CONTENTS, self.contents_json, _END):
            digest.update(piece)
        return digest.hexdigest()

    def with_contents(self, contents: Sequence[types.Content]) -> "CountRequest":
        """Return the same request with other contents; the encoded envelope is shared."""
        other = CountRequest(self.model, self.config, contents)
        object.__setattr__(other, "_envelope", self._envelope)
        return other


def _encode(value: object, exclude: set[str] | None = None) -> bytes:
    cause = ""
    encoded = b""
    try:
        encoded = pydantic_core.to_json(
            value,
            exclude=exclude,
            by_alias=True,
            exclude_none=True,
            bytes_mode="base64",
            fallback=_described,
        )
    except (ValueError, TypeError, RecursionError, pydantic.PydanticUserError) as error:
        cause = type(error).__name__
    if cause:
        # Outside the handler: pydantic's message may quote the value, and must not travel along.
        raise CounterFailed("The request has no JSON form.", numbers={"cause": cause})
    return encoded


def _described(value: object) -> object:
    """Stand in for what JSON does not know: response schema classes and callable tools.

    Never by ``repr``, whose addresses differ from process to process (invariant 12).

    Raises:
        TypeError: It is neither; the request cannot be measured, and nothing is guessed.
    """
    if isinstance(value, type) or typing.get_origin(value) is not None:
        annotation: Any = value
        return pydantic.TypeAdapter(annotation).json_schema()
    if callable(value):
        return _declared(value)
    raise TypeError("A part of the request has no JSON form.")


def _declared(tool: Callable[..., object]) -> object:
    try:
        return types.FunctionDeclaration.from_callable_with_api_option(
            callable=tool, use_json_schema=True
        )
    except (AttributeError, NameError, TypeError, ValueError, pydantic.PydanticUserError):
        # The SDK cannot declare it from its annotations, and would not send it either.
        named = tool if hasattr(tool, "__qualname__") else type(tool)
        return {"name": f"{named.__module__}.{named.__qualname__}"}
