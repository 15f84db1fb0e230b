"""The helpdesk as an ADK app: the plugin of LOCAL with a history policy, budget and gate alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps.app import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.google_llm import Gemini
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types

from callbacks.adk.history import HistoryMinimizer
from callbacks.adk.plugin import ContextBudgetPlugin
from callbacks.adk.report import RequestRecord, TurnReport
from callbacks.context.budget import Budget
from callbacks.context.history_message import HistoryMessage
from callbacks.context.schema import ContextSchema, Topic
from callbacks.counting.bytes import ByteCounter
from callbacks.counting.request import CountRequest
from examples.day12.messages import EARLIER, NEWEST_ID, SYNONYMS
from examples.day12.offline_model import HelpdeskRules
from local_agent.settings import Settings
from stores.open import open_store

APP_NAME = "helpdesk"
BUDGET = 8_000
"""Most UTF-8 bytes of a whole request: rules, tools, history and newest message."""

INSTRUCTION = """你是公司的資訊服務台。只根據這次的訊息和應用程式挑出的歷史紀錄，用臺灣的中文回答。
給可以照做的排障步驟；用到哪一則紀錄就說出它的編號。
使用者要求開工單時才呼叫 open_ticket；說不要開就不要開。
從不要求或複述密碼、備用碼這類資料。"""

Load = Callable[[], Sequence[HistoryMessage]]


def open_ticket(summary: str) -> dict[str, str]:
    """Open a ticket; only when the person asks for one.

    Args:
        summary: The problem in one sentence.
    """
    return {"status": "opened", "summary": summary}


@dataclass(frozen=True)
class Answered:
    """One question and all that became of it.

    Attributes:
        text: What the person read.
        tools: The tools that were called.
        requests: The requests that left, with their records.
        records: The records of all requests, refused ones too.
        error_code: The code where the question was refused.
        session: Everything ADK keeps of the conversation, as JSON.
    """

    text: str
    tools: tuple[str, ...]
    requests: tuple[CountRequest, ...]
    records: tuple[RequestRecord, ...]
    error_code: str | None
    session: str


@dataclass
class Helpdesk:
    """One helpdesk, wired; asks one question of a new conversation each time.

    Attributes:
        database: The plugin's store; it stays without a word of anybody's.
        model: Who answers.
        limit: Most bytes of a request.
        earlier: The older messages; None for a helpdesk without a history policy, as a control.
    """

    database: Path
    model: BaseLlm = field(default_factory=HelpdeskRules)
    limit: int = BUDGET
    earlier: Sequence[HistoryMessage] | None = EARLIER

    async def ask(self, text: str) -> Answered:
        """Ask one question."""
        sent: list[CountRequest] = []
        reports: list[TurnReport] = []
        store = open_store(f"sqlite+aiosqlite:///{self.database.absolute()}")
        plugin = ContextBudgetPlugin(
            schema=ContextSchema(topics={"helpdesk": Topic("資訊服務台")}, language="zh-Hant"),
            store=store,
            counter=ByteCounter(),
            budget=Budget(self.limit, "utf8_bytes"),
            history=self._policy(),
            on_report=reports.append,
            on_request=lambda request, record: sent.append(request),
        )
        agent = LlmAgent(
            name=APP_NAME,
            description="資訊服務台",
            model=self.model,
            static_instruction=INSTRUCTION,
            tools=[open_ticket],
            generate_content_config=types.GenerateContentConfig(temperature=0),
            disallow_transfer_to_parent=True,
            disallow_transfer_to_peers=True,
        )
        sessions = InMemorySessionService()
        runner = Runner(
            app=App(name=APP_NAME, root_agent=agent, plugins=[plugin]), session_service=sessions
        )
        session = await sessions.create_session(app_name=APP_NAME, user_id="demo-person")
        texts, tools, code = [], [], None
        try:
            async for event in runner.run_async(
                user_id="demo-person",
                session_id=session.id,
                new_message=types.Content(role="user", parts=[types.Part(text=text)]),
            ):
                code = event.error_code or code
                tools += [call.name or "" for call in event.get_function_calls()]
                parts = (event.content.parts if event.content else None) or []
                if event.is_final_response():
                    texts += [part.text for part in parts if part.text]
        finally:
            await store.close()
        kept = await sessions.get_session(
            app_name=APP_NAME, user_id="demo-person", session_id=session.id
        )
        return Answered(
            text="\n".join(texts),
            tools=tuple(tools),
            requests=tuple(sent),
            records=tuple(record for report in reports for record in report.requests),
            error_code=code,
            session=kept.model_dump_json() if kept is not None else "",
        )

    def _policy(self) -> HistoryMinimizer | None:
        earlier = self.earlier
        if earlier is None:
            return None

        async def load(_: InvocationContext) -> Sequence[HistoryMessage]:
            return earlier

        return HistoryMinimizer(load, synonyms=SYNONYMS, newest_id=NEWEST_ID)


def model_of(settings: Settings) -> BaseLlm:
    """Return Gemini where a key and a model's name are set, else the offline rules."""
    if settings.offline:
        return HelpdeskRules()
    return Gemini(model=settings.model, retry_options=types.HttpRetryOptions(attempts=1))
