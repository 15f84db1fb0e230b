"""The console's one page, as HTML without a script or style inside it."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from local_agent.console import words


def page(token: str) -> str:
    """Return the page.

    Args:
        token: What it sends with whatever changes something.
    """
    body = "\n".join(
        (
            f'<a class="skip" href="#message">{words.SKIP}</a>',
            _head(),
            f'<main>\n<div class="two">\n{_phone()}\n{_explanation()}\n</div>\n{_plot()}\n</main>',
            _dialog(),
        )
    )
    return (
        '<!doctype html>\n<html lang="zh-Hant-TW">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<meta name="console-token" content="{escape(token)}">\n'
        f"<title>{words.TITLE}</title>\n"
        '<link rel="icon" href="static/icon.svg" type="image/svg+xml">\n'
        '<link rel="stylesheet" href="static/console.css">\n'
        '<script type="module" src="static/console.js"></script>\n'
        f"</head>\n<body{_labels()}>\n{body}\n</body>\n</html>\n"
    )


def _labels() -> str:
    """Return the words that scripts need, as data of the body."""
    labels = {
        "you": words.YOU,
        "them": words.THEM,
        "quick": words.QUICK,
        "card": words.CARD,
        "failed": words.FAILED,
        "no-turn": words.NO_TURN,
        "no-exact": words.NO_EXACT,
        "exact": words.EXACT,
        "blocks": words.BLOCKS,
        "no-blocks": words.NO_BLOCKS,
        "block-heads": "|".join(words.BLOCK_HEADS),
        "call-heads": "|".join(words.CALL_HEADS),
        "budget": words.BUDGET,
        "instruction": words.INSTRUCTION,
        "tools": words.TOOLS,
        "forgotten": words.FORGOTTEN,
        "private": words.PRIVATE,
        "request": words.REQUEST,
    }
    labels |= {f"layer-{name}": title for name, (title, _) in words.LAYERS.items()}
    labels |= {f"layer-{name}-why": why for name, (_, why) in words.LAYERS.items()}
    labels |= {f"nothing-{name}": text for name, text in words.NOTHING_IN.items()}
    return "".join(f' data-{name}="{escape(text)}"' for name, text in labels.items())


def _head() -> str:
    return (
        f"<header>\n<h1>{words.TITLE}</h1>\n<p>{words.LEAD}</p>\n"
        f'<p class="quiet">{words.OFFLINE}</p>\n'
        f'<noscript><p class="warning">{words.NO_SCRIPT}</p></noscript>\n</header>'
    )


def _phone() -> str:
    starters = "".join(
        f'<button type="button" class="chip" data-say="{escape(text)}">{text}</button>'
        for text in words.STARTERS
    )
    return (
        f'<section class="phone" aria-labelledby="phone-title">\n'
        f'<h2 id="phone-title">{words.PHONE}</h2>\n<div class="device">\n'
        f'<p class="bar"><span aria-hidden="true">‹</span> {words.NAME}</p>\n'
        f'<div id="log" class="log" role="log" aria-live="polite" aria-label="{words.CHAT_LOG}" '
        f'tabindex="0"><p class="empty">{words.EMPTY_CHAT}</p></div>\n'
        f'<div id="quick" class="quick" role="group" aria-label="{words.QUICK}"></div>\n'
        '<form id="say" class="say">\n'
        f'<label for="message" class="unseen">{words.MESSAGE}</label>\n'
        f'<textarea id="message" rows="1" maxlength="5000" placeholder="{words.MESSAGE}" '
        'autocomplete="off"></textarea>\n'
        f'<button type="submit" class="send">{words.SEND}</button>\n</form>\n</div>\n'
        f'<h3 id="starters-title">{words.STARTERS_TITLE}</h3>\n'
        f'<div class="chips" role="group" aria-labelledby="starters-title">{starters}</div>\n'
        f"{_drills()}\n</section>"
    )


def _drills() -> str:
    return (
        f'<h3 id="drills-title">{words.DRILLS}</h3>\n'
        '<div class="drills" role="group" aria-labelledby="drills-title">\n'
        + "\n".join(_buttons())
        + '\n</div>\n<p id="notice" class="notice" role="status" aria-live="polite"></p>\n'
        f'<h3 id="status-title">{words.STATUS}</h3>\n'
        '<dl id="status" class="status" aria-labelledby="status-title"></dl>'
    )


def _buttons() -> Iterator[str]:
    for name, (label, what) in words.BUTTONS.items():
        pressed = ' aria-pressed="false"' if name in words.TOGGLES else ""
        yield (
            f'<div class="drill"><button type="button" data-drill="{name}" '
            f'aria-describedby="about-{name}"{pressed}>{label}</button>'
            f'<p id="about-{name}">{what}</p></div>'
        )


def _explanation() -> str:
    return (
        '<section class="seen" aria-labelledby="seen-title">\n'
        f'<h2 id="seen-title">{words.SEEN}</h2>\n'
        f'<div id="turns" class="turns" role="radiogroup" aria-label="{words.CHOOSE}"></div>\n'
        f'<div id="turn" class="turn"><p class="empty">{words.NO_TURN}</p></div>\n</section>'
    )


def _plot() -> str:
    legend = "".join(f'<li class="{name}">{label}</li>' for name, label in words.SERIES.items())
    return (
        '<section class="plot" aria-labelledby="plot-title">\n'
        f'<h2 id="plot-title">{words.PLOT}</h2>\n<div class="measured">\n<div>'
        f'<ul class="legend">{legend}</ul>\n'
        f'<div id="plot"><p class="empty">{words.PLOT_EMPTY}</p></div></div>\n'
        f'<div><p class="quiet">{words.PLOT_EXPLAINED}</p>\n'
        '<div id="numbers" class="wide" tabindex="0" role="region" '
        f'aria-label="{words.PLOT_TABLE}" hidden>'
        "<table><thead><tr></tr></thead><tbody></tbody></table></div></div>\n</div>\n"
        "</section>"
    )


def _dialog() -> str:
    return (
        '<dialog id="exact" aria-labelledby="exact-title">\n'
        f'<h2 id="exact-title">{words.EXACT_TITLE}</h2>\n'
        '<p class="quiet"><span id="exact-bytes"></span>　'
        'SHA-256 <code id="exact-hash"></code></p>\n'
        '<pre id="exact-text" tabindex="0"></pre>\n'
        f"<details><summary>{words.ARRANGED}</summary>"
        '<pre id="exact-arranged" tabindex="0"></pre></details>\n'
        f'<p class="ends"><a id="exact-link" download="request.json">{words.DOWNLOAD}</a>'
        f'<button type="button" id="exact-close">{words.CLOSE}</button></p>\n</dialog>'
    )
