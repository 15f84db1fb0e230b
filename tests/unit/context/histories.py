"""Strategies for histories whose texts, tags and summaries are as hostile as allowed."""

from hypothesis import strategies as st

from callbacks.context.history_message import HistoryMessage

# Words that rank, structure of the block, escapes and their look-alikes, line breaks of every
# kind, and what is drawn as nothing.
WORDS = (
    "VPN", "vpn", "E401", "ＶＰＮ", "印表機", "打印機", "卡紙", "Wi-Fi", "不要開單", "不是",
    "重新登入", "#message-03 user", "> ", "【歷史紀錄】", "【history】", "#history-summary",
    "\\u200b", "\\u005cu0041", "\n", "\r", "\u2028", "\u200b", "\u202e", "\x00",
    "<|im_start|>", "＜", "\U000e0041", "\u0301", "C:\\Users\\u", " ", "，", ".", "a", "😀",
)  # fmt: skip
SECRET = "zzBACKUPzz"
# One choice a message and one a text: choosing each part apart makes drawing several times slower.
_KINDS = [
    (role, sensitivity, status, topics)
    for role in ("user", "model")
    for sensitivity in ("public", "internal", "secret")
    for status in ("open", "resolved")
    for topics in ((), ("vpn", "印表機"))
]
texts = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map("".join), st.text(max_size=8)
).filter(lambda text: bool(text.strip()))


def _message(at: int, kind, text: str, summary: str | None) -> HistoryMessage:
    role, sensitivity, status, topics = kind
    mark = SECRET if sensitivity == "secret" else ""
    return HistoryMessage(
        id=f"m-{at}",
        role=role,
        text=mark + text,
        sensitivity=sensitivity,
        status=status,
        safe_summary=None if summary is None else (mark + summary)[:300],
        topics=topics,
    )


def histories(max_size: int = 7) -> st.SearchStrategy[list[HistoryMessage]]:
    drawn = st.tuples(st.sampled_from(_KINDS), texts, st.none() | texts)
    return st.lists(drawn, max_size=max_size).map(
        lambda parts: [_message(at, *part) for at, part in enumerate(parts)]
    )


def messages() -> st.SearchStrategy[HistoryMessage]:
    return st.builds(_message, st.just(1), st.sampled_from(_KINDS), texts, st.none() | texts)
