"""Puts a packet in order: contract, task, plan, claims with their evidence, decisions, output form.

The order is by claim, never by score of retrieval. Text from outside is data between boundaries it
cannot make. The same decision and items give the same bytes.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from callbacks.evidence.canonical import digest
from callbacks.evidence.contract import CHANNELS, TaskContract
from callbacks.evidence.errors import ContractMismatch, EvidenceError
from callbacks.evidence.fence import boundary, data, own, own_line
from callbacks.evidence.instant import utc
from callbacks.evidence.item import EvidenceItem, Fact
from callbacks.evidence.packet import EvidencePacket, PacketSpec, Placed, Section
from callbacks.evidence.trust import forbidden
from callbacks.evidence.value import Literally, Moment, Value, Vocabulary, shown

Inner = Literal["evidence_first", "conditions_first"]


class Part(NamedTuple):
    """Some lines of a packet and the channel they are paid from."""

    channel: str
    lines: tuple[str, ...]


def build(
    contract: TaskContract, spec: PacketSpec, items: Mapping[str, EvidenceItem]
) -> EvidencePacket:
    """Make a packet's bytes from what was decided. Nothing is decided here.

    Args:
        contract: The contract.
        spec: What was decided.
        items: At least the items it names, by id.

    Raises:
        ContractMismatch: The decision was made under another contract.
        EvidenceError: An item is missing.
    """
    if contract.digest() != spec.contract_sha256:
        raise ContractMismatch(numbers={"contract": contract.id, "version": contract.version})
    if not set(spec.item_ids()) <= items.keys():
        raise EvidenceError("An item of the packet is missing.")
    lines = [line for part in parts(contract, spec, items) for line in part.lines]
    return EvidencePacket(
        contract=contract,
        spec=spec,
        items=tuple(items[item_id] for item_id in spec.item_ids()),
        text="\n".join(lines),
    )


def parts(
    contract: TaskContract, spec: PacketSpec, items: Mapping[str, EvidenceItem]
) -> tuple[Part, ...]:
    """Return the packet's lines in order, each with its channel."""
    # Made from everything that stands between the fences, the texts' hashes included: a text that
    # wanted to name its own fence would have to contain a hash of itself.
    fence = digest([spec.digest(), [items[one].digest() for one in spec.item_ids()]])[:12]
    found = [
        Part("contract", _contract(contract)),
        Part("task", _task(spec)),
        Part("plan", _plan(spec)),
    ]
    placed: set[str] = set()
    decisions: list[Part] = []
    for section in spec.sections:
        opened = (boundary("claim", section.claim, f"outcome={section.outcome.value}"),)
        found.append(Part("plan", opened))
        for one in section.items:
            item = items[one.item]
            channel = contract.route(item.kind)
            seen = item.id in placed
            placed.add(item.id)
            lines = _seen(one) if seen else item_lines(item, one.role, fence)
            # Decisions stand after the claims; in its claim a decision is only named.
            if channel == "history" and not seen:
                decisions.append(Part(channel, lines))
                lines = _seen(one)
            found.append(Part("plan" if lines == _seen(one) else channel, lines))
        found.append(Part("plan", (boundary("end-claim", section.claim),)))
    if decisions:
        found.append(Part("history", (boundary("decisions"),)))
        found.extend(decisions)
        found.append(Part("history", (boundary("end-decisions"),)))
    found.append(
        Part("output", (boundary("output"), *own(contract.output), boundary("end-output")))
    )
    return tuple(found)


def channel_texts(all_parts: tuple[Part, ...]) -> dict[str, str]:
    """Return the serialized text of each of the nine channels; empty where one is not used."""
    return {
        name: "\n".join(line for part in all_parts if part.channel == name for line in part.lines)
        for name in CHANNELS
    }


def item_lines(item: EvidenceItem, role: str, fence: str = "0" * 12) -> tuple[str, ...]:
    """Return an item as it stands in a packet: typed, fenced, its text as data.

    Args:
        item: The item.
        role: What it is to its claim.
        fence: The packet's fence; any twelve characters give the same size.
    """
    words = [
        item.id,
        f"role={role}",
        f"kind={item.kind}",
        f"source={item.source}",
        f"trust={item.trust.value}",
    ]
    if item.as_of_ms is not None:
        words.append(f"as_of={utc(item.as_of_ms)}")
    if item.expires_at_ms is not None:
        words.append(f"expires={utc(item.expires_at_ms)}")
    if item.trust.value == "untrusted":
        words.append("never=" + ",".join(forbidden(item.trust)))
    lines = [boundary("data", *words, f"fence={fence}")]
    if item.citation:
        lines.extend(data(item.citation, "c"))
    for fact in item.facts:
        lines.extend(data(_fact(fact), "f"))
    lines.extend(data(item.text, "t"))
    lines.append(boundary("end-data", item.id, f"fence={fence}"))
    return tuple(lines)


def reorder(
    spec: PacketSpec, claims: tuple[str, ...], inner: Inner = "evidence_first"
) -> PacketSpec:
    """Return the same decision with its claims, and the items in them, in another allowed order.

    Args:
        spec: What was decided.
        claims: Ids of all its claims, in the new order.
        inner: Whether a claim's evidence or its conditions stand first.

    Raises:
        EvidenceError: The order does not name every claim once.
    """
    by_claim = {section.claim: section for section in spec.sections}
    if sorted(claims) != sorted(by_claim):
        raise EvidenceError("An order names every claim of a packet once.")
    sections = tuple(_inner(by_claim[claim_id], inner) for claim_id in claims)
    return spec.model_copy(update={"sections": sections})


def _inner(section: Section, inner: Inner) -> Section:
    rank = {"evidence": 0, "counter": 1, "condition": 2}
    if inner == "conditions_first":
        rank = {"condition": 0, "evidence": 1, "counter": 2}
    items = tuple(sorted(section.items, key=lambda one: (rank[one.role], one.item)))
    return section.model_copy(update={"items": items})


def _contract(contract: TaskContract) -> tuple[str, ...]:
    lines = [boundary("contract", contract.id, f"sha256={contract.digest()}")]
    lines.extend(own(contract.rules))
    lines.append(own_line("outcomes: " + ", ".join(one.value for one in contract.outcomes)))
    lines.append(own_line("tools: " + (", ".join(one.tool for one in contract.tools) or "none")))
    if contract.must_cite:
        lines.append(own_line("must cite: " + ", ".join(contract.must_cite)))
    lines.append(own_line("must show: " + ", ".join(contract.must_show)))
    if contract.forbidden_actions:
        lines.append(own_line("never: " + "; ".join(contract.forbidden_actions)))
    lines.append(boundary("end-contract"))
    return tuple(lines)


def _task(spec: PacketSpec) -> tuple[str, ...]:
    task = spec.task
    lines = [boundary("task", spec.generation)]
    lines.append(own_line(f"type: {spec.plan.task_type}; asks: {', '.join(spec.plan.asks)}"))
    lines.append(own_line(f"reader: {task.reader}"))
    for name, value in task.scope:
        lines.append(own_line(f"{name}: {value}"))
    lines.append(own_line(f"about: {utc(task.asked_at_ms)}; now: {utc(task.now_ms)}"))
    for fact in task.facts:
        tax = f" tax={fact.value.tax.value}" if fact.value.kind == "money" else ""
        lines.append(
            own_line(
                f"{fact.field} = {_value(fact.value)}{tax} ({fact.confidence.value}, "
                f"source {fact.source}, revision {fact.revision})"
            )
        )
    lines.append(boundary("end-task"))
    return tuple(lines)


def _plan(spec: PacketSpec) -> tuple[str, ...]:
    lines = [boundary("plan", f"revision={spec.plan.revision}")]
    sections = {section.claim: section for section in spec.sections}
    for claim in spec.plan.claims:
        section = sections[claim.id]
        applies = f" applies={section.applies}" if section.applies else ""
        weight = "required" if claim.required else "optional"
        tool = f"; needs {claim.needs_tool}" if claim.needs_tool and not section.items else ""
        lines.append(
            own_line(f"{claim.id} {claim.kind} {weight}: {section.outcome.value}{applies}{tool}")
        )
    for unknown in spec.unknowns:
        retry = f"; again at {utc(unknown.retry_at_ms)}" if unknown.retry_at_ms else ""
        lines.append(
            own_line(
                f"unknown {unknown.id} ({unknown.why}; {', '.join(unknown.claims)}): "
                f"{unknown.owner} can supply {unknown.supplies}{retry}"
            )
        )
    for conflict in spec.conflicts:
        due = f"; due {utc(conflict.due_ms)}" if conflict.due_ms else ""
        lines.append(
            own_line(
                f"conflict {conflict.id} ({conflict.claim}): {' against '.join(conflict.sides)}; "
                f"{conflict.owner} decides{due}"
            )
        )
    lines.extend(own_line(f"excluded {one.id}: {one.reason}") for one in spec.excluded)
    lines.extend(
        own_line(f"not reached {one.source}: {one.why}, not needed") for one in spec.notices
    )
    lines.append(boundary("end-plan"))
    return tuple(lines)


def _seen(placed: Placed) -> tuple[str, ...]:
    return (f"- {placed.role} {placed.item}",)


def _fact(fact: Fact) -> str:
    denied = " denied" if fact.polarity.value == "denied" else ""
    exceptions = f" except {','.join(fact.exceptions)}" if fact.exceptions else ""
    return (
        f"{fact.claim}: {fact.subject} {fact.predicate} {fact.comparator.value} "
        f"{_value(fact.value)}{denied}{exceptions}"
    )


def _value(value: Value) -> str:
    if isinstance(value, Moment | Literally):
        return shown(value, _NO_WORDS, "en").replace("\n", " ")
    return shown(value, _NO_WORDS, "en")


_NO_WORDS = Vocabulary()  # packets name words by their ids
