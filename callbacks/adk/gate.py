"""The model gate: the last place before a request leaves.

Plugins run before an agent's own callbacks, so a plugin's count is not the last word. The gate is
a subclass of the model's own class, made on the spot: every check that ADK makes by type, and
every capability, stays true, and the request is measured when all others have had their turn
(invariant 1).
"""

from __future__ import annotations

import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from functools import cache
from types import new_class

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.base_llm_connection import BaseLlmConnection
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.agent_tool import AgentTool

from callbacks.context.errors import ContextError

Check = Callable[[LlmRequest], Awaitable[LlmResponse | None]]
"""Measures a final request: None lets it pass, a response is given instead of it."""


class LiveNotSupported(ContextError):
    """A live connection cannot be measured before it is used."""

    error_code = "LIVE_NOT_SUPPORTED"
    sentence = "Live connections cannot be measured before they are sent; use run_async."


class GatedModel(BaseLlm):
    """Mixed in before a model's own class by `Gates.gate`; never built by hand."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Measure the final request, then let the model's own class answer, or refuse."""
        self._maybe_append_user_content(llm_request)
        refused = await gate_of(self)(llm_request)
        if refused is not None:
            yield refused
            return
        async for response in super().generate_content_async(llm_request, stream):
            yield response

    def connect(self, llm_request: LlmRequest) -> AbstractAsyncContextManager[BaseLlmConnection]:
        """Refuse: the plugin answers live runs before this; whoever still gets here is stopped."""
        raise LiveNotSupported


def gate_of(model: BaseLlm) -> Check:
    """Return the check that a gated model asks."""
    check: Check = model.__dict__["_local_agent_check"]
    return check


@cache
def _gated_class(model_class: type[BaseLlm]) -> type[BaseLlm]:
    return new_class(
        f"Gated{model_class.__name__}",
        (GatedModel, model_class),
        exec_body=lambda namespace: namespace.update(__module__=__name__),
    )


class Gates:
    """Puts one check before every model of an agent tree."""

    def __init__(self, check: Check) -> None:
        """Use `check` for every model that is gated here."""
        self._check = check
        self._made: dict[int, tuple[weakref.ref[BaseLlm], BaseLlm]] = {}

    def is_gated(self, model: object) -> bool:
        """Tell whether this model asks this check."""
        return isinstance(model, GatedModel) and gate_of(model) == self._check

    def gate(self, model: BaseLlm) -> BaseLlm:
        """Return the gated twin of a model: same settings and client, same class beneath.

        The model itself stays as it is. The same model gives the same twin, so that its
        connections are kept.
        """
        if self.is_gated(model):
            return model
        known = self._made.get(id(model))
        if known is not None and known[0]() is model:
            return known[1]
        twin = model.model_copy()
        twin.__class__ = _gated_class(_plain_class(type(model)))
        twin.__dict__["_local_agent_check"] = self._check
        self._made[id(model)] = (weakref.ref(model), twin)
        return twin

    def gate_agent(self, agent: object) -> None:
        """Gate the model that an agent resolves to, wherever it comes from."""
        if isinstance(agent, LlmAgent) and not self.is_gated(agent.model):
            agent.model = self.gate(agent.canonical_model)

    def gate_tools(self, tools: Iterable[object]) -> None:
        """Gate the agents inside tools that a toolset may just have made."""
        for tool in tools:
            if isinstance(tool, AgentTool):
                self.gate_tree(tool.agent)

    def gate_tree(self, root: object) -> list[str]:
        """Gate every agent below `root`, those inside AgentTools included.

        Returns:
            The names of the agents whose models are gated, in the order found.
        """
        names: list[str] = []
        seen: set[int] = set()
        waiting = [root]
        while waiting:
            agent = waiting.pop(0)
            if id(agent) in seen or not isinstance(agent, BaseAgent):
                continue
            seen.add(id(agent))
            if isinstance(agent, LlmAgent):
                self.gate_agent(agent)
                names.append(agent.name)
                waiting.extend(t.agent for t in agent.tools if isinstance(t, AgentTool))
            waiting.extend(agent.sub_agents)
        return names


def _plain_class(model_class: type[BaseLlm]) -> type[BaseLlm]:
    """Return the class beneath a gated one, so that gates never stack."""
    if issubclass(model_class, GatedModel):
        return next(
            c
            for c in model_class.__mro__
            if issubclass(c, BaseLlm) and not issubclass(c, GatedModel)
        )
    return model_class
