"""The perfect reader: it stands in for the model, misses nothing in a request, guesses nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import PrivateAttr

from benchmarks.carryover.dialogues import Agent, Exchange
from callbacks.adk.noting import NOTE_CONTEXT
from callbacks.context.render import parse
from callbacks.context.window import ContextWindow


@dataclass(frozen=True)
class Shown:
    """What a request says of earlier exchanges.

    Attributes:
        values: Everything it says, value for value.
        newest: Slot name -> the value it shows as that slot's newest, for the topic of the call.
    """

    values: frozenset[str]
    newest: Mapping[str, str]


@dataclass(frozen=True)
class Carried:
    """A public argument of a call that the newest message does not contain."""

    name: str
    slot: str
    value: str


def carried_arguments(agent: Agent, exchange: Exchange) -> list[Carried]:
    """Return the public arguments that neither this exchange gives nor its message contains."""
    service = agent.service_of(exchange.tool) if exchange.tool else ""
    return [
        Carried(name, agent.slot(name, service), value)
        for name, value in exchange.arguments.items()
        if name not in agent.private and agent.slot(name) and not _own(exchange, name, value)
    ]


def _own(exchange: Exchange, name: str, value: str) -> bool:
    return exchange.given.get(name) == value or value.lower() in exchange.user.lower()


def shown_by(window: ContextWindow, agent: Agent, topic: str) -> Shown:
    """Return what a block says; of a slot with topics of its own, the topic's value is the newest.

    Where the topic has none, another topic's value counts as shown: a reader might take it.
    """
    values: set[str] = set()
    newest: dict[str, str] = {}
    own: dict[str, str] = {}
    running = ""
    for line in (*window.ledger.lines, *window.projections):
        running = line.topic or running
        values.update(line.slots.values())
        newest.update(line.slots)
        own.update(
            (name, value)
            for name, value in line.slots.items()
            if topic not in (scope := agent.schema.slots[name].topics)
            or running == topic
            or running not in scope
        )
    return Shown(frozenset(values), {**newest, **own})


def told_by(exchanges: Sequence[Exchange]) -> Shown:
    """Return what raw exchanges say: all that a perfect reader of each would note."""
    newest: dict[str, str] = {}
    values: set[str] = set()
    for exchange in exchanges:
        newest.update(exchange.given)
        values.update(exchange.given.values())
    return Shown(frozenset(values), newest)


@dataclass
class _Task:
    """The exchange at hand; shared with the gated copy of the model that really runs."""

    agent: Agent
    exchange: Exchange
    steps: list[str]
    first: list[types.Content] = field(default_factory=list)


class PerfectReader(BaseLlm):
    """Answers one exchange: its call with what the request allows, its notes, its final words."""

    model: str = "perfect-reader"
    _tasks: list[_Task] = PrivateAttr(default_factory=list)

    def begin(self, agent: Agent, exchange: Exchange) -> None:
        """Take on an exchange."""
        steps = [*(["call"] if exchange.tool else []), *(["note"] if exchange.given else [])]
        self._tasks[:] = [_Task(agent, exchange, steps)]

    @property
    def request(self) -> Sequence[types.Content]:
        """The contents of the exchange's first request."""
        return self._tasks[0].first

    def window(self) -> ContextWindow:
        """Return what the first request's block says, read from its text."""
        task = self._tasks[0]
        for content in task.first:
            text = (content.parts or [types.Part()])[0].text or ""
            if text.startswith(task.agent.schema.wording.header + "\n"):
                return parse(text, task.agent.schema)
        return ContextWindow()

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield the next step."""
        task = self._tasks[0]
        task.first = task.first or list(llm_request.contents)
        step = task.steps.pop(0) if task.steps else "say"
        if step == "say":
            part = types.Part(text=task.exchange.system or "-")
        else:
            name, args = self._call(task) if step == "call" else (NOTE_CONTEXT, _notes(task))
            part = types.Part(function_call=types.FunctionCall(name=name, args=dict(args)))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))

    def _call(self, task: _Task) -> tuple[str, Mapping[str, str]]:
        agent, exchange = task.agent, task.exchange
        carried = {argument.name: argument for argument in carried_arguments(agent, exchange)}
        shown = shown_by(self.window(), agent, agent.service_of(exchange.tool))
        arguments = {
            name: value
            for name, value in exchange.arguments.items()
            if (
                is_shown(shown, agent, carried[name])
                if name in carried
                else _own(exchange, name, value)
            )
        }
        return exchange.tool, arguments


def _notes(task: _Task) -> Mapping[str, str]:
    agent, exchange = task.agent, task.exchange
    service = agent.service_of(exchange.tool) if exchange.tool else ""
    # The declaration has no private slots, so a reader that keeps to it cannot note them.
    return {
        agent.slot(name, service): value
        for name, value in exchange.given.items()
        if agent.slot(name) and name not in agent.private
    }


def is_shown(shown: Shown, agent: Agent, argument: Carried) -> bool:
    """Say whether a request says a value: the very value, or the schema's one form of it."""
    return bool({argument.value, agent.canonical(argument.slot, argument.value)} & shown.values)


def is_wrong(shown: Shown, agent: Agent, argument: Carried, name: str) -> bool:
    """Say whether a request shows another value as the newest of that slot."""
    newest = shown.newest.get(name)
    return newest is not None and newest not in {
        argument.value,
        agent.canonical(argument.slot, argument.value),
    }
