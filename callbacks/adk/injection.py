"""Consented preferences: filled in where a tool runs, taken out again before anybody looks.

The values go into a copy of the arguments that the tool alone gets (callbacks.adk.toolgate), and
what it gives, writes or raises is cleaned before it leaves the tool.
"""

from __future__ import annotations

import html
import json
import unicodedata
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import quote, quote_plus

from google.adk.events.event_actions import EventActions
from pydantic_core import to_jsonable_python

from callbacks.adk.report import Origin
from stores.errors import InvalidInput
from stores.records import Preferences, Proposal

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
            ValueError: A field is blank, no card could be made of it (its key is reserved, or
                something is too long), or `otherwise` is a storable value.
        """
        vocabulary = frozenset([values] if isinstance(values, str) else values)
        if not key.strip() or not purpose.strip():
            raise ValueError("A preference needs a key and a purpose.")
        if not vocabulary or not all(v.strip() for v in vocabulary):
            raise ValueError("A preference needs a closed vocabulary of non-blank strings.")
        if otherwise in vocabulary:
            raise ValueError("The value used when nothing is remembered must not be storable.")
        try:
            for word in vocabulary:
                Proposal(key=key, purpose=purpose, value=word)
        except InvalidInput as error:
            told = f"No card could be made of this preference's {error.numbers['field']}."
            raise ValueError(told) from None
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

    @cached_property
    def spellings(self) -> tuple[str, ...]:
        """What to withhold from text: each secret as it is, and as other formats spell it.

        Kept no longer than the call: a cache of patterns would remember what was forgotten.
        """
        found = {spelling for secret in self.secrets for spelling in _spelled(secret)}
        return tuple(sorted(found, key=lambda spelling: (-len(spelling), spelling)))


@dataclass
class PrivateState:
    """The session's state from before the private tools that are running now.

    What a tool with private results writes there may differ with what was remembered, so it is
    put back. Those that run at the same time share one copy: a copy made while another one runs
    would hold what that one wrote.
    """

    running: int = 0
    before: dict[str, Any] = field(default_factory=dict, repr=False)

    def enter(self, live: Mapping[str, Any]) -> None:
        """Keep the state when the first of them starts."""
        if not self.running:
            self.before = deepcopy(dict(live))
        self.running += 1

    def leave(self, live: dict[str, Any]) -> None:
        """Put the state back when one of them ends."""
        self.running -= 1
        live.clear()
        live.update(deepcopy(self.before))
        if not self.running:
            self.before = {}


_BASE64_LEAST = 6
"""Fewest characters of base64 that are taken for a secret's: fewer stand in any text."""

_URL_SAFE = str.maketrans("+/", "-_")

_WRITTEN = frozenset({"state_delta", "artifact_delta", "requested_tool_confirmations"})
"""Fields of a tool's actions that are cleaned entry by entry; others go whole."""

_SHOWN = ("render_ui_widgets", "set_model_response", "agent_state")
"""Fields of a tool's actions that are results like the one it returns."""


def clean_actions(
    actions: EventActions, live: dict[str, Any], filled: Filled, *, private: bool
) -> None:
    """Take what was filled in out of everything a tool writes besides its result.

    Args:
        actions: What will be persisted with the tool's response; changed in place.
        live: The session's state, which the next instruction may be made of; changed in place.
        filled: What the tool ran with.
        private: Whether the tool's results are private, so that all it wrote goes.
    """
    if private:
        actions.state_delta.clear()
        for name in _SHOWN:
            _reset(actions, name)
    if not filled.secrets:
        return
    for written in (actions.state_delta, live):
        for key, value in list(written.items()):
            clean = _scrub_text(key, filled)
            if clean != key:
                del written[key]
            written[clean] = _withhold(value, filled)
    actions.artifact_delta = {
        _scrub_text(name, filled): version for name, version in actions.artifact_delta.items()
    }
    for wish in actions.requested_tool_confirmations.values():
        wish.hint = _scrub_text(wish.hint or "", filled)
        wish.payload = _withhold(wish.payload, filled)
    for name in type(actions).model_fields:
        value = getattr(actions, name)
        if name not in _WRITTEN and value and _withhold(value, filled) is not value:
            _reset(actions, name)


def _reset(actions: EventActions, name: str) -> None:
    field_ = type(actions).model_fields.get(name)
    if field_ is not None:
        setattr(actions, name, field_.get_default(call_default_factory=True))


_running: ContextVar[tuple[tuple[str, Filled], ...]] = ContextVar("running", default=())


@contextmanager
def running(tool: str, filled: Filled) -> Iterator[None]:
    """Know, in whatever the tool does until it ends, what it was filled with."""
    token = _running.set((*_running.get(), (tool, filled)))
    try:
        yield
    finally:
        _running.reset(token)


def holding(read: Callable[[], str]) -> list[str]:
    """Return the running tools whose filled in values stand in a text, by name.

    Args:
        read: Returns the text; not called where no such tool is running.
    """
    calls = _running.get()
    text = read() if calls else ""
    return sorted({tool for tool, filled in calls if _scrub_text(text, filled) != text})


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
    # The tool may write into what it is given; nobody outside holds this copy.
    effective = _copied(dict(proposed))
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
    """Return a tool's result without what was filled in, as plain data.

    The result is first turned into JSON's own types, as ADK would do later: an object says in its
    fields what its text may hide. Entries named like a filled argument go. A remembered value is
    replaced by a marker wherever it stands in a string, a key, or the bytes or number of a value;
    the neutral one only where it is a whole string, since it may be an ordinary word. So a tool
    that echoes its argument gives the same result whether or not something was remembered. What a
    tool makes *of* a value (a hash, a filtered list) is no echo: see `private_results`.

    Raises:
        ValueError: The result has no JSON form, so nobody can say what is in it.
    """
    return _scrub(value, filled, drop=True)


def _withhold(value: Any, filled: Filled) -> Any:
    """Return a value without secrets; what holds none stays the object that it is."""
    clean = _scrub(value, filled, drop=False)
    return clean if clean != _scrub(value, NOTHING, drop=False) else value


def _scrub(value: Any, filled: Filled, *, drop: bool) -> Any:
    if isinstance(value, str):
        return _scrub_text(value, filled, drop=drop)
    if value is None or isinstance(value, bool | int | float):
        return MARKER if _is_secret(value, filled) else value
    if isinstance(value, Mapping):
        return {
            _scrub_text(str(key), filled): _scrub(item, filled, drop=drop)
            for key, item in value.items()
            if not (drop and key in filled.arguments)
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_scrub(item, filled, drop=drop) for item in value]
    if isinstance(value, bytes | bytearray | memoryview):
        plain = bytes(value)
        return MARKER if _holds_secret(plain, filled) else plain
    return _scrub(to_jsonable_python(value, bytes_mode="base64"), filled, drop=drop)


def _copied(value: Any) -> Any:
    """Copy the containers of JSON; what else a callback may have put in stays what it is."""
    if type(value) is dict:
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if type(value) is list else value


def _scrub_text(text: str, filled: Filled, *, drop: bool = False) -> str:
    if drop and text in filled.neutral:
        return MARKER
    return _withheld(text, filled.spellings) if filled.secrets else text


def _withheld(text: str, spellings: Iterable[str]) -> str:
    """Replace every spelling, in whatever case, in one pass: a marker is not looked into again.

    A secret may be a part of the marker's own word, and would be found in it for ever.
    """
    low = text.lower()
    if len(low) != len(text):
        found = any(one in text or one.lower() in low for one in spellings)
        return MARKER if found else text
    markers = _spans(text, MARKER)
    hits = sorted(
        span
        for one in spellings
        for span in {*_spans(text, one), *_spans(low, one.lower())}
        if not any(start <= span[0] and span[1] <= end for start, end in markers)
    )
    pieces, at = [], 0
    for start, end in hits:
        if start >= at:
            pieces += [text[at:start], MARKER]
        at = max(at, end)
    return "".join((*pieces, text[at:]))


def _spans(text: str, wanted: str) -> list[tuple[int, int]]:
    found, at = [], text.find(wanted)
    while at >= 0:
        found.append((at, at + len(wanted)))
        at = text.find(wanted, at + 1)
    return found


def _spelled(secret: str) -> Iterator[str]:
    """Give a secret as JSON (also inside JSON), URLs, HTML and base64 spell it."""
    for form in {secret, *(unicodedata.normalize(name, secret) for name in ("NFC", "NFD"))}:
        escaped = json.dumps(form)[1:-1]
        yield from (form, escaped, json.dumps(escaped)[1:-1])
        yield from (quote(form), quote(form, safe=""), quote_plus(form))
        yield from (html.escape(form), html.escape(form, quote=False))
        plain = form.encode("utf-8", "replace")
        yield b64encode(plain).decode()
        for before in range(3):
            # Inside a longer text only the characters that the secret alone decides are its.
            shifted = b64encode(bytes(before) + plain).decode().rstrip("=")
            inner = shifted[-(-before * 8 // 6) : (before + len(plain)) * 8 // 6]
            if len(inner) >= _BASE64_LEAST:
                yield from (inner, inner.translate(_URL_SAFE))


def _is_secret(value: float | bool | None, filled: Filled) -> bool:
    """Tell whether a number or a truth value is a secret: `5.0` is the `5` that was filled in."""
    if not filled.secrets:
        return False
    said = {str(value), json.dumps(value)} if isinstance(value, bool) else {str(value)}
    return any(one in said or _is_number(one, value) for one in filled.secrets)


def _is_number(text: str, value: float | bool | None) -> bool:
    if value is None or isinstance(value, bool):
        return False
    try:
        return float(text) == value
    except ValueError:
        return False


def _holds_secret(plain: bytes, filled: Filled) -> bool:
    low = plain.lower()
    return any(
        one.encode(code, "replace") in plain or one.lower().encode(code, "replace") in low
        for one in filled.spellings
        for code in ("utf-8", "utf-16-le", "utf-16-be")
    )


NOTHING = Filled(proposed={}, effective={}, origin="none", arguments=(), secrets=(), neutral=())
