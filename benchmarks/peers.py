"""30 turns of one conversation by four ways: raw, ADK's filter, its compaction, the window."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import tempfile
import warnings
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import mean, median
from typing import Any, Literal

import click
from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps.app import App, EventsCompactionConfig
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.context_filter_plugin import ContextFilterPlugin
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types
from pydantic import Field

from callbacks.adk.injection import Preference
from callbacks.adk.plugin import ContextBudgetPlugin
from callbacks.adk.reducing import first_entries
from callbacks.context.budget import Budget
from callbacks.counting.bytes import ByteCounter
from callbacks.counting.request import CountRequest
from stores.open import open_store
from stores.ports import ContextStore
from stores.records import CardAction, Owner, Proposal

TURNS = 30
BUDGET_BYTES = 32_768
HUGE_TURN, FORGET_TURN = 10, 15
TOWN, DIET = "Lukang", "zzveganzz"
SUMMARY_CHARACTERS = 2_000
"""What the stand-in for a summarizing model keeps of its prompt: its beginning, with both facts."""

_PERSON, _SESSION, _APP = "ann", "s", "peers"


def search_places(area: Literal["Huatan", "Lukang", "Yuanlin"], diet: str = "") -> dict[str, Any]:
    """Search places to eat in an area; leave the diet empty unless it was asked for."""
    return {"area": area, "rows": [f"{area} shop {number}" for number in range(3)]}


def export_register(kind: str) -> dict[str, Any]:
    """Export the whole register of one kind."""
    return {"rows": [f"{kind} {number:04d}, Zhongshan Road {number}" for number in range(1_300)]}


def message(turn: int) -> str:
    """What the person says in a turn, counted from 1."""
    if turn == 1:
        return f"I am in {TOWN} and I eat {DIET} food. What is there to eat?"
    if turn == HUGE_TURN:
        return "Show me the whole register of bakeries, please."
    if turn == FORGET_TURN:
        return "Please forget what I eat."
    return f"Tell me a little about sight number {turn}, and what people say about visiting it."


class _Scripted(BaseLlm):
    """Calls a tool where the newest message asks for one, else talks; measures what it is given."""

    model: str = "scripted"
    sizes: list[int] = Field(default_factory=list)
    texts: list[str] = Field(default_factory=list)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        counted = CountRequest(self.model, llm_request.config, tuple(llm_request.contents))
        self.sizes.append(counted.size)
        self.texts.append(counted.canonical().decode())
        newest = (llm_request.contents[-1].parts or [types.Part()])[-1]
        yield LlmResponse(content=types.Content(role="model", parts=[self._step(newest)]))

    def _step(self, newest: types.Part) -> types.Part:
        if newest.text and "What is there to eat" in newest.text:
            return _call("search_places", area=TOWN)
        if newest.text and "whole register" in newest.text:
            return _call("export_register", kind="bakery")
        return types.Part(text="Here you are. " + "It is a quiet place, worth an hour. " * 4)


class _Summarizer(_Scripted):
    """Stands in for the model of a compaction: keeps the beginning of what it is to summarize."""

    def _step(self, newest: types.Part) -> types.Part:
        told = (newest.text or "").rpartition("user:")[0] or (newest.text or "")
        start = max(told.find("user:"), 0)
        return types.Part(text=told[start : start + SUMMARY_CHARACTERS] or "Nothing new.")


def _call(name: str, **args: str) -> types.Part:
    return types.Part(function_call=types.FunctionCall(name=name, args=args))


@dataclass
class Way:
    """One way to keep a conversation's context, on ADK's own Runner.

    Attributes:
        name: As it stands in the results.
        plugins: Made anew for each run, around the store.
        compaction: Whether ADK compacts.
    """

    name: str
    plugins: Callable[[App, ContextStore], list[BasePlugin]]
    compaction: bool = False


def _window(app: App, store: ContextStore) -> list[BasePlugin]:
    wish = Preference("diet", [DIET], purpose="p", fills={"search_places": "diet"}, otherwise="any")
    ContextBudgetPlugin.for_app(
        app,
        store=store,
        counter=ByteCounter(),
        budget=Budget(BUDGET_BYTES, "utf8_bytes"),
        preferences=[wish],
        reducers={"export_register": first_entries},
        clock=lambda: 0,  # the journal does not age while a benchmark runs
    )
    return []


WAYS = (
    Way("full_raw", lambda app, store: []),
    Way("adk_filter_5", lambda app, store: [ContextFilterPlugin(num_invocations_to_keep=5)]),
    Way("adk_compaction_5", lambda app, store: [], compaction=True),
    Way("window_ledger", _window),
)


async def measure(way: Way, folder: Path, *, forgetting: bool) -> dict[str, Any]:
    """Run the whole conversation one way.

    Args:
        way: How context is kept.
        folder: Where the store's database goes.
        forgetting: Whether the diet is remembered with consent, and forgotten on the way. Any
            change of consent makes the window start anew, so the early fact is judged without.

    Returns:
        Sizes in canonical UTF-8 bytes of the whole request (rules and tools included), and counts.
    """
    model, summarizer = _Scripted(), _Summarizer()
    root = LlmAgent(
        name="guide",
        model=model,
        instruction="You help visitors of a town, briefly and truthfully.",
        tools=[search_places, export_register],
    )
    compaction = None
    if way.compaction:
        compaction = EventsCompactionConfig(
            compaction_interval=5,
            overlap_size=1,
            summarizer=LlmEventSummarizer(llm=summarizer),
        )
    app = App(name=_APP, root_agent=root, events_compaction_config=compaction)
    sessions = InMemorySessionService()
    owner = Owner(tenant=_APP, person=_PERSON)
    refused, before_forgetting, before_last = 0, 0, 0
    async with open_store(
        f"sqlite+aiosqlite:///{folder}/{way.name}-{forgetting}.db",
        signing_keys=[secrets.token_bytes(32)],
        store_keys=[secrets.token_bytes(32)],
    ) as store:
        app.plugins.extend(way.plugins(app, store))
        runner = Runner(app=app, session_service=sessions)
        await sessions.create_session(app_name=_APP, user_id=_PERSON, session_id=_SESSION)
        for turn in range(1, TURNS + 1):
            if turn == 1 and forgetting:
                await _remember(store, owner)
            if turn == FORGET_TURN and forgetting:
                await store.forget(owner, "diet", now_ms=0)
                before_forgetting = len(model.sizes)
            before_last = len(model.sizes)
            new = types.Content(role="user", parts=[types.Part(text=message(turn))])
            async for event in runner.run_async(
                user_id=_PERSON, session_id=_SESSION, new_message=new
            ):
                refused += event.error_code is not None
        await runner.close()
    last = "".join(_contents(text) for text in model.texts[before_last:])
    past = [message(turn) for turn in range(1, TURNS)]
    sizes = [*model.sizes, *summarizer.sizes]
    return {
        "requests": len(model.sizes),
        "extra_model_requests": len(summarizer.sizes),
        "mean_bytes": round(mean(sizes)),
        "median_bytes": round(median(sizes)),
        "max_bytes": max(sizes),
        "last_turn_bytes": model.sizes[-1],
        "over_budget_sent": sum(size > BUDGET_BYTES for size in sizes),
        "turns_refused": refused,
        "requests_with_forgotten_fact": sum(
            DIET in text for text in model.texts[before_forgetting:]
        ),
        "early_fact_in_last_request": TOWN in last,
        "past_messages_in_last_request": sum(words in last for words in past),
    }


async def both(way: Way, folder: Path) -> dict[str, Any]:
    """Run the conversation twice: what it costs and keeps, and what is left after forgetting."""
    cost = await measure(way, folder, forgetting=False)
    forgotten = await measure(way, folder, forgetting=True)
    name = "requests_with_forgotten_fact"
    return {**cost, name: forgotten[name]}


def _contents(request: str) -> str:
    """Return a request's contents, without the tool declarations, which name every town."""
    return json.dumps(json.loads(request)["contents"], ensure_ascii=False)


async def _remember(store: ContextStore, owner: Owner) -> None:
    proposal = Proposal(key="diet", value=DIET, purpose="p", action=CardAction.REMEMBER)
    card = await store.propose(owner, proposal, now_ms=0)
    await store.approve(owner, card.token, now_ms=0)


@click.command(help=__doc__)
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write to a file.")
def main(as_json: bool, out: Path | None) -> None:
    """Measure every way on the same conversation."""
    logging.disable(logging.WARNING)
    warnings.filterwarnings("ignore", category=UserWarning)  # ADK marks compaction experimental
    with tempfile.TemporaryDirectory() as folder:
        ways = {way.name: asyncio.run(both(way, Path(folder))) for way in WAYS}
    result = {
        "turns": TURNS,
        "budget_bytes": BUDGET_BYTES,
        "huge_result_bytes": len(json.dumps(export_register("bakery"))),
        "google_adk": version("google-adk"),
        "ways": ways,
    }
    text = json.dumps(result, ensure_ascii=False, indent=2) + "\n" if as_json else _table(ways)
    if out is not None:
        out.write_text(text, encoding="utf-8")
    click.echo(text, nl=False)


def _table(ways: dict[str, dict[str, Any]]) -> str:
    keys = list(next(iter(ways.values())))
    rows = [f"{'':<30}" + "".join(f"{name:>18}" for name in ways)]
    rows += [f"{key:<30}" + "".join(f"{way[key]!s:>18}" for way in ways.values()) for key in keys]
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    main()
