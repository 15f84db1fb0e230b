"""Consented preferences: filled in where a tool runs, taken out again before anybody looks.

ADK hands `before_tool` a deep copy of the model's arguments, so what is filled in there reaches
the tool but neither the stored call nor the next request; the span of the call is recorded after
`after_tool`, so what is taken out there is in no span (docs/architecture.md, "What ADK gives us").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from callbacks.adk.report import Origin
from stores.records import Preferences

MARKER = "[withheld]"
"""Stands where a consented value stood in a tool's result."""

RECEIPT: Mapping[str, str] = {"status": "shown_to_person"}
"""What session and model see of a private result: constant, whatever was found."""


@dataclass(frozen=True)
class Preference:
    """One thing a person may agree to have remembered, and where it is used.

    Attributes:
        key: The name under which it is stored.
        values: The closed vocabulary; a stored value outside it is not used.
        purpose: What the person is told it is for.
        fills: Tool name -> the argument that it fills when the person left it open.
        otherwise: What the argument gets when nothing is remembered.
    """

    key: str
    values: frozenset[str]
    purpose: str
    fills: Mapping[str, str]
    otherwise: str

    def __init__(
        self,
        key: str,
        values: Iterable[str],
        *,
        purpose: str,
        fills: Mapping[str, str],
        otherwise: str,
    ) -> None:
        """Check and freeze; see the class for the fields.

        Raises:
            ValueError: A field is blank, or `otherwise` is a storable value.
        """
        vocabulary = frozenset([values] if isinstance(values, str) else values)
        if not key.strip() or not purpose.strip():
            raise ValueError("A preference needs a key and a purpose.")
        if not vocabulary or not all(v.strip() for v in vocabulary):
            raise ValueError("A preference needs a closed vocabulary of non-blank strings.")
        if otherwise in vocabulary:
            raise ValueError("The value used when nothing is remembered must not be storable.")
        for name, value in (
            ("key", key),
            ("values", vocabulary),
            ("purpose", purpose),
            ("fills", dict(fills)),
            ("otherwise", otherwise),
        ):
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class Filled:
    """One running call: what it was asked, what it runs with, and what must leave again."""

    proposed: Mapping[str, Any]
    effective: Mapping[str, Any] = field(repr=False)
    origin: Origin
    arguments: tuple[str, ...]
    secrets: tuple[str, ...] = field(repr=False)
    neutral: tuple[str, ...]


@dataclass(frozen=True)
class Running:
    """A call between before_tool and after_tool.

    Attributes:
        filled: What it runs with.
        state: The session's state before it ran, for a tool whose results are private; what such
            a tool writes there may differ with what was remembered, so it is put back.
    """

    filled: Filled
    state: Mapping[str, Any] | None = field(default=None, repr=False)

    def leave(self, delta: dict[str, Any], live: dict[str, Any]) -> None:
        """Take what was filled in out of what the tool wrote to the session's state.

        Args:
            delta: What will be persisted; changed in place.
            live: What the next instruction may be made of; changed in place.
        """
        for key, value in list(delta.items()):
            if self.state is None:
                delta[key] = live[key] = scrub(value, self.filled)
                continue
            del delta[key]
            if key in self.state:
                live[key] = self.state[key]
            else:
                live.pop(key, None)


def is_open(value: Any) -> bool:
    """Tell whether the person left an argument open: absent, None or blank text."""
    return value is None or (isinstance(value, str) and not value.strip())


def fill(
    preferences: Iterable[Preference],
    remembered: Preferences | None,
    tool: str,
    proposed: Mapping[str, Any],
) -> Filled:
    """Decide what a tool runs with. Explicit words of this turn beat what is remembered.

    Args:
        preferences: All that the application declared.
        remembered: The person's consented values; None for a stateless turn.
        tool: The tool's name.
        proposed: The model's arguments; not changed.

    Returns:
        The proposed and the effective arguments, and what must be taken out afterwards.
    """
    effective = dict(proposed)
    arguments: list[str] = []
    secrets: list[str] = []
    neutral: list[str] = []
    origins: set[Origin] = set()
    for preference in preferences:
        argument = preference.fills.get(tool)
        if argument is None:
            continue
        if not is_open(proposed.get(argument)):
            origins.add("this_turn")
            continue
        arguments.append(argument)
        known = remembered.values.get(preference.key) if remembered is not None else None
        if known is not None and known.value in preference.values:
            effective[argument] = known.value
            secrets.append(known.value)
            origins.add("consented_memory")
        else:
            effective[argument] = preference.otherwise
            neutral.append(preference.otherwise)
    origin: Origin = "none"
    if "consented_memory" in origins:
        origin = "consented_memory"
    elif "this_turn" in origins:
        origin = "this_turn"
    return Filled(
        proposed=dict(proposed),
        effective=effective,
        origin=origin,
        arguments=tuple(arguments),
        secrets=tuple(secrets),
        neutral=tuple(neutral),
    )


def scrub(value: Any, filled: Filled) -> Any:
    """Return a tool's result without what was filled in.

    Entries named like a filled argument go. A remembered value is replaced by a marker wherever
    it stands in a string, a key, or the text of an object that is no plain data; the neutral
    value only where it is a whole string, since it may be an ordinary word. So a tool that echoes
    its argument gives the same result whether or not something was remembered.
    """
    if isinstance(value, Mapping):
        return {
            _scrub_text(key, filled) if isinstance(key, str) else key: scrub(item, filled)
            for key, item in value.items()
            if key not in filled.arguments
        }
    if isinstance(value, str):
        return _scrub_text(value, filled)
    if isinstance(value, list | tuple | set | frozenset):
        return [scrub(item, filled) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, bytes):
        return value if not any(s.encode() in value for s in filled.secrets) else MARKER
    return value if not any(secret in str(value) for secret in filled.secrets) else MARKER


def _scrub_text(text: str, filled: Filled) -> str:
    if text in filled.neutral:
        return MARKER
    for secret in filled.secrets:
        text = text.replace(secret, MARKER)
    return text
