"""One client: does what its seed says, on people that others are busy with as well.

A turn goes through the plugin's own keeper and tool gates, so what is tested between the store's
calls is the code that runs in production; only the model and the tool are missing.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

from google.adk.events.event_actions import EventActions
from google.adk.tools.base_tool import BaseTool

from benchmarks.consistency.history import Log, Recorder
from callbacks.adk.injection import Preference
from callbacks.adk.keeper import TurnKeeper
from callbacks.adk.tools import ToolCalls
from callbacks.context.projection import Projection
from callbacks.context.schema import ContextSchema, Topic
from callbacks.context.slot import Slot
from stores.errors import StoreError
from stores.personal import PersonalStore
from stores.ports import ContextStore
from stores.records import CardAction, Owner, Proposal

AREAS: Final = ("north", "east", "south", "west")
VALUES: Final = ("tea", "coffee", "juice")
KEYS: Final = ("drink", "distance")
TOOL: Final = "search"
EPOCH_MS: Final = 10_000_000
JUMPS_MS: Final = (-600_000, -1_000, 1_000, 299_000, 301_000, 900_000, 1_200_000)
SCHEMA: Final = ContextSchema(
    topics={"places": Topic("places")},
    slots={"area": Slot.closed(AREAS)},
    language="en",
)
DRINK: Final = Preference(
    "drink", VALUES, purpose="to choose", fills={TOOL: "drink"}, otherwise="any"
)


@dataclass(frozen=True)
class Habits:
    """How clients behave.

    Attributes:
        people: Of how many people at a time they are the clients.
        group_acts: After how many acts of them all they turn to others; a person's history stays
            short, however fast the machine is.
        abandoned: Share of calls that their caller gives up while they run.
        jumps: Share of acts before which the client's clock jumps.
    """

    people: int = 4
    group_acts: int = 600
    abandoned: float = 0.03
    jumps: float = 0.03


class Board:
    """Tokens of all processes' cards, in a file that each adds to and reads on."""

    def __init__(self, path: Path) -> None:
        """Begin where the file begins."""
        self._path, self._read = path, 0
        self._tokens: list[tuple[str, str]] = []

    def add(self, owner: Owner, token: str) -> None:
        """Put a card up."""
        with self._path.open("a", encoding="ascii") as file:
            file.write(f"{owner.tenant}/{owner.person} {token}\n")

    def cards(self) -> list[tuple[str, str]]:
        """Return the newest cards, with whose they are."""
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._read)
                new = file.read()
            whole = new[: new.rfind(b"\n") + 1]
            self._read += len(whole)
            for line in whole.decode("ascii").splitlines():
                person, _, token = line.partition(" ")
                self._tokens.append((person, token))
        self._tokens = self._tokens[-24:]
        return self._tokens


class Acts:
    """Counts the acts of all processes: a file that grows by a byte with each."""

    def __init__(self, path: Path) -> None:
        """Go on where others are."""
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def next(self) -> int:
        """Return this act's number."""
        os.write(self._file, b".")
        return os.lseek(self._file, 0, os.SEEK_CUR)


class Client:
    """One of several clients of a store in this process."""

    def __init__(
        self,
        name: str,
        *,
        seed: int,
        store: PersonalStore,
        log: Log,
        board: Board,
        acts: Acts,
        habits: Habits,
    ) -> None:
        """Be born with a seed and a clock that is right, for now."""
        self._name, self._log, self._board, self._habits = name, log, board, habits
        self._acts = acts
        self._chance = random.Random(seed)  # noqa: S311 - a schedule, no secret
        self._store = Recorder(store, log, name)
        self._late_ms = 0
        self._turns = 0
        self._keeper = TurnKeeper(
            store=cast("ContextStore", self._store),
            schema=SCHEMA,
            max_turns=2,
            ttl_ms=900_000,
            owner=lambda context: cast("Owner", cast("Any", context).owner),
            clock=self._now,
            on_report=None,
        )
        self._tool = _Search()
        self._calls = ToolCalls(
            keeper=self._keeper,
            preferences=[DRINK],
            projectors={TOOL: _project},
            schema=SCHEMA,
            private_results=[TOOL],
            sentence=str,
        )

    async def run(self, going: Callable[[], bool]) -> None:
        """Act until there is no more to do."""
        acts: tuple[tuple[int, Callable[[Owner], Awaitable[Any]]], ...] = (
            (30, self._turn),
            (22, self._propose),
            (26, self._press),
            (5, self._forget),
            (3, self._clear),
            (3, self._expire),
            (6, self._look),
        )
        weights = [weight for weight, _ in acts]
        while going():
            if self._chance.random() < self._habits.jumps:
                self._late_ms = self._chance.choice((0, 0, *JUMPS_MS))
            act = self._chance.choices(acts, weights)[0][1]
            work = act(self._person())
            # A refusal is an answer; a store that is away for a moment is written down as that.
            with suppress(StoreError, TimeoutError):
                if self._chance.random() < self._habits.abandoned:
                    await asyncio.wait_for(work, self._chance.uniform(0, 0.005))
                else:
                    await work

    def _now(self) -> int:
        return EPOCH_MS + time.monotonic_ns() // 1_000_000 % 10_000_000 + self._late_ms

    def _person(self) -> Owner:
        group = self._acts.next() // self._habits.group_acts
        number = self._chance.randrange(self._habits.people)
        return Owner(tenant="town", person=f"p{group}-{number}")

    async def _turn(self, owner: Owner) -> None:
        self._turns += 1
        event = f"{self._name}-{self._turns}"
        context = SimpleNamespace(
            invocation_id=event,
            session=SimpleNamespace(id=event, state={}, user_id=owner.person, app_name="app"),
            user_content=None,
            run_config=None,
            owner=owner,
        )
        work = _Work(context, event)
        invocation = cast("Any", context)
        arguments: dict[str, Any] = {"area": self._chance.choice(AREAS)}
        running: asyncio.Task[Any] | None = None
        try:
            turn = await self._keeper.open(invocation)
            await self._pause()
            if await self._calls.before(self._tool, cast("Any", work)) is not None:
                return
            await self._pause()
            running = asyncio.create_task(
                self._tool.run_async(args=arguments, tool_context=cast("Any", work))
            )
            done = asyncio.create_task(work.done.wait())
            await asyncio.wait({running, done}, return_when=asyncio.FIRST_COMPLETED)
            done.cancel()

            async def hand_out() -> object | None:
                work.may_return.set()
                await running
                return turn.report.private_results or None

            await self._store.released(owner, turn.revision, hand_out())
            await self._pause()
            await self._keeper.record(turn)
            if self._chance.random() < 0.2:  # the same event, delivered once more
                turn.unsaved = turn.projection is not None
                turn.generation = max(turn.generation - 1, 0)
                await self._keeper.record(turn)
        finally:
            if running is not None:
                running.cancel()
            self._keeper.close(invocation)

    async def _propose(self, owner: Owner) -> None:
        now = self._now()
        key = self._chance.choice(KEYS)
        forgets = self._chance.random() < 0.15
        card = await self._store.propose(
            owner,
            Proposal(
                key=key,
                purpose="to choose",
                action=CardAction.FORGET if forgets else CardAction.REMEMBER,
                value=None if forgets else self._chance.choice(VALUES),
                expires_at_ms=None
                if forgets or self._chance.random() < 0.7
                else now + self._chance.choice((50, 1_000, 400_000)),
                said_at_ms=self._chance.choice((None, None, now, now - 500)),
            ),
            now_ms=now,
        )
        self._board.add(owner, card.token)

    async def _press(self, owner: Owner) -> None:
        cards = self._board.cards()
        if not cards:
            return
        person, token = cards[-1 - min(int(self._chance.expovariate(0.3)), len(cards) - 1)]
        if self._chance.random() < 0.9:
            tenant, _, name = person.partition("/")
            owner = Owner(tenant=tenant, person=name)
        approve = self._chance.random() < 0.8
        await self._store.press(owner, token, approve=approve, now_ms=self._now())

    async def _forget(self, owner: Owner) -> None:
        key = self._chance.choice((*KEYS, None))
        await self._store.forget(owner, key, now_ms=self._now())

    async def _clear(self, owner: Owner) -> None:
        await self._store.clear(owner, now_ms=self._now())

    async def _expire(self, owner: Owner) -> None:
        await self._store.sweep(owner, now_ms=self._now())

    async def _look(self, owner: Owner) -> None:
        await self._store.snapshot(owner, now_ms=self._now())
        await self._store.preferences(owner, now_ms=self._now())

    async def _pause(self) -> None:
        await asyncio.sleep(self._chance.choice((0, 0, 0.001, 0.004)))


class _Work:
    """A call's context, with the moments at which the tool is done and its result may go out."""

    def __init__(self, invocation: object, call: str) -> None:
        self._invocation_context = invocation
        self.function_call_id = call
        self.actions = EventActions()
        self.done, self.may_return = asyncio.Event(), asyncio.Event()


class _Search(BaseTool):
    """The tool, which holds its result back until the client says that it is handed out."""

    def __init__(self) -> None:
        super().__init__(name=TOOL, description="Finds places.")

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        tool_context.done.set()
        await tool_context.may_return.wait()
        return {"found": args.get("drink")}


def _project(arguments: Any, _: Any) -> Projection:
    return Projection("places", {"area": arguments["area"]})
