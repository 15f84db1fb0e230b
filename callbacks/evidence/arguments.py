"""Where a tool's arguments come from: what only a stranger's text says reaches no tool."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Literal

from callbacks.evidence.foreign import Foreign
from callbacks.evidence.frozen import Frozen
from callbacks.evidence.item import EvidenceItem
from callbacks.evidence.numeral import exact, fold
from callbacks.evidence.packet import EvidencePacket
from callbacks.evidence.trust import Use, allows


class Origin(StrEnum):
    """Where a value was seen."""

    TRUSTED = "trusted"
    UNTRUSTED = "untrusted"
    NOWHERE = "nowhere"


class Stopped(Frozen):
    """A tool call that is not made.

    Attributes:
        tool: The tool.
        argument: The argument it is stopped for; empty where it is the tool itself.
        reason: Why.
    """

    tool: str
    argument: str
    reason: Literal["tool_not_in_contract", "only_untrusted_origin", "no_trusted_origin"]


def check_call(
    tool: str,
    arguments: Mapping[str, object],
    packet: EvidencePacket,
    *,
    said: Iterable[str] = (),
    seen: Iterable[EvidenceItem] = (),
) -> tuple[Stopped, ...]:
    """Judge a tool call that a model asks for; nothing returned means it may be made.

    A value must be the whole of a trusted value: one of the case, the task's scope, a fact of
    trusted evidence, or the person's own words of this turn. Words *inside* trusted text are no
    origin, for a policy's example may quote anything.

    Args:
        tool: The tool's name.
        arguments: The proposed arguments.
        packet: The packet the model was given.
        said: Values the application read from the person's own newest message.
        seen: Items outside the packet the model has seen, such as results of this turn's tools.
    """
    rule = next((one for one in packet.contract.tools if one.tool == tool), None)
    if rule is None:
        return (Stopped(tool=tool, argument="", reason="tool_not_in_contract"),)
    items = (*packet.items, *seen)
    trusted = _trusted(packet, items, said)
    foreign = Foreign(
        part
        for item in items
        if not allows(item.trust, Use.TOOL_ARGUMENT)
        for part in (item.text, item.citation, item.annotation)
    )
    stopped = []
    for name, value in sorted(arguments.items()):
        if not _is_name(name, foreign):
            stopped.append(Stopped(tool=tool, argument=name, reason="only_untrusted_origin"))
        for text in _texts(value, foreign):
            origin = _origin(text, trusted, foreign)
            if origin is Origin.UNTRUSTED:
                stopped.append(Stopped(tool=tool, argument=name, reason="only_untrusted_origin"))
            elif origin is Origin.NOWHERE and name not in rule.free:
                stopped.append(Stopped(tool=tool, argument=name, reason="no_trusted_origin"))
    return tuple(dict.fromkeys(stopped))


def _origin(text: str, trusted: frozenset[str], foreign: Foreign) -> Origin:
    clean = fold(text)
    number = exact(clean)
    if clean in trusted or (number is not None and f"number {number}" in trusted):
        return Origin.TRUSTED
    return Origin.UNTRUSTED if foreign.says(text) else Origin.NOWHERE


def _is_name(key: str, foreign: Foreign) -> bool:
    """Tell whether a key is a field's name; what else stands in its place is a value."""
    if not (key.isascii() and key.isidentifier()):
        return False
    return key.isalpha() or not any(one.isdigit() for one in key) or not foreign.says(key)


def _trusted(
    packet: EvidencePacket, items: tuple[EvidenceItem, ...], said: Iterable[str]
) -> frozenset[str]:
    found: list[str] = list(said)
    found.extend(value for _, value in packet.spec.task.scope)
    values = [fact.value for fact in packet.spec.task.facts]
    for item in items:
        if allows(item.trust, Use.TOOL_ARGUMENT):
            found.extend((item.id, item.entity))
            found.extend(fact.subject for fact in item.facts)
            values.extend(fact.value for fact in item.facts if fact.value.kind != "literally")
    numbers = []
    for value in values:
        if value.kind == "money":
            found.extend((value.text(), value.text().rpartition(" ")[0], value.currency))
        elif value.kind == "quantity":
            found.extend((value.text(), value.text().rpartition(" ")[0], value.unit))
        elif value.kind == "word":
            found.append(value.word)
    numbers = [f"number {number}" for text in found if (number := exact(text)) is not None]
    return frozenset((*(fold(text) for text in found), *numbers))


def _texts(value: object, foreign: Foreign) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, int):
        return [str(value)]
    if isinstance(value, Mapping):
        keys = [str(key) for key in value if not _is_name(str(key), foreign)]
        return [*keys, *(text for one in value.values() for text in _texts(one, foreign))]
    if isinstance(value, list | tuple):
        return [text for one in value for text in _texts(one, foreign)]
    return [repr(value)]
