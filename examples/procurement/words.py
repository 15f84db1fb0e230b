"""What the page of the example says, in Traditional Chinese."""

from __future__ import annotations

from typing import Final

TITLE: Final = "86 萬元的電視：逐項舉證的回答"
SUBTITLE: Final = "一個問題、四項主張、最小但充分的證據；模型只填表，句子由應用程式寫。"
OFFLINE: Final = (
    "回答的是離線規則（{model}），不是語言模型；酒店、制度與金額都是教學用的虛構資料。"
    "大小是 token 的上限（每個 UTF-8 位元組最多一個 token），沒有呼叫計數服務。"
)
PASSED: Final = "全部通過"
FAILED: Final = "沒有全部通過"
CHECKS: Final = "{held} / {all} 項檢查"

QUESTION: Final = "問題"
ANSWER: Final = "放行的回答"
CLAIMS: Final = "主張與證據"
UNKNOWNS: Final = "還不知道的事"
UNKNOWNS_NOTE: Final = "沒有找到不等於沒有；這四項由採購負責人認定之前，回答一直附條件。"
EXCLUDED: Final = "沒有採用的資料，以及原因"
CHANNELS: Final = "九個通道用了多少"
CHANNELS_NOTE: Final = (
    "上限寫在任務合約裡，加起來就是輸入預算 {limit:,}；證據包 {packet:,}，整個請求 {input:,}。"
)
EXPIRY: Final = "10:20，餘額過期之後"
EXPIRY_NOTE: Final = "模型想到 10:20 才回答，10:14:03 的餘額只能用到 10:19：不是更新，就是不顯示。"
AMOUNT: Final = "金額改成 92 萬之後"
AMOUNT_NOTE: Final = "只重做依賴金額的主張：重做 {rebuilt}；保留 {kept}，酒店主檔沒有再問一次。"
MAIL: Final = "附件裡的命令"
MAIL_NOTE: Final = "一封舊郵件要求改帳號、外傳附件。照做的模型提出這些呼叫，執行前全部擋下並記錄。"
WRONG: Final = "「超過」寫成「以上」"
WRONG_NOTE: Final = "模型兩次把「超過 50 萬」填成「50 萬以上」：不放行，交給採購負責人。看到的是："
DEGRADED: Final = "某個系統不能用的時候"
ALL_CHECKS: Final = "檢查"

OUTCOMES: Final = {
    "supported": "有依據",
    "conditional": "附條件",
    "conflict": "依據衝突",
    "unknown": "不知道",
    "unavailable": "暫時無法取得",
}
KINDS: Final = {
    "applicability": "酒店適用性",
    "approval_threshold": "審批門檻",
    "sourcing": "採購方式",
    "available_budget": "可用預算",
}
ROLES: Final = {"evidence": "證據", "condition": "條件", "counter": "反證"}
UNKNOWN_NAMES: Final = {
    "aggregation": "是否與同項目合併",
    "classification": "交易分類",
    "emergency": "是否緊急",
    "framework": "是否框架合約",
}
REASONS: Final = {
    "superseded": "已被新制度取代",
    "untrusted": "來源不可信，不能當依據",
    "not_available_to_you": "提問者無權查看；連標題也不出現",
    "only_untrusted_origin": "參數只出現在不可信的文字裡",
    "no_trusted_origin": "參數沒有可信的來源",
    "tool_not_in_contract": "任務合約沒有允許這個工具",
}
CHANNEL_NAMES: Final = {
    "contract": "任務合約",
    "task": "任務與身分",
    "plan": "主張計畫",
    "policy": "制度",
    "case": "案件資料",
    "tools": "工具結果",
    "conditions": "定義與例外",
    "history": "歷史決定",
    "output": "輸出格式",
}
DEGRADED_NAMES: Final = {
    "ledger_down": "財務系統不能用",
    "history_down": "決策紀錄不能用，本題不需要",
    "other_contract": "任務合約不是核准的版本",
    "budget_too_small": "預算放不下必要的證據",
}
CHECK_NAMES: Final = {True: "通過", False: "沒有通過"}
UNTIL: Final = "可用到 {time}"
AS_OF: Final = "截至 {time}"
REFRESHED: Final = "財務系統有回應"
REMOVED: Final = "財務系統沒有回應"
COLUMN_ID: Final = "編號"
COLUMN_REASON: Final = "原因"
COLUMN_TOOL: Final = "工具"
COLUMN_ARGUMENT: Final = "參數"
COLUMN_CASE: Final = "情形"
COLUMN_RESULT: Final = "結果"
COLUMN_CALLS: Final = "呼叫模型"
WHOLE_TOOL: Final = "（整個工具）"
RECORD: Final = "紀錄 {generation}：換一個行程、不碰任何來源，從紀錄重建的證據包{equal}。"
EQUAL: Final = "逐位元組相同"
DIFFERENT: Final = "不相同"
