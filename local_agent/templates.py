"""Everything LOCAL says to people as text, in Traditional Chinese (Taiwan).

Short sentences and plain words: many readers are old and read on a telephone. A text is made from
catalogue rows, codes and this file; it never repeats what a person typed. The functions are pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType

from local_agent.catalog import Place, Source
from local_agent.diets import LABELS
from local_agent.search import EventHit, EventResults, PlaceResults

COUNTY = "彰化縣"
SAMPLE_MARK = "（範例資料）"
APPROVE, CANCEL, FORGET = "同意記住", "不用了", "忘記"

#: Why a diet is remembered; shown on the card and kept with the consent.
PURPOSE = "之後找店家時，先挑適合您吃的"

_WEEKDAYS = "一二三四五六日"
_CARD_MINUTES = 5
_NAMED_ROWS = 3


@dataclass(frozen=True, slots=True)
class CardText:
    """The words of a card.

    Attributes:
        title: What is asked.
        body: What happens, why, and for how long the card is good.
        confirm: The button that agrees.
        decline: The button that does not.
    """

    title: str
    body: str
    confirm: str
    decline: str

    def as_text(self) -> str:
        """Return the card for a surface without buttons; the choices are named at the end."""
        return f"{self.title}\n{self.body}\n〔{self.confirm}〕〔{self.decline}〕"


#: `show_local_help(reason)`; any other reason gets the text of "other".
HELP: Mapping[str, str] = MappingProxyType(
    {
        "greeting": "您好，我是 LOCAL，幫您找彰化縣的店家和活動。",
        "features": "我可以幫您找彰化縣的店家和活動。",
        "parking": "停車的資料我這裡沒有，請看現場標示或問店家。",
        "bus": "公車和火車的時間我這裡沒有，請查客運或台鐵的公告。",
        "toilet": "廁所的資料我這裡沒有，請問現場的服務人員。",
        "outside_county": "我只有彰化縣的資料，其他縣市幫不上忙。",
        "which_area": "請告訴我是哪個鄉鎮，例如：花壇鄉。",
        "remember_what": "請告訴我要記住哪一種飲食習慣，例如：記住我吃素。",
        "remember_own": "我只能記住您自己的飲食習慣，不記別人的。",
        "other": "這件事我這裡沒有資料。",
    }
)
_HELP_EXAMPLES = (
    "您可以這樣問：\n・花壇有什麼吃的？\n・鹿港週末有什麼活動？\n・記住我吃素\n・我的偏好"
)

#: What the person's press came to; keys are the store's outcomes.
OUTCOMES: Mapping[str, str] = MappingProxyType(
    {
        "saved": "好的，記住了。想看或想忘記，請說「我的偏好」。",
        "forgotten": "已經忘記您的飲食偏好，也檢查過沒有留下。",
        "already_applied": "這張卡片已經處理過了，不用再按。",
        "cancelled": "好的，不記。這張卡片已經取消。",
        "stale": "您的偏好後來改過，這張卡片不能用了。需要的話請再說一次。",
        "expired": "這張卡片超過 5 分鐘，已經失效。需要的話請再說一次。",
        "invalid": "這張卡片不能用，沒有改變任何東西。請再說一次。",
    }
)
FORGOTTEN_ALL = "我記住的全部都忘記了，也檢查過沒有留下。"
FORGET_INCOMPLETE = "偏好已經停用，但檢查時發現還有資料沒清乾淨。我們會再處理。"

_DATE_NOT_UNDERSTOOD = "日期我沒有看懂，先找接下來的活動。"
_TRY_LATER = "請過一下再試。"

#: One sentence for every code a person can meet.
REFUSALS: Mapping[str, str] = MappingProxyType(
    {
        "CURRENT_AND_RULES_EXCEED_INPUT_BUDGET": "這次的內容放不下，我沒有送出，請說短一點。",
        "COUNT_UNAVAILABLE": f"現在量不出這句話的大小，所以沒有送出，{_TRY_LATER}",
        "COUNTER_UNIT_MISMATCH": "系統設定有誤，這次沒有送出，請通知管理人員。",
        "INVALID_COUNTER_RESULT": f"量到的大小不對，所以沒有送出，{_TRY_LATER}",
        "HISTORY_NOT_ALIGNED": "前面的對話接不起來，這次沒有送出，請把話再說完整一次。",
        "LIVE_NOT_SUPPORTED": "目前不能用即時語音，請改用文字。",
        "PREFERENCE_CHANGED": "偏好剛被修改或忘記，這次結果先不套用",
        "CONVERSATION_CHANGED": "剛才同時收到別的訊息，請再說一次。",
        "UNSUPPORTED_PUBLIC_CONTEXT": "這次有我不認得的內容，所以先停下來，請換個說法。",
        "EVIDENCE_INSUFFICIENT": "手上的資料不夠，我不能回答這一題。",
        "ANSWER_NOT_RELEASED": "這個答案沒有通過檢查，所以不給您看，請換個問法。",
        "CONTRACT_MISMATCH": "系統版本對不起來，這次沒有送出，請通知管理人員。",
        "STORE_UNAVAILABLE": f"資料庫現在忙不過來，這次什麼都沒改，{_TRY_LATER}",
        "STORE_KEY_MISSING": "記住的內容現在打不開，這次什麼都沒改，請通知管理人員。",
        "STORE_SCHEMA_TOO_NEW": "資料庫的版本比程式新，這次什麼都沒改，請通知管理人員。",
        "INVALID_STORE_INPUT": "這次的資料不完整，什麼都沒改，請再說一次。",
        "UNSUPPORTED_STORE_URL": "資料庫的設定有誤，這次什麼都沒改，請通知管理人員。",
        "STORE_ERROR": f"資料庫出了點問題，這次什麼都沒改，{_TRY_LATER}",
        "SIGNING_KEY_MISSING": "同意卡現在不能用，這次什麼都沒改，請通知管理人員。",
        "SETTINGS_INVALID": "系統設定有誤，服務沒有啟動，請通知管理人員。",
        "CATALOG_INVALID": "店家和活動的資料讀不出來，請通知管理人員。",
        "UNKNOWN_AREA": "我只認得彰化縣的 26 個鄉鎮市，請換個地名，例如：花壇鄉。",
        "UNKNOWN_DIET": "這種飲食習慣我不認得，請說素食、全素、奶素、蛋奶素、五辛素或素食友善。",
        "UNKNOWN_ACTION": "偏好可以查看、更改或忘記，請說其中一種。",
        "NOT_REMEMBERED": "這裡不能記住偏好，也沒有記住您的任何偏好。",
        "MODEL_FAILED": f"我現在答不出來，這次沒有結果，{_TRY_LATER}",
        "TOOL_FAILED": f"查資料時出了問題，這次沒有結果，{_TRY_LATER}",
        "INTERNAL_ERROR": f"我這邊出了點問題，這次沒有送出，{_TRY_LATER}",
    }
)

#: Messages that are refused before anything else looks at them.
INPUT_ERRORS: Mapping[str, str] = MappingProxyType(
    {
        "INPUT_EMPTY": "我沒有收到文字，請再傳一次。",
        "INPUT_BLANK": "這則訊息只有空白，請打字告訴我想找什麼。",
        "INPUT_TOO_LONG": "訊息太長了，請縮短，或分成幾則，每則 {limit} 個字以內。",
        "INPUT_NOT_TEXT": "我只看得懂文字，請打字告訴我想找什麼。",
    }
)


def places(results: PlaceResults) -> str:
    """Return the text of a search for places."""
    if not results.places:
        return (
            f"目前的資料裡沒有{results.area or COUNTY}符合條件的店家。\n可以換個鄉鎮再問我。\n"
            f"{_data_date(results.sources, results.updated)}"
        )
    lines = [f"{places_heading(results)}："]
    for number, place in enumerate(results.places, start=1):
        lines += _indented(place_lines(number, place))
    lines.append(places_closing(results))
    return "\n".join(lines)


def places_heading(results: PlaceResults) -> str:
    """Return what stands above places."""
    return f"{results.area or COUNTY}找到 {results.total} 家"


def place_lines(number: int, place: Place) -> list[str]:
    """Return the lines of a place, its name first."""
    lines = [f"{number}. {place.name}{SAMPLE_MARK if place.sample else ''}"]
    if place.diets:
        lines.append(f"提供：{'、'.join(LABELS[diet] for diet in place.diets)}")
    lines.append(f"地址：{place.address}")
    if place.phone:
        lines.append(f"電話：{place.phone}")
    return lines


def places_closing(results: PlaceResults) -> str:
    """Return what stands below places: how many are left out, and how old the data is."""
    left_out = results.total - len(results.places)
    more = f"還有 {left_out} 家沒有列出來。加上鄉鎮會更準。\n" if results.cut else ""
    return f"{more}{_data_date(results.sources, results.updated)}"


def events(results: EventResults) -> str:
    """Return the text of a search for events."""
    lines = []
    if not results.events:
        if not results.date_understood:
            lines.append(_DATE_NOT_UNDERSTOOD)
        when = _when(results.first, results.last)
        lines.append(f"目前的資料裡沒有{results.area or COUNTY}{when}的活動。")
        lines.append("可以換個鄉鎮或日子再問我。")
    else:
        lines.append(f"{events_heading(results)}：")
    for number, hit in enumerate(results.events, start=1):
        lines += _indented(event_lines(number, hit))
    lines.append(events_closing(results))
    return "\n".join(lines)


def events_heading(results: EventResults) -> str:
    """Return what stands above events."""
    misread = "" if results.date_understood else f"{_DATE_NOT_UNDERSTOOD}\n"
    when = _when(results.first, results.last)
    return f"{misread}{results.area or COUNTY}{when}找到 {results.total} 個活動"


def event_lines(number: int, hit: EventHit) -> list[str]:
    """Return the lines of an event, its name first."""
    event = hit.event
    return [
        f"{number}. {event.name}{SAMPLE_MARK if event.sample else ''}",
        f"日期：{_day(hit.day)}{f'，{event.hours}' if event.hours else ''}",
        f"地點：{event.address}",
    ]


def events_closing(results: EventResults) -> str:
    """Return what stands below events: how many are left out, and how old the data is."""
    left_out = results.total - len(results.events)
    more = f"還有 {left_out} 個沒有列出來。加上鄉鎮會更準。\n" if results.cut else ""
    return f"{more}{_data_date(results.sources, results.updated)}"


def show_help(reason: str = "") -> str:
    """Return the help for a reason; one that is not in `HELP` gets the general text."""
    first = HELP.get(reason, HELP["other"])
    return first if reason == "which_area" else f"{first}\n{_HELP_EXAMPLES}"


def preferences(diet: str | None) -> str:
    """Return what LOCAL remembers about the person, for that person's eyes only.

    Args:
        diet: The remembered diet, or None.

    Raises:
        KeyError: The diet is unknown.
    """
    if diet is None:
        return "我沒有記住您的任何偏好。\n想讓我記住，可以說：記住我吃素。"
    return (
        f"您同意我記住：{LABELS[diet]}。\n用途：{PURPOSE}。\n想讓我忘記，請說：忘記我的飲食偏好。"
    )


def propose_card(diet: str) -> CardText:
    """Return the card that asks for consent; nothing is remembered until it is pressed.

    Args:
        diet: What would be remembered.

    Raises:
        KeyError: The diet is unknown.
    """
    return CardText(
        title=f"要我記住您吃「{LABELS[diet]}」嗎？",
        body=(
            f"用途：{PURPOSE}。\n隨時可以說「忘記我的飲食偏好」。\n"
            f"這張卡片 {_CARD_MINUTES} 分鐘內有效，按了才算數。"
        ),
        confirm=APPROVE,
        decline=CANCEL,
    )


def forget_card() -> CardText:
    """Return the card that asks before forgetting."""
    return CardText(
        title="要我忘記您的飲食偏好嗎？",
        body=(f"忘記後，找店家就不再照它挑選。\n這張卡片 {_CARD_MINUTES} 分鐘內有效，按了才算數。"),
        confirm=FORGET,
        decline=CANCEL,
    )


def outcome(name: str) -> str:
    """Return what a press came to; an outcome nobody knows changed nothing and reads as invalid."""
    return OUTCOMES.get(name, OUTCOMES["invalid"])


def forgotten(remaining: int, *, everything: bool = False) -> str:
    """Return the answer after forgetting, from what reading back found.

    Args:
        remaining: How many places still held the value; 0 when it is gone everywhere.
        everything: Whether all there was had to be forgotten, not the diet alone.
    """
    if remaining:
        return FORGET_INCOMPLETE
    return FORGOTTEN_ALL if everything else OUTCOMES["forgotten"]


def refusal(code: str) -> str:
    """Return the sentence for an error code; an unknown code gets the general one."""
    return REFUSALS.get(code, REFUSALS["INTERNAL_ERROR"])


def input_error(code: str, *, limit: int = 1_200) -> str:
    """Return the sentence for a message that is no usable text.

    Args:
        code: One of `INPUT_ERRORS`.
        limit: The most characters a message may have.

    Raises:
        KeyError: The code is unknown.
    """
    return INPUT_ERRORS[code].format(limit=f"{limit:,}")


def after_tool(response: Mapping[str, object]) -> str:
    """Return one short sentence about a tool's response, for a model that must say something.

    It takes codes, numbers and names of rows from the response and no other text.
    """
    code = response.get("error_code")
    if isinstance(code, str):
        return refusal(code)
    rows = next(
        (rows for name in ("places", "events") if isinstance(rows := response.get(name), list)),
        None,
    )
    if rows is None:
        return "結果已經顯示給您了。"
    if not rows:
        return "目前的資料裡沒有符合條件的。"
    names = "、".join(_names(rows))
    total = response.get("total")
    count = total if type(total) is int else len(rows)
    return f"找到 {count} 筆：{names}。" if names else f"找到 {count} 筆。"


def _names(rows: Sequence[object]) -> list[str]:
    names = []
    for row in rows[:_NAMED_ROWS]:
        inner = row.get("event", row) if isinstance(row, Mapping) else None
        name = inner.get("name") if isinstance(inner, Mapping) else None
        if isinstance(name, str):
            names.append(name)
    return names


def _indented(lines: list[str]) -> list[str]:
    return [lines[0], *(f"　{line}" for line in lines[1:])]


def _data_date(sources: Sequence[Source], updated: date) -> str:
    """Say which day the data is from, and which rows are made up."""
    real = [source for source in sources if not source.sample]
    dated = "、".join(f"{_full_day(source.dated)}（{source.title}）" for source in real)
    lines = [f"資料日期：{dated or _full_day(updated)}。"]
    if any(source.sample for source in sources):
        lines.append(f"有{SAMPLE_MARK}的只是示範，不是真的。")
    if real:
        lines.append("出門前請先打電話確認。")
    return "\n".join(lines)


def _full_day(day: date) -> str:
    return f"{day.year}年{day.month}月{day.day}日"


def _day(day: date) -> str:
    return f"{day.month}月{day.day}日（星期{_WEEKDAYS[day.weekday()]}）"


def _when(first: date, last: date | None) -> str:
    if last is None:
        return "接下來"
    return _day(first) if first == last else f"{_day(first)}到{_day(last)}"
