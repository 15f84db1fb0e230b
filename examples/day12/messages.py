"""Six helpdesk messages, made up for this example, and what the helpdesk knows about each."""

from __future__ import annotations

from typing import Final

from callbacks.context.history_message import HistoryMessage
from callbacks.context.query import Synonyms

SECRET: Final = "7431-0958"  # noqa: S105 - opens nothing; it is what must not be found
"""Stands in a message marked secret and nowhere else, so that finding it anywhere is a failure."""

NEWEST_ID: Final = "message-06"
NEWEST: Final = "現在 VPN 又出現 E401，請只給我排障步驟，不要開工單。"
QUERY_TERMS: Final = ("VPN", "E401")

EARLIER: Final = (
    HistoryMessage(
        "message-01",
        "user",
        "先說明一下，我手上這台是部門借的測試用筆電，系統是 Windows 11，用到月底。",
        "internal",
        safe_summary="裝置是測試用 Windows 11 筆電",
    ),
    HistoryMessage(
        "message-02",
        "user",
        "三樓會議室的 Wi-Fi 早上連不上，忘記網路再重連之後就正常了，可以結案。",
        "internal",
        status="resolved",
        topics=("wifi",),
    ),
    HistoryMessage(
        "message-03",
        "user",
        "連 VPN 時出現 E401，登出再重新登入之後暫時恢復。",
        "internal",
        topics=("vpn",),
    ),
    HistoryMessage(
        "message-04",
        "user",
        f"怕之後登不進 VPN，我把備用碼先貼在這裡：{SECRET}",
        "secret",
        topics=("vpn",),
    ),
    HistoryMessage(
        "message-05",
        "user",
        "二樓的印表機卡紙，把紙匣抽出來清過就好了，已結案。",
        "internal",
        status="resolved",
        topics=("printer",),
    ),
)
"""The five messages before the newest one, oldest first."""

SYNONYMS: Final = Synonyms(
    [
        ("VPN", "虛擬私人網路"),
        ("印表機", "打印機", "printer"),
        ("Wi-Fi", "無線網路"),
        ("工單", "開單", "ticket"),
    ]
)
"""The table that whoever runs the helpdesk owns."""


def with_newest(text: str = NEWEST) -> tuple[HistoryMessage, ...]:
    """Return the history with a newest message."""
    return (*EARLIER, HistoryMessage(NEWEST_ID, "user", text, "internal"))
