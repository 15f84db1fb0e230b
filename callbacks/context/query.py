"""What a request asks about: its terms, the synonyms of them, and nothing that it turns down."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from callbacks.context.errors import InvalidSetting
from callbacks.context.ranking import CJK, Term, folded, tokens

MAX_TERMS = 24
"""Most terms that are looked for of one request; a longer one is a pasted document."""

_CJK_RUN = re.compile(f"[{CJK}]+")
_WORD = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*")
_CLAUSE = re.compile(
    r"[,，。.;；:：!！?？、\n\r\u2028\u2029()（）「」『』]+(?!\d)|\bbut\b|但是?|而是|改成"
)
# Only what turns a topic down. "cannot connect" and 「不能連」 say what is wrong with one, and
# 「是不是」 asks about it.
_TURNED_DOWN = re.compile(
    "(?<!是)不是|並非|而非|(?<!要)不要|(?<!用)不用|(?<!需)不需|不包括"
    "|別再|別幫|別開|別動|別用|請別|請勿|切勿|[與跟和].{1,20}無關"
    r"|\bnot (?:about|the|my|an?)\b|\b(?:instead of|rather than|other than|except|no need)\b"
    r"|\bdo(?: not|nt) open\b"
)
# Words that every request is full of; on these alone no old message is relevant.
_COMMON_CJK = re.compile(
    "現在|目前|剛才|剛剛|之前|上次|今天|昨天|明天|又出現|出現|再次|還是|一直|已經|可以|請問|麻煩|幫我|協助|需要|應該"
    "|怎麼辦?|如何|什麼|為什麼|哪裡|哪個|這個|那個|只要|就好|一下|時候|問題|狀況|情況|連不上|連不到|不能用|壞掉|壞了|打不開|我們?|你們?|他們?|您"
    "|的|了|嗎|呢|吧|啊|喔|在|是|有|又|也|都|就|和|與|及|跟|把|被|要|想|請|給|讓|說|還|再|只|會|能|很"
)
_COMMON_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a about again also am an and any are as at be been but by can could did do does done for"
        " from get had has have help how i if in into is it its just me my need no not now of on"
        " only or our out please same so some still that the them then there these they this to"
        " too up us was we were what when where which who why will with would you your",
    )
)


@dataclass(frozen=True)
class Synonyms:
    """A small table that the person who runs the agent owns: groups of words for one thing.

    Every word of a group finds every other, in both directions.

    Attributes:
        groups: Words for one thing, a group each; a word may stand in one group only.

    Raises:
        InvalidSetting: A word is blank or stands twice, or a group has fewer than two words.
    """

    groups: tuple[tuple[str, ...], ...] = ()

    def __init__(self, groups: Iterable[Iterable[str]] = ()) -> None:
        taken: set[str] = set()
        kept: list[tuple[str, ...]] = []
        for group in groups:
            words = () if isinstance(group, str) else tuple(group)
            keys = {_key(word) for word in words}
            if len(words) < 2 or len(keys) != len(words) or "" in keys or keys & taken:
                raise InvalidSetting(
                    "A group of synonyms has two or more words, each of them once."
                )
            taken |= keys
            kept.append(words)
        object.__setattr__(self, "groups", tuple(kept))

    def alternatives(self, word: str) -> tuple[str, ...]:
        """Return a word, followed by the others of its group."""
        for group in self.groups:
            if _key(word) in map(_key, group):
                return (word, *(other for other in group if _key(other) != _key(word)))
        return (word,)

    def mentioned(self, text: str) -> list[str]:
        """Return the first word of each group of which a text says one."""
        said = f" {_key(text)} "
        return [group[0] for group in self.groups if any(f" {_key(w)} " in said for w in group)]


NO_SYNONYMS = Synonyms()


def chosen_terms(words: Iterable[str], synonyms: Synonyms = NO_SYNONYMS) -> tuple[Term, ...]:
    """Return terms for words that a person or program chose; each must be found whole.

    Raises:
        InvalidSetting: It is one string instead of several, or a word is no text.
    """
    if isinstance(words, str):
        raise InvalidSetting("Query terms are several words, not one string.")
    given: tuple[object, ...] = tuple(words)
    if not all(isinstance(word, str) and word.strip() for word in given):
        raise InvalidSetting("A query term is text that is not blank.")
    return _distinct(Term(synonyms.alternatives(str(word))) for word in given)


def asked_terms(request: str, synonyms: Synonyms = NO_SYNONYMS) -> tuple[Term, ...]:
    """Return the terms of a request in its own words, without those that it turns down.

    「不是印表機，是 VPN」 asks about VPN. What follows a turning down belongs to it up to the end
    of its clause, unless nothing would be left to ask about.

    Args:
        request: The newest message.
        synonyms: Words of the same meaning.
    """
    clauses = [clause for clause in _CLAUSE.split(folded(request)) if clause.strip()]
    wanted = [_TURNED_DOWN.split(clause, maxsplit=1)[0] for clause in clauses]
    return _terms(wanted, synonyms) or _terms(clauses, synonyms)


def _terms(clauses: list[str], synonyms: Synonyms) -> tuple[Term, ...]:
    found: list[Term] = []
    for clause in clauses:
        found.extend(Term(synonyms.alternatives(word)) for word in synonyms.mentioned(clause))
        found.extend(
            Term(synonyms.alternatives(word))
            for word in _WORD.findall(_CJK_RUN.sub(" ", clause))
            if len(word) > 1 and word not in _COMMON_WORDS
        )
        for run in _CJK_RUN.findall(clause):
            found.extend(
                Term(synonyms.alternatives(piece), whole=len(piece) <= 2)
                for piece in _COMMON_CJK.split(run)
                if len(piece) > 1
            )
    return _distinct(found)[:MAX_TERMS]


def _distinct(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Leave out terms that ask the same again: a word and its synonym are one term."""
    seen: set[frozenset[str]] = set()
    kept: list[Term] = []
    for term in terms:
        meaning = frozenset(map(_key, term.alternatives))
        if meaning not in seen:
            seen.add(meaning)
            kept.append(term)
    return tuple(kept)


def _key(text: str) -> str:
    return " ".join(tokens(text))
