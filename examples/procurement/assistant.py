"""The assistant through a real ADK Runner: agent, plugin, store, a clock that the drills move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode  # type: ignore[attr-defined]  # its public home
from google.adk.apps.app import App
from google.adk.models import BaseLlm
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.genai import types

from callbacks.adk.evidence import EvidencePackets
from callbacks.adk.evidence_turn import Handover, Released
from callbacks.adk.plugin import ContextBudgetPlugin
from callbacks.adk.report import RequestRecord, TurnReport
from callbacks.context.budget import Budget
from callbacks.context.schema import ContextSchema, Topic
from callbacks.counting.counter import Counter
from callbacks.counting.request import CountRequest
from callbacks.counting.tokenizer import TokenizerCounter
from examples.procurement.case import BOOK, CONTRACT
from examples.procurement.sources import READER, ProcurementSource
from stores.open import open_store
from stores.whole import WholeStore

SCHEMA = ContextSchema(topics={"purchase": Topic("詢問採購")}, slots={})
APP = "procurement"
TENANT = APP
LIMIT = CONTRACT.input_limit
KEPT_MS = 100 * 365 * 86_400_000
"""How long the example keeps its records: its clock is its own, and who reads them has another."""

FIRST_NUMBER = 12
"""The case's generations count on from CG-771-12."""

INSTRUCTION = (
    "You answer questions about purchases from the evidence packet in the conversation, by typed "
    "statements. Ask for a tool where a claim of the plan needs one. You approve nothing."
)


def upper_bound() -> Counter:
    """Return a counter in tokens that needs no network: never too low.

    A byte-fallback tokenizer spends at most one token a UTF-8 byte on text, so as many tokens as
    bytes is a bound, and it is called one wherever it is shown (docs/evidence.md).
    """
    return TokenizerCounter(lambda text: len(text.encode("utf-8")), margin=0.0)


@dataclass
class Clock:
    """The time of the drills, in milliseconds UTC."""

    now_ms: int

    def __call__(self) -> int:
        """Return it."""
        return self.now_ms


@dataclass(frozen=True)
class Asked:
    """What came of a message.

    Attributes:
        answer: The text that left.
        error_code: The refusal's code; empty for none.
        texts: Every text of every event, partial ones included.
        released: How the turn ended by its evidence; None where it did not come so far.
        requests: Every request that was sent or refused.
        sent: The whole requests that left, as they were measured.
        handed_over: What a person got.
    """

    answer: str
    error_code: str
    texts: tuple[str, ...]
    released: Released | None
    requests: tuple[RequestRecord, ...]
    sent: tuple[CountRequest, ...] = field(repr=False)
    handed_over: tuple[Handover, ...] = ()


class Assistant:
    """Asks the agent one message at a time; each in a session of its own."""

    def __init__(
        self,
        store: WholeStore,
        source: ProcurementSource,
        model: BaseLlm,
        clock: Clock,
        *,
        counter: Counter | None = None,
        limit: int = LIMIT,
        person: bool = False,
        first: int = FIRST_NUMBER,
        streaming: bool = False,
        before: Sequence[BasePlugin] = (),
        agent: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        """Wire everything.

        Args:
            store: Windows, consent and records of generations.
            source: What questions are answered from.
            model: The model.
            clock: The time.
            counter: Measures whole requests; an upper bound in tokens by default.
            limit: The budget of the whole request, in the counter's unit.
            person: Whether there is somebody to hand an answer to.
            first: The number before the first generation's.
            streaming: Whether the model's chunks are sent on.
            before: Plugins that come before ours.
            agent: Whatever else the agent takes.
            options: Whatever else our plugin takes.
        """
        self._ended: list[Released] = []
        self._sent: list[CountRequest] = []
        self._reports: list[TurnReport] = []
        self._given: list[Handover] = []
        self._made = first
        self._streaming = streaming

        async def hand_over(given: Handover) -> None:
            self._given.append(given)

        def name(_context: object, _revision: int) -> str:
            self._made += 1
            return f"CG-771-{self._made}"

        def finance_balance(account: str) -> dict[str, Any]:
            """Return the available balance of a budget account."""
            source.fetched.append("finance_ledger")
            return source.ledger.balance(account)

        def search_policy(keyword: str) -> dict[str, Any]:
            """Return headings of policies that hold a keyword."""
            return {"headings": [], "keyword_length": len(keyword)}

        def send_file(to: str) -> dict[str, Any]:
            """Send the attachment somewhere. The contract does not allow it."""
            raise AssertionError(to)

        counter = counter or upper_bound()
        self._plugin = ContextBudgetPlugin(
            store=store,
            counter=counter,
            budget=Budget(limit, counter.unit),
            clock=clock,
            evidence=EvidencePackets(
                source,
                contract=CONTRACT,
                book=BOOK,
                store=store,
                ttl_ms=KEPT_MS,
                naming=name,
                hand_over=hand_over if person else None,
                on_release=self._ended.append,
                clock=clock,
            ),
            on_request=lambda request, _record: self._sent.append(request),
            on_report=self._reports.append,
            **{"schema": SCHEMA, **options},
        )
        answering = LlmAgent(
            name="procurement",
            model=model,
            instruction=INSTRUCTION,
            tools=[finance_balance, search_policy, send_file],
            **(agent or {}),
        )
        app = App(name=APP, root_agent=answering, plugins=[*before, self._plugin])
        self._runner = InMemoryRunner(app=app)

    async def ask(self, message: str, files: Sequence[str] = ()) -> Asked:
        """Send one message, with the texts of its files, and return what came of it."""
        self._ended.clear()
        self._sent.clear()
        self._reports.clear()
        self._given.clear()
        session = await self._runner.session_service.create_session(app_name=APP, user_id=READER)
        parts = [types.Part(text=message)]
        parts += [types.Part(text=f"[file {at}]\n{text}") for at, text in enumerate(files, 1)]
        texts: list[str] = []
        answer, code = "", ""
        config = RunConfig(streaming_mode=StreamingMode.SSE) if self._streaming else RunConfig()
        async for event in self._runner.run_async(
            user_id=READER,
            session_id=session.id,
            new_message=types.Content(role="user", parts=parts),
            run_config=config,
        ):
            said = [part.text for part in (event.content.parts if event.content else None) or []
                    if part.text]  # fmt: skip
            texts.extend(said)
            if event.is_final_response() and not event.partial:
                answer, code = "\n".join(said), event.error_code or ""
        requests = tuple(self._reports[-1].requests) if self._reports else ()
        return Asked(
            answer=answer,
            error_code=code,
            texts=tuple(texts),
            released=self._ended[-1] if self._ended else None,
            requests=requests,
            sent=tuple(self._sent),
            handed_over=tuple(self._given),
        )

    async def close(self) -> None:
        """Close the runner."""
        await self._runner.close()


def store_in(folder: Path, key: bytes) -> WholeStore:
    """Return a store in a file of a folder; nothing is opened yet."""
    return open_store(f"sqlite+aiosqlite:///{folder / 'procurement.db'}", store_keys=[key])
