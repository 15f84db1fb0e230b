"""The history of a help desk that the tests of the minimized history are about."""

from callbacks.context.history_message import HistoryMessage
from tests.unit.context.histories import SECRET

DEVICE = "裝置是測試用 Windows 11 筆電"


NEWEST = "現在 VPN 又出現 E401，只要排障步驟，不要開工單"


def said(name: str, text: str, **known) -> HistoryMessage:
    return HistoryMessage(
        **({"id": name, "role": "user", "text": text, "sensitivity": "internal"} | known)
    )


HELPDESK = (
    said("message-01", "我用的是測試用的 Windows 11 筆電，剛領到", safe_summary=DEVICE),
    said("message-02", "會議室 Wi-Fi 連不上，改連另一個 SSID 就好了", status="resolved"),
    said("message-03", "VPN 曾出現 E401，重新登入後暫時恢復"),
    said("message-04", f"VPN E401 備用碼是 {SECRET}", sensitivity="secret", safe_summary=SECRET),
    said("message-05", "印表機卡紙，已經排除", status="resolved"),
    said("message-06", NEWEST),
)


def ids(prepared) -> list[str]:
    return [block.block_id for block in prepared.blocks]


def rows(prepared) -> list[tuple[str, str, str]]:
    return [(row.kind, row.name, row.outcome) for row in prepared.trace]
