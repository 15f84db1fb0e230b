"""Which tool a message asks for, and with which arguments."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent.areas import AREAS
from local_agent.diets import ANY, DIETS, said_diet
from local_agent.intents import (
    EVENTS,
    HELP,
    MANAGE,
    PLACES,
    PROPOSE,
    Past,
    understand,
)
from local_agent.templates import HELP as HELP_TEXTS

HUATAN = Past("花壇鄉", PLACES)
WORDS = (
    *("花壇", "鹿港鎮", "彰化", "不是", "不", "吃素", "全素", "吃", "活動", "停車", "公車", "，"),
    *("記住我", "忘記", "我的偏好", "剛才那個鄉鎮", "再找", "呢", "明天", "台中", "你好", "？"),
)
MESSAGES = st.text(max_size=30) | st.lists(st.sampled_from(WORDS), max_size=8).map("".join)
PASTS = st.builds(
    Past, st.none() | st.sampled_from(AREAS), st.none() | st.sampled_from((PLACES, EVENTS))
)


def places(area="", diet=""):
    return PLACES, {"area": area, "dietary_type": diet, "keyword": ""}


def events(area="", day=""):
    return EVENTS, {"date": day, "area": area, "keyword": ""}


def manage(action, diet=""):
    return MANAGE, {"action": action, "dietary_type": diet}


def propose(diet):
    return PROPOSE, {"dietary_type": diet}


def help_about(reason):
    return HELP, {"reason": reason}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("今天想吃素，花壇有什麼吃的？", places("花壇鄉", "vegetarian")),
        ("查花壇的活動。", events("花壇鄉")),
        ("停車資料有嗎？", help_about("parking")),
        ("那公車時間呢？", help_about("bus")),
        ("彰化有什麼好玩的", events()),
        ("彰化縣花壇鄉有沒有素食", places("花壇鄉", "vegetarian")),
        ("明天花壇有什麼活動", events("花壇鄉", "明天")),
        ("2026-12-12 田中有什麼活動", events("田中鎮", "2026-12-12")),
        ("公車站附近有什麼吃的", places()),
        ("找一家吃的，停車方便", places()),
        ("花壇好停車的餐廳", places("花壇鄉")),
        ("餐廳好停車嗎", help_about("parking")),
        ("吃飽了，有什麼表演", events()),
        ("廁所在哪", help_about("toilet")),
        ("明天天氣怎麼樣", help_about("other")),
        ("台中有什麼好吃的", help_about("outside_county")),
        ("鹿港有台南小吃嗎", places("鹿港鎮")),
        ("你好", help_about("greeting")),
        ("你會什麼功能", help_about("features")),
        ("", help_about("other")),
        ("那彰化市呢？", help_about("other")),
        ("再找一家", help_about("which_area")),
    ],
)
def test_searches_and_help(message, expected):
    """A message is a search, or help with a reason where the catalogue has nothing."""
    plan = understand(message)
    assert (plan.tool, plan.arguments) == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("剛才那個鄉鎮，再找一家吃的。", places("花壇鄉")),
        ("阿那剛才那個鄉鎮，再找一家吃的。", places("花壇鄉")),
        ("那邊有什麼活動", events("花壇鄉")),
        ("還有別家吃的嗎", places("花壇鄉")),
        ("剛才那個地方不要，改找鹿港的餐廳", places("鹿港鎮")),
        ("那彰化市呢？", places("彰化市")),
        ("不是花壇，再找別家吃的", places()),
        ("彰化還有什麼吃的", places()),
        ("有什麼吃的", places()),
        ("停車資料有嗎？", help_about("parking")),
    ],
)
def test_a_message_may_point_back(message, expected):
    """Words such as 「剛才那個鄉鎮」 take the town of the history; a town that is said wins."""
    plan = understand(message, HUATAN)
    assert (plan.tool, plan.arguments) == expected


def test_pointing_back_to_nothing_asks_for_the_town():
    """Without a history LOCAL asks which town is meant and guesses none."""
    plan = understand("剛才那個鄉鎮，再找一家吃的。")
    assert (plan.tool, plan.arguments) == help_about("which_area")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("記住我吃素", propose("vegetarian")),
        ("可以幫我記住我吃蛋奶素嗎？", propose("ovo_lacto")),
        ("請記得我吃全素", propose("vegan")),
        ("別忘記我吃素", propose("vegetarian")),
        ("記住我不吃奶素，是全素", propose("vegan")),
        ("記住我不吃素", help_about("remember_what")),
        ("幫我記一下電話", help_about("remember_what")),
        ("記住我媽媽吃素", help_about("remember_own")),
        ("我的偏好", manage("inspect")),
        ("你還記得我吃素嗎", manage("inspect")),
        ("你記住了什麼", manage("inspect")),
        ("忘記我的飲食偏好", manage("forget")),
        ("請把我的偏好刪掉", manage("forget")),
        ("忘記我", manage("forget")),
        ("忘記全部", manage("forget")),
        ("全部都忘記", manage("forget")),
        ("請清除所有資料", manage("forget")),
        ("不要記住我吃素", manage("forget")),
        ("把我的飲食偏好改成奶素", manage("change", "lacto")),
        ("我忘記帶錢包，花壇有什麼吃的", places("花壇鄉")),
        ("我記得花壇有一家素食店", places("花壇鄉", "vegetarian")),
    ],
)
def test_memory_is_only_proposed_or_managed_when_asked(message, expected):
    """A card is proposed for the person's own diet, said in this message, and for nothing else."""
    plan = understand(message)
    assert (plan.tool, plan.arguments) == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("我不吃素，鹿港有什麼好吃的", places("鹿港鎮", ANY)),
        ("不是花壇，是彰化市，找吃的", places("彰化市")),
        ("花壇不要，彰化市好了，找餐廳", places("彰化市")),
        ("除了花壇還有哪裡有活動", events()),
        ("不是奶素，是全素，員林找一下", places("員林市", "vegan")),
    ],
)
def test_what_is_denied_is_not_searched(message, expected):
    """A denied town or diet is never an argument, also not by way of the history."""
    plan = understand(message, Past("花壇鄉", PLACES) if "除了" in message else None)
    assert (plan.tool, plan.arguments) == expected


@given(MESSAGES, PASTS)
def test_arguments_are_closed_and_the_same_each_time(message, past):
    """Invariant 12: one message and past give one plan, with values from closed lists only."""
    plan = understand(message, past)
    assert plan == understand(message, past)
    arguments = plan.arguments
    assert arguments.get("area", "") in {"", *AREAS}
    assert arguments.get("dietary_type", "") in {"", ANY, *DIETS}
    assert arguments.get("reason", "other") in HELP_TEXTS
    assert arguments.get("keyword", "") == ""
    assert plan.tool != PROPOSE or arguments["dietary_type"] in DIETS


@given(MESSAGES, PASTS)
def test_the_past_never_says_a_diet(message, past):
    """A diet is an argument only if this message says it, whatever came before."""
    diet = understand(message, past).arguments.get("dietary_type", "")
    assert diet in {"", said_diet(message).value}
