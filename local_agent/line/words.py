"""What LOCAL says on LINE besides its answers, in Traditional Chinese (Taiwan).

Short sentences and plain words: many readers are old and read on a telephone. A label of a quick
reply has at most 20 characters, one of a button 40 (LINE).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from local_agent.templates import COUNTY

WELCOME = (
    "您好，我是 LOCAL，幫您找彰化縣的店家和活動。\n"
    "直接打字問我就可以，例如：花壇有什麼吃的？\n"
    "您的飲食偏好，要您按了「同意記住」我才會記。"
)
JOINED = "大家好，我是 LOCAL，幫大家找彰化縣的店家和活動。\n要問我的時候，請先 @ 我，再打問題。"

#: Kinds of messages that are no text, each with what is said to it.
NOT_TEXT: Mapping[str, str] = MappingProxyType(
    {
        "sticker": "謝謝您的貼圖。想找店家或活動，請打字告訴我。",
        "location": "我看不懂地圖位置。是哪個鄉鎮呢？請按一個。",
        "image": "我看不懂照片，也沒有留下它。請打字告訴我想找什麼。",
        "video": "我看不懂影片，也沒有留下它。請打字告訴我想找什麼。",
        "audio": "我聽不懂語音，也沒有留下它。請打字告訴我想找什麼。",
        "file": "我打不開檔案，也沒有留下它。請打字告訴我想找什麼。",
    }
)

PRIVATE_ONLY = "偏好是您自己的事，這裡大家都看得到。請到和我一對一的聊天室再說。"
NOBODY = "LINE 沒有告訴我您是誰，所以不能記住或查看偏好。請到和我一對一的聊天室再說。"
DAILY_LIMIT = (
    "今天問的次數已經用完了，明天再來找我。\n「我的偏好」「忘記我的飲食偏好」「功能」還是可以用。"
)
BAD_BUTTON = "這個按鈕不能用，沒有改變任何東西。請打字告訴我想做什麼。"
HELD = "這是剛才沒能送到的回答："
HELD_PERSONAL = "剛才的回答沒能送到，裡面有您的資料，所以沒有留著。請再問一次。"
CUT = "（後面太長，沒有全部列出來。請加上鄉鎮再問一次。）"

CALL = "打電話"
ASK_AREA = "是哪個鄉鎮呢？請按一個。"
WHOLE_COUNTY = f"全{COUNTY}"

#: What may be pressed under a help text: the label, which is what is asked as well.
EXAMPLES: tuple[str, ...] = ("花壇有什麼吃的？", "鹿港週末有什麼活動？", "記住我吃素")
INSPECT = "我的偏好"
FORGET_DIET = "忘記我的飲食偏好"


def summary(title: str, names: list[str]) -> str:
    """Return what stands for a laid-out list where it cannot be shown, and is read aloud."""
    return f"{title}：{'、'.join(names)}。" if names else f"{title}。"


def ask_about(town: str, *, events: bool) -> str:
    """Return the question that a town's button asks.

    Args:
        town: Official name; empty for the whole county.
        events: Whether it was about events; about places otherwise.
    """
    where = town or WHOLE_COUNTY
    return f"{where}有什麼活動？" if events else f"{where}有什麼吃的？"
