"""Forget in the middle of a slow turn, at each point of DESIGN's turn, through LOCAL itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from callbacks.adk.meter import Meter
from local_agent import templates
from local_agent.offline_model import OfflineModel
from stores.records import Preferences
from tests.integration.consent.conftest import SEARCH, VALUE, World

NOT_APPLIED = "偏好剛被修改或忘記，這次結果先不套用"
POINTS = (
    "1 as the message arrives",
    "2 after the snapshot",
    "3 while the request is measured",
    "4 behind the gate",
    "5 after the model",
    "6 before the tool",
    "6 while the tool holds the value",
    "7 before the journal",
    "8 before delivery",
)


@pytest.fixture(name="forgetting_at")
def _forgetting_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[World, str], None]:
    """Arranges that the person forgets when the next turn comes to a point."""

    def arrange(world: World, point: str) -> None:
        store, forget = world.store, world.forget
        if point.startswith("1"):
            store.before["snapshot"] = forget
        elif point.startswith("2"):
            store.after["snapshot"] = forget
        elif point.startswith("3"):
            _before(monkeypatch, Meter, "verdict", forget)
        elif point.startswith(("4", "5")):
            _around_model(monkeypatch, forget, after=point.startswith("5"))
        elif point == "6 before the tool":
            store.before["preferences"] = forget
        elif point.startswith("6"):
            store.after["preferences"] = forget
        elif point.startswith("7"):
            store.before["append"] = forget
        else:
            store.after["append"] = forget

    return arrange


def _before(patch: pytest.MonkeyPatch, thing: type, name: str, act: Any) -> None:
    method, waiting = getattr(thing, name), [act]

    async def call(*arguments: Any, **options: Any) -> Any:
        if waiting:
            await waiting.pop()()
        return await method(*arguments, **options)

    patch.setattr(thing, name, call)


def _around_model(patch: pytest.MonkeyPatch, forget: Any, *, after: bool) -> None:
    generate, waiting = OfflineModel.generate_content_async, [forget]

    async def call(self: Any, request: Any, stream: bool = False) -> Any:
        if waiting and not after:
            await waiting.pop()()
        async for response in generate(self, request, stream):
            if waiting:
                await waiting.pop()()
            yield response

    patch.setattr(OfflineModel, "generate_content_async", call)


def sealed(path: Path) -> list[bytes]:
    with closing(sqlite3.connect(path / "store.db")) as bare:
        return [row[0] for row in bare.execute("SELECT body FROM store_vault WHERE vacant = 0")]


@pytest.mark.parametrize("point", POINTS)
async def test_a_turn_that_is_overtaken_by_forget(
    world: World,
    tmp_path: Path,
    forgetting_at: Callable[[World, str], None],
    seen: Callable[[], tuple[int, int]],
    point: str,
) -> None:
    """Invariants 6, 7 and 8: the value is nowhere afterwards, and the answer says why it is not.

    At point 1 the turn has not begun: it begins without the value, and answers without it.
    """
    plain = await world.ask()
    without = set(world.requests)
    baseline = seen()
    world.requests.clear()
    await world.real.clear(world.owner, now_ms=world.tick())
    await world.remember()
    bodies = sealed(tmp_path)
    assert len(bodies) == 2
    seen()

    forgetting_at(world, point)
    reply = await world.ask()
    assert not world.store.before
    assert not world.store.after
    if point.startswith("1"):
        assert (reply.text, reply.error_code) == (plain.text, None)
    else:
        assert (reply.text, reply.error_code) == (NOT_APPLIED, "PREFERENCE_CHANGED")
    assert set(world.requests) <= without  # to the byte what it is for somebody without a value
    found = seen()
    assert found[0] <= baseline[0]
    assert found[1] <= baseline[1]

    now = world.tick()
    assert await world.real.preferences(world.owner, now_ms=now) == Preferences(revision=2)
    assert (await world.real.forget(world.owner, None, now_ms=now)).complete
    content = world.files()
    assert VALUE.encode() not in content
    assert [body for body in bodies if body in content] == []
    assert (await world.ask(SEARCH)).text == plain.text


async def test_an_undisturbed_turn_uses_it(world: World) -> None:
    """Without a forget the value does reach the tool: the tests above are not blind."""
    plain = await world.ask()
    await world.remember()
    reply = await world.ask()
    assert reply.error_code is None
    assert reply.text != plain.text
    assert reply.report is not None
    assert reply.report.tool_calls[0].effective_arguments["dietary_type"] == VALUE


@pytest.mark.parametrize("point", POINTS[:6])
async def test_a_wish_to_remember_from_before_forget(
    world: World, forgetting_at: Callable[[World, str], None], point: str
) -> None:
    """Invariant 8: words from before a forget make no card after it, wherever it comes between."""
    forgetting_at(world, point)
    reply = await world.ask("記住我吃蛋奶素")
    assert (reply.text, reply.error_code, reply.card) == (NOT_APPLIED, "PREFERENCE_CHANGED", None)
    held = await world.real.inspect(world.owner, now_ms=world.tick())
    assert (held.open_cards, dict(held.values)) == (0, {})
    assert [event.kind.value for event in held.events] == ["forgotten"]


async def test_a_reply_that_waited_is_asked_about_again(world: World) -> None:
    """Invariant 7: a channel that kept a reply learns that it may not be sent any more."""
    await world.remember()
    reply = await world.ask()
    assert await world.service.deliverable("ann", reply)
    assert await world.service.deliverable(None, reply)
    await world.forget()
    assert not await world.service.deliverable("ann", reply)


def test_the_sentence_is_the_template() -> None:
    """What the person reads is the one fixed sentence."""
    assert templates.refusal("PREFERENCE_CHANGED") == NOT_APPLIED
