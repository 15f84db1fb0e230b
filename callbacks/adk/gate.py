"""The model gate: the last place before a request leaves.

Plugins run before an agent's own callbacks, so a plugin's count is not the last word. The gate is
a subclass of the model's own class, made on the spot: every check that ADK makes by type, and
every capability, stays true, and the request is measured when all others have had their turn
(invariant 1). An agent gets such a subclass as well, so that a model put in its place later is
gated when ADK looks it up.
"""

from __future__ import annotations

import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from functools import cache
from types import new_class
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.models.base_llm import BaseLlm
from google.adk.models.base_llm_connection import BaseLlmConnection
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool

from callbacks.adk.refusal import Refusal, english
from callbacks.adk.tree import ModelNotGated
from callbacks.context.errors import ContextError

Check = Callable[[LlmRequest], Awaitable[LlmResponse | None]]
"""Measures a final request: None lets it pass, a response is given instead of it."""

Refuse = Callable[[LlmRequest, Exception], LlmResponse]
"""Answers for a request that may not even be measured."""

Late = Callable[[Iterable[BaseTool]], None]
"""Gates what the tools of a request, some of them just made, may call.

Raises:
    WiringRefused: Something cannot be gated.
"""

_CALL = "generate_content_async"
_GATES = "_local_agent_gates"


class LiveNotSupported(ContextError):
    """A live connection cannot be measured before it is used."""

    error_code = "LIVE_NOT_SUPPORTED"
    sentence = "Live connections cannot be measured before they are sent; use run_async."


class ModelPatched(ModelNotGated):
    """A model whose call was replaced on the object: what is there now is nobody's class."""


class GatedModel(BaseLlm):
    """Mixed in before a model's own class by `Gates.gate`; never built by hand."""

    @property
    def generate_content_async(self) -> Callable[..., AsyncGenerator[LlmResponse, None]]:
        """The measured call. A property, so that one put on the object does not go round it."""
        return self._measured

    async def _measured(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Measure the final request, then let the model's own class answer, or refuse."""
        gates: Gates = vars(self)[_GATES]
        self._maybe_append_user_content(llm_request)
        refused = await gates.measured(self, llm_request)
        if refused is not None:
            yield refused
            return
        async for response in super().generate_content_async(llm_request, stream):
            yield response

    def connect(self, llm_request: LlmRequest) -> AbstractAsyncContextManager[BaseLlmConnection]:
        """Refuse: the plugin answers live runs before this; whoever still gets here is stopped."""
        raise LiveNotSupported


class GatedAgent:
    """Mixed in before an agent's own class by `Gates.gate_agent`; never built by hand."""

    __slots__ = ()

    @property
    def canonical_model(self) -> BaseLlm:
        """The model that the agent resolves to now, behind the gate."""
        return _looked_up(self, super().canonical_model)  # type: ignore[misc]  # the agent's own class comes next

    async def canonical_model_async(self, ctx: ReadonlyContext) -> BaseLlm:
        """The same, for one invocation."""
        return _looked_up(self, await super().canonical_model_async(ctx))  # type: ignore[misc]  # as above


def _looked_up(agent: object, model: BaseLlm) -> BaseLlm:
    gates: Gates | None = vars(agent).get(_GATES)
    # Without: a new object of the gated class, which the next run gates as any other.
    return model if gates is None else gates.twin(model)


class Gates:
    """Puts one check before every model of an agent tree."""

    def __init__(self, check: Check, refuse: Refuse | None = None) -> None:
        """Use `check` for every model that is gated here, `refuse` where it cannot be asked."""
        self._check = check
        self._refuse = refuse or _refused
        self._made: dict[int, tuple[weakref.ref[BaseLlm], BaseLlm]] = {}
        self.late: Late = self.gate_tools

    def is_gated(self, model: object) -> bool:
        """Tell whether this model asks this check."""
        return isinstance(model, GatedModel) and vars(model).get(_GATES) is self

    async def measured(self, model: BaseLlm, request: LlmRequest) -> LlmResponse | None:
        """Return what to answer instead of a final request; None where it may leave."""
        try:
            _require_whole(model)
            # A runner without plugins comes by nowhere else before the tools of this request run.
            self.late(request.tools_dict.values())
        except Exception as error:  # noqa: BLE001 - never through ADK: it would persist the message
            return self._refuse(request, error)
        return await self._check(request)

    def gate(self, model: BaseLlm) -> BaseLlm:
        """Return the gated twin of a model: same settings and client, same class beneath.

        The model itself stays as it is. The same model gives the same twin, so that its
        connections are kept.

        Raises:
            ModelPatched: The model's call was replaced on the object.
        """
        _require_whole(model)
        return self.twin(model)

    def twin(self, model: BaseLlm) -> BaseLlm:
        """Return the gated twin of any model; one that was patched refuses when it is called."""
        if self.is_gated(model):
            return model
        known = self._made.get(id(model))
        if known is not None and known[0]() is model and _CALL not in vars(model):
            return known[1]
        twin = model.model_copy()
        twin.__class__ = _gated_class(_plain_class(type(model)), GatedModel)
        vars(twin)[_GATES] = self
        self._made[id(model)] = (weakref.ref(model), twin)
        return twin

    def gate_agent(self, agent: object) -> None:
        """Gate the model that an agent resolves to, wherever it comes from, now and later.

        Raises:
            ModelPatched: The model's call was replaced on the object.
        """
        if not isinstance(agent, LlmAgent):
            return
        if not (self.is_gated(agent.model) and _CALL not in vars(agent.model)):
            agent.model = self.gate(agent.canonical_model)
        if vars(agent).get(_GATES) is not self:
            if not isinstance(agent, GatedAgent):
                object.__setattr__(agent, "__class__", _gated_class(type(agent), GatedAgent))
            vars(agent)[_GATES] = self

    def gate_tools(self, tools: Iterable[object]) -> None:
        """Gate the agents inside tools that a toolset may just have made."""
        for tool in tools:
            if isinstance(tool, AgentTool):
                self.gate_tree(tool.agent)

    def gate_tree(self, root: object) -> list[str]:
        """Gate every agent below `root`, those inside AgentTools included.

        Returns:
            The names of the agents whose models are gated, in the order found.

        Raises:
            ModelPatched: A model's call was replaced on the object.
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


def _require_whole(model: BaseLlm) -> None:
    if _CALL in vars(model):
        raise ModelPatched([f"{model.model} ({_CALL} is replaced on the object)"])


def _refused(request: LlmRequest, error: Exception) -> LlmResponse:
    return Refusal.of(error).as_llm_response(english)


@cache
def _gated_class(own_class: type, mixin: type) -> Any:
    agent = mixin is GatedAgent  # ADK reads an agent's class and module, and a model's type
    module = own_class.__module__ if agent else __name__
    return new_class(
        own_class.__name__ if agent else f"Gated{own_class.__name__}",
        (mixin, own_class),
        exec_body=lambda namespace: namespace.update(__module__=module),
    )


def _plain_class(model_class: type[BaseLlm]) -> type[BaseLlm]:
    """Return the class beneath a gated one, so that gates never stack."""
    if issubclass(model_class, GatedModel):
        return next(
            c
            for c in model_class.__mro__
            if issubclass(c, BaseLlm) and not issubclass(c, GatedModel)
        )
    return model_class
