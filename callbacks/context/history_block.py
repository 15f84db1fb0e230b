"""The block of older messages as text for a model, and back.

A header, and for each message a line with its id and who spoke, and its text quoted below::

    【歷史紀錄】
    #history-summary
    > 較早紀錄：裝置是測試用 Windows 11 筆電
    #message-03 user
    > VPN 曾出現 E401，重新登入後暫時恢復

Every line of a message begins with the quote mark and everything else that could break a line, hide
or bring in a bracket of the header is escaped, so that no text can close or imitate the block. What
people write in tickets (paths, options, addresses) stays as it is.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import get_args

from callbacks.context.errors import UnsupportedContext
from callbacks.context.history_message import SUMMARY_ID, Role, is_id
from callbacks.context.history_wording import HISTORY_WORDINGS
from callbacks.context.prepared_history import ModelContextBlock
from callbacks.context.schema import Language

_ITEM, _QUOTE = "#", "> "
# The header's brackets and those of chat templates, compared after NFKC so that twins count too.
_BRACKETS = frozenset("<>【】〔〕")
# Most messages are made of these; looking at each character costs more. A test walks through them.
_PLAIN = re.compile("[0-9A-Za-z\u4e00-\u9fa5，。：；、！？「」（） ,.:;/!?'\"_()=|@+*~#%&$-]*")
_IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
_ESCAPED = re.compile(r"\\u([0-9a-f]{4})|\\U([0-9a-f]{8})")


def render_history(blocks: Sequence[ModelContextBlock], language: Language) -> str:
    """Return the text of older blocks, or empty text for none.

    The newest request is left out: it stands beside the block as itself.
    """
    lines: list[str] = []
    for block in blocks:
        if block.reason == "recency":
            continue
        lines.append(f"{_ITEM}{block.block_id} {block.role}".rstrip())
        lines.extend(_QUOTE + _escaped(line) for line in block.content.split("\n"))
    return "\n".join((HISTORY_WORDINGS[language].header, *lines)) if lines else ""


def parse_history(text: str, language: Language) -> tuple[ModelContextBlock, ...]:
    """Return the blocks that a text shows; the inverse of `render_history`.

    Raises:
        UnsupportedContext: The text is not exactly what `render_history` writes for some blocks.
    """
    header, *lines = text.split("\n") if text else [HISTORY_WORDINGS[language].header]
    blocks: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith(_ITEM):
            blocks.append((line.removeprefix(_ITEM), []))
        elif blocks:
            blocks[-1][1].append(_unescaped(line.removeprefix(_QUOTE)))
    parsed = tuple(_block(head, "\n".join(content)) for head, content in blocks)
    # Reading is lenient; writing it again is not. The same blocks have one text.
    if header != HISTORY_WORDINGS[language].header or render_history(parsed, language) != text:
        raise UnsupportedContext("The text is not a block of older messages.")
    return parsed


def _block(head: str, content: str) -> ModelContextBlock:
    name, _, role = head.partition(" ")
    if name == SUMMARY_ID and not role:
        return ModelContextBlock(name, "summary", content)
    if not is_id(name) or role not in get_args(Role):
        raise UnsupportedContext("The text is not a block of older messages.")
    return ModelContextBlock(name, "relevance", content, role)


def _escaped(line: str) -> str:
    if _PLAIN.fullmatch(line):
        return line
    return "".join(
        _code(character) if _unsafe(line, at, character) else character
        for at, character in enumerate(line)
    )


def _unsafe(line: str, at: int, character: str) -> bool:
    if character == "\\":
        # Only one that would read as an escape; a path stays a path.
        return _ESCAPED.match(line, at) is not None
    category = unicodedata.category(character)
    if character != " " and (category[0] in "CZ" or (at == 0 and category[0] == "M")):
        return True
    return bool(_IGNORABLE.match(character)) or not _BRACKETS.isdisjoint(
        unicodedata.normalize("NFKC", character)
    )


def _code(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _unescaped(line: str) -> str:
    return _ESCAPED.sub(_character, line)


def _character(match: re.Match[str]) -> str:
    number = int(match[1] or match[2], 16)
    # Out of range, or half a character, can only come from text `render_history` did not write.
    return chr(number) if number < 0xD800 or 0xDFFF < number < 0x110000 else ""
