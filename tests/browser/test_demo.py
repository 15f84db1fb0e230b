"""The report of the demo in Chromium: the same figures on a phone as on a desk."""

import json
import subprocess
import sys

import pytest

from local_agent.demo.words import WAYS

RUN_SECONDS = 300
"""The longest that a demo may take; it takes two seconds, and a first import of ADK a minute."""


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """The folder of a demo that ran in a process of its own."""
    folder = tmp_path_factory.mktemp("demo") / "out"
    command = (sys.executable, "-m", "local_agent.cli", "demo", "--out", str(folder))
    subprocess.run(command, check=True, capture_output=True, timeout=RUN_SECONDS)
    return folder


@pytest.fixture(params=[320, 390, 760, 761, 1280])
def page(browser, out, request):
    """Its report at a width, in pixels."""
    context = browser.new_context(viewport={"width": request.param, "height": 800}, locale="zh-TW")
    page = context.new_page()
    page.goto((out / "report.html").as_uri())
    yield page
    context.close()


def test_every_figure_of_every_turn_is_in_sight_at_any_width(page, out):
    """No column is cut off: each way's bytes of each turn stand on the screen, and are named."""
    turns = json.loads((out / "report.json").read_text(encoding="utf-8"))["turns"]
    width = page.viewport_size["width"]
    rows = page.get_by_role("table").first.get_by_role("row")
    for number, turn in enumerate(turns, 1):
        for way, label in WAYS.items():
            cell = rows.nth(number).locator(f'[data-of="{label}"]')
            assert cell.inner_text() == f"{turn[way]:,}"
            box = cell.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            shown = "e => getComputedStyle(e, '::before').content"
            assert (label in cell.evaluate(shown)) is (width <= 760)
    wider = "[...document.querySelectorAll('html, .wide')].some(e => e.scrollWidth > e.clientWidth)"
    assert page.evaluate(wider) is False
    # Stacked or not, it is a table with named columns to whoever listens to it.
    heads = page.get_by_role("table").first.get_by_role("columnheader")
    assert heads.all_inner_texts()[2:5] == list(WAYS.values())
