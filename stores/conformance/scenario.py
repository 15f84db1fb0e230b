"""What the parts of the suite share: people, proposals, and a store opened for each test."""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from stores.open import open_store
from stores.ports import ContextStore
from stores.records import (
    Card,
    CardAction,
    Outcome,
    Owner,
    Preferences,
    Proposal,
    Snapshot,
)

SIGNING_KEY: Final = b"a signing key of the tests alone"
STORE_KEY: Final = b"a store key of the tests, 32 bytes or more"
OTHER_STORE_KEY: Final = b"another store key of the tests, as long"
OTHER_KEY: Final = b"another signing key of the tests"
ANN: Final = Owner(tenant="town", person="ann")
BEN: Final = Owner(tenant="town", person="ben")
ANN_ELSEWHERE: Final = Owner(tenant="city", person="ann")
TEA: Final = Proposal(key="drink", purpose="to choose a cafe", value="tea")
COFFEE: Final = Proposal(key="drink", purpose="to choose a cafe", value="coffee")
NEAR: Final = Proposal(key="distance", purpose="to sort what was found", value="near")
NO_DRINK: Final = Proposal(key="drink", purpose="to forget it", action=CardAction.FORGET)
NOW: Final = 1_000_000
TTL: Final = 900_000

_Scenario = Callable[[Any, Any], Awaitable[None]]


def scenario(test: _Scenario) -> Callable[[Any, str], None]:
    """Turn a coroutine of a suite and an open store into a test of a store's URL."""

    def run(self: Any, store_url: str) -> None:
        async def tell() -> None:
            async with self.open(store_url) as store:
                await test(self, store)

        asyncio.run(tell())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


async def remember(
    store: ContextStore, owner: Owner, proposal: Proposal, now_ms: int = NOW
) -> Card:
    """Propose and approve, and return the card."""
    card = await store.propose(owner, proposal, now_ms=now_ms)
    result = await store.approve(owner, card.token, now_ms=now_ms)
    assert result.outcome is Outcome.SAVED
    return card


async def write(
    store: ContextStore, owner: Owner, event_id: str = "e1", window: str = "{}", now_ms: int = NOW
) -> int:
    """Append a window on top of what is there."""
    seen = await store.snapshot(owner, now_ms=now_ms)
    return await store.append(
        owner,
        event_id=event_id,
        window=window,
        expected_revision=seen.revision,
        expected_generation=seen.generation,
        now_ms=now_ms,
    )


async def everything(store: ContextStore, owner: Owner) -> tuple[Snapshot, Preferences]:
    """Return all that can be seen of a person."""
    return await store.snapshot(owner, now_ms=NOW), await store.preferences(owner, now_ms=NOW)


class Suite:
    """Opens the store under test."""

    def open(
        self,
        url: str,
        signing_keys: Sequence[bytes] = (SIGNING_KEY,),
        store_keys: Sequence[bytes] = (STORE_KEY,),
    ) -> Any:
        """Return the store under test, not started yet."""
        return open_store(url, signing_keys=signing_keys, store_keys=store_keys)
