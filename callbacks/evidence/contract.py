"""What a task may end in, must show and must never do: versioned, hashed, approved as a whole."""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from callbacks.evidence.errors import ContractMismatch
from callbacks.evidence.frozen import Frozen, Id
from callbacks.evidence.value import Label

ChannelName = Literal[
    "contract", "task", "plan", "policy", "case", "tools", "conditions", "history", "output"
]
CHANNELS: tuple[ChannelName, ...] = (
    "contract", "task", "plan", "policy", "case", "tools", "conditions", "history", "output",
)  # fmt: skip
"""The nine channels, in the order in which limits are listed."""


class Outcome(StrEnum):
    """What a claim, or a whole answer, may come to."""

    SUPPORTED = "supported"
    CONDITIONAL = "conditional"
    CONFLICT = "conflict"
    UNKNOWN = "unknown"
    UNAVAILABLE = "unavailable"


class ChannelLimit(Frozen):
    """The largest size of one channel, in the unit the counter measures."""

    name: ChannelName
    limit: Annotated[int, Field(gt=0)]


def default_channels() -> tuple[ChannelLimit, ...]:
    """Return limits of the nine channels that add up to 25,000."""
    limits = (2_100, 1_300, 1_600, 7_000, 3_000, 4_200, 2_500, 1_800, 1_500)
    return tuple(
        ChannelLimit(name=name, limit=limit) for name, limit in zip(CHANNELS, limits, strict=True)
    )


class ToolRule(Frozen):
    """A tool the model may ask for.

    Attributes:
        tool: Its name.
        free: Arguments that may hold words of the model's own, such as a search phrase; every
            other argument's value comes from the case, the plan or a trusted result.
    """

    tool: Id
    free: tuple[str, ...] = ()


class TaskContract(Frozen):
    """The approved frame of a task.

    Attributes:
        id: Name of the contract.
        version: Its version.
        outcomes: What answers may come to.
        tools: Tools the model may ask for.
        must_cite: Kinds of claims whose statements carry a citation.
        must_show: What every answer shows: ``as_of``, ``unknowns``, ``conflicts``.
        forbidden_actions: What no answer does, and no tool call asks for.
        failures: Sentences for failures: pairs of a code and a sentence.
        required: Kinds of claims by type of task: pairs of the type and its kinds.
        output: How the answer is given: what the model is told about its form.
        rules: What the model is told about the task; the same for every task of this contract.
        routes: In which channel a kind of evidence travels; kinds not named travel as policy.
        channels: Limits that add up to ``input_limit``.
        window: The model's whole window.
        reserve_output: Kept for the answer.
        reserve_safety: Kept for what estimates and tools may add; never filled with background.
        utc_offset_minutes: In which zone times are shown.
    """

    schema_version: Literal[1] = 1
    id: Id
    version: Label
    outcomes: tuple[Outcome, ...]
    tools: tuple[ToolRule, ...] = ()
    must_cite: tuple[Id, ...] = ()
    must_show: tuple[Literal["as_of", "unknowns", "conflicts"], ...] = (
        "as_of", "unknowns", "conflicts",
    )  # fmt: skip
    forbidden_actions: tuple[Label, ...] = ()
    failures: tuple[tuple[Id, Label], ...] = ()
    required: tuple[tuple[Id, tuple[Id, ...]], ...]
    rules: str
    output: str
    routes: tuple[tuple[Id, ChannelName], ...] = (
        ("case_fact", "case"), ("condition", "conditions"), ("decision", "history"),
        ("definition", "conditions"), ("exception", "conditions"), ("master_data", "case"),
        ("procedure", "conditions"), ("statement", "case"), ("tool_result", "tools"),
    )  # fmt: skip
    channels: tuple[ChannelLimit, ...] = Field(default_factory=default_channels)
    window: int = 32_000
    reserve_output: int = 4_000
    reserve_safety: int = 3_000
    utc_offset_minutes: Annotated[int, Field(ge=-14 * 60, le=14 * 60)] = 0

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if tuple(channel.name for channel in self.channels) != CHANNELS:
            raise ValueError("A contract limits each of the nine channels once, in order.")
        if sum(channel.limit for channel in self.channels) != self.input_limit:
            raise ValueError("The limits of the channels add up to the input budget.")
        return self

    @property
    def input_limit(self) -> int:
        """The input budget: the window without what is reserved."""
        return self.window - self.reserve_output - self.reserve_safety

    def limit(self, name: str) -> int:
        """Return a channel's limit."""
        return next(channel.limit for channel in self.channels if channel.name == name)

    def route(self, kind: str) -> ChannelName:
        """Return the channel in which a kind of evidence travels."""
        return dict(self.routes).get(kind, "policy")

    def kinds(self, task_type: str) -> tuple[str, ...]:
        """Return the kinds of claims a type of task must prove; none for a type not named."""
        return dict(self.required).get(task_type, ())

    def require(self, approved_sha256: str) -> None:
        """Stop where this is not the approved contract.

        Raises:
            ContractMismatch: The hashes differ.
        """
        if self.digest() != approved_sha256:
            raise ContractMismatch(numbers={"contract": self.id, "version": self.version})
