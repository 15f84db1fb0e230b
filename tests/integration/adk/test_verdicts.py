"""Requests decided by a counter that proves: records, cuts, calls and broken promises."""

from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types

from callbacks.adk.plugin import ContextBudgetPlugin
from callbacks.adk.report import TurnReport
from callbacks.context.budget import Budget
from callbacks.context.projection import Projection
from callbacks.context.schema import ContextSchema, Topic
from callbacks.context.slot import Slot
from callbacks.counting.certified import CertifiedCounter
from callbacks.counting.request import CountRequest
from stores.open import open_store
from tests.support.rendered import RenderedCounter

MODEL = "measuring"


class Measuring(BaseLlm):
    """Answers, and says what its prompt measured; calls the tool first."""

    model: str = MODEL
    extra: int = 0
    tool_first: bool = True

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        answered = any(p.function_response for c in llm_request.contents for p in c.parts or ())
        part = types.Part(text="好")
        if self.tool_first and not answered:
            part = types.Part(function_call=types.FunctionCall(name="find", args={"area": "花壇"}))
        yield LlmResponse(
            content=types.Content(role="model", parts=[part]),
            usage_metadata=types.GenerateContentResponseUsageMetadata(
                prompt_token_count=1 + self.extra
            ),
        )


def find(area: str) -> dict[str, list[str]]:
    """Finds places."""
    return {"places": ["蔬食"]}


class Town:
    """An app over one store whose counter is asked in this process."""

    def __init__(self, folder, limit: int, **model) -> None:
        self.inner = RenderedCounter()
        self.counter = CertifiedCounter(self.inner, learn="never")
        self.reports: list[TurnReport] = []
        self.sent: list[CountRequest] = []
        schema = ContextSchema(
            topics={"places": Topic("找店家")}, slots={"area": Slot.closed(["花壇"], label="區域")}
        )
        self.plugin = ContextBudgetPlugin(
            schema=schema,
            store=open_store(f"sqlite+aiosqlite:///{folder}/t.db", signing_keys=[b"k" * 32]),
            counter=self.counter,
            budget=Budget(limit, "tokens"),
            projectors={"find": lambda args, _: Projection("places", {"area": args["area"]})},
            on_report=self.reports.append,
            on_request=lambda request, _: self.sent.append(request),
        )
        agent = LlmAgent(name="town", model=Measuring(**model), tools=[find])
        self.sessions = InMemorySessionService()
        self.runner = Runner(
            app=App(name="town", root_agent=agent, plugins=[self.plugin]),
            session_service=self.sessions,
        )

    async def ask(self, text: str) -> TurnReport:
        known = await self.sessions.get_session(app_name="town", user_id="u", session_id="s")
        if known is None:
            await self.sessions.create_session(app_name="town", user_id="u", session_id="s")
        async for _ in self.runner.run_async(
            user_id="u", session_id="s", new_message=types.UserContent(text)
        ):
            pass
        return self.reports[-1]


async def test_proven_requests_are_recorded_as_proven(tmp_path):
    """Invariants 13 and 16: a proof has a bound and no size, and asks once for the envelope."""
    town = Town(tmp_path, 100_000)
    await town.counter.warm_up(MODEL)
    town.inner.asked.clear()
    report = await town.ask("有什麼店？")
    assert [r.decision for r in report.requests] == ["proven", "proven"]
    assert all(r.units is None and r.bound is not None for r in report.requests)
    assert len(town.inner.asked) == 1


async def test_without_probes_requests_are_counted(tmp_path):
    """What cannot be proven is counted, once a request, gate included."""
    town = Town(tmp_path, 100_000)
    report = await town.ask("有什麼店？")
    assert [r.decision for r in report.requests] == ["counted", "counted"]
    assert all(r.units is not None and r.bound is None for r in report.requests)
    assert len(town.inner.asked) == 2


async def test_over_budget_is_refused_by_a_count(tmp_path):
    """Invariant 3: only a count refuses, and then no model is called."""
    town = Town(tmp_path, 20)
    await town.counter.warm_up(MODEL)
    report = await town.ask("有什麼店？")
    [record] = report.requests
    assert record.decision == "refused"
    assert record.units is not None
    assert record.units > 20
    assert report.measured_prompt_tokens == []


async def test_history_is_cut_by_verdicts(tmp_path):
    """Invariant 2: where the window does not fit, the fullest cut that does is sent."""
    town = Town(tmp_path, 100_000)
    await town.counter.warm_up(MODEL)
    for _ in range(3):
        await town.ask("有什麼店？")
    full = (await town.ask("再來呢？")).requests[0]
    assert [b.id for b in full.blocks if b.action == "kept"]
    exact = town.inner.truth(town.sent[-2])
    tight = Town(tmp_path, exact - 1)
    await tight.counter.warm_up(MODEL)
    report = await tight.ask("再來呢？")
    first = report.requests[0]
    assert first.decision == "counted"
    assert first.units is not None
    assert first.units < exact


async def test_a_broken_promise_is_seen_after_the_model_call(tmp_path):
    """A prompt measured above the bound ends proofs: the next request is counted."""
    town = Town(tmp_path, 100_000, extra=10**6, tool_first=False)
    await town.counter.warm_up(MODEL)
    assert (await town.ask("一")).requests[0].decision == "proven"
    assert (await town.ask("二")).requests[0].decision == "counted"


async def test_a_turn_that_may_not_ask_any_more_is_refused(tmp_path):
    """Invariant 3: a failing count refuses the turn, and nothing is sent."""
    town = Town(tmp_path, 100_000)
    town.inner.fails = True
    report = await town.ask("有什麼店？")
    assert report.refusal is not None
    assert report.refusal.code == "COUNT_UNAVAILABLE"
    assert report.measured_prompt_tokens == []
