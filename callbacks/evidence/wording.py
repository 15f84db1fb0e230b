"""The words in which an answer is rendered, in both languages."""

from typing import Final

from callbacks.evidence.contract import Outcome
from callbacks.evidence.item import Comparator

COMPARISONS: Final[dict[str, dict[Comparator, str]]] = {
    "zh-Hant": {
        Comparator.EQ: "{value}",
        Comparator.GT: "超過 {value}（不含）",
        Comparator.GE: "{value} 以上（含）",
        Comparator.LT: "低於 {value}（不含）",
        Comparator.LE: "{value} 以下（含）",
    },
    "en": {
        Comparator.EQ: "{value}",
        Comparator.GT: "more than {value}",
        Comparator.GE: "{value} or more",
        Comparator.LT: "less than {value}",
        Comparator.LE: "{value} or less",
    },
}

HEADLINES: Final[dict[str, dict[Outcome, str]]] = {
    "zh-Hant": {
        Outcome.SUPPORTED: "以下說明均有依據，僅供參考；不構成核准，也不執行任何動作。",
        Outcome.CONDITIONAL: (
            "以下是附條件的說明，待確認事項未定前不能當成結論；不構成核准，也不執行任何動作。"
        ),
        Outcome.CONFLICT: "現行依據彼此衝突，尚無結論；不構成核准，也不執行任何動作。",
        Outcome.UNKNOWN: "目前資料不足以回答；不構成核准，也不執行任何動作。",
        Outcome.UNAVAILABLE: "資料來源暫時無法使用，目前無法回答；不構成核准，也不執行任何動作。",
    },
    "en": {
        Outcome.SUPPORTED: (
            "What follows has its evidence and is "
            "information; it approves nothing and does nothing."
        ),
        Outcome.CONDITIONAL: (
            "What follows holds under conditions that are "
            "not settled; it approves nothing and does nothing."
        ),
        Outcome.CONFLICT: (
            "The rules in force contradict each other, so there is "
            "no conclusion; this approves nothing and does nothing."
        ),
        Outcome.UNKNOWN: (
            "The information at hand does not answer this; it approves nothing and does nothing."
        ),
        Outcome.UNAVAILABLE: (
            "A source is not available now, so this cannot be "
            "answered; it approves nothing and does nothing."
        ),
    },
}

OUTCOMES: Final[dict[str, dict[Outcome, str]]] = {
    "zh-Hant": {
        Outcome.SUPPORTED: "",
        Outcome.CONDITIONAL: "（附條件）",
        Outcome.CONFLICT: "依據衝突：",
        Outcome.UNKNOWN: "目前查無可用依據。",
        Outcome.UNAVAILABLE: "資料已過期或暫時無法取得，不顯示數值；請更新後再問。",
    },
    "en": {
        Outcome.SUPPORTED: "",
        Outcome.CONDITIONAL: "(under conditions) ",
        Outcome.CONFLICT: "the evidence contradicts itself: ",
        Outcome.UNKNOWN: "no usable evidence was found.",
        Outcome.UNAVAILABLE: (
            "the value has expired or cannot be had now "
            "and is not shown; ask again after a refresh."
        ),
    },
}

APPLIES: Final[dict[str, dict[str, str]]] = {
    "zh-Hant": {
        "yes": "本案 {value}：符合",
        "no": "本案 {value}：不符合",
        "open": "本案 {value}：無法判定",
    },
    "en": {
        "yes": "this case, {value}: it applies",
        "no": "this case, {value}: it does not apply",
        "open": "this case, {value}: not decided",
    },
}

PHRASES: Final[dict[str, dict[str, str]]] = {
    "zh-Hant": {
        "as_of": "截至 {time}",
        "exceptions": "例外：{names}",
        "citations": "依據：{names}",
        "denied": "並非如此：{sentence}",
        "fact": "{subject}：{predicate} {comparison}",
        "unknown": "待確認：{name}（由{owner}確認{supplies}）",
        "retry": "；{time} 後可再試",
        "conflict": "衝突 {id}：{sides}，由{owner}裁決",
        "due": "，期限 {time}",
        "notice": "{source}目前無法取得；本題不需要它。",
        "unstated": "未提供",
        "list": "、",
        "open": "（",
        "between": "；",
        "close": "）",
        "stop": "。",
    },
    "en": {
        "as_of": "as of {time}",
        "exceptions": "except: {names}",
        "citations": "source: {names}",
        "denied": "It is not so that: {sentence}",
        "fact": "{subject}: {predicate} {comparison}",
        "unknown": "To be confirmed: {name} ({owner} confirms {supplies})",
        "retry": "; ask again after {time}",
        "conflict": "Conflict {id}: {sides}; {owner} decides",
        "due": " by {time}",
        "notice": "{source} could not be reached; this question does not need it.",
        "unstated": "not stated",
        "list": ", ",
        "open": " (",
        "between": "; ",
        "close": ")",
        "stop": ".",
    },
}
