"""The console for whoever uses a keyboard, a small telephone, the dark, or a screen reader."""

from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import expect

from local_agent.console import words

CONTRAST = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")

NAMELESS = """
() => [...document.querySelectorAll("button, a[href], textarea, input, summary, [tabindex]")]
  .filter((one) => one.checkVisibility())
  .filter((one) => !(one.innerText?.trim() || one.getAttribute("aria-label") || one.labels?.length
    || one.getAttribute("aria-labelledby")))
  .map((one) => one.outerHTML.slice(0, 80))
"""


def scenes(visit):
    """An answer, a card, a refusal, and something forgotten: every colour that there is."""
    visit.say(words.STARTERS[0])
    before = visit.answers.count()
    visit.drill("card")
    visit.answered(before)
    visit.chosen(words.CARD_MESSAGE, words.STATES["answered"])
    visit.drill("tiny")
    expect(visit.status("budget")).to_contain_text("1 位元組")
    visit.say("田中有什麼吃的？")
    visit.chosen("田中", words.STATES["refused"])


@pytest.mark.parametrize(
    "visit", [{"color_scheme": "light"}, {"color_scheme": "dark"}], indirect=True
)
def test_contrast(visit):
    """In light and in dark every text has a contrast of 4.5 : 1, and none is below 16 pixels."""
    scenes(visit)
    dark = visit.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    for number in range(3):
        visit.page.locator("#turns button").nth(number).click()
        expect(visit.turn).to_have_attribute("data-turn", str(number + 1))
        measured = visit.page.evaluate(CONTRAST)
        assert measured["poor"] == []
        assert measured["seen"] > 50
        assert measured["smallest"][0] >= 16, measured["smallest"]
    visit.shoot("dark" if dark else "light")
    visit.page.locator("#turns button").first.click()
    visit.exact()
    assert visit.page.evaluate(CONTRAST)["poor"] == []


@pytest.mark.parametrize("visit", [{"viewport": {"width": 360, "height": 740}}], indirect=True)
def test_a_small_telephone(visit):
    """At 360 pixels nothing is cut off and nothing has to be scrolled sideways to be read."""
    scenes(visit)
    for number in range(3):
        visit.page.locator("#turns button").nth(number).click()
        expect(visit.turn).to_have_attribute("data-turn", str(number + 1))
        for details in visit.page.locator("details").all():
            details.evaluate("one => { one.open = true; }")
        width = visit.page.evaluate("document.documentElement.scrollWidth")
        assert width <= 360
    visit.shoot("small")
    # Whatever is pressed is large enough for a thumb (WCAG 2.2, 2.5.8 asks for 24 pixels).
    small = visit.page.evaluate(
        "() => [...document.querySelectorAll('button')].filter(one => one.checkVisibility())"
        ".filter(one => one.getBoundingClientRect().height < 44).map(one => one.outerHTML)"
    )
    assert small == []


def test_with_the_keyboard_alone(visit):
    """Tab reaches everything; a turn is asked, answered, chosen and looked into without a mouse."""
    page = visit.page
    keys = page.keyboard
    keys.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    keys.press("Enter")
    assert page.evaluate("document.activeElement.id") == "message"
    for text in words.STARTERS[:2]:
        before = visit.answers.count()
        keys.type(text)
        keys.press("Enter")
        visit.answered(before)
        visit.chosen(text, words.STATES["answered"])
    assert page.evaluate("document.activeElement.id") == "message"
    tab_to(page, "[data-drill=card]")
    before = visit.answers.count()
    keys.press("Enter")
    visit.answered(before)
    tab_to(page, "#log")
    tab_to(page, "#log .flex button.primary")
    keys.press("Space")
    expect(visit.status("remembered")).to_have_text("素食")
    tab_to(page, "#turns [aria-checked=true]")
    keys.press("ArrowLeft")
    visit.chosen(words.CARD_MESSAGE, words.TURN.format(number=3))
    keys.press("ArrowLeft")
    visit.chosen(words.STARTERS[1], words.TURN.format(number=2))
    assert page.evaluate("document.activeElement.getAttribute('role')") == "radio"
    tab_to(page, "[data-exact]")
    keys.press("Enter")
    expect(page.locator("#exact")).to_be_visible()
    keys.press("Escape")
    expect(page.locator("#exact")).to_be_hidden()
    tab_to(page, ".layer.rules summary")
    keys.press("Enter")
    expect(visit.layer("rules").locator("pre").first).to_be_visible()


def test_for_a_screen_reader(visit):
    """Answers are announced where they appear, and whatever can be focused has a name."""
    visit.say(words.STARTERS[0])
    visit.chosen(words.STARTERS[0], words.STATES["answered"])
    log = visit.page.get_by_role("log", name=words.CHAT_LOG)
    expect(log).to_have_attribute("aria-live", "polite")
    expect(visit.page.get_by_role("status")).to_have_attribute("aria-live", "polite")
    expect(visit.page.get_by_role("radio", checked=True)).to_have_count(1)
    expect(visit.page.get_by_role("img", name=words.PLOT)).to_be_visible()
    assert visit.page.evaluate(NAMELESS) == []
    assert visit.page.evaluate("document.documentElement.lang") == "zh-Hant-TW"
    headings = visit.page.evaluate(
        "[...document.querySelectorAll('h1, h2, h3')].filter(one => one.checkVisibility())"
        ".map(one => Number(one.tagName[1]))"
    )
    assert headings[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(headings))


def test_nothing_moves_for_who_wants_that(visit):
    """With reduced motion nothing is animated."""
    visit.say(words.STARTERS[0])
    moving = visit.page.evaluate("document.getAnimations().length")
    name = visit.page.evaluate(
        "getComputedStyle(document.querySelector('#log .bubble')).animationName"
    )
    assert (moving, name) == (0, "none")


def tab_to(page, selector: str) -> None:
    """Press Tab until what is wanted has the focus; once around the page at the most."""
    for _ in range(120):
        if page.evaluate("wanted => document.activeElement?.matches(wanted)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {selector}.")
