"""Tokenizers that the loopback service counts with."""

from pathlib import Path
from typing import Protocol

GEMMA = Path(__file__).parents[2] / ".cache" / "tokenizer" / "gemma3.json"
"""Where scripts/tokenizer.sh puts Gemma's vocabulary; git ignores it."""


class Tokens(Protocol):
    """Counts the tokens of a text."""

    name: str

    def count(self, text: str) -> int:
        """Return how many tokens the text has."""


class ByteTokens:
    """One token a UTF-8 byte: the worst that a byte-fallback tokenizer can do."""

    name = "bytes"

    def count(self, text: str) -> int:
        """Return the text's length in UTF-8."""
        return len(text.encode("utf-8", "surrogatepass"))


class GemmaTokens:
    """Gemma 3's vocabulary. Its counts are Gemma's: Gemini's own may differ."""

    name = "gemma-3"

    def __init__(self, path: Path = GEMMA) -> None:
        """Load the vocabulary from a ``tokenizer.json``."""
        from tokenizers import Tokenizer  # noqa: PLC0415 - of the extra [bench]; tests run without

        self._tokenizer = Tokenizer.from_file(str(path))

    def count(self, text: str) -> int:
        """Return how many tokens Gemma makes of the text."""
        clean = text.encode("utf-8", "replace").decode()
        return len(self._tokenizer.encode(clean, add_special_tokens=False))


def available() -> bool:
    """Tell whether Gemma's vocabulary and the library to read it are here."""
    from importlib.util import find_spec  # noqa: PLC0415 - asked once

    return GEMMA.exists() and find_spec("tokenizers") is not None
