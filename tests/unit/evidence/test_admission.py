"""Who may see what and what may count is decided before anything is ranked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from callbacks.evidence.admission import MAX_SHOWN, Asked, Reader, admit
from callbacks.evidence.assembly import assemble
from callbacks.evidence.errors import EvidenceError
from callbacks.evidence.instant import parse
from callbacks.evidence.item import EvidenceItem, make_row
from callbacks.evidence.record import denied_anything, make_record
from callbacks.evidence.trust import ALLOWED, Trust, Use, allows, forbidden
from tests.unit.evidence.procurement import PLAN, READER, ROWS, at, inputs, measure

NOW = Asked(at("10:16:00"), at("10:16:00"), (("hotel", "H-117"), ("region", "east")))


def run(rows=ROWS, asked=NOW, reader=READER, fallen=()):
    found = admit(rows, reader=reader, asked=asked, plan=PLAN, fallen=fallen)
    return {item.id for item in found.items}, dict(found.excluded)


def test_the_case_admits_and_excludes_with_reasons():
    """Superseded, denied and untrusted candidates are out, each for its reason."""
    items, excluded = run()
    assert items == {
        "HOTEL-H117", "PROC-AUTH-2025-v1/2", "PROC-AUTH-2025-v1/4.2", "PROC-AUTH-2025-v1/5.1",
        "FIN-B991", "D771",
    }  # fmt: skip
    assert excluded == {
        "L17": "superseded",
        "MAIL-9": "untrusted",
        "not-available": "not_available_to_you",
    }


@given(st.lists(st.text(min_size=1, max_size=8), max_size=6), st.randoms())
def test_what_is_denied_leaves_no_trace(secrets, source):
    """One denied item or many: the packet has the same bytes, and no word of theirs (12)."""
    secret = next(row for row in ROWS if row["id"] == "APPX-M")
    more = [
        make_row(**{**secret, "id": f"APPX-{number}", "text": text, "status": "withdrawn"})
        for number, text in enumerate(secrets)
    ]
    rows = [*ROWS, *more]
    source.shuffle(rows)
    made = assemble(inputs(rows=rows), measure=measure)
    assert made.packet.text == assemble(inputs(), measure=measure).packet.text
    assert "APPX" not in made.packet.text
    record = make_record(made, counter="c", unit="tokens", config_sha256="0" * 64)
    assert "APPX" not in record.canonical().decode()
    assert denied_anything(record)


def test_nothing_is_said_where_nothing_is_denied():
    """Who may read everything is not told of anything that is not available."""
    everybody = Reader(READER.names | {"group:managers"})
    assert "not-available" not in run(reader=everybody)[1]
    assert run(reader=Reader(frozenset()))[0] == set()


def test_the_past_is_answered_by_what_held_then():
    """As of last December the superseded rule holds and the new one does not."""
    then = parse("2024-12-01T00:00:00+08:00")
    assert then is not None
    items, excluded = run(asked=Asked(then, NOW.now_ms, NOW.scope))
    assert "L17" in items
    assert excluded["PROC-AUTH-2025-v1/4.2"] == "not_yet_valid"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"status": "draft"}, "draft"),
        ({"status": "withdrawn"}, "withdrawn"),
        ({"status": "superseded"}, "superseded"),
        ({"scope": [["region", ["west"]]]}, "out_of_scope"),
        ({"scope": [["brand", ["x"]]]}, "out_of_scope"),
        ({"valid_until_ms": 1}, "no_longer_valid"),
        ({"as_of_ms": 1, "ttl_ms": 1}, "expired"),
        ({"kind": "leaflet"}, "not_related"),
    ],
)
def test_each_reason(change, reason):
    """A rule that does not hold here and now is out, and the reason says which condition failed."""
    row = {**ROWS[2], "id": "R", "valid_from_ms": 0, **change}
    assert run([row])[1]["R"] == reason


def test_what_has_fallen_is_out():
    """An item whose life has ended is not admitted again."""
    assert run(fallen=("FIN-B991",))[1]["FIN-B991"] == "invalidated"


def test_two_items_of_one_id_prove_nothing():
    """The same row twice is one item; two contents under one id are refused."""
    assert run([*ROWS, ROWS[0]])[0] == run()[0]
    with pytest.raises(EvidenceError):
        run([*ROWS, make_row(**{**ROWS[0], "text": "other"})])


def test_a_packet_names_few_exclusions_and_the_record_all():
    """Exclusions never crowd out evidence: a packet names a dozen, the record every one."""
    rows = [*ROWS, *(make_row(**{**ROWS[5], "id": f"OLD-{n:03d}"}) for n in range(400))]
    made = assemble(inputs(rows=rows), measure=measure)
    assert len(made.packet.spec.excluded) == MAX_SHOWN + 1
    assert len(made.excluded) == 403


def test_items_are_what_their_hashes_say():
    """An item with another text than its hash, or a life without a beginning, is no item."""
    good = ROWS[4]
    for change in (
        {"text": "1300000"},
        {"as_of_ms": None},
        {"valid_from_ms": 5, "valid_until_ms": 5},
        {"scope": [["b", ["1"]], ["a", ["1"]]]},
        {"id": "no spaces"},
        {"extra": 1},
    ):
        with pytest.raises(EvidenceError) as refusal:
            EvidenceItem.from_data({**good, **change})
        assert refusal.value.__cause__ is None
        assert refusal.value.__suppress_context__ or refusal.value.__context__ is None
    item = EvidenceItem.from_data(good)
    with pytest.raises(ValidationError):
        setattr(item, "text", "x")  # noqa: B010 - the checker knows that it is read-only


def test_no_label_allows_instructions_or_links():
    """Evidence is data, whoever vouches for it."""
    for trust in Trust:
        assert not allows(trust, Use.INSTRUCT)
        assert not allows(trust, Use.FOLLOW_LINKS)
    assert set(ALLOWED) == set(Trust)
    assert "tool_argument" in forbidden(Trust.UNTRUSTED)
