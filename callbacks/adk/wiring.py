"""How a plugin is wired into an app: what it gated, and the same as text."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool

from callbacks.adk.beside import Beside
from callbacks.adk.gate import Gates
from callbacks.adk.injection import Preference
from callbacks.adk.naming import Named, check_names
from callbacks.adk.tree import (
    Found,
    ModelNotGated,
    PreferenceInPrompt,
    RawPastKept,
    WiringRefused,
    asking,
    gate_everything,
)
from callbacks.context.budget import Budget
from callbacks.context.errors import ContextError
from callbacks.context.schema import ContextSchema
from callbacks.counting.counter import Counter

logger = logging.getLogger("local_agent.context")


class AdkNotSupported(ContextError, RuntimeError):
    """The installed ADK is not one that this package knows how to read."""

    error_code = "ADK_NOT_SUPPORTED"
    sentence = "The installed google-adk builds requests in an unknown way."

    def __init__(self, missing: Sequence[str]) -> None:
        """Name what is missing or new."""
        listed = ", ".join(missing)
        super().__init__(f"The installed google-adk builds requests in an unknown way: {listed}.")
        self.numbers = {"missing": listed}


class Wiring:
    """Gates whole trees, each of them wholly the first time and cheaply after that."""

    def __init__(
        self,
        gates: Gates,
        beside: Beside,
        without_model: Collection[str] = (),
        raw_past: Collection[str] = (),
        *,
        preferences: Sequence[Preference] = (),
        named: Sequence[Named] = (),
    ) -> None:
        """Gate with `gates`, among the plugins `beside`; see ContextBudgetPlugin for the rest.

        Args:
            gates: Put before each model.
            beside: Asked of the plugins beside ours.
            without_model: Agents whose author answers for them.
            raw_past: Agents and tools whose author answers for them.
            preferences: What fills arguments of tools.
            named: What options name; to be found in the agents of an app.
        """
        self._gates = gates
        self.beside = beside
        self._without_model = frozenset(without_model)
        self._raw_past = frozenset(raw_past)
        self._filled = frozenset(tool for p in preferences for tool in p.fills)
        self._named = tuple(named)
        self._told: set[str] = set()
        self._known: weakref.WeakValueDictionary[int, object] = weakref.WeakValueDictionary()
        self.found: list[Found] = []
        gates.late = self.late

    def wire(self, root: object) -> list[Found]:
        """Gate everything that `root` (an app, an agent, a node) can reach.

        Raises:
            ModelNotGated: Something cannot be gated; it is named.
            RawPastKept: Something brings past sentences into requests that nobody answers for.
            PreferenceInPrompt: A preference fills what asks a model.
        """
        self.found = self._wired(root)
        return self.found

    def check(self, root: object, plugins: Sequence[BasePlugin]) -> None:
        """Look for the tools and arguments that options name, in an app's agents.

        Raises:
            UnknownName: One is not there; it is named.
        """
        check_names(self._named, root, self.beside.others(plugins))

    def gate(self, root: object, plugins: Sequence[BasePlugin], *, inner: bool) -> None:
        """Gate the tree of a run that begins; a tree seen before is gated by its agents alone.

        Args:
            root: The root agent of the run.
            plugins: The plugins of the run.
            inner: Whether a tool of an outer run started it; names were looked for there, since
                an agent used as a tool has not the tools of the whole app.

        Raises:
            WiringRefused: As for `wire`, and for `check`.
        """
        if root is None:
            return
        if self._known.get(id(root)) is not root:
            if not inner:
                self.check(root, plugins)
            self.wire(root)
            self._known[id(root)] = root
        self._gates.gate_tree(root)

    def tell(self, error: WiringRefused) -> None:
        """Log, once and not in each turn, what an app's author has to mend: names of their own."""
        told = f"error_code={error.error_code} {error}"
        if told not in self._told:
            self._told.add(told)
            logger.error("event=wiring_refused %s", told)

    def late(self, tools: Iterable[BaseTool]) -> None:
        """Gate what the tools of one request keep, as far as they were not seen before.

        A toolset makes tools when it is asked, and ADK makes one of each function anew.

        Raises:
            WiringRefused: As for `wire`.
        """
        for tool in tools:
            thing: object = tool.func if type(tool) is FunctionTool else tool
            if self._known.get(id(thing)) is not thing:
                self._wired(thing)
                with suppress(TypeError):  # what cannot be referred to weakly is looked at again
                    self._known[id(thing)] = thing
            if isinstance(tool, AgentTool):
                self._gates.gate_tree(tool.agent)

    def _wired(self, root: object) -> list[Found]:
        found = gate_everything(root, self._gates.gate, self._without_model)
        _require(ModelNotGated, (f"{f.name} ({f.ungated})" for f in found if f.ungated))
        raw = (f for f in found if f.raw_past and f.name not in self._raw_past)
        _require(RawPastKept, (f"{f.name} ({f.raw_past})" for f in raw))
        _require(PreferenceInPrompt, asking(found, self._filled))
        return found


def _require(error: type[WiringRefused], names: Iterable[str]) -> None:
    if listed := list(names):
        raise error(listed)


def explained(
    found: Sequence[Found],
    answered: Sequence[str],
    *,
    schema: ContextSchema,
    budget: Budget,
    counter: Counter,
    store: object,
    projectors: Collection[str],
    preferences: Sequence[Preference],
    private_results: Collection[str],
    reducers: Collection[str],
    derivation: str,
) -> str:
    """Return a plugin's wiring as text: names and settings, never a value of a person's.

    Args:
        found: What was gated.
        answered: Plugins that may replace events, for which their author answers.
        schema: What may be kept.
        budget: The most that may be sent.
        counter: Measures it.
        store: Where the journal is.
        projectors: Tools whose calls leave something behind.
        preferences: What may be filled from memory.
        private_results: Tools whose results go to the application alone.
        reducers: Tools whose results may be shortened.
        derivation: How the schema was read off the tools; empty where it was written.
    """
    tools: dict[str, list[str]] = {tool: ["leaves a projection"] for tool in sorted(projectors)}
    marks: list[tuple[str, str]] = [
        *((t, f"{a} filled from {p.key}") for p in preferences for t, a in p.fills.items()),
        *((tool, "result for the application alone") for tool in sorted(private_results)),
        *((tool, "result shortened when too big") for tool in sorted(reducers)),
    ]
    for tool, mark in marks:
        tools.setdefault(tool, []).append(mark)
    written = "read off the tools" if derivation else "written by hand"
    lines = [
        f"budget: {budget.limit} {budget.unit}",
        f"counter: {type(counter).__name__}, in {counter.unit}",
        f"store: {type(store).__name__}",
        "gated tree:" if found else "gated tree: none yet; it is found when the first run begins",
        *(_line(one) for one in found),
        "not seen: what code of tools and callbacks asks through clients of its own",
        *(f"plugin {name}, MAY REPLACE EVENTS, answered for by its author" for name in answered),
        "tools:",
        *(f"  {tool}: {', '.join(what)}" for tool, what in tools.items()),
        f"schema: {len(schema.topics)} topics, {len(schema.slots)} slots, {written}",
        *(f"  {line}" for line in derivation.splitlines()),
    ]
    return "\n".join(lines)


def _line(one: Found) -> str:
    gated = f", gated: {', '.join(one.models)}" if one.models else ""
    held = f" of {one.below}" if one.below and one.kind != "plugin" else ""
    marks = (
        ("NOT GATED", one.ungated),
        ("RAW PAST, answered for by its author", one.raw_past),
        ("NOT SEEN, clients of its own", ", ".join(one.clients)),
    )
    problems = "".join(f", {mark}: {what}" for mark, what in marks if what)
    return f"  {one.kind} {one.name}{held}{gated}{problems}"
