"""A typed value that evidence asserts, and how a text is read as one."""

from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from callbacks.evidence import instant
from callbacks.evidence.frozen import Frozen, Id
from callbacks.evidence.money import Money, parse_money
from callbacks.evidence.numeral import exact, fold, same

Label = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class Quantity(Frozen):
    """A number with its unit: ``digits / 10**scale``."""

    kind: Literal["quantity"] = "quantity"
    digits: int
    scale: Annotated[int, Field(ge=0, le=18)] = 0
    unit: Id

    def text(self) -> str:
        """Return the number as it is shown, with its unit."""
        whole, rest = divmod(abs(self.digits), 10**self.scale)
        sign = "-" if self.digits < 0 else ""
        tail = f".{rest:0{self.scale}d}".rstrip("0") if rest else ""
        return f"{sign}{whole:,}{tail} {self.unit}"


class Word(Frozen):
    """One of the words of a vocabulary, by its id."""

    kind: Literal["word"] = "word"
    word: Id


class Moment(Frozen):
    """A point in time."""

    kind: Literal["moment"] = "moment"
    at_ms: int


class Literally(Frozen):
    """Text that counts as it is written, character for character (an answer found in a text)."""

    kind: Literal["literally"] = "literally"
    words: Label


Value = Annotated[Money | Quantity | Word | Moment | Literally, Field(discriminator="kind")]


class Term(Frozen):
    """A word of the vocabulary.

    Attributes:
        id: How evidence names it.
        labels: What it is called, by language: pairs of language and label.
        aliases: What else it is called, in any language.
    """

    id: Id
    labels: tuple[tuple[str, Label], ...]
    aliases: tuple[Label, ...] = ()


class Vocabulary(Frozen):
    """The closed set of words that subjects, values and exceptions are named with."""

    terms: tuple[Term, ...] = ()

    @cached_property
    def by_name(self) -> dict[str, str]:
        """Ids by folded name; a name that several words share is no name of any."""
        found: dict[str, str] = {}
        shared: set[str] = set()
        for term in self.terms:
            for name in {fold(one) for one in self._names(term)}:
                if found.setdefault(name, term.id) != term.id:
                    shared.add(name)
        return {name: word for name, word in found.items() if name not in shared}

    def find(self, text: str) -> str | None:
        """Return the id of the one word a whole text is; None where it is none or several."""
        return self.by_name.get(fold(text))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every name there is, ids among them, sorted."""
        return tuple(sorted({name for term in self.terms for name in self._names(term)}))

    def names_of(self, word: str) -> tuple[str, ...]:
        """Return what a word is called, its id among it; its id alone where it is not known."""
        return next((self._names(term) for term in self.terms if term.id == word), (word,))

    def label(self, word: str, language: str) -> str:
        """Return what a word is called in a language; its id where nothing is said."""
        for term in self.terms:
            if term.id == word:
                return dict(term.labels).get(language, word)
        return word

    @staticmethod
    def _names(term: Term) -> tuple[str, ...]:
        return (term.id, *(label for _, label in term.labels), *term.aliases)


def equals(value: Value, text: str, unit: str | None, vocabulary: Vocabulary) -> bool:
    """Say whether a text, with the unit said beside it, is this value and nothing else.

    Args:
        value: What the evidence asserts.
        text: What an answer says; the whole of it must be a value of the same kind.
        unit: The unit an answer says beside it.
        vocabulary: What words mean.
    """
    if isinstance(value, Money):
        said = parse_money(text, unit, value.tax)
        return said == value
    if isinstance(value, Quantity):
        return _same_quantity(value, text, unit, vocabulary)
    if unit:
        return False
    if isinstance(value, Word):
        # An id that the vocabulary does not know is the value, too, if it is given as it is.
        return (vocabulary.find(text) or text) == value.word
    if isinstance(value, Moment):
        return instant.parse(text) == value.at_ms
    return text == value.words


def shown(value: Value, vocabulary: Vocabulary, language: str) -> str:
    """Return a value as people read it."""
    if isinstance(value, Money):
        return value.text()
    if isinstance(value, Quantity):
        number = value.text().rpartition(" ")[0]
        return f"{number} {vocabulary.label(value.unit, language)}"
    if isinstance(value, Word):
        return vocabulary.label(value.word, language)
    if isinstance(value, Moment):
        return instant.utc(value.at_ms)
    return value.words


def _same_quantity(value: Quantity, text: str, unit: str | None, vocabulary: Vocabulary) -> bool:
    number, beside = exact(text), unit
    if number is None:
        # The unit may stand in the text instead: the longest number at its beginning, then a word.
        clean = fold(text)
        cut = next((at for at in range(len(clean) - 1, 0, -1) if exact(clean[:at])), 0)
        number, inside = (exact(clean[:cut]), clean[cut:].strip()) if cut else (None, "")
        if unit and vocabulary.find(unit) != vocabulary.find(inside):
            return False
        beside = inside
    if number is None or not beside or vocabulary.find(beside) != value.unit:
        return False
    return same(number, (value.digits, value.scale))
