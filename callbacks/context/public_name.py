"""Tells a short public name from what must not be kept: sentences, numbers, addresses, contacts.

A name is the one kind of value without a vocabulary, so everything here errs towards refusing
(invariant 5). What each pattern is for stands beside it.
"""

import re
import unicodedata

MAX_LENGTH = 80
"""Longest name an author may ask for, in characters."""

# Any word, dot, word in small letters: there are too many top-level domains to list.
_URL = re.compile(r"://|\bwww\.|\w\.[a-z]{2,}\b|\w/\w+/|\bhxxps?\b")
_CONTACT = re.compile(
    # An address of mail or a handle; an account of a messenger; a telephone extension.
    r"@|\b(?:line|wechat|telegram|skype|e-?mail|whatsapp)\s*(?:id)?\s*[:：]|\b(?:tel|phone|fax|ext)\b\.?\s*[:：]?\s*\d"
    r"|電話|电话|手機|手机|信箱|帳號|账号|身分證|身份证",
    re.IGNORECASE,
)
# Four digits are a year at best and a code, a card or a telephone number at worst.
_RUN = re.compile(r"\d{4}|[零〇一二三四五六七八九]{5}")
_HOUSE_RUN = re.compile(r"\d{6}|[零〇一二三四五六七八九]{5}")
_ENOUGH_DIGITS = 6
# Financial numerals stand for digits as well; 十, 百 and 千 are left to names like 百貨 and 千葉.
_NUMERALS = frozenset("零〇一二三四五六七八九壹貳贰參叁肆伍陸陆柒捌玖")
_SPELLED = re.compile(r"\b(?:zero|one|two|three|four|five|six|seven|eight|nine)\b", re.IGNORECASE)
# What gives a history block its structure has no place in a name.
_STRUCTURE = frozenset("|=<>[]{}【】〔〕\\")
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANKS = frozenset("\u115f\u1160\u3164\uffa0\u2800")
_STREETS = (
    r"(?:street|st|avenue|ave|road|rd|boulevard|blvd|drive|dr|lane|ln|highway|hwy|way|court|ct|place|pl|"
    r"square|sq|terrace|parkway|pkwy|broadway|row|alley)"
)
_ADDRESS = re.compile(
    # "100 Van Ness Avenue", "655 Redwood Highway Suite 100"; not "400 Canal Street Apartments".
    rf"^\d+[a-z]?(?:-\d+)?\s+(?:\S+\s+)*?{_STREETS}\b\.?(?=$|\s*,|\s*#|\s+(?:suite|apt|unit|floor|east|west|north|south|[nsew]{{1,2}})\b)"
    # 中山路一段123號, 文化街5巷
    r"|[路街道巷弄段].{0,12}?[\d一二三四五六七八九十百]+(?:之[\d一二三四五六七八九十]+)?\s*[號号巷弄樓楼]",
    re.IGNORECASE,
)
_ENDED = re.compile(r"[。！？；，、\n]|\w{5}[.!?;](?:\s+\S+){2}|[?;]\s+\S")
_SPOKEN = re.compile(
    # Followed by no capital: "I want a table", not "I Want It That Way".
    r"^(?:[Ii]'m|[Ii] am|[Ii]'d|[Ii]'ll|[Ii]'ve|[Ii] (?:want|need|would|have|like|was)|[Mm]y"
    r"|[Pp]lease|[Cc]an you|[Cc]ould you|[Ww]e (?:are|want|need)|[Ll]et's|[Ii]gnore|[Tt]ell me"
    r"|[Bb]ook me|[Ff]ind me)\s[^A-Z]*$"
)
_SPOKEN_CHINESE = re.compile(
    r"^(?:請|请|幫|帮|麻煩|麻烦|我(?:們|们)?(?:想|要|在|是|有|叫|住|需|不|會|会|今|明)|你(?:要|可以|能|是)|忽略|告訴|告诉)"
    r"|[嗎吗呢了]$|謝謝|谢谢|昨天|過世|过世|(?i:\bsystem\s*:|\bignore\s+previous)"
)
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_MANY_WORDS = 12
_MANY_HAN = 24
_HAN = re.compile(r"[\u4e00-\u9fff]")


def is_public_name(text: str, *, max_length: int, addresses: bool = False) -> bool:
    """Say whether a text can be a short public name.

    Args:
        text: Canonical text.
        max_length: Longest name, in characters.
        addresses: Whether the street address of a public place is a name as well.
    """
    if not 0 < len(text) <= max_length:
        return False
    # Full-width digits, letters and signs are the same digits, letters and signs.
    folded = unicodedata.normalize("NFKC", text)
    is_address = _ADDRESS.search(folded) is not None
    if is_address and not addresses:
        return False
    if any(_unprintable(character) for character in text + folded):
        return False
    if not _STRUCTURE.isdisjoint(folded):
        return False
    # Digits by any other name: 零九一二, 1️⃣2️⃣, "Zero Nine One Two", with whatever between them.
    numerals = sum(_is_numeral(character) for character in folded)
    numerals += len(_SPELLED.findall(folded))
    if not is_address and numerals >= _ENOUGH_DIGITS:
        return False
    if (_HOUSE_RUN if is_address else _RUN).search(folded):
        return False
    if _URL.search(folded) or _CONTACT.search(folded):
        return False
    return not _is_sentence(text, folded)


def _unprintable(character: str) -> bool:
    return unicodedata.category(character) in _UNPRINTABLE or character in _BLANKS


def _is_numeral(character: str) -> bool:
    return character.isdigit() or character in _NUMERALS


def _is_sentence(text: str, folded: str) -> bool:
    if _ENDED.search(text) or _SPOKEN.search(folded) or _SPOKEN_CHINESE.search(folded):
        return True
    words = _WORD.findall(folded)
    if len(words) > _MANY_WORDS or len(_HAN.findall(folded)) > _MANY_HAN:
        return True
    # Names are written in capitals or are short; five words after each other in small ones speak.
    small = sum(word[0].islower() and word[0].isascii() for word in words)
    return bool(small >= 5 and small * 10 >= len(words) * 7)
