"""Checks of single arguments, shared by the records and every backend."""

from __future__ import annotations

from typing import Final

from stores.errors import InvalidInput

LARGEST_INT: Final = 2**53 - 1
"""Largest integer a store takes: the largest that JSON, SQLite and Firestore all keep exactly."""

TEXT_MAX: Final = 256
"""Longest identifier, in characters."""

WINDOW_MAX_BYTES: Final = 16_384
"""Largest window, in bytes of UTF-8; a window of two projections needs a few hundred."""

VALUE_MAX_BYTES: Final = 200
"""Longest remembered value, in bytes of UTF-8: a word of a vocabulary, never a text."""


def is_text(value: object) -> bool:
    """Tell whether ``value`` is a string every backend can keep: valid UTF-8 without NUL."""
    if not isinstance(value, str) or "\x00" in value:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def identifier(value: object, field: str, most: int = TEXT_MAX) -> str:
    """Return ``value`` if it is non-blank text of at most ``most`` characters.

    Raises:
        InvalidInput: If it is not; the error names the field, never the value.
    """
    if not isinstance(value, str) or not is_text(value) or not value.strip() or len(value) > most:
        raise InvalidInput(field=field)
    return value


def whole(value: object, field: str, least: int = 0) -> int:
    """Return ``value`` if it is an integer (no bool) from ``least`` to ``LARGEST_INT``.

    Raises:
        InvalidInput: If it is not.
    """
    if type(value) is not int or not least <= value <= LARGEST_INT:
        raise InvalidInput(field=field)
    return value


def window_text(value: object) -> str:
    """Return ``value`` if it is text of at most ``WINDOW_MAX_BYTES`` bytes.

    Raises:
        InvalidInput: If it is not; for one that is too long, ``numbers`` has bytes and limit.
    """
    if not isinstance(value, str) or not is_text(value) or not value:
        raise InvalidInput(field="window")
    size = len(value.encode())
    if size > WINDOW_MAX_BYTES:
        raise InvalidInput(
            "The window is larger than a store keeps.",
            field="window",
            bytes=size,
            limit=WINDOW_MAX_BYTES,
        )
    return value
