"""All that the console says, in Traditional Chinese (Taiwan): plain words, few of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

TITLE: Final = "LOCAL 操作台"
LEAD: Final = "左邊像手機一樣跟 LOCAL 說話，右邊看模型到底看見什麼、什麼留在後端。"
OFFLINE: Final = (
    "回答的是離線規則，不是語言模型；沒有連到 LINE，也沒有連外。"
    "這裡跑的是正式的 webhook 入口、收件匣與 worker，對面是內建的 LINE 替身。"
)
SKIP: Final = "跳到輸入框"
NO_SCRIPT: Final = "這一頁要開啟 JavaScript 才能用；程式全部來自這台電腦。"

PHONE: Final = "聊天"
NAME: Final = "LOCAL 生活小幫手"
CHAT_LOG: Final = "對話紀錄"
MESSAGE: Final = "輸入訊息"
SEND: Final = "送出"
QUICK: Final = "快速回覆"
CARD: Final = "卡片"
YOU: Final = "您"
THEM: Final = "LOCAL"
EMPTY_CHAT: Final = "還沒有訊息。試試下面的句子，或自己打字。"
PRESSED: Final = "（按了按鈕）"

STARTERS: Final = (
    "花壇有什麼吃的？",
    "這週末有什麼活動？",
    "你可以幫我做什麼？",
    "那有素食的店嗎？",
    "剛才那個鄉鎮還有別的店嗎？",
)
"""Five turns of which the last can only be understood through the ledger."""

STARTERS_TITLE: Final = "五句話"

DRILLS: Final = "試試看"
CARD_MESSAGE: Final = "記住我吃素"
FORGET_MESSAGE: Final = "忘記我的飲食偏好"
BUTTONS: Final[Mapping[str, tuple[str, str]]] = {
    "card": (
        "同意卡",
        "說「記住我吃素」，會得到一張同意卡；按了才算數。偏好一變，先前聊到的鄉鎮就不再沿用，要再說一次。",
    ),
    "forget": ("忘記", "說「忘記我的飲食偏好」，忘了才說忘了。"),
    "tight": ("緊縮預算", "預算比上一個請求少 1 位元組：放不下的先收進帳本。"),
    "tiny": ("極小預算", "預算只有 1 位元組：連規則都放不下，拒絕送出。"),
    "counter": ("計數器故障", "量不出大小，就不送出。"),
    "redeliver": ("重送這一則", "LINE 把選到的這一則事件再送一次：不會有第二個回答。"),
    "restart": ("重新啟動 worker", "停掉 worker 再開新的：收件匣裡的一則都不會少。"),
    "pause": ("暫停 worker", "先停著：訊息在收件匣裡等，再按一次就繼續。"),
}
"""Name -> what the button says, and what it does."""
TOGGLES: Final = frozenset({"tight", "tiny", "counter", "pause"})
"""Buttons that stay pressed until they are pressed again."""

STATUS: Final = "現況"
SWITCHES: Final[Mapping[str, str]] = {
    "budget": "預算",
    "counter": "計數器",
    "worker": "worker",
    "revision": "偏好版本（revision）",
    "remembered": "記住的偏好",
    "inbox": "收件匣",
}
COUNTER_UP: Final = "正常"
COUNTER_DOWN: Final = "故障"
WORKER_ON: Final = "執行中"
WORKER_OFF: Final = "停著"
NOTHING_REMEMBERED: Final = "沒有"
NOTHING_WAITING: Final = "沒有在等的"

SEEN: Final = "模型看見什麼"
REQUEST: Final = "請求"
EXACT_TITLE: Final = "送給模型的原文"
PRIVATE: Final = "結果的內容"
TURN: Final = "第 {number} 回"
CHOOSE: Final = "選一個回合"
NO_TURN: Final = "還沒有回合。左邊說一句話，這裡就會出現模型看見的五層。"

UNIT: Final[Mapping[str, str]] = {"utf8_bytes": "位元組", "tokens": "token"}
BUDGET: Final = "預算"
BLOCKS: Final = "每一塊的去留"
EXACT: Final = "看送出的原文"
NO_EXACT: Final = "拒絕了，所以沒有送出任何請求；沒有原文可以看。"
CLOSE: Final = "關閉"
DOWNLOAD: Final = "原始位元組"
ARRANGED: Final = "排整齊（只為了好讀；雜湊算的是原文）"

LAYERS: Final[Mapping[str, tuple[str, str]]] = {
    "rules": ("規則", "每回合逐位元組相同，不會裁掉：指示與工具宣告。"),
    "newest": ("最新事件", "這一回合自己的內容，原封不動，也不會裁掉。"),
    "window": ("視窗（window）", "最近兩回合的投影：話題與欄位，沒有原句。"),
    "ledger": ("帳本（ledger）", "更早的回合只留下最後的目標與各欄位最新的值。"),
    "backend": ("留在後端", "模型看不到的：版本、真正執行的參數、它從哪裡來。"),
}
NOTHING_IN: Final[Mapping[str, str]] = {
    "window": "沒有。",
    "ledger": "沒有。",
    "newest": "沒有送出。",
    "rules": "沒有送出。",
}
INSTRUCTION: Final = "指示"
TOOLS: Final = "工具宣告"
ROLES: Final[Mapping[str, str]] = {"user": "使用者", "model": "模型", "tool": "工具結果"}

DECISIONS: Final[Mapping[str, tuple[str, str]]] = {
    "proven": ("證明放得下", "沒有問計數服務：上限本身就放得下。"),
    "counted": ("量過", "整個請求量過，放得下。"),
    "refused": ("拒絕", "放不下或量不出來，所以沒有送出。"),
}
UNKNOWN: Final = "未知"
NOT_SENT: Final = "沒有送出"
NOTHING: Final = "－"
AT_MOST: Final = "最多 {bound}"

ACTIONS: Final[Mapping[str, str]] = {
    "kept": "保留",
    "dropped": "拿掉",
    "summarized": "收進帳本",
    "refused": "拒絕",
}
REASONS: Final[Mapping[str, str]] = {
    "within_budget": "在預算以內",
    "over_budget": "放不下",
    "over_max_turns": "超過視窗的回合數",
    "nothing_to_summarize": "沒有東西要留",
    "count_unavailable": "量不出大小",
    "counter_unit_mismatch": "單位不同",
    "invalid_counter_result": "量出的數不能用",
    "current_and_rules_exceed_input_budget": "連規則和最新訊息都放不下",
}
PIECES: Final[Mapping[str, str]] = {
    "ledger": "帳本",
    "list": "清單",
    "request": "整個請求",
    "turn": "視窗第 {number} 筆",
}
BLOCK_HEADS: Final = ("哪一塊", "去留", "為什麼")
NO_BLOCKS: Final = "這個請求沒有前情，沒有東西要取捨。"

ORIGINS: Final[Mapping[str, str]] = {
    "consented_memory": "同意的記憶",
    "this_turn": "這一句話",
    "none": "無",
}
PROPOSED: Final = "模型的提議"
CALL_HEADS: Final = ("參數", "模型提議", "真正執行", "來自")
PROPOSED_NOTHING: Final = "（空著）"
FORGOTTEN: Final = "（已忘記，這裡也拿掉了）"
FACTS: Final[Mapping[str, str]] = {
    "revision": "這一回合用的偏好版本（revision）",
    "revisions": "偏好版本，之前 → 之後",
    "journal": "視窗已記下（journal）",
    "deliveries": "webhook 收到幾次",
    "answers": "回答了幾次",
    "private": "只給本人看的結果",
    "measured": "模型量到的 token",
}
YES: Final = "是"
NO: Final = "沒有"
STATELESS: Final = "無"
WITHOUT_MODEL: Final = "這一則不經過模型：由固定的規則處理，所以沒有請求、沒有大小。"
WAITING: Final = "在收件匣裡等。"

KINDS: Final[Mapping[str, str]] = {
    "message": "文字訊息",
    "postback": "按鈕（postback）",
    "follow": "加好友",
}
STATES: Final[Mapping[str, str]] = {
    "waiting": "等待中",
    "answered": "已回答",
    "refused": "已拒絕",
}
INBOX_STATES: Final[Mapping[str, str]] = {
    "waiting": "等待",
    "ready": "答好待送",
    "sending": "送出中",
    "held": "保留待送",
    "dead": "處理不了",
    "sent": "已送出",
    "silent": "不用回",
    "unknown": "不確定有沒有送到",
    "refused": "被退回",
}

PLOT: Final = "每回合送出多少"
SERIES: Final[Mapping[str, str]] = {"raw_history": "全部原文", "budgeted": "視窗＋帳本"}
PLOT_EXPLAINED: Final = (
    "同一段對話走兩次真正的 ADK Runner：一次把先前每一句話和工具結果都留著，一次只留視窗與帳本。"
    "單位是整個請求的 UTF-8 位元組，不是 token。拒絕的回合沒有送出，所以沒有點。"
)
PLOT_EMPTY: Final = "說了話就有圖。"
PLOT_TABLE: Final = "圖裡的數字"

REDELIVERED: Final = "已經把同一則事件再送一次：webhook 收到 {deliveries} 次，回答 {answers} 次。"
RESTARTED: Final = "worker 已經重新啟動。"
PAUSED: Final = "worker 停了；新訊息會在收件匣裡等。"
RESUMED: Final = "worker 又開始了。"
BUDGET_NOW: Final = "預算現在是 {limit} 位元組，worker 已經用新的預算重新啟動。"
COUNTER_BROKEN: Final = "計數器故障了；請說一句新的話。"
COUNTER_MENDED: Final = "計數器修好了。"
TURN_HEAD: Final = "回合"
FAILED: Final = "操作台沒有回應，請看執行它的終端機。"
REFUSED_BY_GATEWAY: Final = "webhook 入口沒有收下：HTTP {status}。"


def listening(address: str) -> str:
    """Return the line that tells where the console is."""
    return f"操作台在 {address}　（按 Ctrl-C 結束，資料會一起刪掉）"


def exposed(host: str) -> str:
    """Return the warning for a console that other machines can reach."""
    return (
        f"注意：綁在 {host}，同一個網路裡的別人也打得開，"
        "而且看得到這裡的每一句話。只想自己用，請不要加 --host。"
    )


GOODBYE: Final = "結束了，暫存的資料已經刪掉。"
