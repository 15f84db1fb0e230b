"""Boundaries that text from outside cannot make: every line says what it is by how it begins.

Three kinds of lines: ``[`` opens or closes a typed section, ``- `` is the application's own word,
``|`` is data. Whatever stands in data, its lines begin with ``|``, for every character that could
begin a line or hide one is written out; so no text closes its section or opens another.
"""

import unicodedata
from typing import NamedTuple

from callbacks.evidence.errors import EvidenceError


class Line(NamedTuple):
    """A line of a packet: ``boundary``, ``own`` or ``data``, and what it says."""

    kind: str
    text: str


def escape(text: str) -> str:
    """Return text on one line, with every character that is not plainly visible written out.

    Controls, format characters (zero width, direction), line and paragraph separators, tags,
    variation selectors, private and unassigned characters. ``unescape`` is its inverse.
    """
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text
    return "".join(_shown(character) for character in text)


def unescape(text: str) -> str:
    """Return what ``escape`` was given.

    Raises:
        EvidenceError: The text is no result of it.
    """
    if "\\" not in text:
        return text
    found, at = [], 0
    while at < len(text):
        character = text[at]
        if character != "\\":
            found.append(character)
            at += 1
            continue
        end = text.find(";", at)
        code = text[at + 2 : end] if end > at and text[at + 1 : at + 2] == "u" else ""
        if not code or not all(digit in "0123456789abcdef" for digit in code):
            raise EvidenceError("A line of a packet is not written as it must be.")
        found.append(chr(int(code, 16)))
        at = end + 1
    return "".join(found)


def data(text: str, mark: str = "") -> list[str]:
    """Return text as data lines, one for each of its own lines.

    Args:
        text: Text from anywhere.
        mark: One ASCII letter that says what it is: ``t`` text, ``c`` citation, ``f`` fact.
    """
    return [f"|{mark} {escape(line)}" for line in text.split("\n")]


def own(text: str) -> list[str]:
    """Return approved words of a contract as lines, one for each of their own."""
    return [own_line(line) for line in text.split("\n")]


def own_line(text: str) -> str:
    """Return the application's own words as one line, whatever stands in them."""
    return f"- {escape(text)}"


def boundary(kind: str, *words: str) -> str:
    """Return a line that opens a section.

    Args:
        kind: The section's type.
        words: What it says about itself.

    Raises:
        EvidenceError: A word is not made of visible ASCII.
    """
    line = " ".join((kind, *words))
    if not line.isascii() or not line.isprintable() or "]" in line or "[" in line:
        raise EvidenceError("A boundary is made of visible ASCII.")
    return f"[{line}]"


def read_lines(text: str) -> tuple[Line, ...]:
    """Return the lines of a packet's text with their kinds.

    Raises:
        EvidenceError: A line is of no kind.
    """
    found = []
    for line in text.split("\n"):
        if line.startswith("[") and line.endswith("]"):
            found.append(Line("boundary", line[1:-1]))
        elif line.startswith("- "):
            found.append(Line("own", unescape(line[2:])))
        elif line.startswith("|"):
            found.append(Line("data", line[1:]))
        else:
            raise EvidenceError("A line of a packet is of no kind.")
    return tuple(found)


def _shown(character: str) -> str:
    code = ord(character)
    hidden = (
        character == "\\"
        or unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
        or 0xFE00 <= code <= 0xFE0F
        or 0xE0100 <= code <= 0xE01EF
    )
    return f"\\u{code:x};" if hidden else character
