"""What a generation was made of: ids, order, cuts and reasons, counts, hashes; replays to bytes."""

from collections.abc import Callable
from typing import Literal

from callbacks.context.trace import Action, Block
from callbacks.evidence.admission import NOT_AVAILABLE
from callbacks.evidence.arrangement import build
from callbacks.evidence.assembly import Assembly
from callbacks.evidence.contract import TaskContract
from callbacks.evidence.dependencies import Hop
from callbacks.evidence.errors import RecordMismatch
from callbacks.evidence.frozen import Frozen, Id
from callbacks.evidence.item import EvidenceItem
from callbacks.evidence.lifecycle import Event, Lifecycle, Stage
from callbacks.evidence.packet import EvidencePacket, PacketSpec

Fetch = Callable[[str], bytes]
"""Returns the canonical JSON stored under a SHA-256; raises KeyError where there is none."""


class Kept(Frozen):
    """An item of a generation, without its content.

    Attributes:
        id: Its id.
        kind: Its kind.
        channel: The channel it travelled in.
        sha256: SHA-256 of the item's canonical JSON, under which it is stored.
        inputs: Ids of the items it was derived from.
    """

    id: Id
    kind: Id
    channel: Id
    sha256: str
    inputs: tuple[Id, ...] = ()


class Chosen(Frozen):
    """How the items were chosen."""

    method: Literal["branch_and_bound", "neighbourhood", "exact_solver"]
    proven: bool
    units: int
    bound: int
    gap_permille: int
    nodes: int
    rounds: int


class GenerationRecord(Frozen):
    """A generation: enough to explain it, and with the stored items to make its bytes again.

    Attributes:
        spec: Everything that was decided.
        contract_sha256: The contract, stored under this hash.
        config_sha256: The model's and tools' configuration.
        counter: Which counter measured.
        unit: In which unit.
        clock_ms: The time that was given to the policy.
        items: The items, in order.
        cut: Admitted items that are not in the packet, with the reason.
        excluded: Everything that was not admitted, with the reason.
        hops: Links that were followed.
        chosen: How the items were chosen.
        sizes: Measured size of each channel, beside its limit: name, size, limit.
        packet_sha256: SHA-256 of the packet's text.
    """

    schema_version: Literal[1] = 1
    spec: PacketSpec
    contract_sha256: str
    config_sha256: str
    counter: Id
    unit: Literal["tokens", "utf8_bytes"]
    clock_ms: int
    items: tuple[Kept, ...]
    cut: tuple[tuple[Id, Id], ...]
    excluded: tuple[tuple[Id, Id], ...]
    hops: tuple[Hop, ...]
    chosen: Chosen
    sizes: tuple[tuple[Id, int, int], ...]
    packet_sha256: str

    @property
    def id(self) -> str:
        """Id of the generation."""
        return self.spec.generation

    def blocks(self) -> tuple[Block, ...]:
        """Return what became of each item, for a dashboard: ids and reasons, no content (16)."""
        kept = [Block(one.id, one.channel, Action.KEPT, "covers_a_claim") for one in self.items]
        cut = [Block(name, "evidence", Action.DROPPED, why) for name, why in self.cut]
        out = [Block(one.id, "evidence", Action.REFUSED, one.reason) for one in self.spec.excluded]
        return (*kept, *cut, *out)

    def blob_hashes(self) -> tuple[str, ...]:
        """Return the hashes under which the contract and the items are stored."""
        return (self.contract_sha256, *(one.sha256 for one in self.items))


def make_record(
    assembly: Assembly,
    *,
    counter: str,
    unit: Literal["tokens", "utf8_bytes"],
    config_sha256: str,
) -> GenerationRecord:
    """Record a generation.

    Args:
        assembly: The packet and how it came about.
        counter: Which counter measured.
        unit: In which unit.
        config_sha256: Hash of the model's and tools' configuration.
    """
    packet, choice = assembly.packet, assembly.selection
    contract = packet.contract
    return GenerationRecord(
        spec=packet.spec,
        contract_sha256=contract.digest(),
        config_sha256=config_sha256,
        counter=counter,
        unit=unit,
        clock_ms=packet.spec.task.now_ms,
        items=tuple(
            Kept(
                id=item.id,
                kind=item.kind,
                channel=contract.route(item.kind),
                sha256=item.digest(),
                inputs=item.lineage.derived_from,
            )
            for item in packet.items
        ),
        cut=assembly.reasons,
        excluded=assembly.excluded,
        hops=assembly.hops,
        chosen=Chosen(
            method=choice.method,
            proven=choice.proven,
            units=choice.units,
            bound=choice.bound,
            gap_permille=choice.gap_permille,
            nodes=choice.nodes,
            rounds=assembly.rounds,
        ),
        sizes=tuple((name, size, contract.limit(name)) for name, size in assembly.sizes),
        packet_sha256=packet.sha256,
    )


def blobs(packet: EvidencePacket) -> dict[str, bytes]:
    """Return what a store keeps beside the record: canonical JSON by its SHA-256."""
    found = {packet.contract.digest(): packet.contract.canonical()}
    found.update({item.digest(): item.canonical() for item in packet.items})
    return found


def rebuild(record: GenerationRecord, fetch: Fetch) -> EvidencePacket:
    """Make the recorded packet again from what is stored: no source, no search, no solving.

    Args:
        record: The record.
        fetch: Reads what is stored under a hash.

    Raises:
        RecordMismatch: Something is missing or is not what its hash says, or the bytes differ.
    """
    contract = TaskContract.from_json(_stored(record.contract_sha256, fetch))
    items = {}
    for kept in record.items:
        item = EvidenceItem.from_json(_stored(kept.sha256, fetch))
        items[item.id] = item
        _require(item.digest() == kept.sha256 and item.id == kept.id)
    packet = build(contract, record.spec, items)
    _require(packet.sha256 == record.packet_sha256)
    return packet


def life_of(record: GenerationRecord) -> Lifecycle:
    """Return the life of everything a generation saw, as events up to the packet.

    When one of the items falls later, ``Lifecycle.invalidate`` says what falls with it.
    """
    at_ms = record.clock_ms
    cut, excluded = dict(record.cut), dict(record.excluded)
    excluded.pop(NOT_AVAILABLE, None)
    kept = {one.id: one for one in record.items}
    sources = {name for one in record.items for name in one.inputs}
    known = {**dict.fromkeys(sources, "input"), **excluded, **cut}
    life = Lifecycle()

    def step(item: str, stage: Stage, reason: str, inputs: tuple[str, ...] = ()) -> None:
        nonlocal life
        event = Event(item=item, stage=stage, at_ms=at_ms, reason=reason, inputs=inputs)
        life = life.add((event,))

    for name in sorted(known.keys() | kept.keys()):
        if name in kept and kept[name].inputs:
            continue
        step(name, Stage.CANDIDATE, excluded.get(name, "offered"))
        if name not in excluded:
            step(name, Stage.ELIGIBLE, cut.get(name, "admitted"))
    for one in record.items:
        if one.inputs:
            step(one.id, Stage.DERIVED, "derived", one.inputs)
        step(one.id, Stage.SELECTED, "covers_a_claim")
        step(one.id, Stage.PUBLISHED, "in_packet")
    return life


def denied_anything(record: GenerationRecord) -> bool:
    """Say whether something was not available to the reader; what, no record says."""
    return any(one.id == NOT_AVAILABLE for one in record.spec.excluded)


def _stored(sha256: str, fetch: Fetch) -> bytes:
    try:
        return fetch(sha256)
    except KeyError:
        pass
    raise RecordMismatch("A part of the generation is not stored.")


def _require(holds: bool) -> None:
    if not holds:
        raise RecordMismatch
