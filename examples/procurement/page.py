"""page.html: one file that opens anywhere, drawn from report.json alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from examples.procurement import words

_STYLE = Path(__file__).with_name("page.css")


def page(report: Mapping[str, Any]) -> str:
    """Return the page of a report."""
    body = "\n".join(
        (
            _head(report),
            f"<h2>{words.QUESTION}</h2>\n<blockquote>{escape(report['question'])}</blockquote>",
            f"<h2>{words.ANSWER}</h2>\n{_answer(report['answer'])}",
            _claims(report["claims"]),
            _unknowns(report["unknowns"]),
            _excluded(report["excluded"]),
            _channels(report),
            _expiry(report["after_expiry"]),
            _amount(report["after_amount_change"]),
            _mail(report["stopped_tool_calls"]),
            f"<h2>{words.WRONG}</h2>\n<p class='note'>{words.WRONG_NOTE}</p>\n"
            + _answer(report["wrong_answer"]["answer"]),
            _degraded(report["degraded"]),
            _checks(report["checks"]),
            _foot(report),
        )
    )
    return (
        '<!doctype html>\n<html lang="zh-Hant-TW">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n'
        f"<title>{words.TITLE}</title>\n<style>\n{_STYLE.read_text(encoding='utf-8')}</style>\n"
        f"</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _head(report: Mapping[str, Any]) -> str:
    checks = report["checks"]
    held = sum(check["ok"] for check in checks)
    state = "ok" if report["passed"] else "bad"
    verdict = words.PASSED if report["passed"] else words.FAILED
    count = words.CHECKS.format(held=held, all=len(checks))
    return (
        f"<h1>{words.TITLE}</h1>\n<p class='lead'>{words.SUBTITLE}</p>\n"
        f"<p><span class='verdict {state}'>{verdict}</span> {count}</p>\n"
        f"<p class='note'>{words.OFFLINE.format(model=escape(report['model']))}</p>"
    )


def _answer(text: str) -> str:
    lines = "".join(f"<p>{escape(line)}</p>" for line in text.split("\n"))
    return f"<div class='answer'>{lines}</div>"


def _claims(claims: Iterable[Mapping[str, Any]]) -> str:
    made = []
    for claim in claims:
        outcome = claim["outcome"]
        until = (
            f"<time>{words.UNTIL.format(time=claim['valid_until'])}</time>"
            if claim["valid_until"]
            else ""
        )
        made.append(
            f"<article class='claim'><header><h3>{claim['id']} "
            f"{words.KINDS.get(claim['kind'], claim['kind'])}</h3>"
            f"<span class='tag {outcome}'>{words.OUTCOMES[outcome]}</span>{until}</header>"
            f"<ul>{''.join(_item(item) for item in claim['evidence'])}</ul></article>"
        )
    return f"<h2>{words.CLAIMS}</h2>\n<div class='claims'>{''.join(made)}</div>"


def _item(item: Mapping[str, Any]) -> str:
    as_of = (
        f" <span class='role'>{words.AS_OF.format(time=item['as_of'])}</span>"
        if item["as_of"]
        else ""
    )
    facts = "".join(f"<code>{escape(fact)}</code>" for fact in item["facts"])
    return (
        f"<li><span class='role'>{words.ROLES[item['role']]}</span>"
        f"<b>{escape(item['citation'])}</b>{as_of}"
        f"<span class='original'>{escape(item['text'])}</span>{facts}</li>"
    )


def _unknowns(unknowns: Iterable[str]) -> str:
    chips = "".join(f"<li>{words.UNKNOWN_NAMES.get(one, escape(one))}</li>" for one in unknowns)
    return (
        f"<h2>{words.UNKNOWNS}</h2>\n<ul class='chips'>{chips}</ul>\n"
        f"<p class='note'>{words.UNKNOWNS_NOTE}</p>"
    )


def _excluded(excluded: Iterable[Mapping[str, Any]]) -> str:
    rows = [
        ("—" if one["id"] == "not-available" else one["id"], words.REASONS[one["reason"]])
        for one in excluded
    ]
    return f"<h2>{words.EXCLUDED}</h2>\n" + _table((words.COLUMN_ID, words.COLUMN_REASON), rows)


def _channels(report: Mapping[str, Any]) -> str:
    bars = "".join(
        f"<div><div class='name'>{words.CHANNEL_NAMES[one['name']]}</div>"
        f"<div class='track'><i style='width:{100 * one['tokens'] / one['limit']:.1f}%'></i></div>"
        f"<div class='size'>{one['tokens']:,} / {one['limit']:,}</div></div>"
        for one in report["channels"]
    )
    note = words.CHANNELS_NOTE.format(
        limit=report["limit"], packet=report["packet_units"], input=report["input_units"]
    )
    return f"<h2>{words.CHANNELS}</h2>\n<div class='bars'>{bars}</div>\n<p class='note'>{note}</p>"


def _expiry(after: Mapping[str, Any]) -> str:
    def one(title: str, answer: str) -> str:
        last = [line for line in answer.split("\n") if line.startswith("[C4]")]
        return f"<div><h3>{title}</h3>{_answer(chr(10).join(last) or answer)}</div>"

    return (
        f"<h2>{words.EXPIRY}</h2>\n<p class='note'>{words.EXPIRY_NOTE}</p>\n<div class='two'>"
        + one(words.REFRESHED, after["refreshed"]["answer"])
        + one(words.REMOVED, after["removed"]["answer"])
        + "</div>"
    )


def _amount(after: Mapping[str, Any]) -> str:
    note = words.AMOUNT_NOTE.format(
        rebuilt="、".join(after["rebuilt"]), kept="、".join(after["kept"])
    )
    line = next((one for one in after["answer"].split("\n") if one.startswith("[C2]")), "")
    return f"<h2>{words.AMOUNT}</h2>\n<p class='note'>{note}</p>\n{_answer(line)}"


def _mail(stopped: Iterable[Mapping[str, Any]]) -> str:
    rows = [
        (one["tool"], one["argument"] or words.WHOLE_TOOL, words.REASONS[one["reason"]])
        for one in stopped
    ]
    head = (words.COLUMN_TOOL, words.COLUMN_ARGUMENT, words.COLUMN_REASON)
    return f"<h2>{words.MAIL}</h2>\n<p class='note'>{words.MAIL_NOTE}</p>\n" + _table(head, rows)


def _degraded(degraded: Mapping[str, Mapping[str, Any]]) -> str:
    rows = []
    for name, found in degraded.items():
        lines = found["answer"].split("\n")
        told = next((line for line in lines if line.startswith("[C4]")), lines[-1])
        shown = lines[-1] if name != "ledger_down" else told
        rows.append((words.DEGRADED_NAMES[name], shown, str(found["model_calls"])))
    head = (words.COLUMN_CASE, words.COLUMN_RESULT, words.COLUMN_CALLS)
    return f"<h2>{words.DEGRADED}</h2>\n" + _table(head, rows)


def _checks(checks: Iterable[Mapping[str, Any]]) -> str:
    rows = "".join(
        f"<li class='{'ok' if check['ok'] else 'bad'}' lang='en'>{escape(check['name'])}</li>"
        for check in checks
    )
    return (
        f"<details><summary>{words.ALL_CHECKS}</summary>\n<ul class='checks'>{rows}</ul></details>"
    )


def _foot(report: Mapping[str, Any]) -> str:
    equal = words.EQUAL if report["replayed"] else words.DIFFERENT
    told = words.RECORD.format(generation=escape(report["generation"]), equal=equal)
    return f"<footer><p>{told}</p></footer>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    titles = "".join(f"<th>{escape(one)}</th>" for one in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f"<div class='wide'><table><thead><tr>{titles}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )
