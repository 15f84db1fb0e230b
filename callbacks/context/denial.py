"""What a message denies: its clauses, and which of them say no.

Only whole clauses are judged. A clause with any word of denial denies all that stands in it; that
takes too little sometimes, and never the wrong value.
"""

import re
from dataclasses import dataclass

_BREAK = re.compile(
    r"[，。！？；、,!?;\n]|\.(?=\s|$)|\b(?:but|instead)\b(?! of)"
    r"|但是?|而是|改成|改為|改为|換成|换成",
    re.IGNORECASE,
)
# These only look like a denial: questions of the form 要不要, and fixed phrases.
_HARMLESS = re.compile(
    r"([\u4e00-\u9fff])[不沒没]\1|[特分個个區区告差性類类級级]別|非常|除非|不好意思|不[過过錯错]|差不多|不客氣|不客气"
    r"|\b(?:no problem|no worries|not sure|not only|why not|can't wait|don't mind|don't know|"
    r"no matter)\b",
    re.IGNORECASE,
)
_NO = re.compile(
    r"[不沒没別别勿未非❌✗✖]|除了|除外|除(?!夕)[\u4e00-\u9fff]|以外|之外|取消|排除|避開|避开|免了|免談|免谈|拒絕|拒绝|討厭|讨厌"
    r"|離開|离开|繞過|绕过|略過|略过|跳過|跳过|刪掉|删掉|刪除|删除|太遠|太远|去過|去过|例外|"
    r"\b(?:no|nope|not|nor|neither|never|none|without|except\w*|exclud\w*|besides|cancel\w*|avoid\w*|"
    r"skip\w*|rather than|instead of|other than|anything but|hate\w*|far from|"
    r"apart from|aside from|dont|doesnt|isnt|wont|cant|tired of|sick of)\b"
    r"|n['’ʼ＇]t\b",
    re.IGNORECASE,
)
_YES = re.compile(
    r"[是改換换要去找想在到好]|\b(?:but|instead|it's|is|please|want|need|make|go|rather|yes|mean|"
    r"prefer|in|to|at|for|on)\b",
    re.IGNORECASE,
)

# Every denial has one of these in it; looking for them first spares most messages the rest.
_SIGNS = (
    *"不沒没別别勿未非❌✗✖除避免拒討讨離离繞绕略跳刪删太例",
    *(
        "排除",
        "去過",
        "去过",
        "以外",
        "之外",
        "取消",
        "no",
        "n't",
        "n’t",
        "nʼt",
        "n＇t",
        "neither",
        "never",
        "without",
        "excep",
        "exclud",
    ),
    *("besides", "cancel", "avoid", "skip", "rather", "instead", "other than", "anything but"),
    *("hate", "far from", "apart", "aside", "dont", "doesnt", "isnt"),
    *("wont", "cant", "tired", "sick"),
)


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a message.

    Attributes:
        start: Index of its first character.
        end: Index after its last character.
        denies: Whether it says no to what it names.
        affirms: Whether it says yes to it, in so many words.
    """

    start: int
    end: int
    denies: bool
    affirms: bool


def clauses(text: str) -> list[Clause]:
    """Return the clauses of a message, in order and without gaps; one where nothing is denied."""
    folded = text.lower()
    for sign in _SIGNS:
        if sign in folded:
            break
    else:
        return [Clause(0, len(text), denies=False, affirms=True)]
    plain = _HARMLESS.sub(lambda match: " " * len(match[0]), text)
    found: list[Clause] = []
    start = 0
    for match in _BREAK.finditer(plain):
        # A word that breaks (but, 改成) belongs to what it opens.
        end = match.end() if len(match[0]) == 1 else match.start()
        if end > start:
            found.append(_clause(plain, start, end))
            start = end
    found.append(_clause(plain, start, len(plain)))
    return found


def denied(text: str) -> bool:
    """Say whether any clause of a message says no."""
    return _NO.search(_HARMLESS.sub(" ", text)) is not None


def _clause(text: str, start: int, end: int) -> Clause:
    denies = _NO.search(text, start, end) is not None
    return Clause(start, end, denies, not denies and _YES.search(text, start, end) is not None)
