"""The plugin: what an ADK app adds to have a bounded context and a consented memory.

It decides nothing itself: what may be seen is callbacks.context's, what is remembered is the
store's, how big a request is the counter's. It only stands at ADK's callbacks, and it never
raises: any failure becomes a refusal with a code (invariant 3).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.apps.app import App
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from callbacks.adk.beside import Beside
from callbacks.adk.derived import schema_from_tools
from callbacks.adk.evidence import EvidencePackets
from callbacks.adk.evidence_release import ReleaseGate
from callbacks.adk.evidence_tools import EvidenceTools
from callbacks.adk.gate import Gates, LiveNotSupported
from callbacks.adk.history import HistoryPolicy
from callbacks.adk.injection import Preference
from callbacks.adk.internals import invocation_of, unsupported
from callbacks.adk.keeper import (
    WINDOW_TTL_MS,
    OwnerOf,
    TurnKeeper,
    epoch_ms,
    failed,
    owner_of_session,
)
from callbacks.adk.meter import Meter
from callbacks.adk.naming import names_in
from callbacks.adk.noting import note_tools
from callbacks.adk.outgoing import OnRequest, OutgoingRequests
from callbacks.adk.records import distrust_stored, distrusted
from callbacks.adk.reducing import Reducer
from callbacks.adk.refusal import Refusal, RefusalText, english, guarded, withheld
from callbacks.adk.report import TurnReport
from callbacks.adk.tools import Projectors, ToolCalls
from callbacks.adk.tree import WiringRefused
from callbacks.adk.wiring import AdkNotSupported, Wiring, explained
from callbacks.context.budget import Budget
from callbacks.context.errors import UnitMismatch
from callbacks.context.finder import MessageFinder
from callbacks.context.schema import ContextSchema, Language
from callbacks.counting.counter import Counter
from stores.ports import ContextStore


class ContextBudgetPlugin(BasePlugin):
    """A bounded context before each model call, and consent where each tool runs."""

    def __init__(
        self,
        *,
        schema: ContextSchema,
        store: ContextStore,
        counter: Counter,
        budget: Budget,
        projectors: Projectors | None = None,
        noting: bool = False,
        finding: bool = True,
        today: Callable[[], date] | None = None,
        preferences: Sequence[Preference] = (),
        private_results: Collection[str] = (),
        history: HistoryPolicy | None = None,
        reducers: Mapping[str, Reducer] | None = None,
        evidence: EvidencePackets | None = None,
        max_turns: int = 2,
        ttl_ms: int = WINDOW_TTL_MS,
        owner: OwnerOf = owner_of_session,
        clock: Callable[[], int] = epoch_ms,
        refusal_text: RefusalText = english,
        on_report: Callable[[TurnReport], None] | None = None,
        on_request: OnRequest | None = None,
        without_model: Collection[str] = (),
        raw_past: Collection[str] = (),
        replacing: Collection[str] = (),
        unchecked: Collection[str] = (),
        name: str = "context_budget",
    ) -> None:
        """Wire policy, store and counter together.

        Args:
            schema: What a projection may hold.
            store: The journal and the preferences.
            counter: Measures whole requests; its unit must be the budget's.
            budget: The most that may be sent.
            projectors: Tool name -> what a call of it leaves behind: a function, or
                `project_fields(topic, {slot: field})`.
            noting: Whether the model gets the tool `note_context`, made from the schema, to note
                what an exchange settled without any other tool.
            finding: Whether values that the newest message plainly contains are noted without a
                model (callbacks.context.finder).
            today: The person's day, for "tomorrow" and dates without a year; None leaves those
                out of what is found.
            preferences: What people may agree to have remembered. The value is scrubbed from the
                result of a tool that it was filled into.
            private_results: Tools whose results go to the application, through the turn's
                report, and to nobody else; session and model see a constant receipt. A result
                that *implies* a value (only vegetarian places) cannot be scrubbed, so a tool
                that is filled belongs here wherever the application itself shows the results:
                then two people who differ only in what they had remembered cannot be told apart
                by any request, session event or span (invariant 6).
            history: What of an application's own older messages a request may hold, for agents
                that must keep raw text (docs/history.md); None for no raw text at all.
            reducers: Tool name -> how a result of this turn is shortened, visibly, when even the
                smallest request would not fit (callbacks.adk.reducing); other tools' results are
                never cut, the request is refused.
            evidence: What answers are to be proven from, for applications that answer by evidence
                (docs/evidence.md); None for none.
            max_turns: Projections kept whole; older ones go into the ledger. 0 keeps none.
            ttl_ms: Life of the journal after its last append, in milliseconds.
            owner: Whose turn an invocation is; None makes it stateless.
            clock: Milliseconds since the epoch.
            refusal_text: Code -> the sentence a person reads.
            on_report: Gets the turn's report at its end. Holds private values.
            on_request: Gets every request that leaves, with its record. Holds the newest message.
            without_model: Names of agents whose class has code of its own that calls no model
                except through agents and models that ADK knows; you answer for them.
            raw_past: Names of agents with an `output_key`, and of memory tools, that may bring past
                sentences into requests; you answer for them (invariant 4).
            replacing: Names of plugins that stand before this one and have an `on_event_callback`
                of their own (with `evidence`, of those after it too); you answer for them.
            unchecked: Names of tools that options may name although an app's agents lack them (the
                plugin serves several apps, or they are added later); you answer for them.
            name: The plugin's name in ADK.

        Raises:
            ValueError: `max_turns` or `ttl_ms` is out of range, or two preferences fill one
                argument.
            AdkNotSupported: The installed ADK builds requests in a way nobody here knows.
        """
        super().__init__(name=name)
        if missing := unsupported():
            raise AdkNotSupported(missing)
        if type(max_turns) is not int or type(ttl_ms) is not int or max_turns < 0 or ttl_ms <= 0:
            raise ValueError("max_turns must not be negative and ttl_ms must be positive.")
        refusal_text = guarded(refusal_text)
        if evidence is not None:
            refusal_text = evidence.sentences(refusal_text)
        self._sentence = refusal_text
        self._keeper = TurnKeeper(
            store=store,
            schema=schema,
            max_turns=max_turns,
            ttl_ms=ttl_ms,
            owner=owner,
            clock=clock,
            on_report=on_report,
            finder=MessageFinder(schema) if finding else None,
            today=today,
        )
        self._note_tools = note_tools(schema, self._keeper) if noting else []
        self._tools = ToolCalls(
            schema=schema,
            keeper=self._keeper,
            preferences=preferences,
            projectors=projectors or {},
            private_results=private_results,
            sentence=refusal_text,
        )
        meter = Meter(counter, budget)
        self._outgoing = OutgoingRequests(
            schema=schema,
            meter=meter,
            max_turns=max_turns,
            sentence=refusal_text,
            on_request=on_request,
            history=history,
            reducers=reducers,
            evidence=evidence,
        )
        self._evidence_tools = EvidenceTools(evidence, self._keeper, refusal_text)
        self._release: ReleaseGate | None = None
        if evidence is not None:
            ask = self._outgoing.ask_again
            self._release = ReleaseGate(evidence, meter, refusal_text, ask)
        self._gates = Gates(self._outgoing.check, self._outgoing.unmeasured)
        beside = Beside(self, replacing, last_word=evidence is not None)
        self._derivation = ""
        self._parts: dict[str, Any] = {
            "schema": schema,
            "budget": budget,
            "counter": counter,
            "store": store,
            "preferences": tuple(preferences),
        }
        by_tool = {
            "projectors": tuple(projectors or ()),
            "private_results": tuple(private_results),
            "reducers": tuple(reducers or ()),
        }
        self._parts |= by_tool
        self._wiring = Wiring(
            self._gates,
            beside,
            without_model,
            raw_past,
            preferences=preferences,
            named=names_in(preferences, by_tool, unchecked),
        )

    @classmethod
    def for_app(
        cls,
        app: App,
        *,
        store: ContextStore,
        counter: Counter,
        budget: Budget,
        schema: ContextSchema | None = None,
        private: Collection[str] = (),
        public: Collection[str] = (),
        language: Language = "en",
        **options: Any,
    ) -> ContextBudgetPlugin:
        """Add a plugin to an app, with every model of its tree behind the gate from the start.

        Sub-agents, agents inside tools, workflow nodes, tools and plugins that keep a model, and
        the summarizer of a compaction are all found and gated; `explain` shows them.

        Args:
            app: The app; the plugin is added after those it has.
            store: The journal and the preferences.
            counter: Measures whole requests; its unit must be the budget's.
            budget: The most that may be sent.
            schema: What a projection may hold; None reads it, and projectors, off the tools.
            private: Tool parameters that never become a slot of a schema that is read off.
            public: Tool parameters that sound private and are not.
            language: The language of a schema that is read off.
            options: Everything else that the plugin takes.

        Returns:
            The plugin.

        Raises:
            ModelNotGated: Something of the tree calls a model that cannot be gated; it is named.
            RawPastKept: Something brings past sentences into requests; it is named.
            PreferenceInPrompt: A preference fills what asks a model; it is named.
            EventHidden: A plugin before this one may replace events; it is named.
            UnknownName: An option names a tool or an argument that no agent has.
            InvalidSchema: No schema could be read off the tools.
            UnitMismatch: The counter's unit is not the budget's.
            ValueError: The app has such a plugin, or an option is wrong.
        """
        if any(isinstance(plugin, cls) for plugin in app.plugins):
            raise ValueError("This app has a context budget plugin already.")
        if counter.unit != budget.unit:
            raise UnitMismatch(numbers={"counter": str(counter.unit), "budget": budget.unit})
        derivation = ""
        if schema is None:
            derived = schema_from_tools(
                app.root_agent,
                private=private,
                public=public,
                preferences=options.get("preferences", ()),
                language=language,
            )
            schema, derivation = derived.schema, derived.derivation.text()
            options["projectors"] = {**derived.projectors, **(options.get("projectors") or {})}
        plugin = cls(schema=schema, store=store, counter=counter, budget=budget, **options)
        plugin._derivation = derivation
        plugin._wiring.beside.check(app.plugins)
        plugin._wiring.wire(app)
        plugin._wiring.check(app.root_agent, app.plugins)
        app.plugins.append(plugin)
        return plugin

    def explain(self) -> str:
        """Return the wiring as text: what is gated, what tools leave behind, the schema."""
        wiring = self._wiring
        answered = wiring.beside.answered
        parts = self._parts
        return explained(wiring.found, answered, **parts, derivation=self._derivation)

    def gate(self, model: BaseLlm) -> BaseLlm:
        """Return the model behind this plugin's gate (done for whole trees at each run)."""
        return self._gates.gate(model)

    def revision_of(self, context: ReadonlyContext) -> int | None:
        """Return the consent revision that a tool's turn began with; None where there is no turn.

        A tool that writes to the store passes it on, so that what a turn began before a "forget"
        is refused at the commit (invariant 7).
        """
        turn = self._keeper.find(invocation_of(context))
        return turn.revision if turn is not None and turn.owner is not None else None

    def agent_callbacks(self) -> dict[str, Any]:
        """Return the callbacks for `LlmAgent(**plugin.agent_callbacks())`, without an App.

        ADK names the arguments of an agent's tool callbacks differently from a plugin's.
        """

        async def before_tool(
            tool: BaseTool, args: dict[str, Any], tool_context: ToolContext
        ) -> dict[str, Any] | None:
            return await self._before_tool(tool, args, tool_context)

        async def after_tool(
            tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, tool_response: Any
        ) -> dict[str, Any] | None:
            return self._evidence_tools.after(tool.name, args, tool_context, tool_response)

        async def after_agent(callback_context: CallbackContext) -> types.Content | None:
            context = invocation_of(callback_context)
            turn = self._keeper.find(context)
            refusal = await self._keeper.record(turn) if turn is not None else None
            self._keeper.close(context)
            if refusal is None:
                return None
            return self._stopped(refusal)

        callbacks: dict[str, Any] = {
            "before_model_callback": self.before_model_callback,
            "after_model_callback": self.after_model_callback,
            "before_tool_callback": before_tool,
            "after_agent_callback": after_agent,
        }
        if self._release is not None:
            callbacks["after_tool_callback"] = after_tool
        return callbacks

    async def before_run_callback(
        self, *, invocation_context: InvocationContext
    ) -> types.Content | None:
        """Gate every model of the tree, open the turn; answer live runs with a refusal."""
        try:
            distrust_stored(invocation_context)
            plugins = invocation_context.plugin_manager.plugins
            self._wiring.beside.check(plugins)
            root = getattr(invocation_context.agent, "root_agent", None)
            self._wiring.gate(root, plugins, inner=self._keeper.outer() is not None)
            turn = await self._keeper.open(invocation_context)
        except WiringRefused as error:
            self._wiring.tell(error)
            turn = self._keeper.stateless(invocation_context)
            return self._stopped(turn.refuse(failed(error)))
        except Exception as error:  # noqa: BLE001 - a plugin that raises leaves its message in the session
            turn = self._keeper.stateless(invocation_context)
            turn.refuse(failed(error))
        if _is_live(invocation_context):
            return self._stopped(turn.refuse(Refusal.of(LiveNotSupported())))
        return None

    def _stopped(self, refusal: Refusal) -> types.Content:
        return types.Content(role="model", parts=[types.Part(text=self._sentence(refusal.code))])

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Build the bounded context, or refuse."""
        context = invocation_of(callback_context)
        try:
            turn = await self._keeper.open(context)
            if turn.root.refusal is not None:
                return turn.root.refusal.as_llm_response(self._sentence)
            if _is_live(context):
                return self._outgoing.refused(turn, context, LiveNotSupported())
            self._gates.gate_agent(context.agent)
            self._wiring.late(llm_request.tools_dict.values())
            if turn.outer is None:
                llm_request.append_tools(self._note_tools)
            await self._outgoing.build(turn, context, llm_request)
        except Exception as error:  # noqa: BLE001 - never through ADK: it would persist the message
            turn = self._keeper.stateless(context)
            return self._outgoing.refused(turn, context, error)
        return None

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Note the measured prompt; unknown stays unknown (invariant 13)."""
        turn = self._keeper.find(invocation_of(callback_context))
        if turn is not None and not llm_response.partial:
            usage = llm_response.usage_metadata
            measured = usage.prompt_token_count if usage is not None else None
            turn.root.report.measured_prompt_tokens.append(measured)
            # Where the SDK went on by itself, it added up the prompts of all hops.
            first = getattr(usage, "initial_prompt_token_count", None)
            self._outgoing.measured(turn, measured if first is None else first)
        if turn is not None and self._release is not None:
            return await self._release.judge(turn, invocation_of(callback_context), llm_response)
        return None

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Let the tool run behind the gate, or refuse; the rest happens in the tool itself."""
        return await self._before_tool(tool, tool_args, tool_context)

    async def after_tool_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        result: Any,
    ) -> dict[str, Any] | None:
        """Take note of what a tool said, where an answer is to be proven from it."""
        return self._evidence_tools.after(tool.name, tool_args, tool_context, result)

    async def _before_tool(
        self, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        refused = await self._tools.before(tool, tool_context)
        if refused is not None:
            return refused
        return self._evidence_tools.before(tool.name, args, tool_context)

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> Event | None:
        """Record the exchange before its final answer leaves; withhold it if that fails."""
        turn = self._keeper.find(invocation_context)
        changed = distrusted(event)
        if turn is not None and self._release is not None:
            changed = self._release.let_by(turn, changed or event) or changed
        if turn is None or event.partial or not event.is_final_response():
            return changed
        refusal = await self._keeper.record(turn)
        if refusal is None or event.error_code == refusal.code:
            return changed
        return withheld(changed or event, refusal, self._sentence)

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Record what is still open, then close the turn and hand out its report."""
        turn = self._keeper.find(invocation_context)
        if turn is not None and turn.unsaved:
            await self._keeper.record(turn)
        self._keeper.close(invocation_context)

    async def on_run_error_callback(
        self, *, invocation_context: InvocationContext, error: Exception
    ) -> None:
        """Close a turn that ended in an error: it gave no answer, so it leaves nothing behind."""
        self._keeper.close(invocation_context)


def _is_live(context: InvocationContext) -> bool:
    run_config = context.run_config
    return context.live_request_queue is not None or bool(run_config and run_config.support_cfc)
