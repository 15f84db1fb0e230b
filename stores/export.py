"""What a person gets when they ask for what is held of them: JSON, and a consent receipt.

Pure functions of an ``Inspection``: the same holding at the same moment gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from stores.ledger import Inspection, LedgerEvent, LedgerKind
from stores.records import PRIVATE, Record, Text

FORMAT: Final = "stores.export.1"

DPV: Final = "https://w3id.org/dpv#"
"""The W3C Data Privacy Vocabulary, version 2."""

RECEIPT_SCHEMA: Final = "ISO/IEC TS 27560:2023"
"""The record structure the receipt follows; its field names are those of its JSON examples."""

LAST_DATE_MS: Final = 253_402_300_799_999
"""The last millisecond that RFC 3339 can write."""

_STATES: Final = {
    LedgerKind.PROPOSED: "dpv:ConsentRequested",
    LedgerKind.GRANTED: "dpv:ConsentGiven",
    LedgerKind.CHANGED: "dpv:RenewedConsentGiven",
    LedgerKind.CANCELLED: "dpv:ConsentRefused",
    LedgerKind.EXPIRED: "dpv:ConsentExpired",
    LedgerKind.FORGOTTEN: "dpv:ConsentWithdrawn",
}


class Controller(Record):
    """Who answers for the data: as the receipt names them.

    Attributes:
        name: Such as the municipality's.
        contact: Where to write to.
        policy_url: Where the privacy policy stands.
    """

    name: Text
    contact: Text = ""
    policy_url: Text = ""


def export_person(held: Inspection, *, at_ms: int, controller: Controller) -> dict[str, Any]:
    """Return everything held of a person as JSON-able data, the receipt included.

    Args:
        held: What ``inspect`` read.
        at_ms: When, in Unix milliseconds.
        controller: Who answers for it.
    """
    return {
        "format": FORMAT,
        "exported_at": instant(at_ms),
        "tenant": held.owner.tenant,
        "person": held.owner.person,
        "revision": held.revision,
        "last_forgotten_at": _instant(held.forgotten_at_ms),
        "preferences": {
            key: {
                "value": one.value,
                "purpose": one.purpose,
                "granted_at": instant(one.granted_at_ms),
                "expires_at": _instant(one.expires_at_ms),
                "scope": one.scope,
            }
            for key, one in sorted(held.values.items())
        },
        "open_cards": held.open_cards,
        "open_events": held.open_events,
        "conversation": {"window": held.window, "until": _instant(held.window_expires_at_ms)},
        "generations": [
            {
                "id": one.id,
                "made_at": instant(one.made_at_ms),
                "expires_at": instant(one.expires_at_ms),
            }
            for one in held.generations
        ],
        "ledger": [
            {
                **event.model_dump(mode="json", exclude={"at_ms", "expires_at_ms"}),
                "at": instant(event.at_ms),
                "expires_at": _instant(event.expires_at_ms),
            }
            for event in held.events
        ],
        "receipt": receipt(held, at_ms=at_ms, controller=controller),
    }


def receipt(held: Inspection, *, at_ms: int, controller: Controller) -> dict[str, Any]:
    """Return a consent receipt in the terms of ISO/IEC TS 27560 and DPV; no value is in it.

    Each preference that the ledger names is one processing, with all that happened to it.
    """
    keys = list(dict.fromkeys(event.key for event in held.events if event.key is not None))
    return {
        "@context": {"dpv": DPV, "dct": "http://purl.org/dc/terms/"},
        "@type": "dpv:ConsentRecord",
        "schema_version": RECEIPT_SCHEMA,
        "record_id": f"{held.owner.tenant}/{held.owner.person}/{held.revision}",
        "pii_principal_id": held.owner.person,
        "issued_at": instant(at_ms),
        "pii_controllers": [
            {
                "@type": "dpv:DataController",
                "name": controller.name,
                "contact": controller.contact,
                "privacy_notice": controller.policy_url,
            }
        ],
        "processing": [_processing(key, held) for key in keys],
    }


def instant(at_ms: int) -> str:
    """Return Unix milliseconds as RFC 3339 in UTC; past the year 9999 there is no such date."""
    if at_ms > LAST_DATE_MS:
        return "9999-12-31T23:59:59.999Z"
    moment = datetime.fromtimestamp(at_ms / 1000, tz=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _instant(at_ms: int | None) -> str | None:
    return None if at_ms is None else instant(at_ms)


def _processing(key: str, held: Inspection) -> Mapping[str, Any]:
    events = [event for event in held.events if event.key in (None, key)]
    asked = [event for event in events if event.purpose]
    one = held.values.get(key)
    return {
        "@type": "dpv:Process",
        "dpv:hasPersonalData": key,
        "dpv:hasPurpose": asked[-1].purpose if asked else "",
        "dpv:hasLegalBasis": "dpv:ExplicitlyExpressedConsent",
        "dpv:hasScope": one.scope if one is not None else PRIVATE,
        "dpv:hasProcessing": ["dpv:Store", "dpv:Use"],
        "dpv:hasRecipient": [],
        "consent_status": _state(events, given=one is not None),
        "valid_until": None if one is None else _instant(one.expires_at_ms),
        "events": [_event(event) for event in events],
    }


def _state(events: Sequence[LedgerEvent], *, given: bool) -> str:
    """Return where consent stands: what is held decides, and the ledger says why it is not."""
    if given:
        return _STATES[LedgerKind.GRANTED]
    ends = {LedgerKind.EXPIRED, LedgerKind.FORGOTTEN, LedgerKind.CANCELLED}
    ended = [event for event in events if event.kind in ends]
    last = (ended or events)[-1].kind
    return _STATES[last]


def _event(event: LedgerEvent) -> dict[str, Any]:
    return {
        "event_time": instant(event.at_ms),
        "event_type": _STATES[event.kind],
        "channel": event.channel,
        "privacy_notice_version": event.policy,
    }
