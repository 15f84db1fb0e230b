"""report.html: one file that opens anywhere, drawn from report.json alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from local_agent.demo import words
from local_agent.demo.plots import line_plot
from local_agent.demo.words import ORIGINS, WAYS, WAYS_ENGLISH, WAYS_EXPLAINED


def page(report: Mapping[str, Any]) -> str:
    """Return the page of a report."""
    style = files("local_agent.demo").joinpath("page.css").read_text(encoding="utf-8")
    body = "\n".join(
        (
            _head(report),
            _figures(report),
            _plots(report),
            _turns(report),
            _block(report),
            _ways(report),
            _drills(report),
            _checks(report),
            _footer(report),
        )
    )
    return (
        '<!doctype html>\n<html lang="zh-Hant-TW">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>LOCAL 五回合報告</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _head(report: Mapping[str, Any]) -> str:
    checks = report["checks"]
    held = sum(check["ok"] for check in checks)
    state = "pass" if report["passed"] else "fail"
    return (
        "<header>\n<h1>花壇聊了五句，模型看見多少？</h1>\n"
        '<p class="english" lang="en">'
        "LOCAL: five turns, measured byte by byte before they are sent</p>\n"
        f'<p class="verdict {state}">{"全部通過" if report["passed"] else "沒有全部通過"}：'
        f"{held} / {len(checks)} 項檢查</p>\n"
        f"<p>回答的是離線規則（<code>{escape(report['model'])}</code>），不是語言模型。"
        "下面的數字都是整個請求（規則、工具宣告、對話）的 UTF-8 位元組，不是 token；"
        "token 數這裡沒有量，所以是未知。</p>\n</header>"
    )


def _figures(report: Mapping[str, Any]) -> str:
    last = report["turns"][-1]
    numbers = {way: (last[way], label) for way, label in WAYS.items()}
    numbers["block"] = (report["history_block"]["bytes"], "前情區塊")
    cards = [
        (f"{number:,}", f"{label}<br>第 5 回合位元組", kind)
        for kind, (number, label) in numbers.items()
    ]
    return (
        '<ul class="figures">'
        + "".join(
            f'<li class="{way}"><strong>{number}</strong><span>{label}</span></li>'
            for number, label, way in cards
        )
        + "</ul>"
    )


def _plots(report: Mapping[str, Any]) -> str:
    turns = [f"第{row['turn']}回" for row in report["turns"]]
    per_turn = {way: [row[way] for row in report["turns"]] for way in WAYS}
    history = {way: report["history_bytes"][way] for way in ("projected_history", "budgeted")}
    drawn = (
        ("每回合送出的位元組", "Bytes per turn", per_turn),
        ("累計送出的位元組", "Cumulative bytes", report["cumulative"]),
        ("其中的前情（兩種投影）", "History alone", history),
    )
    legend = "".join(f'<li class="{way}">{label}</li>' for way, label in WAYS.items())
    figures = "".join(
        f'<figure><figcaption>{title}<span class="english" lang="en">{english}</span></figcaption>'
        f"{line_plot(series, title=title, labels=WAYS, turns=turns)}</figure>"
        for title, english, series in drawn
    )
    return (
        _titled("三種方式", "Three ways, one run")
        + f'<ul class="legend">{legend}</ul>\n<div class="plots">{figures}</div>\n'
        "<p>五回合很短，兩條投影的線幾乎重疊：差別在往後。全部投影每回合再長一行；"
        "視窗加帳本最多就是兩行加一行，聊多久都一樣。</p>\n</section>"
    )


def _turns(report: Mapping[str, Any]) -> str:
    rows = [
        (
            str(row["turn"]),
            row["user"],
            *(f"{row[way]:,}" for way in WAYS),
            f"{row['tool'] or '－'}{_area(row)}",
        )
        for row in report["turns"]
    ]
    sums = [f"{report['cumulative'][way][-1]:,}" for way in WAYS]
    return (
        _titled("每一回合", "Turn by turn")
        + _table(
            ("回", "說了什麼", *WAYS.values(), "工具"),
            [*rows, ("合計", "", *sums, "")],
            numbers=(2, 3, 4),
        )
        + "</section>"
    )


def _area(row: Mapping[str, Any]) -> str:
    area = (row["effective_arguments"] or {}).get("area")
    return f"（{area}）" if area else ""


def _block(report: Mapping[str, Any]) -> str:
    block = report["history_block"]
    return (
        _titled("第 5 回合的前情", "What turn 5 still knows")
        + f"<pre>{escape(block['text'])}</pre>\n"
        f"<p>這個區塊讓請求多了 {block['bytes']:,} 位元組（有區塊減沒有區塊）。"
        "「*」是帳本：第一回合已經移出視窗，只剩最後的目標和花壇鄉；「-」是最近兩回合。"
        "怎麼讀，規則裡說一次就夠。沒有帳本的人問同一句，工具是 "
        f"<code>{escape(str(report['without_ledger']['tool']))}</code>，因為離線規則只讀收到的請求。</p>\n</section>"
    )


def _ways(report: Mapping[str, Any]) -> str:
    items = "".join(
        f'<dt class="{way}">{label} <span class="english" lang="en">{WAYS_ENGLISH[way]}</span></dt>'
        f"<dd>{WAYS_EXPLAINED[way]}</dd>"
        for way, label in WAYS.items()
    )
    return (
        _titled("比的是什麼", "What is compared") + f"<dl>{items}</dl>\n"
        "<p>三種方式都走真正的 ADK Runner，用同一個代理、規則、工具、店家資料和離線規則，"
        "同一次執行裡輪流問。大小量的是模型真正收到的請求，量法相同。"
        "工具結果由 LOCAL 正式的工具產生：在全部原文裡它們留在對話，"
        "在另外兩種裡只直接顯示給本人，模型看不到。"
        "後兩種的規則多一段「前情」的讀法，所以第 1 回合反而比全部原文大。"
        "示範的日期固定在 2026 年 10 月 1 日，"
        f"所以每次執行的位元組都一樣。預算是 {report['budget']['limit']:,} 位元組。</p>\n</section>"
    )


def _drills(report: Mapping[str, Any]) -> str:
    refusal, consent = report["refusal"], report["consent"]
    rows = [
        (
            label,
            str((record.get("effective_arguments") or {}).get("dietary_type")),
            f"{ORIGINS.get(record['preference_origin'], '')}（{record['preference_origin']}）",
            str(record["memory_revision"]),
        )
        for label, record in (("同意記住後", consent["before"]), ("忘記後", consent["after"]))
    ]
    return (
        _titled("兩個演練", "Two drills")
        + f"<h3>預算只有 1 位元組</h3>\n<p>最小的合法請求要 {_number(refusal['units'])} 位元組，"
        "放不下，所以拒絕："
        f"<code>{escape(str(refusal['code']))}</code>，呼叫模型 {refusal['model_calls']} 次。"
        f"給人看的是：「{escape(refusal['shown'])}」</p>\n"
        "<h3>同意、忘記、舊卡片</h3>\n"
        + _table(("查詢", "素別", "來源", "版本"), rows, numbers=(3,))
        + f"<p>忘記後再按最早那張卡片：<code>{escape(str(consent['old_card']))}</code>。"
        f"忘記以前有 {consent['value_found_in_files_before']} 個檔案含有加密後的這個值，忘記以後 "
        f"<strong>{consent['value_found_in_files']}</strong> 個"
        "（原文與加密後的位元組都找過：資料庫主檔、WAL、shm、journal 與記錄檔；"
        "copies/before_forget.db 是報告自己留的副本，不算在內）。</p>\n</section>"
    )


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else "未知"


def _checks(report: Mapping[str, Any]) -> str:
    items = "".join(
        f'<li class="{"pass" if check["ok"] else "fail"}">{words.CHECKS[check["name"]]}'
        f"<code>{check['name']}</code></li>"
        for check in report["checks"]
    )
    return _titled("檢查", "Checks") + f'<ul class="checks">{items}</ul>\n</section>'


def _footer(report: Mapping[str, Any]) -> str:
    shape = {key: report["consent"][key] for key in ("before", "after")}
    return (
        "<details><summary>工具紀錄原文</summary>"
        f"<pre>{escape(json.dumps(shape, ensure_ascii=False, indent=2))}</pre></details>\n"
        f"<footer><p>{escape(report['made_at'])}，{report['seconds']:.1f} 秒。"
        "每個請求的原文在 requests/，每個檔案的雜湊在 MANIFEST.sha256.json。</p></footer>"
    )


def _titled(title: str, english: str) -> str:
    span = f'<span class="english" lang="en">{english}</span>'
    return f"<section>\n<h2>{title}{span}</h2>\n"


def _table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = ()
) -> str:
    def cell(tag: str, column: int, text: str) -> str:
        kind = ' class="number"' if column in numbers else ""
        role = ' role="columnheader"' if tag == "th" else f' role="cell" data-of="{head[column]}"'
        return f"<{tag}{kind}{role}>{escape(text)}</{tag}>"

    def row(tag: str, cells: Sequence[str]) -> str:
        inner = "".join(cell(tag, column, text) for column, text in enumerate(cells))
        return f'<tr role="row">{inner}</tr>'

    # On a narrow screen the rows are stacked, and a table that is laid out as blocks is one to
    # whoever listens to it by its roles alone.
    lines = "".join(row("td", cells) for cells in rows)
    return (
        '<div class="wide" tabindex="0"><table role="table"><thead role="rowgroup">'
        f'{row("th", head)}</thead><tbody role="rowgroup">{lines}</tbody></table></div>\n'
    )
