"""report.html: one file that opens anywhere, drawn from report.json alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --ok: #1a7f4b; --bad: #c0392b; }
body { font: 16px/1.7 system-ui, "Noto Sans TC", "Noto Sans CJK TC", sans-serif; margin: 0; }
main { max-width: 60rem; margin: auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.5rem; line-height: 1.3; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; width: 100%; } .wide { overflow-x: auto; }
th, td { border-bottom: 1px solid var(--line); padding: .4rem .6rem; text-align: left;
  vertical-align: top; }
th, td:first-child { white-space: nowrap; }
pre { border: 1px solid var(--line); border-radius: .4rem; padding: .8rem; white-space: pre-wrap;
  overflow-wrap: anywhere; }
.ok { color: var(--ok); } .bad { color: var(--bad); font-weight: bold; }
"""
_OUTCOMES = {
    "secret": "機密，先移除",
    "relevance": "相關，保留原文",
    "recency": "最新要求，保留原文",
    "safe_summary": "穩定事實，收進摘要",
    "resolved": "已結案且無關，省略",
    "irrelevant": "無關，省略",
    "repeated": "重複，省略",
    "over_max_blocks": "區塊數已滿",
    "summary": "摘要",
}


def page(report: Mapping[str, Any]) -> str:
    """Return the page of a report."""
    held = sum(check["ok"] for check in report["checks"])
    verdict = "全部通過" if report["passed"] else "沒有全部通過"
    sizes = report["content_bytes"]
    agent = report["agent"]
    size = "、".join(map(str, agent["units"]))
    lead = (
        f'<p class="{"ok" if report["passed"] else "bad"}">{verdict}：'
        f"{held} / {len(report['checks'])} 項檢查</p>\n"
        f"<p>回答的是離線規則（<code>{escape(report['model'])}</code>），不是語言模型。"
        f"六則原文共 {sizes['all_messages']} 位元組，三塊共 {sizes['blocks']} 位元組"
        "（UTF-8，不是 token；token 數沒有量，所以是未知）。</p>"
    )
    body = "\n".join(
        (
            "<h1>六則對話，模型只看三塊</h1>",
            lead,
            "<h2>原本的歷史</h2>",
            _table(("編號", "內容", "狀態", "結果"), _history(report)),
            "<h2>模型看得到的區塊</h2>",
            _table(
                ("區塊", "理由", "內容"),
                [(b["block_id"], b["reason"], b["content"]) for b in report["blocks"]],
            ),
            "<h2>Trace</h2>",
            _table(
                ("種類", "規則", "結果", "說明"),
                [(r["kind"], r["name"], r["outcome"], r["detail"]) for r in report["trace"]],
            ),
            "<h2>經過 ADK agent 送出的歷史區塊</h2>",
            f"<pre>{escape(agent['block_text'])}</pre>",
            f"<p>整個請求 {size} / {agent['limit']} 位元組。回答：</p>",
            f"<pre>{escape(agent['answer'])}</pre>",
            "<p>同一句話，沒有歷史：</p>",
            f"<pre>{escape(report['without_history']['answer'])}</pre>",
            "<h2>預算愈來愈小</h2>",
            _table(("上限", "大小", "較早的區塊", "呼叫模型", "代碼"), _budgets(report)),
            "<h2>檢查</h2>",
            _table(
                ("", "名稱"),
                [("通過" if c["ok"] else "失敗", c["name"]) for c in report["checks"]],
            ),
        )
    )
    return (
        '<!doctype html>\n<html lang="zh-Hant-TW">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>Day 12：歷史精簡</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _history(report: Mapping[str, Any]) -> list[tuple[str, ...]]:
    decisions = [one for one in report["decisions"] if one["id"] != "history-summary"]
    return [
        (
            message["id"],
            message["text"] or "（機密，不顯示）",
            "已結案" if message["status"] == "resolved" else "未結",
            _OUTCOMES.get(decision["reason"], decision["reason"]),
        )
        for message, decision in zip(report["history"], decisions, strict=True)
    ]


def _budgets(report: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [
        (
            str(step["limit"]),
            "未知" if step["units"] is None else str(step["units"]),
            "、".join(step["older_blocks"]) or "無",
            str(step["model_calls"]),
            step["error_code"] or "",
        )
        for step in report["budgets"]
    ]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    first = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    rest = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n" for row in rows
    )
    return f'<div class="wide"><table>\n<tr>{first}</tr>\n{rest}</table></div>'
