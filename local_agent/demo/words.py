"""All that the demo says, on the terminal and in its report, in Traditional Chinese (Taiwan)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from local_agent.table import aligned

TITLE: Final = "LOCAL 五回合示範：離線規則回答，不連網路，不用金鑰。"

WAYS: Final[Mapping[str, str]] = {
    "raw_history": "全部原文",
    "projected_history": "全部投影",
    "budgeted": "視窗＋帳本",
}
WAYS_ENGLISH: Final[Mapping[str, str]] = {
    "raw_history": "raw history",
    "projected_history": "all projections",
    "budgeted": "window + ledger",
}
WAYS_EXPLAINED: Final[Mapping[str, str]] = {
    "raw_history": (
        "ADK 原本的做法：同一個 session 一直留著，不裝外掛，"
        "模型看得到先前每一句話與每一次工具結果。規則裡沒有「前情」的讀法，因為用不到。"
    ),
    "projected_history": (
        "同一個外掛，但每一回合都留下投影（話題與區域），一回合也不移出；沒有任何原句。"
    ),
    "budgeted": (
        "LOCAL 正式的做法：最近兩回合的投影，更早的收進帳本；放不下就先裁舊的，再不行就拒絕。"
    ),
}

CHECKS: Final[Mapping[str, str]] = {
    "five_turns_each": "三種方式都答完五回合，每回合一個請求、一個工具",
    "same_tools_in_all_ways": "三種方式每回合選的工具與參數都相同",
    "turn_5_searches_places": "第 5 回合選的是找店家",
    "turn_5_town_resolved": "第 5 回合聽懂「剛才那個鄉鎮」是花壇鄉",
    "town_from_the_ledger_alone": "花壇鄉只在帳本裡，兩筆投影裡都沒有",
    "without_a_ledger_unresolved": "沒有帳本的人問同一句，就答不出是哪個鄉鎮（對照）",
    "budgeted_below_projected_below_raw": "第 5 回合：視窗＋帳本 < 全部投影 < 全部原文",
    "history_block_within_450_bytes": "第 5 回合的前情區塊不超過 450 位元組",
    "plugin_counted_what_was_sent": "外掛量到的大小與雜湊，和模型收到的完全一樣",
    "every_request_within_budget": "每個請求都在預算以內",
    "rules_and_tools_byte_identical": "規則與工具宣告每回合逐位元組相同",
    "no_past_sentence_sent": "兩種投影方式的請求裡，沒有任何一句先前的原話",
    "one_byte_budget_refused": "預算 1 位元組時拒絕送出",
    "no_model_call_when_refused": "拒絕時沒有呼叫模型",
    "consent_fills_the_search": "同意後：查詢用 vegetarian，來源是同意的記憶，第 1 版",
    "forgetting_empties_the_search": "忘記後：查詢用 any，沒有來源，第 2 版",
    "old_card_is_stale": "舊卡片再按一次：失效",
    "memory_leaves_no_trace_in_requests": "有記憶與沒記憶時，送給模型的請求逐位元組相同",
    "value_was_there_before": "忘記以前，搜尋找得到加密後的這個值（對照）",
    "value_never_in_the_clear": "資料庫副本裡從來沒有這個值的原文",
    "value_in_no_live_file": "忘記以後，資料庫各檔與記錄檔裡都找不到這個值",
    "value_not_in_copy_after": "忘記以後的資料庫副本裡找不到這個值",
    "no_network": "過程中沒有查過網址，也沒有連線",
}

ORIGINS: Final[Mapping[str, str]] = {
    "consented_memory": "同意的記憶",
    "this_turn": "這一句話",
    "none": "無",
}


def turn(number: int, message: str, sizes: Mapping[str, int]) -> str:
    """Return the progress line of a turn."""
    measured = "、".join(f"{WAYS[way]} {size:,}" for way, size in sizes.items())
    return f"[{number}/5] {message}\n      {measured} 位元組"


def stranger(tool: str) -> str:
    """Return the progress line of the control without a past."""
    return f"[對照] 沒有前情的人問第 5 句：{tool}"


def refused(code: str, calls: int) -> str:
    """Return the progress line of the drill with a budget of one byte."""
    return f"[演練] 預算 1 位元組：{code}，呼叫模型 {calls} 次"


def consented(
    before: Mapping[str, Any], after: Mapping[str, Any], old_card: str, files: int
) -> list[str]:
    """Return the progress lines of the consent drill."""
    return [
        f"[演練] 同意記住後查詢：{_record(before)}",
        f"[演練] 忘記後查詢：{_record(after)}",
        f"[演練] 舊卡片再按一次：{old_card}；還找得到這個值的檔案：{files} 個",
    ]


def _record(record: Mapping[str, Any]) -> str:
    diet = record.get("effective_arguments", {}).get("dietary_type")
    return f"{diet}，{record.get('preference_origin')}，第 {record.get('memory_revision')} 版"


def table(turns: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the table of the five turns, in UTF-8 bytes of the whole request."""
    head = ("回合", "使用者", *WAYS.values(), "工具", "區域")
    rows = [
        (
            str(row["turn"]),
            row["user"],
            *(f"{row[way]:,}" for way in WAYS),
            row["tool"] or "",
            (row["effective_arguments"] or {}).get("area") or "－",
        )
        for row in turns
    ]
    sums = [f"{sum(row[way] for row in turns):,}" for way in WAYS]
    lines = aligned([head, *rows, ("", "合計", *sums, "", "")], numbers=(2, 3, 4))
    return ["", "整個請求的 UTF-8 位元組：", *lines, ""]


def block(size: int) -> str:
    """Return the line on what the history block costs."""
    return f"第 5 回合的前情區塊：{size:,} 位元組"


def broken(name: str) -> str:
    """Return the line of a check that did not hold."""
    return f"未通過：{CHECKS.get(name, name)} ({name})"


def verdict(count: int, *, passed: bool) -> str:
    """Return the last line but one."""
    return f"{count} 項檢查全部通過。" if passed else f"{count} 項檢查沒有全部通過。"


def where(out: Path) -> str:
    """Return where to look."""
    return f"報告：{out / 'report.html'}（數字在 report.json，請求在 requests/）"
