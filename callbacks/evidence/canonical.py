"""The one form in which evidence becomes bytes: the same data, the same bytes, everywhere.

pydantic's own JSON is not used: sets, floats, ``1.0`` beside ``1`` and times in several zones all
have more than one form. Here there are no floats, keys are ASCII and sorted, text is kept
as its UTF-8 bytes and never normalized (normal forms serve comparison, not hashing).
"""

import hashlib
import json
from collections.abc import Mapping
from enum import StrEnum

from callbacks.evidence.errors import EvidenceError

_WRONG_TYPE = "Evidence holds text, whole numbers, truth values, lists and records alone."


def canonical(value: object) -> bytes:
    """Return the canonical JSON of plain data.

    Args:
        value: None, bool, int, text, tuples and lists of such, and mappings with ASCII keys.

    Raises:
        EvidenceError: A float, a set, bytes, a lone surrogate or a key that is not ASCII text.
    """
    plain = _plain(value)
    text = json.dumps(
        plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True
    )
    return text.encode("utf-8")


def digest(value: object) -> str:
    """Return the SHA-256 of the canonical JSON of plain data, as 64 hex digits."""
    return hashlib.sha256(canonical(value)).hexdigest()


def text_digest(text: str) -> str:
    """Return the SHA-256 of a text's raw UTF-8 bytes, as 64 hex digits.

    Raises:
        EvidenceError: The text has no UTF-8 form.
    """
    return hashlib.sha256(_text(text).encode("utf-8")).hexdigest()


def read(data: bytes) -> object:
    """Return what JSON bytes hold, if they hold nothing ambiguous.

    Raises:
        EvidenceError: Not JSON, a repeated key, a float, a number without end, or no UTF-8 form.
    """
    plain: object = None
    failed = False
    try:
        plain = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_once,
            parse_float=_no_float,
            parse_constant=_no_float,
        )
    except (ValueError, RecursionError):
        failed = True
    if failed:
        # Outside the handler: the parser's error quotes the data and must not travel with ours.
        raise EvidenceError("The stored evidence is no JSON of this form.")
    return _plain(plain)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise EvidenceError("A key stands twice in stored evidence.")
    return found


def _no_float(_text: str) -> object:
    raise EvidenceError("Stored evidence holds no floating-point numbers.")


def _text(text: str) -> str:
    plain = str.__str__(text)
    if any("\ud800" <= character <= "\udfff" for character in plain):
        raise EvidenceError("A text has no UTF-8 form.")
    return plain


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, StrEnum):
        return str(value.value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str) or not key.isascii():
                raise EvidenceError("Keys of evidence are ASCII text.")
        return {str.__str__(key): _plain(item) for key, item in value.items()}
    raise EvidenceError(_WRONG_TYPE)
