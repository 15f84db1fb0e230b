"""A window read from the store is what somebody wrote there, at some time of some clock."""

from __future__ import annotations

import pytest

from callbacks.context.errors import UnsupportedContext
from callbacks.context.projection import Projection
from callbacks.context.window import ContextWindow
from stores.checks import WINDOW_MAX_BYTES
from stores.ports import ContextStore
from stores.records import Owner
from tests.integration.adk.conftest import APP, SCHEMA, Town
from tests.support.past import shape
from tests.support.scripted import ScriptedModel, call, say

OWNER = Owner(tenant=APP, person="ann")


async def put(store: ContextStore, town: Town, window: str) -> None:
    """Write a row as somebody with access to the store would."""
    at = await store.snapshot(OWNER, now_ms=town.now)
    await store.append(
        OWNER,
        event_id="forged",
        window=window,
        expected_revision=at.revision,
        expected_generation=at.generation,
        now_ms=town.now,
        ttl_ms=900_000,
    )


@pytest.mark.parametrize("max_turns", [0, 1, 2])
async def test_more_exchanges_than_are_kept_are_bounded(
    store: ContextStore, max_turns: int
) -> None:
    """Invariant 15: whatever a row holds, at most so many projections stand in a request."""
    town = Town(store, max_turns=max_turns)
    lines = [Projection("places", {"area": ("Huatan", "Lukang")[n % 2]}) for n in range(60)]
    await put(store, town, ContextWindow(tuple(lines)).to_json(SCHEMA))
    model = ScriptedModel.of(say("ok"))
    await town.turn(town.runner(town.agent(model)), "and now?")
    block = shape(model.contents[0])[0]
    assert 1 <= block.count("area") <= max_turns + 1


async def test_a_window_larger_than_any_that_is_written_is_refused(town: Town) -> None:
    """Invariant 15: a row of any size costs no reading; a store refuses to write such a one."""
    window = ContextWindow((Projection("places", {"area": "Huatan"}),)).to_json(SCHEMA)
    assert town.plugin._keeper._read_window(window).projections
    with pytest.raises(UnsupportedContext, match="larger"):
        town.plugin._keeper._read_window(window + " " * WINDOW_MAX_BYTES)


@pytest.mark.parametrize(
    "change",
    [('"area":"Huatan"', '"area":"my secret"'), ('"turns":[', '"extra":1,"turns":[')],
    ids=["value", "field"],
)
async def test_a_window_outside_its_schema_is_refused(
    store: ContextStore, town: Town, change: tuple[str, str]
) -> None:
    """Invariant 5: a stored value outside the vocabulary stops the turn, unsent and unsaid."""
    window = ContextWindow((Projection("places", {"area": "Huatan"}),)).to_json(SCHEMA)
    await put(store, town, window.replace(*change))
    model = ScriptedModel.of()
    events = await town.turn(town.runner(town.agent(model)), "and now?")
    assert model.calls_made == 0
    assert events[-1].error_code == "UNSUPPORTED_PUBLIC_CONTEXT"
    assert "secret" not in await town.stored()


async def test_a_clock_that_steps_back_brings_no_window_back(town: Town) -> None:
    """A window that had run out stays so, as long as this process has seen the later time."""
    model = ScriptedModel.of(call("search_places", area="Huatan"), say("ok"))
    using = town.runner(town.agent(model))
    await town.turn(using, "one")
    start = town.now
    town.now = start + 950_000
    model.then(say("nothing to keep"))
    await town.turn(using, "thanks")
    assert len(model.contents[-1]) == 1
    town.now = start + 500_000
    model.then(say("ok"))
    await town.turn(using, "and now?")
    assert len(model.contents[-1]) == 1
