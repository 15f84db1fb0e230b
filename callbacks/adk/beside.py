"""The plugins beside ours: who may change an event without this layer seeing it.

ADK asks the plugins of an app one after the other and stops at the first that returns something,
and that is what is stored and given out. A plugin before ours that replaces an event therefore
hides it: what is taken out of events stays in, and an answer that could not be recorded leaves.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import takewhile

from google.adk.plugins.base_plugin import BasePlugin

from callbacks.adk.tree import WiringRefused


class EventHidden(WiringRefused):
    """A plugin may replace an event that this layer must see as it is stored (invariant 3)."""

    error_code = "EVENT_HIDDEN"
    sentence = "These plugins may replace an event that the context layer must see."

    def __init__(self, names: Collection[str], *, last_word: bool = False) -> None:
        """Name the plugins, and what their author can do about it."""
        super().__init__(names)
        moved = "" if last_word else "put them after the context plugin, or "
        advice = f"{moved}answer for them with replacing={sorted(set(names))}"
        self.args = (f"{str(self).removesuffix('.')}; {advice}.",)


class Beside:
    """What is asked of the plugins that an app has besides ours."""

    def __init__(self, ours: BasePlugin, replacing: Collection[str], *, last_word: bool) -> None:
        """Ask for `ours`.

        Args:
            ours: This layer's plugin.
            replacing: Names of plugins that somebody answers for.
            last_word: Whether nobody after ours may change an event either, since what leaves
                must be the very text that was let out (docs/evidence.md).
        """
        self._ours = ours
        self._replacing = frozenset(replacing)
        self._last_word = last_word
        self.answered: list[str] = []

    def check(self, plugins: Sequence[BasePlugin]) -> None:
        """Look at an app's plugins, in their order; one that lacks ours gets it last.

        Raises:
            EventHidden: One of them may replace events, and nobody answers for it.
        """
        if self._last_word:
            asked = self.others(plugins)
        else:
            asked = list(takewhile(lambda one: one is not self._ours, plugins))
        names = [one.name for one in asked if has_own(one, "on_event_callback")]
        if unknown := [name for name in names if name not in self._replacing]:
            raise EventHidden(unknown, last_word=self._last_word)
        self.answered = names

    def others(self, plugins: Sequence[BasePlugin]) -> list[BasePlugin]:
        """Return an app's plugins without ours."""
        return [one for one in plugins if one is not self._ours]


def has_own(plugin: BasePlugin, hook: str) -> bool:
    """Tell whether a plugin has a callback of its own, which is neither ADK's nor empty.

    Of events that is enough: ADK's own plugins (logging, analytics, stamps on calls) look at them
    and return nothing; a contract test reads every release for that.
    """
    # What ADK would call, however the plugin comes by it: its class, itself, or another's.
    called = getattr(plugin, hook)
    called = getattr(called, "__func__", called)
    return not str(getattr(called, "__module__", "")).startswith("google.adk.")
