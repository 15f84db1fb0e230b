"""What is kept of a turn's end, who may open it again, how it is told to others."""

import json
import re
from dataclasses import replace

import pytest

from callbacks.evidence.admission import Reader
from callbacks.evidence.assembly import assemble
from callbacks.evidence.canonical import text_digest
from callbacks.evidence.comparing import compare_records
from callbacks.evidence.conflict import Lookup
from callbacks.evidence.contract import Outcome
from callbacks.evidence.errors import EvidenceError, RecordMismatch
from callbacks.evidence.gate import check, check_text
from callbacks.evidence.item import Comparator, Polarity, make_row
from callbacks.evidence.lifecycle import Stage
from callbacks.evidence.packet import Notice
from callbacks.evidence.provenance import prov_json
from callbacks.evidence.record import blobs, life_of, make_record
from callbacks.evidence.release import ReleaseNote, make_note
from callbacks.evidence.renewal import renewal
from callbacks.evidence.reopening import reopen
from callbacks.evidence.statements import ANSWER_FORM, Answer, Statement
from tests.unit.evidence.procurement import (
    BOOK,
    PLAN,
    READER,
    ROWS,
    answer,
    at,
    inputs,
    measure,
)

MADE = assemble(inputs(), measure=measure)
RECORD = make_record(MADE, counter="bytes-3", unit="tokens", config_sha256="0" * 64)
STORED = blobs(MADE.packet)
NOW = at("10:17:00")


def note_of(verdict, said, **more):
    fields = {"revision": 1, "ending": "release", "stopped": (), "at_ms": NOW, **more}
    return make_note("CG-771-14", verdict, answer=said, **fields)


def test_a_note_names_by_hash_what_was_said_and_released():
    """The note holds hashes and reasons; the texts stand behind them."""
    said = answer().model_dump_json()
    verdict = check(answer(), MADE.packet, BOOK, now_ms=NOW)
    note, texts = note_of(verdict, said)
    assert texts[note.answer_sha256].decode() == said
    assert texts[note.text_sha256].decode() == verdict.text
    assert note.id == "CG-771-14/release"
    assert ReleaseNote.from_json(note.canonical()) == note
    assert "審批" not in note.canonical().decode()


@pytest.mark.parametrize("said", ["", "\ud800", "可以買"])
def test_a_note_of_what_was_not_released(said):
    """What was stopped is kept for a judge, as far as it has bytes; nothing is released."""
    verdict = check_text(said, MADE.packet, BOOK, now_ms=NOW)
    note, texts = note_of(verdict, said, ending="error")
    assert note.text_sha256 == ""
    assert note.problems == (("", "not_the_schema"),)
    assert len(texts) == int(said != "")


def test_a_reader_opens_what_they_may_read_now():
    """Each look is a check of its own: by the lists of then, and by whoever keeps them now (11)."""
    whole = reopen(RECORD, STORED.__getitem__, READER)
    assert [item.id for item in whole.items] == [kept.id for kept in RECORD.items]
    assert whole.withheld == 0
    staff = reopen(RECORD, STORED.__getitem__, Reader(frozenset({"group:staff"})))
    assert "FIN-B991" not in {item.id for item in staff.items}
    assert staff.withheld == 1
    nobody = reopen(RECORD, STORED.__getitem__, Reader(frozenset()))
    assert (nobody.items, nobody.withheld) == ((), len(RECORD.items))
    gone = reopen(
        RECORD,
        STORED.__getitem__,
        READER,
        still=lambda item, _reader: item.entity != "PROC-AUTH-2025-v1",
    )
    assert {item.id for item in gone.items} == {"HOTEL-H117", "FIN-B991"}


def test_a_missing_or_exchanged_original_is_not_shown():
    """What is not stored, or is not what its hash says, is opened for nobody."""
    key = RECORD.items[0].sha256
    for broken in (
        {one: body for one, body in STORED.items() if one != key},
        {**STORED, key: STORED[RECORD.items[1].sha256]},
    ):
        with pytest.raises(RecordMismatch):
            reopen(RECORD, broken.__getitem__, READER)


def test_two_generations_differ_by_what_changed():
    """Of two records the difference is told in ids, outcomes and sizes."""
    rows = [row for row in ROWS if row["id"] != "FIN-B991"]
    down = Lookup(claim="available_budget", state="unavailable")
    without = assemble(inputs(rows=rows, lookups=(down,), generation="CG-771-13"), measure=measure)
    before = make_record(without, counter="bytes-3", unit="tokens", config_sha256="1" * 64)
    found = compare_records(before, RECORD)
    assert found["items_added"] == ["FIN-B991"]
    assert found["outcomes"] == [{"claim": "C4", "before": "unavailable", "after": "supported"}]
    assert (found["contract_same"], found["config_same"]) == (True, False)
    assert {one["channel"] for one in found["sizes"]} >= {"tools"}
    same = compare_records(RECORD, RECORD)
    assert all(not value for name, value in same.items() if isinstance(value, list))


def test_what_a_change_leaves_is_not_asked_for_again():
    """A changed amount rebuilds what depends on it; a changed hotel nearly everything."""
    found = renewal(MADE.packet, ("amount",))
    assert (found.rebuilt, found.kept) == (("C2", "C3", "C4"), ("C1",))
    assert [row["id"] for row in found.rows] == ["HOTEL-H117"]
    assert found.kinds == {"approval_threshold", "sourcing", "available_budget"}
    assert renewal(MADE.packet, ("hotel",)).kept == ()
    assert renewal(MADE.packet, ()).kept == tuple(claim.id for claim in PLAN.claims)
    again = assemble(
        replace(inputs(), rows=[*found.rows, *(row for row in ROWS if row["id"] != "HOTEL-H117")]),
        measure=measure,
    )
    assert again.packet.text == MADE.packet.text


def test_the_life_of_a_generation_is_events_and_falls_together():
    """From candidate to published as events; what falls later takes what came of it along."""
    wordy = make_row(**{**ROWS[3], "text": "本節說明背景。" + ROWS[3]["text"]})
    rows = [*(row for row in ROWS if row["id"] != wordy["id"]), wordy]
    made = assemble(inputs(rows=rows, vocabulary=BOOK.vocabulary), measure=measure)
    record = make_record(made, counter="bytes-3", unit="tokens", config_sha256="0" * 64)
    life = life_of(record)
    stages = life.stages()
    derived = next(one for one in record.items if one.inputs)
    assert derived.inputs == (wordy["id"],)
    assert stages["FIN-B991"] is stages[derived.id] is Stage.PUBLISHED
    assert stages["L17"] is Stage.CANDIDATE
    assert stages["D771"] is stages[wordy["id"]] is Stage.ELIGIBLE
    assert "not-available" not in stages
    fell = life.invalidate(wordy["id"], at_ms=NOW, reason="withdrawn")
    assert set(fell.fallen()) == {wordy["id"], derived.id}


def test_a_source_nobody_needs_is_named_in_packet_and_answer():
    """Of a source that did not answer and is not needed both packet and answer say so."""
    missing = (Notice(source="decision_log", why="unavailable"),)
    packet = assemble(inputs(notices=missing), measure=measure).packet
    assert "- not reached decision_log: unavailable, not needed" in packet.text
    verdict = check(answer(), packet, BOOK, now_ms=NOW)
    assert verdict.text.endswith("決策紀錄目前無法取得；本題不需要它。")
    assert "could not be reached" in check(answer(), packet, BOOK, now_ms=NOW, language="en").text


def test_provenance_names_sources_and_no_text():
    """PROV-JSON is read back whole: entities, uses, derivations; ids and hashes alone."""
    model = pytest.importorskip("prov.model", reason="needs the extra evidence")
    verdict = check(answer(), MADE.packet, BOOK, now_ms=NOW)
    note, _ = note_of(verdict, "x")
    text = prov_json(RECORD, note)
    assert json.loads(text)["prefix"] == {"ev": "urn:local-agent:evidence:"}
    document = model.ProvDocument.deserialize(content=text, format="json")
    assert len(list(document.get_records(model.ProvEntity))) == len(RECORD.items) + 3
    assert len(list(document.get_records(model.ProvUsage))) == len(RECORD.items) + 2
    assert not any(item.text in text for item in MADE.packet.items)
    assert text_digest(verdict.text) in text
    assert prov_json(RECORD) != text


def test_without_the_extra_provenance_says_so(monkeypatch):
    """Without the package the export is refused in a sentence."""
    monkeypatch.setitem(__import__("sys").modules, "prov.model", None)
    with pytest.raises(EvidenceError):
        prov_json(RECORD)


def test_the_form_in_words_names_every_field():
    """What a contract tells of the answer's form is the form: no field more or less."""
    named = set(re.findall(r'"(\w+)"', ANSWER_FORM))
    assert named == set(Answer.model_fields) | set(Statement.model_fields)
    for word in (*Outcome, *Comparator, *Polarity):
        assert word.value in ANSWER_FORM
