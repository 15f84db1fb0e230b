"""Topics and slots read off an agent's tools: a first schema, with what was left out and why.

Works on anything that looks like an agent: `tools` (functions, or objects with `func`, `agent` or a
declaration), `sub_agents`, `name`. So it needs no framework, and this room stays pure.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from enum import Enum
from typing import Any, Literal

from callbacks.context.errors import InvalidSchema
from callbacks.context.nearest import nearest
from callbacks.context.slot import Slot
from callbacks.context.values import MAX_NAME

_SOUNDS_PRIVATE = (
    *("account", "address", "allerg", "birth", "card", "diagnos", "dob", "email", "iban", "income"),
    *(
        "medic",
        "passport",
        "password",
        "patient",
        "phone",
        "pin",
        "salary",
        "secret",
        "ssn",
        "token",
    ),
)
_GIVEN_BY_FRAMEWORK = frozenset(
    {"self", "cls", "tool_context", "context", "ctx", "callback_context"}
)
_NOTHING = inspect.Parameter.empty


@dataclass(frozen=True)
class LeftOut:
    """A parameter or tool that became nothing, and why, in a few words."""

    tool: str
    parameter: str
    why: str


@dataclass(frozen=True)
class Derivation:
    """What an agent's tools say about its context.

    Attributes:
        topics: Topic name -> (label, whether it sticks); a topic a tool.
        slots: Slots by name.
        fields: Tool -> slot name -> the parameter that holds its value.
        left_out: What became nothing.
    """

    topics: Mapping[str, tuple[str, bool]] = field(default_factory=dict)
    slots: Mapping[str, Slot] = field(default_factory=dict)
    fields: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()

    def text(self) -> str:
        """Return it as lines for the author of a schema."""
        lines = ["topics, one a tool:"]
        for name, (label, sticky) in self.topics.items():
            lines.append(f"  {name}: {label}{'' if sticky else ' (never the goal)'}")
        lines.append("slots:")
        for name, slot in self.slots.items():
            scope = f", a value each for {', '.join(slot.topics)}" if slot.topics else ""
            lines.append(f"  {name}: {slot.kind}, {slot.hint}{scope}")
        lines.append("left out:")
        lines += [f"  {each.tool}({each.parameter}): {each.why}" for each in self.left_out]
        return "\n".join(lines)


@dataclass(frozen=True)
class _Parameter:
    name: str
    annotation: Any = _NOTHING
    declared: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Tool:
    name: str
    parameters: tuple[_Parameter, ...]
    returns: Any = _NOTHING


def derive(
    agent: object,
    *,
    private: Collection[str] = (),
    public: Collection[str] = (),
    filled: Collection[tuple[str, str]] = (),
) -> Derivation:
    """Read topics and slots off the tools of an agent and of every agent below it.

    `Literal`, enumerations and declared `enum` become closed slots; dates and times, numbers with
    both bounds become what they are; text becomes a grounded slot where a tool's declared result
    has a field of its name. The rest is left out, and so is what is private or sounds so.

    Args:
        agent: The root agent.
        private: Parameters that never become a slot, by their names.
        public: Parameters that sound private and are not.
        filled: (tool, parameter) that a remembered preference may fill; never a slot.

    Raises:
        InvalidSchema: `private` or `public` names a parameter that no tool has, or both name one.
    """
    left_out: list[LeftOut] = []
    tools = list(_tools(agent, left_out))
    known = {p.name for tool in tools for p in tool.parameters}
    _check_named("private", private, known)
    _check_named("public", public, known)
    if both := sorted({*private} & {*public}):
        listed = ", ".join(both)
        raise InvalidSchema(
            f"private and public both name these: {listed}.", numbers={"name": listed}
        )
    results = {field_name: tool.name for tool in tools for field_name in _fields(tool.returns)}
    found: dict[str, dict[str, Slot]] = {}
    for tool in tools:
        for parameter in tool.parameters:
            slot: Slot | str | None = _refused(parameter.name, private, public)
            if (tool.name, parameter.name) in filled:
                slot = "filled by a remembered preference"
            slot = slot or _slot(parameter, results)
            if isinstance(slot, str):
                left_out.append(LeftOut(tool.name, parameter.name, slot))
            else:
                found.setdefault(parameter.name, {})[tool.name] = slot
    slots, fields = _named(found)
    topics = {tool.name: (_label(tool.name), tool.name in fields) for tool in tools}
    return Derivation(topics, slots, fields, tuple(left_out))


def _check_named(option: str, names: Collection[str], known: Collection[str]) -> None:
    """Refuse a name that no tool's parameter has: misspelt, it would let a private value in."""
    if unknown := sorted({*names} - {*known}):
        listed = ", ".join(f"{name}{nearest(name, known)}" for name in unknown)
        raise InvalidSchema(
            f"{option} names a parameter that no tool has: {listed}.",
            numbers={"name": ", ".join(unknown)},
        )


def _named(
    found: Mapping[str, Mapping[str, Slot]],
) -> tuple[dict[str, Slot], dict[str, dict[str, str]]]:
    """Name the slots: one for tools that mean the same by a parameter, else one a tool."""
    slots: dict[str, Slot] = {}
    fields: dict[str, dict[str, str]] = {}
    for parameter, by_tool in found.items():
        alike = len(set(by_tool.values())) == 1
        for tool, slot in by_tool.items():
            name = parameter if alike else f"{tool}_{parameter}"[:MAX_NAME]
            scope = _scope(slot, tuple(by_tool) if alike else (tool,))
            slots[name] = scope
            fields.setdefault(tool, {})[name] = parameter
    return slots, fields


def _scope(slot: Slot, tools: tuple[str, ...]) -> Slot:
    """Give dates, times and numbers a value each topic: a hotel's date is not a restaurant's."""
    return replace(slot, topics=tools) if slot.kind in {"date", "time", "number"} else slot


def _label(tool: str) -> str:
    return tool.replace("_", " ").strip()[:MAX_NAME] or tool


def _refused(name: str, private: Collection[str], public: Collection[str]) -> str | None:
    if name in private:
        return "private"
    words = name.lower()
    if name not in public and any(word in words for word in _SOUNDS_PRIVATE):
        return "sounds private; name it in `public` if it is not"
    return None


def _slot(parameter: _Parameter, results: Mapping[str, str]) -> Slot | str:
    """Return the slot of a parameter, or why it has none."""
    kind, marks = _plain(parameter.annotation)
    declared = parameter.declared
    values = _vocabulary(kind, declared)
    if values is not None:
        if all(isinstance(value, str) and value.strip() for value in values):
            return Slot.closed(dict.fromkeys(values))
        return "its vocabulary is not text"
    form = declared.get("format")
    if kind is date or form == "date":
        return Slot.date()
    if kind is time or form == "time":
        return Slot.time()
    if kind is datetime or form == "date-time":
        return "a date and a time in one"
    if kind in (int, float) or declared.get("type") in ("integer", "number"):
        bounds = _bounds(marks, declared)
        return "a number without bounds" if bounds is None else Slot.number(*bounds)
    if kind is bool or declared.get("type") == "boolean":
        return "yes or no"
    if kind is str or declared.get("type") == "string" or kind is _NOTHING:
        return _text_slot(parameter.name, results)
    return "several values, or no simple type"


def _text_slot(name: str, results: Mapping[str, str]) -> Slot | str:
    words = name.lower().split("_")
    if "date" in words:
        return Slot.date()
    if "time" in words:
        return Slot.time()
    if name in results:
        return Slot.grounded(results[name], name)
    return "free text, and no tool's declared result has a field of this name"


def _plain(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """Take `Annotated` and `| None` off an annotation."""
    marks: tuple[Any, ...] = ()
    while True:
        origin = typing.get_origin(annotation)
        arguments = typing.get_args(annotation)
        if origin is typing.Annotated:
            annotation, marks = arguments[0], (*marks, *arguments[1:])
        elif origin in (typing.Union, types.UnionType):
            rest = [a for a in arguments if a is not type(None)]
            if len(rest) != 1:
                return annotation, marks
            annotation = rest[0]
        else:
            return annotation, marks


def _vocabulary(kind: Any, declared: Mapping[str, Any]) -> list[Any] | None:
    if typing.get_origin(kind) is Literal:
        return list(typing.get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [member.value for member in kind]
    values = declared.get("enum")
    return list(values) if isinstance(values, list) and values else None


def _bounds(marks: Sequence[Any], declared: Mapping[str, Any]) -> tuple[Any, Any] | None:
    low, high = declared.get("minimum"), declared.get("maximum")
    inner = [m for mark in marks for m in (getattr(mark, "metadata", None) or (mark,))]
    for mark in inner:
        low = getattr(mark, "ge", None) if getattr(mark, "ge", None) is not None else low
        high = getattr(mark, "le", None) if getattr(mark, "le", None) is not None else high
    return None if low is None or high is None else (low, high)


def _fields(returns: Any) -> Iterator[str]:
    """Name the fields of a declared result, and of its rows."""
    kind, _ = _plain(returns)
    arguments = typing.get_args(kind)
    if arguments and typing.get_origin(kind) in (list, tuple, Sequence):
        kind, _ = _plain(arguments[0])
    if not isinstance(kind, type):
        return
    try:
        hints = typing.get_type_hints(kind) if "__annotations__" in vars(kind) else {}
    except NameError:
        return
    for name, hint in hints.items():
        inner = typing.get_args(_plain(hint)[0])
        if inner and isinstance(inner[0], type) and "__annotations__" in vars(inner[0]):
            yield from _fields(inner[0])
        else:
            yield name


def _tools(agent: object, left_out: list[LeftOut]) -> Iterator[_Tool]:
    waiting, seen = [agent], set()
    names: set[str] = set()
    while waiting:
        one = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        waiting.extend(getattr(one, "sub_agents", None) or ())
        for tool in getattr(one, "tools", None) or ():
            inner = getattr(tool, "agent", None)
            if inner is not None:
                waiting.append(inner)
                left_out.append(LeftOut(_name(tool), "*", "an agent's own request is no argument"))
            elif hasattr(tool, "get_tools"):
                left_out.append(LeftOut(_name(tool), "*", "its tools are known only at run time"))
            elif (read := _read(tool)) is None:
                left_out.append(LeftOut(_name(tool), "*", "it declares no parameters"))
            elif read.name not in names:
                names.add(read.name)
                yield read


def _name(tool: object) -> str:
    name = getattr(tool, "name", None) or getattr(tool, "__name__", None)
    return name if isinstance(name, str) else type(tool).__name__


def _read(tool: object) -> _Tool | None:
    function = getattr(tool, "func", tool)
    if inspect.isroutine(function):
        return _of_function(_name(tool), function)
    declare = getattr(tool, "_get_declaration", None)
    declaration = declare() if callable(declare) else None
    schema = getattr(declaration, "parameters_json_schema", None)
    if schema is None and (given := getattr(declaration, "parameters", None)) is not None:
        schema = _lowered(given.model_dump(mode="json", exclude_none=True))
    if not isinstance(schema, Mapping):
        return None
    parameters = [
        _Parameter(name, declared=declared)
        for name, declared in (schema.get("properties") or {}).items()
        if isinstance(declared, Mapping)
    ]
    return _Tool(
        _name(tool), tuple(_Parameter(p.name, declared=_one(p.declared)) for p in parameters)
    )


def _one(declared: Mapping[str, Any]) -> Mapping[str, Any]:
    """Take "or null" off a declared type."""
    options = [o for o in declared.get("anyOf") or () if o.get("type") != "null"]
    if len(options) == 1:
        return dict(options[0])
    if declared.get("type") == "array" or options:
        return {"type": "array"}
    return declared


def _lowered(schema: Any) -> Any:
    """Spell the types of a declaration as JSON schema does."""
    if isinstance(schema, dict):
        return {
            key: value.lower() if key == "type" and isinstance(value, str) else _lowered(value)
            for key, value in schema.items()
        }
    return [_lowered(item) for item in schema] if isinstance(schema, list) else schema


def _of_function(name: str, function: Callable[..., Any]) -> _Tool:
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError):
        hints = {}
    parameters = [
        _Parameter(each.name, hints.get(each.name, _NOTHING))
        for each in inspect.signature(function).parameters.values()
        if each.name not in _GIVEN_BY_FRAMEWORK
        and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]
    return _Tool(name, tuple(parameters), hints.get("return", _NOTHING))
