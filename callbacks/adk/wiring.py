"""How a plugin is wired into an app: what it gated, and the same as text."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Sequence

from callbacks.adk.gate import Gates
from callbacks.adk.injection import Preference
from callbacks.adk.tree import Found, ModelNotGated, gate_everything
from callbacks.context.budget import Budget
from callbacks.context.errors import ContextError
from callbacks.context.schema import ContextSchema
from callbacks.counting.counter import Counter


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

    def __init__(self, gates: Gates, without_model: Collection[str] = ()) -> None:
        """Gate with `gates`; see ContextBudgetPlugin for `without_model`."""
        self._gates = gates
        self._without_model = frozenset(without_model)
        self._known: weakref.WeakValueDictionary[int, object] = weakref.WeakValueDictionary()
        self.found: list[Found] = []

    def wire(self, root: object) -> list[Found]:
        """Gate everything that `root` (an app, an agent, a node) can reach.

        Raises:
            ModelNotGated: Something cannot be gated; it is named.
        """
        self.found = gate_everything(root, self._gates.gate, self._without_model)
        ungated = [f"{f.name} ({f.ungated})" for f in self.found if f.ungated]
        if ungated:
            raise ModelNotGated(ungated)
        return self.found

    def gate(self, root: object) -> None:
        """Gate the tree of a run that begins; a tree seen before is gated by its agents alone.

        Raises:
            ModelNotGated: Something cannot be gated; it is named.
        """
        if root is None:
            return
        if self._known.get(id(root)) is root:
            self._gates.gate_tree(root)
            return
        self.wire(root)
        self._known[id(root)] = root


def explained(
    found: Sequence[Found],
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
        "tools:",
        *(f"  {tool}: {', '.join(what)}" for tool, what in tools.items()),
        f"schema: {len(schema.topics)} topics, {len(schema.slots)} slots, {written}",
        *(f"  {line}" for line in derivation.splitlines()),
    ]
    return "\n".join(lines)


def _line(one: Found) -> str:
    gated = f", gated: {', '.join(one.models)}" if one.models else ""
    held = f" of {one.below}" if one.below and one.kind != "plugin" else ""
    problem = f", NOT GATED: {one.ungated}" if one.ungated else ""
    return f"  {one.kind} {one.name}{held}{gated}{problem}"
