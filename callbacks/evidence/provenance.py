"""A generation as W3C PROV: what was used, what was derived from what, and for whom (PROV-JSON).

Needs the extra ``evidence`` (the package ``prov``). Ids and hashes are in it, and no text.
"""

from importlib import import_module
from typing import Any

from callbacks.evidence.errors import EvidenceError
from callbacks.evidence.instant import utc
from callbacks.evidence.record import GenerationRecord
from callbacks.evidence.release import ReleaseNote

NAMESPACE = "urn:local-agent:evidence:"


def prov_json(record: GenerationRecord, note: ReleaseNote | None = None) -> str:
    """Return a generation as PROV-JSON.

    Items are entities, putting the packet together is an activity that used them, the reader is the
    agent for whom; what an item was derived from is a derivation, and so is the answer from the
    packet.

    Args:
        record: The record.
        note: What became of the answer, where one was judged.

    Raises:
        EvidenceError: The extra is not installed.
    """
    try:
        model: Any = import_module("prov.model")  # an extra: the room works without it
    except ImportError:
        raise EvidenceError("PROV needs the extra evidence.") from None
    document: Any = model.ProvDocument()
    document.add_namespace("ev", NAMESPACE)
    namespace = model.Namespace("ev", NAMESPACE)

    def name(kind: str, of: str) -> Any:
        # Built by hand: ids hold characters that a prefix with a name could not be told from.
        return namespace[f"{kind}:{of}"]

    packet = document.entity(
        name("packet", record.id),
        {"ev:sha256": record.packet_sha256, "ev:contract_sha256": record.contract_sha256},
    )
    at = utc(record.clock_ms)
    made = document.activity(
        name("assembly", record.id),
        at,
        at,
        {
            "ev:method": record.chosen.method,
            "ev:counter": record.counter,
            "ev:config_sha256": record.config_sha256,
        },
    )
    document.wasGeneratedBy(packet, made, at)
    document.wasAssociatedWith(made, document.agent(name("reader", record.spec.task.reader)))
    contract = document.entity(name("contract", record.contract_sha256))
    document.used(made, contract)
    inputs: dict[str, Any] = {}
    for kept in record.items:
        item = document.entity(
            name("item", kept.id), {"ev:kind": kept.kind, "ev:sha256": kept.sha256}
        )
        document.used(made, item)
        document.wasDerivedFrom(packet, item)
        for source in kept.inputs:
            if source not in inputs:
                inputs[source] = document.entity(name("input", source))
            document.wasDerivedFrom(item, inputs[source])
    if note is not None:
        gate = document.activity(
            name("gate", record.id), utc(note.at_ms), utc(note.at_ms), {"ev:ending": note.ending}
        )
        document.used(gate, packet)
        if note.text_sha256:
            answer = document.entity(name("answer", record.id), {"ev:sha256": note.text_sha256})
            document.wasGeneratedBy(answer, gate, utc(note.at_ms))
            document.wasDerivedFrom(answer, packet)
    text: str = document.serialize(format="json", indent=2)
    return text
