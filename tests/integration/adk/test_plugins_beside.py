"""Plugins beside ours: none replaces an event unseen, unless its author answers for it."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps.app import App
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.logging_plugin import LoggingPlugin
from google.adk.runners import Runner
from google.genai import types

from callbacks.adk.beside import EventHidden
from callbacks.adk.plugin import ContextBudgetPlugin
from callbacks.adk.refusal import english
from callbacks.context.budget import Budget
from callbacks.counting.bytes import ByteCounter
from examples.procurement.assistant import Assistant, Clock, store_in
from examples.procurement.case import at
from examples.procurement.offline_model import Reader
from examples.procurement.sources import Ledger, ProcurementSource
from stores.ports import ContextStore
from tests.integration.adk.conftest import APP, SCHEMA, Town
from tests.support.scripted import ScriptedModel

FORGED = types.Content(role="model", parts=[types.Part(text="zzforgedzz")])


class Forges(BasePlugin):
    """Replaces each event by one with a record that ours takes out."""

    def __init__(self) -> None:
        super().__init__(name="forges")

    async def on_event_callback(self, *, invocation_context: Any, event: Event) -> Event | None:
        record = EventCompaction(start_timestamp=0, end_timestamp=1, compacted_content=FORGED)
        return event.model_copy(update={"actions": EventActions(compaction=record)})


def wire(store: ContextStore, *before: BasePlugin, **options: Any) -> tuple[App, ScriptedModel]:
    model = ScriptedModel.of()
    root = LlmAgent(name="root", model=model)
    app = App(name=APP, root_agent=root, plugins=list(before))
    budget = Budget(20_000, "utf8_bytes")
    ContextBudgetPlugin.for_app(
        app, store=store, counter=ByteCounter(), budget=budget, schema=SCHEMA, **options
    )
    return app, model


def test_a_plugin_before_ours_that_may_replace_events_is_refused_by_name(
    store: ContextStore,
) -> None:
    """What is stored would not be what ours saw, so the start says which plugin that is."""
    with pytest.raises(EventHidden, match="forges") as caught:
        wire(store, Forges())
    assert caught.value.error_code == "EVENT_HIDDEN"
    assert caught.value.numbers == {"names": "forges"}
    advice = "put them after the context plugin, or answer for them with replacing=['forges']."
    assert str(caught.value).endswith(f"must see: forges; {advice}")


def test_a_callback_put_on_the_object_counts_as_one_of_its_own(store: ContextStore) -> None:
    """A plugin whose callback is replaced on the object is seen for what it does."""
    plain = LoggingPlugin()
    plain.on_event_callback = Forges().on_event_callback  # type: ignore[method-assign]  # the point
    with pytest.raises(EventHidden, match="logging_plugin"):
        wire(store, plain)


class Delegates(BasePlugin):
    """A plugin that hands another one's callbacks on."""

    def __init__(self, inner: BasePlugin) -> None:
        super().__init__(name="delegates")
        self._inner = inner

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("on_event_"):
            return getattr(object.__getattribute__(self, "_inner"), name)
        return object.__getattribute__(self, name)


def test_a_callback_of_another_plugin_counts_as_one_of_its_own(store: ContextStore) -> None:
    """What ADK would call decides, however a plugin comes by it."""
    with pytest.raises(EventHidden, match="delegates"):
        wire(store, Delegates(Forges()))
    assert wire(store, Delegates(LoggingPlugin()))


async def test_a_plugin_that_was_put_before_ours_later_stops_each_turn(
    store: ContextStore, town: Town, caplog: pytest.LogCaptureFixture
) -> None:
    """No model is called; the person reads no developer's sentence, which is logged, once."""
    app, model = wire(store)
    app.plugins.insert(0, Forges())
    runner = Runner(app=app, session_service=town.sessions)
    for _ in range(2):
        events = await town.turn(runner, "hi")
        assert model.requests == []
        assert "not set up correctly" in str(events[-1].content)
        assert "plugin" not in str(events[-1].content)
    [told] = [one for one in caplog.records if one.name == "local_agent.context"]
    assert told.levelname == "ERROR"
    assert "error_code=EVENT_HIDDEN" in told.getMessage()
    assert "must see: forges; " in told.getMessage()


async def test_who_answers_for_a_plugin_names_it(store: ContextStore, town: Town) -> None:
    """A plugin that is named runs where it stands, and `explain` shows that it does."""
    app, model = wire(store, Forges(), replacing=["forges"])
    await town.turn(Runner(app=app, session_service=town.sessions), "hi")
    assert len(model.requests) == 1
    plugin = app.plugins[-1]
    assert isinstance(plugin, ContextBudgetPlugin)
    told = plugin.explain().splitlines()
    assert "plugin forges, MAY REPLACE EVENTS, answered for by its author" in told


async def test_what_looks_at_events_alone_stands_anywhere(store: ContextStore, town: Town) -> None:
    """ADK's own plugins before ours, and anybody's after it, need no answer."""
    app, model = wire(store, LoggingPlugin(), BasePlugin(name="none"))
    app.plugins.append(Forges())
    await town.turn(Runner(app=app, session_service=town.sessions), "hi")
    assert len(model.requests) == 1


async def test_no_plugin_after_ours_rewrites_a_proven_answer(tmp_path: Any) -> None:
    """Answering by evidence, what leaves is the text that was let out, whoever comes after."""
    async with store_in(tmp_path, b"a store key of these tests alone") as store:
        source = ProcurementSource(Ledger(at("10:14:03")))
        using = Assistant(store, source, Reader(), Clock(at("10:16:00")))
        using._runner.plugin_manager.register_plugin(Forges())
        try:
            got = await using.ask("華東 H-117 更換 86 萬元客房電視，能直接請區域總經理批嗎？")
        finally:
            await using.close()
    assert (got.requests, got.released) == ((), None)
    assert got.answer == english("EVENT_HIDDEN")
