"""Histories: each call is written before it begins and when it ends, so that a kill shows."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.consistency.checker import Call
from stores.errors import StoreError, StoreUnavailable
from stores.personal import PersonalStore
from stores.records import (
    PRIVATE,
    Card,
    ConsentResult,
    ForgetResult,
    Owner,
    Preferences,
    Proposal,
    Snapshot,
)

T = TypeVar("T")

CERTAIN = frozenset({"locked", "read_only", "full", "busy"})
"""Reasons of StoreUnavailable after which nothing was written, for certain."""


class Log:
    """A file of one process, a line a write; what was written outlives a kill."""

    def __init__(self, path: Path) -> None:
        """Open it for appending."""
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._name = path.stem
        self._number = 0

    def began(self, client: str, person: str, name: str, told: dict[str, Any]) -> str:
        """Write that a call begins, and return its id."""
        self._number += 1
        call = f"{self._name}.{self._number}"
        self._write(
            {"id": call, "at": time.monotonic_ns(), "client": client, "person": person}
            | {"name": name, "told": told}
        )
        return call

    def ended(self, call: str, answer: Any, **more: Any) -> None:
        """Write what it came to."""
        self._write({"id": call, "at": time.monotonic_ns(), "answer": answer, **more})

    def _write(self, line: dict[str, Any]) -> None:
        os.write(self._file, json.dumps(line, ensure_ascii=False).encode() + b"\n")


def read(paths: Iterable[Path]) -> tuple[list[Call], int]:
    """Return the calls of all processes, and how many surfaces were found not to be empty.

    A call that was refused for certain is left out, for nothing happened; so is one that only
    looks after the store, for it belongs to no person.
    """
    calls: dict[str, Call] = {}
    left_over = 0
    for path in paths:
        for raw in path.read_bytes().split(b"\n"):
            if not raw:
                continue
            try:
                line = json.loads(raw)
            except ValueError:  # the last line of a process that was killed while it wrote
                continue
            if "name" in line:
                calls[line["id"]] = Call(
                    line["person"], line["name"], line["told"], line["at"], line["client"]
                )
            elif line.get("void"):
                calls.pop(line["id"], None)
            elif not line.get("lost"):
                call = calls[line["id"]]
                call.ended, call.answer = line["at"], line["answer"]
                call.told |= line.get("made", {})
                left_over += line.get("left", 0)
    return [call for call in calls.values() if call.name != "sweep"], left_over


class Recorder:
    """A store of one client that writes down each call."""

    def __init__(self, store: PersonalStore, log: Log, client: str) -> None:
        """Write as this client."""
        self._store, self._log, self._client = store, log, client

    async def snapshot(self, owner: Owner, *, now_ms: int) -> Snapshot:
        """As the store's."""
        return await self._call(
            owner, "snapshot", {"now": now_ms}, self._store.snapshot(owner, now_ms=now_ms),
            answer=lambda seen: [seen.revision, seen.generation, seen.window, seen.last_event],
        )  # fmt: skip

    async def preferences(self, owner: Owner, *, now_ms: int, chat: str = PRIVATE) -> Preferences:
        """As the store's."""
        return await self._call(
            owner, "preferences", {"now": now_ms},
            self._store.preferences(owner, now_ms=now_ms, chat=chat),
            answer=lambda kept: [kept.revision, {k: one.value for k, one in kept.values.items()}],
        )  # fmt: skip

    async def append(
        self, owner: Owner, *, event_id: str, window: str, expected_revision: int,
        expected_generation: int, now_ms: int, ttl_ms: int = 900_000,
    ) -> int:  # fmt: skip
        """As the store's."""
        told = {
            "event": event_id, "window": window, "revision": expected_revision,
            "generation": expected_generation, "now": now_ms, "ttl": ttl_ms,
        }  # fmt: skip
        work = self._store.append(
            owner, event_id=event_id, window=window, expected_revision=expected_revision,
            expected_generation=expected_generation, now_ms=now_ms, ttl_ms=ttl_ms,
        )  # fmt: skip
        return await self._call(owner, "append", told, work, answer=lambda generation: generation)

    async def clear(self, owner: Owner, *, now_ms: int) -> int:
        """As the store's."""
        work = self._store.clear(owner, now_ms=now_ms)
        return await self._call(owner, "clear", {"now": now_ms}, work, answer=lambda moved: moved)

    async def propose(
        self, owner: Owner, proposal: Proposal, *, now_ms: int, expected_revision: int | None = None
    ) -> Card:
        """As the store's."""
        told = {
            "key": proposal.key, "value": proposal.value, "ends": proposal.expires_at_ms,
            "said": proposal.said_at_ms, "expected": expected_revision, "now": now_ms,
        }  # fmt: skip
        work = self._store.propose(
            owner, proposal, now_ms=now_ms, expected_revision=expected_revision
        )
        return await self._call(
            owner, "propose", told, work, answer=lambda card: card.revision,
            more=lambda card: {"made": {"made": [card.token, card.expires_at_ms]}},
        )  # fmt: skip

    async def press(self, owner: Owner, token: str, *, approve: bool, now_ms: int) -> ConsentResult:
        """``approve`` or ``cancel``, as the store's."""
        press = self._store.approve if approve else self._store.cancel
        return await self._call(
            owner, "approve" if approve else "cancel", {"token": token, "now": now_ms},
            press(owner, token, now_ms=now_ms),
            answer=lambda result: [result.outcome.value, result.revision],
        )  # fmt: skip

    async def forget(self, owner: Owner, key: str | None, *, now_ms: int) -> ForgetResult:
        """As the store's. Files are busy while other processes read; rows must be empty."""
        return await self._call(
            owner, "forget", {"key": key, "now": now_ms},
            self._store.forget(owner, key, now_ms=now_ms),
            answer=lambda result: result.revision,
            more=lambda result: {
                "left": sum(
                    one.remaining for one in result.verified if one.surface not in ("wal", "files")
                )
            },
        )  # fmt: skip

    async def sweep(self, owner: Owner, *, now_ms: int) -> int:
        """As the store's, of the person's tenant."""
        work = self._store.sweep(owner.tenant, now_ms=now_ms)
        return await self._call(owner, "sweep", {"now": now_ms}, work, answer=lambda swept: swept)

    async def released(self, owner: Owner, revision: int, work: Awaitable[T]) -> T | None:
        """Write that something worked out under a revision was handed out, if ``work`` says so."""
        call = self._log.began(self._client, _name(owner), "release", {"revision": revision})
        out = await work
        self._log.ended(call, True, void=out is None)
        return out

    async def _call(
        self,
        owner: Owner,
        name: str,
        told: dict[str, Any],
        work: Awaitable[T],
        *,
        answer: Callable[[T], Any],
        more: Callable[[T], dict[str, Any]] = lambda _: {},
    ) -> T:
        call = self._log.began(self._client, _name(owner), name, told)
        try:
            result = await work
        except StoreUnavailable as error:
            certain = error.numbers.get("reason") in CERTAIN
            self._log.ended(call, None, **{"void" if certain else "lost": True})
            raise
        except StoreError as error:
            self._log.ended(call, error.error_code)
            raise
        self._log.ended(call, answer(result), **more(result))
        return result


def _name(owner: Owner) -> str:
    return f"{owner.tenant}/{owner.person}"
