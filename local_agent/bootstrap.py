"""The one place that builds objects from settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from google import genai
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.apps.app import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.google_llm import Gemini
from google.genai import types

from callbacks.adk.internals import invocation_of, stop_import_retry
from callbacks.adk.keeper import epoch_ms
from callbacks.adk.outgoing import OnRequest
from callbacks.adk.plugin import ContextBudgetPlugin
from callbacks.adk.report import TurnReport
from callbacks.context.budget import Budget
from callbacks.counting.bytes import ByteCounter
from callbacks.counting.cache import SqliteCountCache
from callbacks.counting.certified import CertifiedCounter
from callbacks.counting.counter import Counter
from callbacks.counting.gemini import GeminiTokenCounter
from local_agent.catalog import load_catalog
from local_agent.context import PROJECTORS, SCHEMA, dietary_preference
from local_agent.instruction import INSTRUCTION
from local_agent.keyfile import signing_keys, store_keys
from local_agent.offline_model import OfflineModel
from local_agent.settings import Settings, SettingsError
from local_agent.templates import refusal
from local_agent.tools import LocalTools, say_results
from stores.open import open_store
from stores.ports import ContextStore
from stores.records import DIRECT, Owner

APP_NAME = "local_agent"
STATELESS = "-"
"""ADK wants a user id; this one stands for nobody and makes a turn stateless (invariant 11)."""

SAID_AT_METADATA = "said_at_ms"
CHANNEL_METADATA = "channel"
"""Key in `RunConfig.custom_metadata` under which a channel tells when a message was written."""

PRIVATE_RESULTS = (
    "search_local_places",
    "propose_dietary_memory",
    "request_memory_management",
)
"""Results that differ with what a person had remembered, or hold a card: for that person only."""


@dataclass(frozen=True)
class Local:
    """One LOCAL, wired."""

    settings: Settings
    store: ContextStore
    plugin: ContextBudgetPlugin
    app: App
    counter: Counter
    clock: Callable[[], int]

    async def close(self) -> None:
        """Let go of the store and stop what counts in the background."""
        if isinstance(self.counter, CertifiedCounter):
            await self.counter.close()
        await self.store.close()


def build(
    settings: Settings,
    *,
    store: ContextStore | None = None,
    counter: Counter | None = None,
    clock: Callable[[], int] = epoch_ms,
    on_report: Callable[[TurnReport], None] | None = None,
    on_request: OnRequest | None = None,
    consent_surface: bool = True,
) -> Local:
    """Wire LOCAL from its settings.

    Args:
        settings: See docs/settings.md.
        store: Use this store instead of opening LOCAL_DATABASE_URL.
        counter: Use this counter instead of the one for LOCAL_BUDGET_UNIT.
        clock: Milliseconds since the epoch.
        on_report: Gets each turn's report; holds private values.
        on_request: Gets each request that leaves; holds the newest message.
        consent_surface: Whether somebody shows private results and lets a person press consent
            cards. ADK's own tools (`adk web`, `adk run`) do neither: there results stay in the
            session, and nothing is remembered or filled in.

    Raises:
        SettingsError: A setting is missing or cannot be used.
        StoreError: The database URL is not one that stores know.
    """
    stop_import_retry()
    if store is None:
        store = open_store(
            settings.database_url.get_secret_value(),
            signing_keys=signing_keys(settings),
            store_keys=store_keys(settings),
        )
    if counter is None:
        counter = build_counter(settings)
    plugin = ContextBudgetPlugin(
        schema=SCHEMA,
        store=store,
        counter=counter,
        budget=Budget(settings.budget_limit, settings.budget_unit),
        projectors=PROJECTORS,
        preferences=(dietary_preference(),) if consent_surface else (),
        private_results=PRIVATE_RESULTS if consent_surface else (),
        max_turns=settings.max_turns,
        ttl_ms=settings.context_ttl_seconds * 1000,
        owner=lambda context: owner_of(settings, context),
        clock=clock,
        refusal_text=refusal,
        on_report=on_report,
        on_request=on_request,
    )
    tools = LocalTools(
        catalog=load_catalog(settings.catalog),
        store=store if consent_surface else None,
        owner=lambda context: owner_of(settings, context),
        clock=clock,
        zone=settings.zone,
        rendered=not consent_surface,
        revision=plugin.revision_of,
        said_at=said_at_of,
        channel=channel_of,
    )
    app = App(
        name=APP_NAME,
        root_agent=build_agent(settings, tools, consent_surface=consent_surface),
        plugins=[plugin],
    )
    return Local(
        settings=settings, store=store, plugin=plugin, app=app, counter=counter, clock=clock
    )


def build_agent(settings: Settings, tools: LocalTools, *, consent_surface: bool = True) -> LlmAgent:
    """Return LOCAL's agent: one model, its rules and its five tools; see `build`."""
    return LlmAgent(
        name=APP_NAME,
        description="彰化縣的生活小幫手：找店家、找活動、管理同意記住的偏好。",
        model=build_model(settings),
        static_instruction=INSTRUCTION,
        tools=[*tools.all()],
        before_model_callback=None if consent_surface else say_results,
        generate_content_config=types.GenerateContentConfig(
            temperature=0,
            max_output_tokens=512,
            thinking_config=types.ThinkingConfig(thinking_level=types.ThinkingLevel.LOW),
        ),
        disallow_transfer_to_parent=True,
        disallow_transfer_to_peers=True,
    )


def build_model(settings: Settings) -> BaseLlm:
    """Return Gemini where a key and a model's name are set, else the offline rules."""
    if settings.offline:
        return OfflineModel(history_schema=SCHEMA)
    return Gemini(model=settings.model, retry_options=types.HttpRetryOptions(attempts=1))


def build_counter(settings: Settings) -> Counter:
    """Return the counter for the budget's unit.

    Raises:
        SettingsError: Tokens can only be counted by the model's own service, which is not asked
            offline or without approval.
    """
    if settings.budget_unit == "utf8_bytes":
        return ByteCounter()
    if settings.offline or settings.google_api_key is None:
        raise SettingsError(
            "LOCAL_BUDGET_UNIT",
            "must be utf8_bytes where the offline rules answer: they have no tokens to count",
        )
    if not settings.approve_count_tokens:
        raise SettingsError(
            "LOCAL_APPROVE_COUNT_TOKENS",
            "must be yes with LOCAL_BUDGET_UNIT=tokens, for counting sends contents to the service",
        )
    client = genai.Client(api_key=settings.google_api_key.get_secret_value())
    return CertifiedCounter(
        GeminiTokenCounter(client, approve_external=True),
        cache=SqliteCountCache(settings.count_cache),
    )


def owner_of(settings: Settings, context: InvocationContext | ReadonlyContext) -> Owner | None:
    """Return whose turn it is; None for nobody known."""
    person = context.session.user_id
    if not person.strip() or person == STATELESS:
        return None
    return Owner(tenant=settings.tenant, person=person)


def said_at_of(context: ReadonlyContext) -> int | None:
    """Return when the message of this turn was written; None where the channel does not say."""
    said_at_ms = _told(context, SAID_AT_METADATA)
    return said_at_ms if isinstance(said_at_ms, int) else None


def channel_of(context: ReadonlyContext) -> str:
    """Return where the message of this turn came from, for the consent ledger."""
    channel = _told(context, CHANNEL_METADATA)
    return channel if isinstance(channel, str) else DIRECT


def _told(context: ReadonlyContext, name: str) -> object:
    """Return what the service says of the message beside its text."""
    run_config = invocation_of(context).run_config
    return ((run_config.custom_metadata if run_config else None) or {}).get(name)
