"""Every private name of ADK that this package leans on, in one place.

ADK gives these facts in no public way. Each is pinned by a contract test (tests/contract), so that
a release that changes one is noticed there and not by a person (docs/architecture.md).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.events.event import Event
from google.adk.flows.llm_flows import contents as adk_contents
from google.adk.models.base_llm import BaseLlm
from google.adk.models.google_llm import Gemini
from google.adk.models.llm_request import LlmRequest
from google.genai import types

try:
    from google.adk.flows.llm_flows.context._contents import _is_id_pairing_model
except ImportError:  # ADK before 2.13 keeps the rule in a tuple of types

    def _is_id_pairing_model(model: BaseLlm) -> bool:
        return isinstance(model, adk_contents._id_pairing_model_types())


_REMOTE_AGENT = "google.adk.agents.remote_a2a_agent"


def stop_import_retry() -> bool:
    """Keep ADK from importing an absent extra anew in every turn.

    ADK tries `RemoteA2aAgent` whenever it builds a node. Without its a2a extra that import fails
    each time, and Python caches no failures: where no bytecode is written, source files are
    compiled again in every turn. A module known to be missing fails at once instead.

    Returns:
        Whether the extra is missing, so that the retry was stopped.
    """
    try:
        importlib.import_module(_REMOTE_AGENT)
    except ImportError:
        sys.modules[_REMOTE_AGENT] = None  # type: ignore[assignment]  # how Python marks absence
        return True
    return False


def invocation_of(context: ReadonlyContext) -> InvocationContext:
    """Return the invocation behind a callback's or a tool's context."""
    return context._invocation_context


def static_prefix(request: LlmRequest) -> int:
    """Return how many contents at the front of a request are a static instruction."""
    end = getattr(request, "_static_instruction_prefix_end_index", None)
    return end if isinstance(end, int) else 0


def contents_of(context: InvocationContext, events: Sequence[Event]) -> list[types.Content]:
    """Return the contents that ADK would make of these events for the running agent.

    The arguments are those its own request processor passes.
    """
    agent = context.agent
    model = getattr(agent, "canonical_model", None)
    single_turn = _is_single_turn(agent)
    run_config = context.run_config
    built = adk_contents._get_contents(
        context.branch,
        list(events),
        agent.name if agent is not None else "",
        preserve_function_call_ids=isinstance(model, BaseLlm) and _keeps_call_ids(model),
        isolation_scope=context.isolation_scope,
        node_path=context.node_path,
        is_single_turn=single_turn,
        user_content=context.user_content,
        include_thoughts_from_other_agents=bool(
            run_config and run_config.include_thoughts_from_other_agents
        ),
    )
    if context.isolation_scope is not None and adk_contents._build_task_input_user_content(
        list(events), context.isolation_scope, single_turn, context.user_content
    ):
        # The task that a scoped agent was given stands first, and is none of these events.
        return built[1:]
    return built


def _is_single_turn(agent: object) -> bool:
    mode = getattr(agent, "mode", None)
    return str(getattr(mode, "value", mode)) == "single_turn"


def _keeps_call_ids(model: BaseLlm) -> bool:
    if isinstance(model, Gemini) and model.use_interactions_api:
        return True
    return _is_id_pairing_model(model)
