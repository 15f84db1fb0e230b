"""Records of generations: sealed, owned, gone when they ran out or their person is erased."""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

import asyncio
import hashlib
from typing import Any, Final

import pytest

from stores.conformance.scenario import (
    ANN,
    ANN_ELSEWHERE,
    BEN,
    COFFEE,
    NOW,
    OTHER_STORE_KEY,
    STORE_KEY,
    TEA,
    TTL,
    Suite,
    remember,
    scenario,
)
from stores.errors import InvalidInput, PreferenceChanged, StoreKeyMissing
from stores.generations import GENERATIONS_MAX, Generation, GenerationHeld

TEXTS: Final = (b"a policy's words", "第四之二條".encode(), b"")


def _generation(name: str = "g-1", *texts: bytes) -> Generation:
    return Generation(
        id=name,
        record=f'{{"id":"{name}"}}'.encode(),
        originals={hashlib.sha256(text).hexdigest(): text for text in texts or TEXTS},
    )


async def _keep(store: Any, owner: Any, generation: Generation, now_ms: int = NOW) -> None:
    seen = await store.snapshot(owner, now_ms=now_ms)
    await store.keep_generation(
        owner, generation, expected_revision=seen.revision, now_ms=now_ms, ttl_ms=TTL
    )


class GenerationSuite(Suite):
    """What a store does with records of generations."""

    @scenario
    async def test_a_record_comes_back_as_it_was(self, store: Any) -> None:
        """Record and originals come back byte for byte; the list tells nothing of them (12)."""
        made = _generation()
        await _keep(store, ANN, made)
        assert await store.generation(ANN, "g-1", now_ms=NOW) == made.record
        assert await store.originals(ANN, "g-1", now_ms=NOW) == made.originals
        assert await store.generations(ANN, now_ms=NOW) == (
            GenerationHeld(id="g-1", made_at_ms=NOW, expires_at_ms=NOW + TTL, revision=0),
        )
        held = await store.inspect(ANN, now_ms=NOW)
        assert [one.id for one in held.generations] == ["g-1"]

    @scenario
    async def test_nobody_reads_anothers(self, store: Any) -> None:
        """Another person or tenant finds no record under the same id (11)."""
        await _keep(store, ANN, _generation())
        for other in (BEN, ANN_ELSEWHERE):
            assert await store.generation(other, "g-1", now_ms=NOW) is None
            assert await store.originals(other, "g-1", now_ms=NOW) is None
            assert await store.generations(other, now_ms=NOW) == ()
            await _keep(store, other, _generation("g-1", b"theirs"))
        assert await store.originals(ANN, "g-1", now_ms=NOW) == _generation().originals

    @scenario
    async def test_the_same_again_changes_nothing(self, store: Any) -> None:
        """A record that comes twice is kept once; another one under its id is refused (9)."""
        await _keep(store, ANN, _generation())
        await _keep(store, ANN, _generation(), NOW + 1)
        with pytest.raises(InvalidInput):
            await _keep(store, ANN, _generation("g-1", b"other"))
        assert [one.made_at_ms for one in await store.generations(ANN, now_ms=NOW)] == [NOW]

    @scenario
    async def test_it_runs_out(self, store: Any) -> None:
        """From its end on a record is not shown, and a sweep takes it away (8)."""
        await _keep(store, ANN, _generation())
        await _keep(store, ANN, _generation("g-2"), NOW + 10)
        assert await store.generation(ANN, "g-1", now_ms=NOW + TTL - 1) is not None
        for read in (store.generation, store.originals):
            assert await read(ANN, "g-1", now_ms=NOW + TTL) is None
        assert await store.sweep(ANN.tenant, now_ms=NOW + TTL) == 1
        assert [one.id for one in await store.generations(ANN, now_ms=NOW)] == ["g-2"]
        assert await store.originals(ANN, "g-2", now_ms=NOW) is not None
        assert await store.sweep(ANN.tenant, now_ms=NOW + TTL) == 0

    @scenario
    async def test_erased_means_gone(self, store: Any) -> None:
        """Erasing a person takes their records, and reading back says so by name (8)."""
        await _keep(store, ANN, _generation())
        await _keep(store, BEN, _generation())
        before = await store.snapshot(ANN, now_ms=NOW)
        result = await store.erase(ANN, now_ms=NOW)
        assert result.complete
        assert {"generations": 0}.items() <= {
            one.surface: one.remaining for one in result.verified
        }.items()
        assert await store.generations(ANN, now_ms=NOW) == ()
        assert await store.generation(ANN, "g-1", now_ms=NOW) is None
        assert await store.generation(BEN, "g-1", now_ms=NOW) is not None
        # A turn that began before brings nothing back.
        with pytest.raises(PreferenceChanged):
            await store.keep_generation(
                ANN, _generation("g-2"), expected_revision=before.revision, now_ms=NOW
            )

    @scenario
    async def test_values_come_and_go_beside_it(self, store: Any) -> None:
        """A data key that ends with a value takes no record along, nor is a record its end."""
        await remember(store, ANN, TEA)
        await _keep(store, ANN, _generation())
        await remember(store, ANN, COFFEE)
        assert (await store.forget(ANN, None, now_ms=NOW)).complete
        assert await store.originals(ANN, "g-1", now_ms=NOW) == _generation().originals
        await remember(store, ANN, TEA, NOW + 1)
        assert await store.sweep(ANN.tenant, now_ms=NOW + TTL) == 1
        kept = await store.preferences(ANN, now_ms=NOW + TTL)
        assert kept.values["drink"].value == "tea"

    @scenario
    async def test_they_do_not_pile_up(self, store: Any) -> None:
        """Of too many records the oldest go."""
        for number in range(GENERATIONS_MAX + 2):
            await _keep(store, ANN, _generation(f"g-{number}", b"x"), NOW + number)
        held = await store.generations(ANN, now_ms=NOW)
        assert (len(held), held[0].id) == (GENERATIONS_MAX, "g-2")

    @scenario
    async def test_what_cannot_be_kept_is_refused(self, store: Any) -> None:
        """A blank id, a wrong type and a record beyond the limit change nothing."""
        big = _generation("big", bytes(hashlib.shake_256(b"noise").digest(500_000)))
        with pytest.raises(InvalidInput):
            await _keep(store, ANN, big)
        for bad in ("", "x" * 129, None):
            with pytest.raises(InvalidInput):
                await store.generation(ANN, bad, now_ms=NOW)
        with pytest.raises(InvalidInput):
            await store.keep_generation(ANN, object(), expected_revision=0, now_ms=NOW)
        with pytest.raises(InvalidInput):
            await store.generations(None, now_ms=NOW)
        with pytest.raises(InvalidInput):
            Generation(id="g", record=b"", originals={"no hash": b""})
        assert await store.generations(ANN, now_ms=NOW) == ()

    def test_keys_rotate_with_it(self, store_url: str) -> None:
        """After a rotation the old ring key is not needed; without any key nothing opens."""

        async def tell() -> None:
            async with self.open(store_url) as store:
                await _keep(store, ANN, _generation())
            async with self.open(store_url, store_keys=(OTHER_STORE_KEY, STORE_KEY)) as store:
                assert (await store.rotate_keys(ANN.tenant)).rewrapped == 1
            async with self.open(store_url, store_keys=(OTHER_STORE_KEY,)) as store:
                made = await store.originals(ANN, "g-1", now_ms=NOW)
                assert made == _generation().originals
            async with self.open(store_url, store_keys=()) as store:
                with pytest.raises(StoreKeyMissing):
                    await store.generation(ANN, "g-1", now_ms=NOW)
                with pytest.raises(StoreKeyMissing):
                    await _keep(store, ANN, _generation("g-2"))

        asyncio.run(tell())
