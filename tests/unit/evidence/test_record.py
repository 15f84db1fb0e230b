"""A generation is made again from what is stored, byte for byte, or not at all."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.evidence.replays import measure_replay
from benchmarks.evidence.worlds import world
from callbacks.evidence.assembly import assemble
from callbacks.evidence.errors import RecordMismatch
from callbacks.evidence.record import GenerationRecord, blobs, make_record, rebuild
from tests.unit.evidence.procurement import inputs, measure


def record_of(made):
    return make_record(made, counter="bytes-3", unit="tokens", config_sha256="0" * 64)


@settings(max_examples=25)
@given(st.integers(0, 5_000))
def test_a_record_rebuilds_its_packet(seed):
    """From record and stored parts alone the same packet comes out (12)."""
    made = world(seed).assembly
    record = GenerationRecord.from_json(record_of(made).canonical())
    packet = rebuild(record, blobs(made.packet).__getitem__)
    assert packet == made.packet
    assert set(record.blob_hashes()) == set(blobs(made.packet))


def test_a_missing_or_changed_part_is_refused():
    """What is not stored, or is not what its hash says, is not replayed."""
    made = assemble(inputs(), measure=measure)
    record, stored = record_of(made), blobs(made.packet)
    key = record.items[0].sha256
    for broken in (
        {one: text for one, text in stored.items() if one != key},
        {**stored, key: stored[record.items[1].sha256]},
    ):
        with pytest.raises(RecordMismatch) as refusal:
            rebuild(record, broken.__getitem__)
        assert refusal.value.error_code == "GENERATION_RECORD_MISMATCH"
    forged = record.model_copy(update={"packet_sha256": "0" * 64})
    with pytest.raises(RecordMismatch):
        rebuild(forged, stored.__getitem__)


def test_every_piece_has_a_reason_and_no_content():
    """Kept, dropped and refused pieces are named with their reasons; texts are not (16)."""
    made = assemble(inputs(), measure=measure)
    record = record_of(made)
    reasons = {(block.id, block.action.value, block.reason) for block in record.blocks()}
    assert ("FIN-B991", "kept", "covers_a_claim") in reasons
    assert ("D771", "dropped", "outside_its_duty") in reasons
    assert ("L17", "refused", "superseded") in reasons
    assert ("not-available", "refused", "not_available_to_you") in reasons
    text = record.canonical().decode()
    assert not any(item.text in text for item in made.packet.items)
    assert record.id == "CG-771-14"
    assert record.sizes[0][0] == "contract"


def test_replay_in_a_fresh_process():
    """Another hash seed changes no byte of what is made again (12)."""
    assert measure_replay(6)["equal"] == 6
