"""How a plugin is wired into an app: what it gated, and the same as text."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Sequence

from callbacks.adk.gate import Gates
from callbacks.adk.tree import Found, ModelNotGated, gate_everything
from callbacks.context.errors import ContextError


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


def tree_as_text(found: Sequence[Found]) -> str:
    """Return what was found, a line each, in the order of the tree."""
    lines = []
    for one in found:
        gated = f", gated: {', '.join(one.models)}" if one.models else ""
        held = f" of {one.below}" if one.below and one.kind != "plugin" else ""
        problem = f", NOT GATED: {one.ungated}" if one.ungated else ""
        lines.append(f"  {one.kind} {one.name}{held}{gated}{problem}")
    return "\n".join(lines)
