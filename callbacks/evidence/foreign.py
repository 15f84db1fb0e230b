"""Text nobody vouches for, and whether a value was taken from it: whole, cut, joined or disguised.

A model may leave out what it cannot see (zero width, direction), write digits and letters of
another script, put brackets into an address or join it with words of its own. So texts are also
compared by their letters and digits alone.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cached_property

from callbacks.evidence.numeral import fold

_LEAST = 4
"""Fewest characters of a piece that is looked for as it is written."""

_LEAST_BARE = 5
"""Fewest letters and digits that are looked for alone: fewer meet by chance."""

_RUN = re.compile(r"[a-z0-9]+(?:[^\w\s]+[a-z0-9]+)*")
"""What may be an address, an account or a number, also inside text written without spaces."""

_ADDRESS = re.compile(r"(?=\S*[\d.@:/_-])[a-z0-9]+(?:[.@:_-][a-z0-9]+)*")
"""A piece of a stranger's text that is one."""

# Letters that look like Latin ones, of Cyrillic and Greek. Not all there are: those in use.
_LOOKS = str.maketrans("аеорсухкмтвніјѕԁԛԝɡոαορνικτυχɩ", "aeopcyxkmtbhijsdqwgnaopviktuxi")


class Foreign:
    """Texts that are the origin of nothing."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Keep texts; they are read when something is looked for."""
        self._texts = tuple(text for text in texts if text)

    def says(self, value: str) -> bool:
        """Tell whether a value, a piece of it, or an address inside it stands in one of them."""
        if not self._texts:
            return False
        clean, shown = fold(value), plain(value)
        pieces = [*clean.replace(",", " ").split(), *_RUN.findall(shown)]
        written = [clean, *(piece for piece in pieces if len(piece) >= _LEAST)]
        if any(piece in text for text in self._folded for piece in written):
            return True
        letters = bare(value)
        alone = [one for one in (letters, *map(bare, pieces)) if len(one) >= _LEAST_BARE]
        if any(piece in text for text in self._bare for piece in alone):
            return True
        return any(address in letters for address in self._addresses)

    @cached_property
    def _folded(self) -> tuple[str, ...]:
        return tuple(one for text in self._texts for one in {fold(text), plain(text)})

    @cached_property
    def _bare(self) -> tuple[str, ...]:
        return tuple(bare(text) for text in self._texts)

    @cached_property
    def _addresses(self) -> frozenset[str]:
        found = (bare(one) for text in self._texts for one in _ADDRESS.findall(plain(text)))
        return frozenset(one for one in found if len(one) >= _LEAST_BARE)


def plain(text: str) -> str:
    """Return text as it looks: one form of each letter and digit, nothing that is not seen."""
    found = []
    for character in unicodedata.normalize("NFKD", text):
        if unicodedata.category(character) in {"Mn", "Me", "Cf", "Cc"} and character not in "\n\t":
            continue
        digit = unicodedata.decimal(character, None)
        found.append(character if digit is None else str(digit))
    return fold("".join(found)).translate(_LOOKS)


def bare(text: str) -> str:
    """Return the letters and digits of text alone, as they look."""
    return "".join(character for character in plain(text) if character.isalnum())
