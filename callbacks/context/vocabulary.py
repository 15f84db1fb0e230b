"""Closed vocabularies in a trie: every known spelling in a text, longest match, one walk."""

import re
import string
from collections.abc import Iterable, Mapping
from itertools import compress, count
from operator import add
from typing import Any, NamedTuple

_END = ""
# So short, so bare or so common that standing in a message proves nothing.
_MEANINGLESS = frozenset(("true", "false", "yes", "no", "none", "any", "other", "ok"))
_DAYS = re.compile(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|"
    r"august|september|october|november|december|i(?:'\w+)?",
    re.IGNORECASE,
)
# What makes a name of a place the first part of another name.
_GOES_ON = re.compile(
    r"火?[車车]站|[路街巷弄段橋桥站里村港溪山湖]|[國国][小中]|高[中工商職职]|大[學学樓楼廈厦]|[醫医]院|[學学][校院]|"
    r"[農农漁渔][會会]|公所|市[場场]|公[園园]|交流道|派出所|分局|[郵邮]局|[機机][場场]|夜市|老街|[飯饭]店|酒店|食堂|小吃店"
)
_COMES_BEFORE = frozenset("新舊旧老")
# What words are made of in scripts that put spaces between them.
_LETTERS = frozenset(string.ascii_letters + string.digits + "_'") | frozenset(
    map(chr, range(0x00C0, 0x0250))
)
_WORD = re.compile(r"[a-z0-9_'\u00c0-\u024f]+")
# ASCII letters and what stands inside words stay; every other byte ends a word.
_SPACED = bytes(code if chr(code) in _LETTERS and code < 128 else 32 for code in range(256))
_NEXT_WORD = re.compile(r" ([A-Za-z][\w']*)")
_LAST_WORD = re.compile(r"(?:^|([.!?,:;]?)(?:^|\s))([A-Za-z][\w']*) $")


class Hit(NamedTuple):
    """A spelling found in a text.

    Attributes:
        start: Index of its first character.
        end: Index after its last character.
        meanings: Slot and value of each vocabulary that has this spelling.
    """

    start: int
    end: int
    meanings: tuple[tuple[str, str], ...]


class Vocabulary:
    """The spellings of several slots in one automaton."""

    def __init__(self, spellings: Iterable[tuple[str, Mapping[str, str]]]) -> None:
        """Build the automaton.

        Args:
            spellings: Slot names, each with its spellings and the values they stand for.
        """
        meanings: dict[str, dict[str, str]] = {}
        for slot, known in sorted(spellings, key=lambda pair: pair[0]):
            for spelling, value in known.items():
                if _tells(spelling):
                    meanings.setdefault(fold(spelling), {})[slot] = value
        self._root: dict[str, Any] = {}
        for spelling, meant in meanings.items():
            node = self._root
            for character in spelling:
                node = node.setdefault(character, {})
            node[_END] = tuple(meant.items())
        # Most places begin no spelling, and the walk need not begin there. In scripts with spaces
        # a spelling begins with a whole word, in others with two characters.
        words = [match[0] for match in map(_WORD.match, meanings) if match]
        self._words = frozenset(words)
        first = [_bytes_of(word) for word in words]
        self._bytes = frozenset(parts[0] for parts in first if parts)
        self._always = not all(first)
        self._heads = frozenset(text[:2] for text in meanings if not _WORD.match(text))

    def find(self, text: str) -> list[Hit]:
        """Return the longest spellings in a text, from left to right, none inside a longer name."""
        folded = fold(text)
        starts: list[int] = []
        # Looking at bytes costs a fraction of finding the words' places, and tells nearly always
        # that there are none.
        if self._always or not self._bytes.isdisjoint(_bytes_of(folded)):
            starts += [m.start() for m in _WORD.finditer(folded) if m[0] in self._words]
        if self._heads and not folded.isascii():
            heads = map(self._heads.__contains__, map(add, folded, folded[1:]))
            starts += compress(count(), heads)
            starts.sort()
        hits: list[Hit] = []
        free, size, get = 0, len(folded), self._root.get
        for at in starts:
            if at < free:  # inside a hit
                continue
            node, step, end, meant = get(folded[at]), at + 1, 0, ()
            while node is not None:
                if _END in node and (step == size or not _inside(folded, step)):
                    end, meant = step, node[_END]
                node = node.get(folded[step]) if step < size else None
                step += 1
            if end:
                if not _in_longer_name(text, at, end):
                    hits.append(Hit(at, end, meant))
                free = end
        return hits


def fold(text: str) -> str:
    """Return text as spellings are compared: without case, wherever that keeps its length."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text


def _tells(spelling: str) -> bool:
    return (
        len(spelling) > 1
        and any(character.isalpha() for character in spelling)
        and spelling.lower() not in _MEANINGLESS
    )


def _bytes_of(text: str) -> list[bytes]:
    return text.encode(errors="replace").translate(_SPACED).split()


def _inside(text: str, end: int) -> bool:
    """Say whether a place is inside a word of letters: a hit ending there is no whole word."""
    return _joins(text[end - 1]) and _joins(text[end])


def _joins(character: str) -> bool:
    return character in _LETTERS


def _in_longer_name(text: str, start: int, end: int) -> bool:
    first, last = text[start], text[end - 1]
    if not last.isascii():
        return _GOES_ON.match(text, end) is not None or (
            start > 0 and text[start - 1] in _COMES_BEFORE
        )
    if text[end : end + 1] in {"-", "/", "@"} or (start and text[start - 1] in "-/@"):
        return True
    if not first.isupper():
        return False
    after = _NEXT_WORD.match(text, end)
    if after and after[1][0].isupper() and not _DAYS.fullmatch(after[1]):
        return True
    # The first word of a sentence has a capital anyhow.
    before = _LAST_WORD.search(text[max(0, start - 24) : start])
    return bool(
        before
        and before[2][0].isupper()
        and not _DAYS.fullmatch(before[2])
        and start - len(before[2]) - 1 > 0
        and text[: start - len(before[2]) - 1].rstrip()[-1:] not in {"", ".", "!", "?", "\n"}
    )
