"""The hotel group's systems as the example has them, and what of them a question is answered from.

Policies and master data are rows; the ledger is asked through a tool; a message may bring files
that nobody vouches for. Each fetch is taken down, so that a report can say what was asked again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from google.adk.agents.invocation_context import InvocationContext

from callbacks.adk.evidence_turn import Ask, Question
from callbacks.evidence.admission import Asked, Reader, Row
from callbacks.evidence.case import CaseState, changed_fields
from callbacks.evidence.conflict import Lookup
from callbacks.evidence.contract import TaskContract
from callbacks.evidence.inputs import Inputs
from callbacks.evidence.instant import parse, utc
from callbacks.evidence.item import EvidenceItem, make_row
from callbacks.evidence.money import Money, parse_money
from callbacks.evidence.packet import EvidencePacket, Notice
from callbacks.evidence.plan import make_plan
from callbacks.evidence.renewal import renewal
from examples.procurement.case import (
    BOOK,
    CATALOGUE,
    CONTRACT,
    DUTIES,
    FIELDS,
    MATRIX,
    ROWS,
    event,
    money,
)

BALANCE_MS = 297_000
"""How long a balance may be used, in milliseconds: from 10:14:03 until 10:19."""

READER = "person-7"
GROUPS = frozenset({"group:staff", "group:budget-H117"})
ACCOUNT = "B-991"
HOTEL = "H-117"

_ASKS = {
    "approval": ("審批", "批嗎", "核准", "採購"),
    "budget": ("預算", "餘額"),
    "history": ("上次",),
}
_AMOUNT = re.compile(r"\d[\d,.]*\s*(?:萬元?|億元?|元)")
_BALANCE_ROW = next(row for row in ROWS if row["id"] == "FIN-B991")
_STORED = tuple(row for row in ROWS if row["id"] not in {"FIN-B991", "MAIL-9"})


@dataclass
class Ledger:
    """The finance system: one balance, which moves on, and may be down.

    Attributes:
        read_at_ms: When it last read its books, in milliseconds UTC.
        available_cny: What is available, in CNY.
        down: Whether it does not answer.
        asked: How often it was asked.
    """

    read_at_ms: int
    available_cny: int = 1_200_000
    down: bool = False
    asked: int = 0

    def balance(self, account: str) -> dict[str, Any]:
        """Return a balance as its interface gives it; an error's text where it is down."""
        self.asked += 1
        if self.down:
            return {"status": "error", "message": "ledger unavailable, last balance was 9,990,000"}
        if account != ACCOUNT:
            return {"status": "error", "message": "no such account"}
        return {
            "status": "ok",
            "account": account,
            "field": "available",
            "available_cny": str(self.available_cny),
            "as_of": utc(self.read_at_ms),
        }


def balance_row(result: object) -> Row | None:
    """Return the row of a balance, validated field by field; None for whatever is no balance.

    A text that merely mentions an amount, an error's for one, makes no row.
    """
    if not isinstance(result, Mapping) or result.get("status") != "ok":
        return None
    account, amount, as_of = (result.get(key) for key in ("account", "available_cny", "as_of"))
    at_ms = parse(as_of) if isinstance(as_of, str) else None
    whole = isinstance(amount, str) and re.fullmatch(r"\d{1,12}", amount, re.ASCII) is not None
    if account != ACCOUNT or result.get("field") != "available" or not whole or at_ms is None:
        return None
    fact = {**_BALANCE_ROW["facts"][0], "value": money(int(str(amount)), "excluded")}
    return make_row(
        **{
            **_BALANCE_ROW,
            "as_of_ms": at_ms,
            "ttl_ms": BALANCE_MS,
            "facts": [fact],
            "text": f'{{"account":"{account}","available_cny":"{amount}"}}',
        }
    )


@dataclass
class ProcurementSource:
    """What a question about a purchase is answered from: an `EvidenceSource`.

    Attributes:
        ledger: The finance system.
        contract: The contract that is deployed; the plugin knows the one that was approved.
        attachments: Files of the message, by name: text nobody vouches for.
        decisions_down: Whether the log of earlier decisions does not answer.
        withdrawn: Ids of what was withdrawn since.
        before: The packet before a correction, and its case.
        fetched: What was asked of which source, in order.
    """

    ledger: Ledger
    contract: TaskContract = CONTRACT
    attachments: dict[str, str] = field(default_factory=dict)
    decisions_down: bool = False
    withdrawn: frozenset[str] = frozenset()
    before: tuple[EvidencePacket, CaseState] | None = None
    case: CaseState | None = None
    fetched: list[str] = field(default_factory=list)

    async def gather(self, context: InvocationContext, ask: Ask) -> Question | None:
        """Return what the newest message is to be answered from."""
        message = "\n".join(_own_words(context))
        asks = [name for name, words in _ASKS.items() if any(word in message for word in words)]
        if not asks:
            return None
        self.case = self._case(message, ask.now_ms)
        rows, lookups = self._rows(ask)
        notices = (Notice(source="decision_log", why="unavailable"),) if self.decisions_down else ()
        if "history" in asks and self.decisions_down:
            lookups, notices = (*lookups, Lookup(claim="last_year", state="unavailable")), ()
        inputs = Inputs(
            generation=ask.generation,
            contract=self.contract,
            approved_sha256="",
            plan=make_plan(self.contract, "purchase_advice", asks, CATALOGUE),
            rows=[*rows, *self._files()],
            reader=Reader(GROUPS | {READER}),
            reader_id=READER,
            asked=Asked(
                ask.now_ms,
                ask.now_ms,
                (("account", ACCOUNT), ("hotel", HOTEL), ("region", "east")),
            ),
            matrix=MATRIX,
            case=self.case,
            duties=DUTIES,
            lookups=lookups,
            fallen=tuple(sorted(self.withdrawn)),
            vocabulary=BOOK.vocabulary,
            notices=notices,
        )
        seen = tuple(EvidenceItem.from_data(row) for row in self._files())
        return Question(inputs, said=(message,), seen=seen)

    def observed(
        self, tool: str, arguments: Mapping[str, Any], result: Any, now_ms: int
    ) -> Sequence[Row] | None:
        """Return the row of a balance that the ledger gave to the model's call."""
        if tool != "finance_balance":
            return None
        row = balance_row(result)
        return () if row is None else (row,)

    async def fallen(self, items: Sequence[str]) -> frozenset[str]:
        """Return what was withdrawn since."""
        return self.withdrawn & frozenset(items)

    def _rows(self, ask: Ask) -> tuple[list[Row], tuple[Lookup, ...]]:
        """Return rows of the stored sources and of the ledger, and what became of asking it.

        The ledger is asked by the model's tool call first. When that balance has run out, it is
        asked again here, with arguments of the application's own.
        """
        stored, kept = self._stored()
        live = [row for row in ask.observed if row["as_of_ms"] + row["ttl_ms"] > ask.now_ms]
        down = Lookup(claim="available_budget", state="unavailable")
        if live or not ask.observed:
            return [*stored, *kept, *live], (down,) if ask.failed and not live else ()
        self.fetched.append("finance_ledger")
        row = balance_row(self.ledger.balance(ACCOUNT))
        if row is None:
            return [*stored, *kept], (down,)
        return [*stored, *kept, row], ()

    def _stored(self) -> tuple[list[Row], list[Row]]:
        """Return rows to judge; after a correction only those of claims that depend on it anew."""
        if self.before is None or self.case is None:
            self.fetched.extend(sorted({row["source"] for row in _STORED}))
            return list(_STORED), []
        packet, case = self.before
        anew = renewal(packet, changed_fields(case, self.case))
        asked = [
            row
            for row in _STORED
            if any(fact["claim"] in anew.kinds for fact in row.get("facts", ()))
            or not row.get("facts")
        ]
        held = {row["id"] for row in anew.rows}
        self.fetched.extend(sorted({row["source"] for row in asked if row["id"] not in held}))
        return [row for row in asked if row["id"] not in held], list(anew.rows)

    def _files(self) -> list[Row]:
        mail = next(row for row in ROWS if row["id"] == "MAIL-9")
        return [make_row(**{**mail, "text": text}) for text in self.attachments.values()]

    def _case(self, message: str, now_ms: int) -> CaseState:
        """Return the case with what the message states; the hotel is the workspace's word."""
        amounts = [parse_money(text.strip(), "CNY") for text in _AMOUNT.findall(message)]
        found = [one for one in amounts if isinstance(one, Money) and one.exact and one.low > 0]
        if self.before is None:
            case = CaseState(fields=FIELDS).apply(
                (
                    event(
                        1, "hotel", {"kind": "word", "word": HOTEL}, actor="workspace",
                        role="hotel_master", trust="authoritative", source="HOTEL-H117",
                        confidence="verified", at_ms=now_ms,
                    ),
                )
            )  # fmt: skip
        else:
            case = self.before[1]
        if not found:
            return case
        action = "set" if case.fact("amount") is None else "correct"
        value = found[0].as_json()
        return case.apply(
            (event(len(case.events) + 1, "amount", value, action=action, at_ms=now_ms),)
        )


def _own_words(context: InvocationContext) -> list[str]:
    """Return the person's own words: a file's text is not among them."""
    parts = (context.user_content.parts if context.user_content else None) or []
    return [part.text for part in parts if part.text and not part.text.startswith("[file ")]
