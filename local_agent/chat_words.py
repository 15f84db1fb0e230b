"""What the conversation in a terminal says by itself, in Traditional Chinese (Taiwan)."""

from __future__ import annotations

PROMPT = "您："
CARD_PROMPT = "按 y 同意、n 不要，或直接說別的："
GOODBYE = "再見。"
NO_CARD = "現在沒有要您決定的卡片。要記住飲食習慣，請說：記住我吃素。"

YES = frozenset({"y", "yes", "ｙ", "同意", "同意記住", "好", "好的", "是", "可以", "確定"})
NO = frozenset({"n", "no", "ｎ", "不用", "不用了", "不要"})
FAREWELLS = frozenset({"再見", "掰掰", "拜拜", "離開", "exit", "quit", "bye"})


def greeting(model: str | None, *, offline: bool) -> str:
    """Return the first lines.

    Args:
        model: The name of the model that was asked for; None where the offline rules were.
        offline: Whether the offline rules answer, which they do for want of a key, too.
    """
    who = (
        "回答的是離線規則，不是語言模型；沒有東西會離開這台電腦。"
        if offline
        else f"回答的是 {model}；您說的話會送去給它。"
    )
    if offline and model is not None:
        who = f"LOCAL_MODEL 設了 {model}，但沒有設 GOOGLE_API_KEY，所以用不到它。\n{who}"
    return (
        "LOCAL，彰化縣的生活小幫手。\n"
        f"{who}\n"
        "可以問：花壇有什麼吃的？／鹿港週末有什麼活動？／記住我吃素／我的偏好\n"
        "結束請說「再見」，或按 Ctrl-D。\n"
    )
