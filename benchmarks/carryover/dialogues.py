"""Dialogues and schemas in the benchmark's form of file, and the agent that a dialogue had."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from callbacks.context.errors import ContextError
from callbacks.context.projecting import FieldProjector, project_fields
from callbacks.context.schema import ContextSchema, Topic
from callbacks.context.slot import Slot
from callbacks.context.values import MAX_VALUE, canonical

_HAN = re.compile(r"[\u4e00-\u9fff]")
_LARGEST = 10**12
MAX_NAME = 80
"""Names of hotels and works are longer than the default of `Slot.name`, in characters."""


@dataclass(frozen=True)
class Exchange:
    """One exchange of a file: what was said, what it settled, what was called."""

    user: str
    system: str
    given: Mapping[str, str]
    tool: str
    arguments: Mapping[str, str]
    rows: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Dialogue:
    """One dialogue and the services of the agent that had it."""

    id: str
    services: tuple[str, ...]
    exchanges: Sequence[Exchange]


def read_dialogues(path: Path) -> Iterator[Dialogue]:
    """Yield the dialogues of a file, one a line."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            yield _dialogue(json.loads(line))


def _dialogue(given: Mapping[str, Any]) -> Dialogue:
    exchanges = []
    for exchange in given["exchanges"]:
        call = exchange.get("call") or {}
        exchanges.append(
            Exchange(
                exchange["user"],
                exchange["system"],
                _texts(exchange.get("given") or {}),
                call.get("tool") or "",
                _texts(call.get("args") or {}),
                exchange.get("results") or (),
            )
        )
    return Dialogue(str(given["id"]), tuple(given["services"]), exchanges)


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in values.items() if value not in (None, "")}


class Agent:
    """The agent of some services: its context schema, its tools and their projectors.

    Everything comes from the schema file. A slot of several services has a value of its own in
    each. Where services disagree on a slot's kind, it becomes a slot a kind.
    """

    def __init__(self, services: Sequence[str], specs: Mapping[str, Any]) -> None:
        """Build the schema of these services."""
        self.services = tuple(services)
        self._names: dict[tuple[str, str], str] = {}
        self._tools: dict[str, list[str]] = {}
        kinds: dict[str, dict[str, list[tuple[str, Mapping[str, Any]]]]] = {}
        private: set[str] = set()
        text = ""
        for service in self.services:
            for tool in specs[service]["tools"]:
                self._tools.setdefault(tool, []).append(service)
            for name, spec in specs[service]["slots"].items():
                text += name + str(spec.get("means", ""))
                private |= {name} if spec.get("private") else set()
                kinds.setdefault(name, {}).setdefault(_kind(spec), []).append((service, spec))
        slots: dict[str, Slot] = {}
        for name, by_kind in kinds.items():
            for number, (kind, known) in enumerate(by_kind.items()):
                own = name if number == 0 else f"{name} {kind}"
                topics = [service for service, _ in known] if len(self.services) > 1 else []
                # Private in one service is private in all: nothing says which one is meant.
                slots[own] = Slot.private() if name in private else _slot(kind, known, topics)
                self._names.update({(service, name): own for service, _ in known})
        self.private = frozenset(private)
        self.schema = ContextSchema(
            topics={service: Topic(service) for service in self.services},
            slots=slots,
            language="zh-Hant" if _HAN.search(text) else "en",
        )
        self.projectors: dict[str, FieldProjector] = {
            tool: project_fields(
                services_[0],
                {
                    self._names[services_[0], name]: name
                    for name in _parameters(specs[services_[0]]["tools"][tool])
                    if (services_[0], name) in self._names and name not in private
                },
            )
            for tool, services_ in self._tools.items()
        }

    @property
    def tools(self) -> Sequence[str]:
        """The names of the tools."""
        return tuple(self._tools)

    def service_of(self, tool: str) -> str:
        """Return the service whose tool this is; its first, where several have it."""
        return self._tools[tool][0]

    def slot(self, name: str, service: str = "") -> str:
        """Return the schema's slot for a name of the file; empty where no service has it."""
        if service and (service, name) in self._names:
            return self._names[service, name]
        return next((self._names[s, name] for s in self.services if (s, name) in self._names), "")

    def canonical(self, name: str, value: str) -> str:
        """Return the schema's one form of a value, or the value where it is not admitted."""
        try:
            return self.schema.slots[name].admit(value)
        except ContextError:
            return value


def _kind(spec: Mapping[str, Any]) -> str:
    kind = spec.get("kind")
    if kind == "closed" and not spec.get("values"):
        return "name"
    return kind if kind in {"closed", "date", "time", "number"} else "name"


def _slot(kind: str, known: Sequence[tuple[str, Mapping[str, Any]]], topics: Sequence[str]) -> Slot:
    if kind == "closed":
        values = {canonical(str(value)): None for _, spec in known for value in spec["values"]}
        return Slot.closed([v for v in values if 0 < len(v) <= MAX_VALUE], topics=topics)
    if kind == "date":
        return Slot.date(topics=topics)
    if kind == "time":
        return Slot.time(topics=topics)
    if kind == "number":
        return Slot.number(-_LARGEST, _LARGEST, str(known[0][1].get("unit") or ""), topics=topics)
    # The file says which slots are private; a public one may be where a taxi goes.
    return Slot.name(MAX_NAME, addresses=True, topics=topics)


def _parameters(tool: Mapping[str, Any]) -> list[str]:
    return [*tool.get("required", ()), *tool.get("optional", ())]
