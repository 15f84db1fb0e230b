"""What a person gets to take along is whole, dated, and the same for the same holding."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.checks import LARGEST_INT
from stores.export import Controller, export_person, instant, receipt
from stores.ledger import Inspection, LedgerEvent, LedgerKind
from stores.records import Owner, Remembered

ANN = Owner(tenant="town", person="ann")
TOWN = Controller(
    name="The town", contact="hello@town.example", policy_url="https://town.example/p"
)
AT = 1_767_225_600_000


def event(number, kind, key="drink", **more):
    fields = {"purpose": "to choose", "channel": "line", "policy": "2026-01", "revision": 1}
    return LedgerEvent(number=number, kind=kind, key=key, at_ms=AT + number, **{**fields, **more})


HELD = Inspection(
    owner=ANN,
    revision=2,
    generation=4,
    forgotten_at_ms=AT,
    values={
        "drink": Remembered(
            value="花茶", purpose="to choose", granted_at_ms=AT, expires_at_ms=AT + 1, scope="club"
        )
    },
    open_cards=1,
    open_events=2,
    window="{}",
    window_expires_at_ms=AT + 9,
    events=(
        event(1, LedgerKind.PROPOSED),
        event(2, LedgerKind.GRANTED),
        event(3, LedgerKind.GRANTED, key="distance", purpose="to sort"),
        event(4, LedgerKind.FORGOTTEN, key="distance", purpose=""),
    ),
)


def test_an_export_is_whole():
    """Values, purposes, ends, groups, the conversation and the ledger are all in it, as JSON."""
    made = json.loads(json.dumps(export_person(HELD, at_ms=AT, controller=TOWN)))
    assert made["preferences"] == {
        "drink": {
            "value": "花茶",
            "purpose": "to choose",
            "granted_at": "2026-01-01T00:00:00.000Z",
            "expires_at": "2026-01-01T00:00:00.001Z",
            "scope": "club",
        }
    }
    assert (made["person"], made["revision"], made["open_cards"]) == ("ann", 2, 1)
    assert made["open_events"] == 2
    assert made["conversation"] == {"window": "{}", "until": "2026-01-01T00:00:00.009Z"}
    assert [line["kind"] for line in made["ledger"]] == [kind.kind.value for kind in HELD.events]
    assert made["ledger"][0]["at"] == "2026-01-01T00:00:00.001Z"


def test_a_receipt_says_where_consent_stands():
    """Each preference has a status in DPV's words, its events in order, and no value."""
    made = receipt(HELD, at_ms=AT, controller=TOWN)
    assert made["pii_controllers"][0]["name"] == "The town"
    drink, distance = made["processing"]
    assert (drink["dpv:hasPersonalData"], drink["consent_status"]) == (
        "drink",
        "dpv:ConsentGiven",
    )
    assert (drink["dpv:hasScope"], drink["valid_until"]) == ("club", "2026-01-01T00:00:00.001Z")
    assert (distance["consent_status"], distance["dpv:hasPurpose"]) == (
        "dpv:ConsentWithdrawn",
        "to sort",
    )
    assert [one["event_type"] for one in distance["events"]] == [
        "dpv:ConsentGiven",
        "dpv:ConsentWithdrawn",
    ]
    assert "花茶" not in json.dumps(made, ensure_ascii=False)


@pytest.mark.parametrize(
    ("kinds", "status"),
    [
        ([LedgerKind.PROPOSED], "dpv:ConsentRequested"),
        ([LedgerKind.PROPOSED, LedgerKind.CANCELLED], "dpv:ConsentRefused"),
        ([LedgerKind.GRANTED, LedgerKind.EXPIRED, LedgerKind.PROPOSED], "dpv:ConsentExpired"),
        ([LedgerKind.GRANTED, LedgerKind.CHANGED, LedgerKind.FORGOTTEN], "dpv:ConsentWithdrawn"),
    ],
)
def test_the_last_end_decides(kinds, status):
    """Where nothing is held, the last thing that ended it says why."""
    events = tuple(event(number, kind) for number, kind in enumerate(kinds, 1))
    made = receipt(Inspection(owner=ANN, events=events), at_ms=AT, controller=TOWN)
    assert [one["consent_status"] for one in made["processing"]] == [status]


def test_nobody_has_an_export_as_well():
    """Somebody of whom nothing is held gets that in writing."""
    made = export_person(Inspection(owner=ANN), at_ms=AT, controller=TOWN)
    assert (made["preferences"], made["ledger"], made["receipt"]["processing"]) == ({}, [], [])


@given(st.integers(0, LARGEST_INT))
def test_every_moment_has_a_date(at_ms):
    """Any time a store takes can be written; the same one always the same (12)."""
    assert instant(at_ms) == instant(at_ms)
    assert instant(at_ms).endswith("Z")
    assert instant(at_ms) <= instant(LARGEST_INT)
