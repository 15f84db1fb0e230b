"""The history block: a window as a few lines of text, and back.

A block is a header line and one line a piece, the ledger first and then the projections, oldest
first::

    【前情】
    *訂房|入住=2026-03-07
    *找活動|區域>花壇鄉
    -詢問可用功能
    #p17=阿草小吃|p08=村口豆花

A line of the ledger and one of a projection are built alike, from pieces that cost the same in
both, ``=`` and ``>`` (changed) among them. A ledger takes over the pieces of the projection it
absorbs, adds none, and needs at most the line that the projection had, so moving a projection into
the ledger never makes the text longer, whatever the schema.
"""

import re
import unicodedata
from collections.abc import Mapping
from types import MappingProxyType

from callbacks.context.errors import UnsupportedContext
from callbacks.context.ledger import Ledger
from callbacks.context.listing import Entry
from callbacks.context.projection import Projection
from callbacks.context.schema import ContextSchema
from callbacks.context.window import ContextWindow
from callbacks.context.wording import WORDINGS

ACK: Mapping[str, str] = MappingProxyType(
    {language: wording.acknowledgement for language, wording in WORDINGS.items()}
)
"""The model turn that follows the block, by language: the block is sent as a user/model pair."""

# One byte each: if the ledger's mark were longer than a projection's, a cut could grow the text.
_LEDGER, _TURN, _LISTED = "*", "-", "#"
_PIECE, _EQUALS, _CHANGED = "|", "=", ">"
_SIGN = re.compile("[=>]")

# What gives a block or a chat template its structure, compared after NFKC so that full-width twins
# count too.
_STRUCTURE = frozenset("|=\\<>[]{}【】〔〕")
# Characters that are drawn as nothing although their category is not a control or format one:
# https://www.unicode.org/reports/tr44/#Default_Ignorable_Code_Point
_IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
# Most names in Chinese and English are made of these; looking at each character costs more. None
# of them is unsafe (a test walks through them all).
_PLAIN = re.compile("[0-9A-Za-z ,.:_()\u4e00-\u9fa5-]*")
_ESCAPED = re.compile(r"\\u([0-9a-f]{4})|\\U([0-9a-f]{8})")


def render(window: ContextWindow, schema: ContextSchema) -> str:
    """Return the block for a window, or empty text for an empty window.

    Raises:
        UnsupportedContext: The window is outside the schema (invariant 5).
    """
    window.check(schema)
    if window.is_empty:
        return ""
    lines = [schema.wording.header]
    lines.extend(_LEDGER + _pieces(line, schema) for line in window.ledger.lines)
    lines.extend(_TURN + _pieces(projection, schema) for projection in window.projections)
    if window.listed:
        entries = [escape(entry.id) + _EQUALS + escape(entry.name) for entry in window.listed]
        lines.append(_LISTED + _PIECE.join(entries))
    return "\n".join(lines)


def parse(text: str, schema: ContextSchema) -> ContextWindow:
    """Return the window a block shows; the inverse of ``render``.

    Raises:
        UnsupportedContext: The text is not exactly what ``render`` writes for some window.
    """
    if text == "":
        return ContextWindow()
    header, *lines = text.split("\n")
    if header != schema.wording.header or not lines:
        raise UnsupportedContext("The text is not a history block of this schema.")
    found: dict[str, list[Projection]] = {_LEDGER: [], _TURN: []}
    listed: tuple[Entry, ...] = ()
    for line in lines:
        if line.startswith(_LISTED):
            listed = tuple(_entry(piece) for piece in line[1:].split(_PIECE))
        else:
            found.get(line[:1], found[_TURN]).append(_read(line[1:], schema))
    window = ContextWindow(tuple(found[_TURN]), Ledger(tuple(found[_LEDGER])), listed)
    # Reading is lenient; writing it again is not. One window has one block.
    if render(window, schema) != text:
        raise UnsupportedContext("The text is not a history block of this schema.")
    return window


def escape(text: str) -> str:
    r"""Return text in which nothing can break, hide or imitate a line of the block.

    Structural characters, controls, format characters (bidi and zero-width ones among them),
    separators other than the plain space, characters that are drawn as nothing, and a combining
    character at the start or after one of these, become ``\uXXXX`` or ``\UXXXXXXXX``.
    """
    if _PLAIN.fullmatch(text):
        return text
    pieces: list[str] = []
    # Whether a combining character, coming next, would join the block's own text or an escape.
    bare = True
    for character in text:
        bare = _unsafe(character, first=bare)
        pieces.append(_code(character) if bare else character)
    return "".join(pieces)


def _pieces(projection: Projection, schema: ContextSchema) -> str:
    topic = projection.topic
    pieces = [escape(schema.topics[topic].label) if topic else ""]
    for name, value in projection.slots.items():
        sign = _CHANGED if name in projection.changed else _EQUALS
        pieces.append(escape(schema.slots[name].label or name) + sign + escape(value))
    return _PIECE.join(pieces)


def _read(line: str, schema: ContextSchema) -> Projection:
    first, *pieces = line.split(_PIECE)
    topic = schema.topics_by_label.get(_unescape(first), "") if first else ""
    slots: dict[str, str] = {}
    changed: set[str] = set()
    for piece in pieces:
        sign = _SIGN.search(piece)
        at = sign.start() if sign else len(piece)
        name = schema.slots_by_label.get(_unescape(piece[:at]), "")
        slots[name] = _unescape(piece[at + 1 :])
        if sign and sign[0] == _CHANGED:
            changed.add(name)
    return Projection(topic, slots, frozenset(changed))


def _entry(piece: str) -> Entry:
    given, _, name = piece.partition(_EQUALS)
    return Entry(_unescape(given), _unescape(name))


def _unsafe(character: str, *, first: bool) -> bool:
    if character.isascii():
        return character in _STRUCTURE or not character.isprintable()
    category = unicodedata.category(character)
    if category[0] in "CZ" or (first and category[0] == "M"):
        return True
    return bool(_IGNORABLE.match(character)) or not _STRUCTURE.isdisjoint(
        unicodedata.normalize("NFKC", character)
    )


def _code(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _unescape(text: str) -> str:
    return _ESCAPED.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    number = int(match[1] or match[2], 16)
    # Out of range can only come from text render did not write; parse then finds the difference.
    return chr(number) if number < 0x110000 else ""
