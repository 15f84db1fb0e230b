"""Estimates the tokens of any model's request with a tokenizer that the person hands in."""

import importlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pydantic_core
from google.genai import types

from callbacks.context.budget import Unit
from callbacks.context.errors import CounterFailed, InvalidSetting
from callbacks.counting.request import CountRequest
from callbacks.counting.uncountable import require_contents, require_countable

CountText = Callable[[str], int]
"""The number of tokens that a tokenizer makes of a text, special ones left out."""


class TokenizerCounter:
    """Counts a request's texts, declarations and trees locally, and adds a stated margin.

    An estimate: how a provider spells turns, tools and calls is not known here. So nobody gets
    this counter by default, and the margin has none either.
    """

    estimate = True

    def __init__(self, count_text: CountText, *, margin: float, per_content: int = 16) -> None:
        """Count with a tokenizer of the model that is used.

        Args:
            count_text: Counts one text; never handed anything but texts of the request.
            margin: Added to the sum, as a share of it: 0.1 is a tenth.
            per_content: Tokens added for each content, for turn markers.

        Raises:
            InvalidSetting: A number is negative or no number.
        """
        if not (math.isfinite(margin) and margin >= 0 and per_content >= 0):
            raise InvalidSetting("The margin of an estimate is a share of at least zero.")
        self._count_text = count_text
        self.margin = margin
        self._per_content = per_content

    @classmethod
    def from_file(
        cls, path: str | Path, *, margin: float, per_content: int = 16
    ) -> "TokenizerCounter":
        """Read a ``tokenizer.json``; needs the PyPI package tokenizers.

        Raises:
            InvalidSetting: The package is missing, or the file is no tokenizer.
        """
        try:
            library: Any = importlib.import_module("tokenizers")
        except ImportError:
            raise InvalidSetting("Install tokenizers to count with a tokenizer's file.") from None
        try:
            tokenizer = library.Tokenizer.from_file(str(path))
        except Exception:  # noqa: BLE001 - the library raises bare Exception, with the path in it
            raise InvalidSetting("The tokenizer's file could not be read.") from None

        def count_text(text: str) -> int:
            return len(tokenizer.encode(text, add_special_tokens=False))

        return cls(count_text, margin=margin, per_content=per_content)

    @property
    def unit(self) -> Unit:
        """Always ``tokens``, estimated ones."""
        return "tokens"

    async def count(self, request: CountRequest) -> int:
        """Return the estimate, margin included.

        Raises:
            CounterFailed: The request holds media, whose cost no tokenizer knows, or something
                without a JSON form.
        """
        require_countable(request)
        require_contents(request)
        total = 0
        for content in request.contents:
            total += self._per_content + sum(map(self._part, content.parts or ()))
        # The envelope's JSON holds instruction, declarations and schema, with their punctuation.
        total += self._count_text(request.envelope_json.decode())
        return math.ceil(total * (1 + self.margin))

    def _part(self, part: types.Part) -> int:
        if part.inline_data is not None:
            raise CounterFailed(numbers={"cause": "media"})
        if part.text is not None:
            return self._count_text(part.text)
        # In ASCII, which spells what is not ASCII longer than any provider is known to.
        value = pydantic_core.to_jsonable_python(part, by_alias=True, exclude_none=True)
        return self._count_text(json.dumps(value))
