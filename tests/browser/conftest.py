"""A console and Chromium, as a person uses them."""

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from local_agent.console import words
from tests.support.console import console

MISSING = "Chromium is not installed (Debian's packages chromium and fonts-noto-cjk)"
TIMEOUT_MS = 60_000
"""The longest wait for anything on the page; none of it takes a second on a slow machine."""

VIOLATIONS = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.violations.push(`${event.violatedDirective} ${event.blockedURI}`);
});
"""
SHOTS = Path(__file__).resolve().parents[2] / "out" / "console"
"""Where pictures go, for whoever wants to look at them; git ignores it."""


@pytest.fixture(scope="module")
def browser():
    """Debian's Chromium; skips by name where there is none."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip(MISSING)
    expect.set_options(timeout=TIMEOUT_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found)
        yield browser
        browser.close()


class Visit:
    """A page of the console and what a person does with it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.log = page.locator("#log")
        self.turn = page.locator("#turn")

    def say(self, text: str) -> None:
        """Type a message and wait for its answer."""
        before = self.answers.count()
        self.page.fill("#message", text)
        self.page.press("#message", "Enter")
        self.answered(before)

    def drill(self, name: str) -> None:
        """Press one of the buttons under the chat."""
        self.page.click(f"[data-drill={name}]")

    @property
    def answers(self):
        """What LOCAL said: bubbles and cards."""
        return self.log.locator(".bubble:not(.mine), .flex")

    def answered(self, before: int) -> None:
        """Wait until there are more answers than before."""
        self.page.wait_for_function(
            "n => document.querySelectorAll('#log .bubble:not(.mine), #log .flex').length > n",
            arg=before,
        )

    def chosen(self, said: str, state: str) -> None:
        """Wait until the turn on the right is the one of these words, and in this state."""
        chosen = self.page.locator("#turns [aria-checked=true]")
        expect(chosen).to_contain_text(said)
        expect(chosen).to_contain_text(state)
        number = chosen.get_attribute("data-turn")
        expect(self.turn).to_have_attribute("data-turn", str(number))

    def exact(self) -> str:
        """Open the exact request of the chosen turn and return it; Escape closes it."""
        self.turn.get_by_role("button", name=words.EXACT).click()
        expect(self.page.locator("#exact")).to_be_visible()
        return self.page.locator("#exact-text").inner_text()

    def layer(self, name: str):
        """One of the five layers of the chosen turn."""
        return self.turn.locator(f"[data-layer={name}]")

    def fact(self, name: str):
        """One of the facts that stayed in the backend."""
        return self.turn.locator(f"[data-fact={name}]")

    def status(self, name: str):
        """One of the lines about how things are now."""
        return self.page.locator(f"[data-status={name}]")

    def shoot(self, name: str) -> None:
        """Take a picture of the whole page."""
        SHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=str(SHOTS / f"{name}.png"), full_page=True)


@pytest.fixture
def visit(browser, tmp_path, request):
    """A new console and a page of it; nothing may have gone wrong there when the test ends."""
    options = getattr(request, "param", {})
    with console(tmp_path) as running:
        context = browser.new_context(
            viewport=options.get("viewport", {"width": 1280, "height": 900}),
            color_scheme=options.get("color_scheme", "light"),
            reduced_motion="reduce",
            locale="zh-TW",
        )
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        page.add_init_script(VIOLATIONS)
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(f"error {error}"))
        page.on(
            "console",
            lambda message: (
                wrong.append(f"console {message.text}")
                if message.type in {"error", "warning"}
                else None
            ),
        )
        page.on("request", lambda asked: _own(asked.url, running.url, wrong))
        page.goto(running.url)
        page.wait_for_selector("#log .bubble")  # the welcome
        yield Visit(page)
        assert page.evaluate("window.violations") == []
        assert wrong == []
        context.close()
        status, _, complained = running.stop()
        assert (status, complained) == (0, "")
    assert list(tmp_path.glob("local-console-*")) == []


def _own(url: str, home: str, wrong: list[str]) -> None:
    if not url.startswith(home):
        wrong.append(f"elsewhere {url}")
