"""The console in Chromium: what a newcomer does on the left, and what is told on the right."""

import hashlib
import json
import re

from playwright.sync_api import expect

from local_agent.console import words

FIVE = words.STARTERS


def test_five_turns(visit):
    """Five turns are answered; of the last the town stands in the ledger alone, and costs no more.

    Invariants 4 and 15: no past sentence is in the request, and its size stays flat.
    """
    for text in FIVE:
        visit.page.get_by_role("button", name=text, exact=True).last.click()
        visit.chosen(text, words.STATES["answered"])
    expect(visit.page.locator("#turns button")).to_have_count(5)
    expect(visit.layer("ledger")).to_contain_text("區域=花壇鄉")
    expect(visit.layer("window")).not_to_contain_text("花壇鄉")
    expect(visit.turn.locator(".decision")).to_have_text(words.DECISIONS["counted"][0])
    expect(visit.turn.locator(".action.kept")).to_have_count(3)
    call = visit.turn.locator("[data-call=search_local_places]")
    expect(call).to_contain_text("花壇鄉")
    expect(visit.page.locator("#plot polyline")).to_have_count(2)
    rows = visit.page.locator("#numbers tbody tr")
    expect(rows).to_have_count(5)
    expect(rows.last.locator("td").nth(1)).not_to_have_text(words.NOTHING)
    sizes = [
        [int(cell.replace(",", "")) for cell in row.locator("td").all_inner_texts()]
        for row in rows.all()
    ]
    raw, budgeted = [row[1] for row in sizes], [row[2] for row in sizes]
    assert raw == sorted(raw)
    assert raw[-1] > raw[0] * 3 // 2
    assert max(budgeted) - min(budgeted) < 450
    visit.shoot("five-turns")
    # The newest follows by itself; an older one stays once it was chosen.
    visit.page.locator("#turns button").first.click()
    visit.chosen(FIVE[0], words.TURN.format(number=1))
    expect(visit.layer("ledger")).to_contain_text(words.NOTHING_IN["ledger"])


def test_the_exact_request(visit):
    """One click shows the very bytes that were sent: their hash is the record's fingerprint."""
    visit.say(FIVE[0])
    visit.chosen(FIVE[0], words.STATES["answered"])
    text = visit.exact()
    dialog = visit.page.locator("#exact")
    assert hashlib.sha256(text.encode()).hexdigest() == dialog.locator("#exact-hash").inner_text()
    request = json.loads(text)
    assert request["contents"][-1]["parts"][0]["text"] == FIVE[0]
    measured = re.sub(r"\D", "", visit.turn.locator(".line span").last.inner_text().split("/")[0])
    assert len(text.encode()) == int(measured)
    visit.shoot("exact-request")
    dialog.get_by_role("button", name=words.CLOSE).click()
    expect(dialog).to_be_hidden()
    # The rules are there and closed.
    rules = visit.layer("rules")
    expect(rules.locator("pre").first).to_be_hidden()
    rules.locator("summary").click()
    expect(rules.locator("pre").first).to_contain_text("彰化")


def test_consent_and_forget(visit):
    """A card that is pressed fills the search, no request shows it, and forgetting empties it.

    Invariants 6 and 8: the value is in the backend's layer alone, and after "forget" not there.
    """
    visit.say(FIVE[0])
    before = visit.answers.count()
    visit.drill("card")
    visit.answered(before)
    visit.chosen(words.CARD_MESSAGE, words.STATES["answered"])
    visit.shoot("card")
    visit.log.get_by_role("button", name="同意記住").click()
    expect(visit.status("remembered")).to_have_text("素食")
    expect(visit.fact("revisions")).to_have_text("0 → 1")
    visit.say("鹿港有什麼吃的？")
    visit.chosen("鹿港", words.STATES["answered"])
    filled = visit.turn.locator("tr", has_text="dietary_type")
    expect(filled).to_contain_text("vegetarian")
    expect(filled).to_contain_text(words.ORIGINS["consented_memory"])
    visit.shoot("remembered")
    contents = json.dumps(json.loads(visit.exact())["contents"], ensure_ascii=False)
    assert "vegetarian" not in contents
    assert "素" not in contents
    visit.page.keyboard.press("Escape")
    visit.drill("forget")
    expect(visit.status("remembered")).to_have_text(words.NOTHING_REMEMBERED)
    visit.chosen(words.FORGET_MESSAGE, words.STATES["answered"])
    expect(visit.turn).to_contain_text(words.WITHOUT_MODEL)
    expect(visit.fact("revisions")).to_have_text("1 → 2")
    visit.page.locator("#turns button", has_text="鹿港").click()
    expect(visit.turn).to_contain_text(words.FORGOTTEN)
    expect(visit.layer("backend")).not_to_contain_text("vegetarian")
    visit.shoot("forgotten")
    # The old card is stale.
    visit.log.get_by_role("button", name="同意記住").click()
    expect(visit.log).to_contain_text("您的偏好後來改過")
    expect(visit.status("remembered")).to_have_text(words.NOTHING_REMEMBERED)


def test_refusals(visit):
    """What does not fit is cut, then refused; what cannot be measured is refused (invariant 3)."""
    for text in FIVE[:2]:
        visit.say(text)
    visit.drill("tight")
    expect(visit.page.locator("[data-drill=tight]")).to_have_attribute("aria-pressed", "true")
    visit.say("鹿港這週末有什麼活動呢，可以跟我說嗎？")
    visit.chosen("鹿港", words.STATES["answered"])
    expect(visit.turn.locator(".action.summarized, .action.dropped").first).to_be_visible()
    expect(visit.turn).to_contain_text(words.REASONS["over_budget"])
    visit.shoot("tight")
    visit.drill("tight")
    expect(visit.page.locator("[data-drill=tight]")).to_have_attribute("aria-pressed", "false")
    visit.drill("tiny")
    expect(visit.status("budget")).to_contain_text("1 位元組")
    visit.say("田中有什麼吃的？")
    visit.chosen("田中", words.STATES["refused"])
    expect(visit.turn).to_contain_text("CURRENT_AND_RULES_EXCEED_INPUT_BUDGET")
    expect(visit.turn.locator(".decision")).to_have_text(words.DECISIONS["refused"][0])
    expect(visit.turn.get_by_role("button", name=words.EXACT)).to_have_count(0)
    visit.shoot("refused")
    visit.drill("tiny")
    expect(visit.status("budget")).to_contain_text("16,384")
    visit.drill("counter")
    expect(visit.status("counter")).to_have_text(words.COUNTER_DOWN)
    visit.say("北斗有什麼吃的？")
    visit.chosen("北斗", words.STATES["refused"])
    expect(visit.turn).to_contain_text("COUNT_UNAVAILABLE")
    expect(visit.turn).to_contain_text(words.UNKNOWN)
    visit.shoot("counter-down")
    visit.drill("counter")
    visit.say("北斗有什麼吃的？")
    visit.chosen("北斗", words.STATES["answered"])
    # What was refused has no point in the plot and no number beside it.
    refused = visit.page.locator("#numbers tbody tr", has_text=words.NOT_SENT)
    expect(refused).to_have_count(2)


def test_redelivery_and_a_restarted_worker(visit):
    """The same event again is answered once; a worker that stops loses nothing (invariant 9)."""
    visit.say(FIVE[0])
    visit.chosen(FIVE[0], words.STATES["answered"])
    answers = visit.answers.count()
    visit.drill("redeliver")
    expect(visit.fact("deliveries")).to_have_text("2")
    expect(visit.page.locator("#notice")).to_have_text(
        words.REDELIVERED.format(deliveries=2, answers=1)
    )
    visit.drill("pause")
    expect(visit.status("worker")).to_have_text(words.WORKER_OFF)
    visit.page.fill("#message", FIVE[1])
    visit.page.press("#message", "Enter")
    visit.chosen(FIVE[1], words.STATES["waiting"])
    expect(visit.status("inbox")).to_contain_text(f"{words.INBOX_STATES['waiting']} 1")
    visit.drill("redeliver")
    expect(visit.fact("deliveries")).to_have_text("2")
    visit.shoot("waiting")
    visit.drill("pause")
    visit.chosen(FIVE[1], words.STATES["answered"])
    expect(visit.status("worker")).to_have_text(words.WORKER_ON)
    expect(visit.fact("answers")).to_have_text("1")
    visit.drill("restart")
    expect(visit.page.locator("#notice")).to_have_text(words.RESTARTED)
    visit.say(FIVE[2])
    visit.chosen(FIVE[2], words.STATES["answered"])
    # The first answer, and one for each event after it: the redelivered ones have no second.
    assert visit.answers.count() == answers + 2
    expect(visit.status("inbox")).not_to_contain_text(words.INBOX_STATES["waiting"])


def test_what_is_typed_stays_text(visit):
    """Markup that somebody types is shown as they typed it, on the left and on the right."""
    markup = "<img src=x onerror=alert(1)>花壇<script>alert(2)</script>"
    visit.say(markup)
    visit.chosen("花壇", words.STATES["answered"])
    expect(visit.log.locator(".mine").last).to_have_text(markup)
    expect(visit.layer("newest")).to_contain_text(markup)
    visit.exact()
    expect(visit.page.locator("#log img, #turn img, #exact img, main script")).to_have_count(0)


def test_two_pages_show_the_same(visit):
    """A second page of the same console sees what is said on the first, and the other way round."""
    other = visit.page.context.new_page()
    other.goto(visit.page.url)
    visit.say(FIVE[0])
    expect(other.locator("#turns [aria-checked=true]")).to_contain_text(FIVE[0])
    other.fill("#message", FIVE[1])
    other.press("#message", "Enter")
    visit.chosen(FIVE[1], words.STATES["answered"])
    other.close()
