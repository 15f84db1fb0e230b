"""What a message asks for, by rules: which tool, with which arguments.

The rules know the message and what the history block says, nothing else; no clock, no catalogue,
no preference. Where several subjects are named, the last one is the question, as in
「公車站附近有什麼吃的」. An argument the message does not say stays empty.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from local_agent import dates
from local_agent.areas import names_county, names_elsewhere, said_area
from local_agent.diets import DIETS, find_diets, said_diet
from local_agent.mentions import normalize

PLACES = "search_local_places"
EVENTS = "search_local_events"
PROPOSE = "propose_dietary_memory"
MANAGE = "request_memory_management"
HELP = "show_local_help"

_FORGET = re.compile(
    r"(?<!別)(?<!不要)(?<!不會)(?<!沒)(?<!沒有)(?<!不可以)"
    r"(?:忘記|忘掉|忘了|刪除|刪掉|清除|清掉|取消).{0,6}?(?:偏好|飲食|我吃|習慣|記憶|設定|我的資料|記住的)"
    r"|(?:偏好|飲食習慣|記住的|記憶)(?:都|給|請|幫我|全部|也)*(?:忘記|忘掉|忘了|刪|清|取消|不要記)"
    r"|(?:別|不要|不用|不必)再?(?:幫我)?記(?:住|得|下)?我?"
    r"|^請?(?:把我?)?(?:全部|所有的?|一切|通通|統統)?(?:都|給我|幫我)?(?:忘記|忘掉|清除|刪除)"
    r"(?:我|它|吧|全部|所有|一切|通通)?(?:的?(?:東西|事情?|資料))?[。！!]?$"
)
_REMEMBER = re.compile(
    r"幫我記|(?<!我)(?:記住|記下)|記起來|(?<!我)(?<!還)(?:記得)我|請記得|(?:別|不要)忘(?:記|了)我"
)
_RECALL = re.compile(
    r"(?:還|有|你|您)記得我.*(?:嗎|什麼|[?？])|記(?:住|得|了)了?我?(?:的)?(?:什麼|哪些)|記得我.*嗎"
    r"|(?:我的|查看|看一?下?)(?:飲食)?(?:偏好|飲食習慣|飲食設定|記憶)"
)
_CHANGE = re.compile(r"(?:偏好|飲食|習慣|記的|記住的|設定).{0,6}(?:改成|改為|換成|改吃)")
_OTHERS = re.compile(
    r"媽|爸|阿嬤|阿公|奶奶|爺爺|外婆|先生|太太|老公|老婆|兒子|女兒|孩子|小孩|朋友|家人|(?<!其)他|她"
)
_GREETING = re.compile(r"你好|您好|哈囉|嗨|早安|午安|晚安|hello|\bhi\b|謝謝|多謝|感恩")
_FEATURES = re.compile(r"功能|怎麼用|會什麼|可以做什麼|能做什麼|幫助|說明|help")

#: Remarks that look like a question about food or parking and are none.
_REMARKS = re.compile(
    r"吃飽|吃藥|吃驚|停車方便|方便停車|好停車的|好停(?=[，,的])|(?:可以?|能|有|附)停車(?:場|位)?的"
)
_FOOD = re.compile(r"吃|餐|美食|店家|小店|小館|宵夜|點心|便當|麵店|火鍋|飲料|咖啡|好料|肚子餓|餓了")
_HAPPENING = re.compile(r"活動|表演|市集|展覽|展演|音樂會|演唱會|節慶|廟會|導覽|祭典|嘉年華|好玩")
_OUTSIDE: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("parking", re.compile(r"停車|車位")),
    ("bus", re.compile(r"公車|客運|火車|台鐵|高鐵|班次|時刻表|接駁|搭車")),
    ("toilet", re.compile(r"廁所|洗手間|化妝室")),
    ("other", re.compile(r"天氣|下雨|醫院|診所|醫生|藥局|銀行|郵局|住宿|旅館|民宿|股票|新聞")),
)

_POINTS_BACK = re.compile(
    r"剛才|剛剛|那個?(?:鄉鎮|鄉|鎮|地方|區域?)|那邊|那裡|那裏|那兒|上次說的|前面說的|同一?個?地方|"
    r"同一個(?:鄉|鎮)|(?:一樣|同樣)的地方|原來的地方"
)
_AGAIN = re.compile(r"再(?:找|查|來)一?(?:家|間|個)|別家|換一?家")
_GOES_ON = re.compile(r"再找|再查|再來|還有|別家|別的|另外|其他|換一家|附近|這附近|呢[?？。]?$")


@dataclass(frozen=True, slots=True)
class Past:
    """What a request says about earlier exchanges.

    Attributes:
        area: The newest town, or None.
        tool: The search that was used for the newest goal, or None.
    """

    area: str | None = None
    tool: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A tool call: its name and every argument, empty where the message says nothing."""

    tool: str
    arguments: Mapping[str, str] = field(default_factory=dict)


def understand(message: str, past: Past | None = None) -> Plan:
    """Return the tool call a message asks for.

    Args:
        message: The newest message.
        past: What the history block carries; needed for 「剛才那個鄉鎮」.
    """
    past = past or Past()
    text = normalize(message).strip()
    memory = _about_memory(text)
    if memory is not None:
        return memory
    subject = subject_of(text)
    if subject is None and (_GREETING.search(text) or _FEATURES.search(text)):
        return _help("greeting" if _GREETING.search(text) else "features")
    if subject is None and past.tool is not None and _continues(text):
        subject = past.tool
    if subject is None and _AGAIN.search(text):
        return _help("which_area")  # what came before is over, or was never said
    if subject not in {PLACES, EVENTS}:
        return _help(subject or "other")
    if names_elsewhere(text):
        return _help("outside_county")
    area = _area(text, past)
    if area is None:
        return _help("which_area")
    if subject == EVENTS:
        return Plan(EVENTS, {"date": dates.find(text), "area": area, "keyword": ""})
    diet = said_diet(text).value or ""
    return Plan(PLACES, {"area": area, "dietary_type": diet, "keyword": ""})


def subject_of(message: str) -> str | None:
    """Return the search tool or the help reason a message is about, or None.

    The subject named last wins; a diet counts as food.
    """
    text = _REMARKS.sub("", normalize(message))
    found = [(hit.end(), PLACES) for hit in _FOOD.finditer(text)]
    found += [(hit.end, PLACES) for hit in find_diets(text)]
    found += [(hit.end(), EVENTS) for hit in _HAPPENING.finditer(text)]
    for reason, pattern in _OUTSIDE:
        found += [(hit.end(), reason) for hit in pattern.finditer(text)]
    return max(found)[1] if found else None


def _about_memory(text: str) -> Plan | None:
    """Return the plan for a message about what is remembered, or None."""
    diet = said_diet(text).value
    if _CHANGE.search(text) and diet in DIETS:
        return Plan(MANAGE, {"action": "change", "dietary_type": diet})
    if _FORGET.search(text):
        return Plan(MANAGE, {"action": "forget", "dietary_type": ""})
    if _RECALL.search(text):
        return Plan(MANAGE, {"action": "inspect", "dietary_type": ""})
    if not _REMEMBER.search(text):
        return None
    if _OTHERS.search(text):
        return _help("remember_own")
    return Plan(PROPOSE, {"dietary_type": diet}) if diet in DIETS else _help("remember_what")


def _area(text: str, past: Past) -> str | None:
    """Return the town to search, empty for the county, None where it must be asked for."""
    said = said_area(text)
    if said.value is not None:
        return said.value
    if names_county(text):
        return ""
    known = past.area if past.area not in said.denied else None
    if _POINTS_BACK.search(text):
        return known
    return known or "" if _GOES_ON.search(text) else ""


def _continues(text: str) -> bool:
    """Tell whether a message without a subject goes on with the earlier one: 「那彰化市呢？」."""
    said = said_area(text)
    return bool(said.value or said.denied or _POINTS_BACK.search(text) or _GOES_ON.search(text))


def _help(reason: str) -> Plan:
    return Plan(HELP, {"reason": reason})
