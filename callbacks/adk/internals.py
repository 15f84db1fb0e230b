"""Every private name of ADK that this package leans on, in one place.

ADK gives these facts in no public way. Each is pinned by a contract test (tests/contract), so that
a release that changes one is noticed there and not by a person (docs/architecture.md).
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from functools import cache

from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.events.event import Event
from google.adk.flows.llm_flows import contents as adk_contents
from google.adk.models.base_llm import BaseLlm
from google.adk.models.google_llm import Gemini
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.base_tool import BaseTool
from google.adk.workflow._errors import NodeInterruptedError
from google.genai import types

try:
    from google.adk.flows.llm_flows.context._contents import _is_id_pairing_model
except ImportError:  # ADK before 2.13 keeps the rule in a tuple of types

    def _is_id_pairing_model(model: BaseLlm) -> bool:
        return isinstance(model, adk_contents._id_pairing_model_types())


__all__ = ["NodeInterruptedError"]

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


def streams(tool: BaseTool) -> bool:
    """Tell whether a tool is a generator: ADK gives out what it yields as events of its own."""
    function = getattr(tool, "func", None)
    spec = getattr(tool, "_spec", None)
    return bool(getattr(spec, "is_generator", False)) or any(
        inspect.isgeneratorfunction(one) or inspect.isasyncgenfunction(one)
        for one in (function, getattr(function, "__wrapped__", None))
    )


def static_prefix(request: LlmRequest) -> int:
    """Return how many contents at the front of a request are a static instruction."""
    end = getattr(request, "_static_instruction_prefix_end_index", None)
    return end if isinstance(end, int) else 0


def contents_of(
    context: InvocationContext, events: Sequence[Event], *, current_turn: bool = False
) -> list[types.Content]:
    """Return the contents that ADK would make of these events for the running agent.

    The arguments are those its own request processor passes.

    Args:
        context: The running invocation.
        events: The events, oldest first.
        current_turn: As for an agent that is to see no past (`include_contents="none"`).
    """
    agent = context.agent
    model = getattr(agent, "canonical_model", None)
    single_turn = _is_single_turn(agent)
    run_config = context.run_config
    built = _build(
        adk_contents._get_current_turn_contents if current_turn else adk_contents._get_contents,
        context.branch,
        list(events),
        agent.name if agent is not None else "",
        preserve_function_call_ids=isinstance(model, BaseLlm) and _keeps_call_ids(model),
        isolation_scope=context.isolation_scope,
        node_path=getattr(context, "node_path", None),
        is_single_turn=single_turn,
        user_content=context.user_content,
        include_thoughts_from_other_agents=bool(
            not current_turn and run_config and run_config.include_thoughts_from_other_agents
        ),
    )
    if context.isolation_scope is not None and adk_contents._build_task_input_user_content(
        list(events), context.isolation_scope, single_turn, context.user_content
    ):
        # The task that a scoped agent was given stands first, and is none of these events.
        return built[1:]
    return built


def unsupported() -> list[str]:
    """Return what of the installed ADK this package does not know; empty when all is well.

    A private function that is missing, or takes something that nobody here gives it, would build
    another past than the one in the request; that is for the start to say, not for a person's turn.
    """
    missing = []
    for name in _BUILDERS:
        build = getattr(adk_contents, name, None)
        if build is None:
            missing.append(f"google.adk.flows.llm_flows.contents.{name}")
            continue
        taken = inspect.signature(build).parameters.values()
        given = {"current_branch", "events", "agent_name", *_GIVEN}
        unknown = sorted(p.name for p in taken if p.name not in given)
        missing += [f"google.adk.flows.llm_flows.contents.{name}({p}=)" for p in unknown]
    return missing


_BUILDERS = ("_get_contents", "_get_current_turn_contents")
_GIVEN = (
    "preserve_function_call_ids",
    "isolation_scope",
    "node_path",
    "is_single_turn",
    "user_content",
    "include_thoughts_from_other_agents",
)


def _build(
    build: Callable[..., list[types.Content]],
    branch: str | None,
    events: list[Event],
    agent: str,
    **given: object,
) -> list[types.Content]:
    """Call one of ADK's builders with what this release of it takes (2.9 knows no node paths)."""
    return build(branch, events, agent, **{k: v for k, v in given.items() if k in _taken(build)})


@cache
def _taken(build: Callable[..., list[types.Content]]) -> frozenset[str]:
    return frozenset(inspect.signature(build).parameters)


def _is_single_turn(agent: object) -> bool:
    mode = getattr(agent, "mode", None)
    return str(getattr(mode, "value", mode)) == "single_turn"


def _keeps_call_ids(model: BaseLlm) -> bool:
    if isinstance(model, Gemini) and model.use_interactions_api:
        return True
    return _is_id_pairing_model(model)
