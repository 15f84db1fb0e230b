"""What an application calls the things its evidence speaks of, and how it says its predicates."""

from functools import cached_property

from callbacks.evidence.frozen import Frozen, Id
from callbacks.evidence.value import Label, Vocabulary


class Phrase(Frozen):
    """How a predicate is said.

    Attributes:
        predicate: Its id.
        texts: Templates by language, with ``{subject}`` and ``{comparison}``.
        denied: Templates for its denial; without one, a general form is used.
    """

    predicate: Id
    texts: tuple[tuple[str, Label], ...]
    denied: tuple[tuple[str, Label], ...] = ()


class Phrasebook(Frozen):
    """The words of an application.

    Attributes:
        vocabulary: Words for subjects, values, exceptions, fields and owners.
        phrases: How predicates are said.
    """

    vocabulary: Vocabulary
    phrases: tuple[Phrase, ...] = ()

    @cached_property
    def by_predicate(self) -> dict[str, Phrase]:
        """The phrases by predicate."""
        return {phrase.predicate: phrase for phrase in self.phrases}

    def template(self, predicate: str, language: str, *, denied: bool) -> str | None:
        """Return a predicate's template in a language, or None."""
        phrase = self.by_predicate.get(predicate)
        if phrase is None:
            return None
        return dict(phrase.denied if denied else phrase.texts).get(language)
