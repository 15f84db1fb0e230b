"""The tries: victims with values and cards, an attacker with everything but the keys.

What an attacker is told must not depend on whether the other person exists: each try at somebody's
card is made as well at a card of nobody's, and answers are compared. After every round each victim
must be as they were.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from stores.errors import StoreError
from stores.open import open_store
from stores.personal import PersonalStore
from stores.records import Card, CardAction, Outcome, Owner, Proposal

KEY, OLD_KEY, WRONG_KEY = (bytes([number]) * 32 for number in (1, 2, 3))
STORE_KEY: Final = b"a store key of this measurement, long enough"
NOW: Final = 1_000_000
ROUND: Final = 250
"""Tries between two looks at the victims."""

VICTIMS: Final = tuple(
    Owner(tenant=tenant, person=f"person {number}")
    for tenant in ("town", "city")
    for number in range(4)
)
ATTACKER: Final = Owner(tenant="town", person="attacker")
ATTACKER_ELSEWHERE: Final = Owner(tenant="city", person="attacker")
NOBODY: Final = Owner(tenant="town", person="nobody at all")
SWAPPED: Final = (
    *("card_id", "purpose", "value_tag", "expires_at_ms", "key", "scope", "slot", "revision"),
    *("action", "value_expires_at_ms"),
)


@dataclass
class Report:
    """What came of the tries.

    Attributes:
        succeeded: Tries that were not refused, and looks that found somebody changed.
        told_apart: Refusals that differ where the other person exists.
        own_cards_work: Whether each victim could press their own card after all of it.
    """

    tries: int = 0
    succeeded: int = 0
    told_apart: int = 0
    without_code: int = 0
    own_cards_work: bool = False
    by_kind: Counter[str] = field(default_factory=Counter)
    by_code: Counter[str] = field(default_factory=Counter)

    @property
    def held(self) -> bool:
        """Whether the store held."""
        return self.own_cards_work and not (self.succeeded or self.told_apart or self.without_code)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "tries": self.tries,
            "succeeded": self.succeeded,
            "told_apart": self.told_apart,
            "without_code": self.without_code,
            "own_cards_work": self.own_cards_work,
            "by_kind": dict(sorted(self.by_kind.items())),
            "by_code": dict(sorted(self.by_code.items())),
        }


async def attack(
    url: str, own_url: str, *, tries: int, seed: int, say: Callable[[str], None] = lambda _: None
) -> Report:
    """Make that many tries.

    Args:
        url: Of the empty database that is attacked.
        own_url: Of an empty one that is the attacker's own.
        tries: How many.
        seed: Of the tries.
        say: Is told how far it is.
    """
    report = Report()
    async with (
        open_store(url, signing_keys=[KEY], store_keys=[STORE_KEY], synchronous="OFF") as store,
        open_store(url, signing_keys=[OLD_KEY], store_keys=[STORE_KEY], synchronous="OFF") as old,
        open_store(
            own_url, signing_keys=[WRONG_KEY], store_keys=[STORE_KEY], synchronous="OFF"
        ) as forger,
        _database(url) as bare,
    ):
        attacker = _Attacker(store, bare, random.Random(seed), report)  # noqa: S311 - cases, no secrets
        await attacker.prepare(old, forger)
        while report.tries < tries:
            await attacker.round()
            if report.tries % 10_000 < ROUND:
                say(f"{report.tries} tries")
        report.own_cards_work = await attacker.press_as_owners()
    return report


class _Attacker:
    def __init__(
        self, store: PersonalStore, bare: AsyncEngine, chance: random.Random, report: Report
    ) -> None:
        self._store, self._bare, self._chance, self._report = store, bare, chance, report
        self._cards: dict[Owner, Card] = {}
        self._used: dict[Owner, Card] = {}
        self._forged: list[str] = []
        self._of_nobody: list[str] = []

    async def prepare(self, old: PersonalStore, forger: PersonalStore) -> None:
        """Give each victim a value, a used card and one that waits; collect forged tokens."""
        for owner in VICTIMS:
            used = await self._store.propose(owner, _proposal(owner, "saved"), now_ms=NOW)
            await self._store.approve(owner, used.token, now_ms=NOW)
            self._used[owner] = used
            # Signed by a key that is no longer listed: its card is in the database all the same.
            self._forged.append(
                (await old.propose(owner, _proposal(owner, "old"), now_ms=NOW)).token
            )
            self._cards[owner] = await self._store.propose(
                owner, _proposal(owner, "waiting"), now_ms=NOW
            )
            forged = await forger.propose(owner, _proposal(owner, "forged"), now_ms=NOW)
            _, card_id, _ = self._cards[owner].token.split(".")
            mac = forged.token.split(".")[2]
            self._forged += [forged.token, f"{forged.token.split('.')[0]}.{card_id}.{mac}"]
            nobodys = await forger.propose(NOBODY, _proposal(NOBODY, "none"), now_ms=NOW)
            self._of_nobody.append(nobodys.token)
        self._before = await self._look()

    async def press_as_owners(self) -> bool:
        """Let each victim press their own waiting card; tell whether all of them work."""
        results = [
            await self._store.approve(owner, card.token, now_ms=NOW + 1)
            for owner, card in self._cards.items()
        ]
        return {result.outcome for result in results} == {Outcome.SAVED}

    async def round(self) -> None:
        """Make a round of tries, one in ten with a row that was swapped, and look at everybody."""
        for _ in range(ROUND // 10):
            for _ in range(9):
                await self._try_a_token()
            await self._try_a_row()
        if await self._look() != self._before:
            self._report.succeeded += 1
            self._before = await self._look()

    async def _try_a_token(self) -> None:
        victim, other = self._chance.sample(VICTIMS, 2)
        token, another = self._cards[victim].token, self._cards[other].token
        cut = self._chance.randrange(len(token))
        kind, owner, tried = self._chance.choice(
            (
                ("foreign card", other, token),
                ("foreign card", ATTACKER, token),
                ("card of another tenant", _elsewhere(victim), token),
                ("card of another tenant", ATTACKER_ELSEWHERE, token),
                ("replay by another", ATTACKER, self._used[victim].token),
                ("replay", victim, self._used[victim].token),
                ("truncated", victim, token[:cut]),
                ("spliced", victim, token[:cut] + another[cut:]),
                ("changed", victim, token[:cut] + self._chance.choice("~.") + token[cut + 1 :]),
                ("signed with an old or a wrong key", victim, self._chance.choice(self._forged)),
                ("signed with an old or a wrong key", ATTACKER, self._chance.choice(self._forged)),
            )
        )
        if tried == token and owner == victim:  # a cut that put the card together again
            return
        code = await self._press(kind, owner, tried)
        if kind == "replay":
            # Their own card, used: they may be told, and nothing may happen.
            self._count(kind, code, refused=code in (Outcome.ALREADY_APPLIED, Outcome.STALE))
            return
        self._count(kind, code, refused=code == Outcome.INVALID)
        shadow = await self._press(kind, owner, self._chance.choice(self._of_nobody))
        self._report.told_apart += shadow != code

    async def _try_a_row(self) -> None:
        """Swap a column of two cards, or all of them, press both, and put the rows back."""
        first, second = self._chance.sample(VICTIMS, 2)
        column = self._chance.choice((*SWAPPED, "owner", "status"))
        pressed = self._used if column == "status" else self._cards
        async with self._bare.begin() as bare:
            kept = [await _row(bare, owner, pressed[owner]) for owner in (first, second)]
            same = column not in ("owner", "status") and kept[0][column] == kept[1][column]
            await _put(bare, _swapped(column, kept))
        for owner, foreign in ((first, second), (second, first)):
            code = await self._press("swapped rows", owner, pressed[foreign].token)
            self._count("swapped rows", code, refused=code in _NOTHING)
            if not same:
                code = await self._press("swapped rows", owner, pressed[owner].token)
                self._count("swapped rows", code, refused=code in _NOTHING)
        async with self._bare.begin() as bare:
            await _put(bare, kept)

    async def _press(self, kind: str, owner: Owner, token: str) -> str:
        press = self._store.approve if self._chance.random() < 0.7 else self._store.cancel
        if kind == "swapped rows":
            press = self._store.approve
        try:
            result = await press(owner, token, now_ms=NOW + 1)
        except StoreError as error:
            return error.error_code
        if result.outcome is Outcome.INVALID and (result.key or result.action):
            self._report.told_apart += 1
        return result.outcome.value

    def _count(self, kind: str, code: str, *, refused: bool) -> None:
        self._report.tries += 1
        self._report.by_kind[kind] += 1
        self._report.by_code[str(code)] += 1
        self._report.without_code += not code
        self._report.succeeded += not refused

    async def _look(self) -> list[Any]:
        """Return what can be seen of everybody: revision, window, values."""
        return [
            (
                await self._store.snapshot(owner, now_ms=NOW),
                await self._store.preferences(owner, now_ms=NOW),
            )
            for owner in (*VICTIMS, ATTACKER, ATTACKER_ELSEWHERE, NOBODY)
        ]


_NOTHING: Final = frozenset({"invalid", "stale", "already_applied", "STORE_UNAVAILABLE"})


def _proposal(owner: Owner, what: str) -> Proposal:
    return Proposal(
        key=f"k{owner.person[-1]}", purpose=f"for {owner.person}", value=f"{what} of {owner}",
        action=CardAction.REMEMBER, expires_at_ms=NOW * 2 + len(owner.tenant + owner.person),
        scope=f"group of {owner.person}",
    )  # fmt: skip


def _elsewhere(owner: Owner) -> Owner:
    return Owner(tenant="city" if owner.tenant == "town" else "town", person=owner.person)


@asynccontextmanager
async def _database(url: str) -> AsyncIterator[AsyncEngine]:
    """Open the attacked database as its owner."""
    engine = create_async_engine(url, poolclass=NullPool if url.startswith("sqlite") else None)
    try:
        yield engine
    finally:
        await engine.dispose()


async def _row(bare: AsyncConnection, owner: Owner, card: Card) -> dict[str, Any]:
    found = await bare.execute(
        text("SELECT * FROM store_cards WHERE tenant = :town AND person = :who AND card_id = :id"),
        {"town": owner.tenant, "who": owner.person, "id": card.card_id},
    )
    return dict(found.mappings().one())


async def _put(bare: AsyncConnection, rows: list[dict[str, Any]]) -> None:
    """Write cards in place of those that have their ids."""
    for row in rows:
        await bare.execute(text("DELETE FROM store_cards WHERE card_id = :card_id"), row)
    for row in rows:
        names, marks = ", ".join(row), ", ".join(f":{name}" for name in row)
        statement = f"INSERT INTO store_cards ({names}) VALUES ({marks})"  # noqa: S608 - names of columns
        await bare.execute(text(statement), row)


def _swapped(column: str, kept: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return both rows with something exchanged."""
    first, second = dict(kept[0]), dict(kept[1])
    if column == "owner":
        for name in ("tenant", "person"):
            first[name], second[name] = second[name], first[name]
    elif column == "status":
        for row in (first, second):
            row["status"] = "pending"
            row["revision"] += 1  # as if it had been made under the revision that holds now
    else:
        first[column], second[column] = second[column], first[column]
    return [first, second]
