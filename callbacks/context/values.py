"""Text that may stand in a schema or a projection, and an immutable set of named values."""

import re
import unicodedata
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView

from callbacks.context.errors import InvalidSchema, UnsupportedContext

MAX_NAME = 64
"""Longest name or label of a topic or slot, in characters."""

MAX_VALUE = 128
"""Longest canonical value, in characters; it bounds the ledger together with the slots."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def canonical(text: str) -> str:
    """Return text as it is compared: NFC, without space at its ends, and nothing else changed."""
    # str.__str__ turns members of a string enum into plain strings, so that they serialize alike.
    return unicodedata.normalize("NFC", str.__str__(text)).strip()


def writable(text: str) -> bool:
    """Say whether text has an UTF-8 form; a lone surrogate has none."""
    return text.isascii() or not _SURROGATE.search(text)


def schema_text(text: object, limit: int) -> str:
    """Return canonical text for a schema, or refuse it in one sentence.

    Args:
        text: A name, label, value or alias as its author wrote it.
        limit: Longest form accepted, in characters.

    Raises:
        InvalidSchema: It is not text, blank, too long, or has no UTF-8 form.
    """
    if not isinstance(text, str):
        raise InvalidSchema("Names, labels and values of a schema are text.")
    clean = canonical(text)
    if not clean:
        raise InvalidSchema("Names, labels and values of a schema are not blank.")
    if len(clean) > limit:
        raise InvalidSchema(
            "A name, label or value of a schema is too long.",
            numbers={"characters": len(clean), "limit": limit},
        )
    if not writable(clean):
        raise InvalidSchema("A name, label or value of a schema has no UTF-8 form.")
    return clean


class Values(Mapping[str, str]):
    """Slot values by slot name: immutable, hashable, always in the order of their names.

    The order does not depend on how the values were given, so equal values give equal bytes
    (invariant 12).

    Args:
        values: Values by slot name.

    Raises:
        UnsupportedContext: A name or value is not canonical, writable, non-blank text.
    """

    __slots__ = ("_values",)
    _values: dict[str, str]

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        for name, value in (values or {}).items():
            _require(name, MAX_NAME)
            _require(value, MAX_VALUE)
        object.__setattr__(self, "_values", dict(sorted((values or {}).items())))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("Values do not change.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("Values do not change.")

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    # Those of Mapping go through __iter__ and __getitem__ for every value.
    def keys(self) -> KeysView[str]:
        """Return the names, in order."""
        return self._values.keys()

    def values(self) -> ValuesView[str]:
        """Return the values, in the order of their names."""
        return self._values.values()

    def items(self) -> ItemsView[str, str]:
        """Return names and values, in the order of the names."""
        return self._values.items()

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __hash__(self) -> int:
        return hash(tuple(self._values.items()))

    def __repr__(self) -> str:
        return f"Values({self._values!r})"

    def __reduce__(self) -> tuple[type["Values"], tuple[dict[str, str]]]:
        return (Values, (dict(self._values),))


def is_canonical(text: object, limit: int) -> bool:
    """Say whether text is what `canonical` makes of it, not blank, writable and short enough."""
    return (
        type(text) is str
        and 0 < len(text) <= limit
        and text == text.strip()
        and (text.isascii() or (unicodedata.is_normalized("NFC", text) and writable(text)))
    )


def _require(text: object, limit: int) -> None:
    if not is_canonical(text, limit):
        raise UnsupportedContext("A name or value of the context is not canonical text.")
