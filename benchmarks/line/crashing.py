"""LOCAL on LINE under `kill -9`: what became of each message, told from LINE's side.

A schedule posts messages of several chats, brings some of them again, and kills a process each time
enough messages were accepted or answered. Everything goes by counts, so that a slow machine runs
the same schedule, only longer.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.line.processes import SECRET, TOKEN, Process, environment
from callbacks.adk.keeper import epoch_ms
from local_agent.line.delivery import retry_key_of
from local_agent.line.names import Names
from local_agent.line.peer import LinePeer
from local_agent.line.peer_events import line_id, redelivered
from stores.inbox import OPEN, Inbox, State
from stores.open import open_store
from stores.records import Owner

TOWNS = ("花壇", "鹿港", "和美", "員林")
FOLLOW_UP = "剛才那個鄉鎮有活動嗎？"
"""What can only be answered from the journal: the answer must be about the town before."""

IN_FLIGHT = 8
BACKLOG = 60
"""Most messages accepted and not answered, so that kills hit turns and not a finished queue."""

LEASE_SECONDS = 3


@dataclass
class Message:
    """A message and what LINE knows of it."""

    chat: str
    text: str
    town: str
    event: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def event_id(self) -> str:
        """LINE's id of its event."""
        return str(self.event["webhookEventId"])


@dataclass
class Found:
    """What came of a schedule.

    Attributes:
        messages: How many were accepted.
        kills: How many processes were killed.
        redeliveries: How many were brought again after they had been accepted.
        answered: Answered exactly once, and known to be.
        unknown: Ended unknown; `unknown_delivered` of them LINE had got.
        faults: What must not be, a line each.
    """

    messages: int = 0
    kills: int = 0
    redeliveries: int = 0
    answered: int = 0
    unknown: int = 0
    unknown_delivered: int = 0
    faults: list[str] = field(default_factory=list)


@dataclass
class Schedule:
    """One run.

    Attributes:
        url: Of the store.
        folder: For logs and, of SQLite, the file.
        messages: How many to post.
        kill_every: A kill after so many messages were accepted, and one after so many answers.
        workers: How many worker processes.
        seed: Decides chats, towns and who is killed.
        limit_seconds: Longest the whole may take.
        say: Gets a line of progress.
    """

    url: str
    folder: Path
    messages: int
    kill_every: int
    workers: int = 1
    seed: int = 1
    chats: int = 12
    limit_seconds: float = 900.0
    say: Callable[[str], None] = lambda _: None

    async def run(self) -> Found:
        """Post, kill, wait until nothing is open, and look at what came of it."""
        async with asyncio.timeout(self.limit_seconds):
            async with LinePeer(channel_secret=SECRET, channel_token=TOKEN) as peer:
                return await _Run(self, peer).run()


class _Run:
    def __init__(self, schedule: Schedule, peer: LinePeer) -> None:
        self.schedule, self.peer = schedule, peer
        self.chance = random.Random(schedule.seed)  # noqa: S311 - a schedule, no secret
        env = environment(
            schedule.url,
            peer.url,
            schedule.folder,
            LOCAL_LEASE_SECONDS=str(LEASE_SECONDS),
            LOCAL_LOG_LEVEL="DEBUG",
        )
        self.env = env
        self.gateway = Process("gateway", env, schedule.folder, "gateway")
        self.processes = [
            self.gateway,
            *(
                Process("worker", env, schedule.folder, f"worker{number}")
                for number in range(schedule.workers)
            ),
        ]
        self.names = Names(env["LOCAL_PSEUDONYM_KEY"].encode(), "local")
        self.plan: list[Message] = []
        self.accepted: list[Message] = []
        self.found = Found()
        self.killed_at = 0

    async def run(self) -> Found:
        for process in self.processes:  # one after the other: the first one migrates
            process.start()
            await process.ready()
        try:
            self._make()
            await self._post_all()
            await asyncio.gather(*(process.ready() for process in self.processes))
            async with open_store(
                self.schedule.url, store_keys=[self.env["LOCAL_STORE_KEYS"].encode()]
            ) as store:
                inbox = store.inbox("local")
                await self._settled(inbox)
                await self._judge(inbox)
                await self._judge_journal(store)
        finally:
            for process in self.processes:
                process.stop()
        return self.found

    def _make(self) -> None:
        """Write the messages; a chat's keep their order, and every one says what its answer is."""
        last: dict[str, str] = {}
        for _ in range(self.schedule.messages):
            chat = line_id("user", self.chance.randrange(self.schedule.chats))
            town = last.get(chat)
            text = FOLLOW_UP
            if town is None or self.chance.random() < 0.5:
                town = self.chance.choice(TOWNS)
                text = f"{town}有什麼吃的？"
            last[chat] = town
            self.plan.append(Message(chat, text, town))

    async def _post_all(self) -> None:
        """Post chats side by side, each one's messages in order, as a person writes."""
        queues: dict[str, list[Message]] = {}
        for message in self.plan:
            queues.setdefault(message.chat, []).append(message)
        places = asyncio.Semaphore(IN_FLIGHT)

        async def chat(messages: Sequence[Message]) -> None:
            for message in messages:
                async with places:
                    await self._room()
                    await self._post(message)

        async with asyncio.TaskGroup() as group:
            for messages in queues.values():
                group.create_task(chat(messages))

    async def _room(self) -> None:
        while len(self.accepted) - self._answers() > BACKLOG:
            self._maybe_kill()
            await asyncio.sleep(0.02)

    async def _post(self, message: Message) -> None:
        """Bring a message until it is accepted, and now and then once more."""
        event = message.event = self.peer.events.text(message.text, user=message.chat)
        while not await self._brought(event):
            event = redelivered(message.event)
            await asyncio.sleep(0.05)
        self.accepted.append(message)
        self._maybe_kill()
        if self.chance.random() < 0.15:
            again = self.chance.choice(self.accepted)
            self.found.redeliveries += await self._brought(redelivered(again.event))

    async def _brought(self, event: dict[str, Any]) -> bool:
        try:
            return await self.peer.post(self.gateway.url, event) == 200
        except (aiohttp.ClientError, OSError, TimeoutError):
            return False

    def _answers(self) -> int:
        return sum(len(said) for said in self.peer.chats.values())

    def _maybe_kill(self) -> None:
        """Kill a process where enough has happened since the last kill, and start it again."""
        happened = len(self.accepted) + self._answers()
        if happened - self.killed_at < self.schedule.kill_every:
            return
        self.killed_at = happened
        process = self.chance.choice(self.processes)
        process.kill()
        process.start()
        self.found.kills += 1
        self.schedule.say(f"{happened}: killed {process.kind}")

    async def _settled(self, inbox: Inbox) -> None:
        """Wait until no accepted message waits for anything."""
        while True:
            counts = await inbox.counts()
            if not any(counts.get(State(state)) for state in OPEN):
                return
            await asyncio.sleep(0.1)

    async def _judge(self, inbox: Inbox) -> None:
        """Compare what the inbox says of each message with what LINE delivered."""
        state_of: dict[str, State] = {}
        for known in State:
            for letter in await inbox.letters(known, most=len(self.plan) + 1):
                state_of[letter.event_id] = known
        found, faults = self.found, self.found.faults
        found.messages = len(self.accepted)
        if set(state_of) != {message.event_id for message in self.accepted}:
            faults.append("lost or made up: the inbox holds other events than were accepted")
        for message in self.accepted:
            event_id = message.event_id
            answers = self._answers_to(message)
            state = state_of.get(event_id)
            if len(answers) > 1:
                faults.append(f"answered {len(answers)} times: {event_id}")
            if state is State.UNKNOWN:
                found.unknown += 1
                found.unknown_delivered += len(answers)
            elif state is State.SENT and len(answers) == 1:
                found.answered += 1
            else:
                faults.append(f"{state}, {len(answers)} answers: {event_id}")
            if answers and message.town not in answers[0]:
                faults.append(f"the answer is not about the town of the journal: {event_id}")
        for chat in self.peer.chats:
            self._judge_order(chat)

    def _answers_to(self, message: Message) -> list[str]:
        """Return what was delivered for a message, an answer each: by its token, or its push."""
        answers: dict[int, str] = {}
        key = retry_key_of(message.event_id)
        for one in self.peer.chats.get(message.chat, []):
            if one.reply_token == message.event["replyToken"] or one.retry_key == key:
                answers[one.request] = answers.get(one.request, "") + str(one.message)
        return list(answers.values())

    def _judge_order(self, chat: str) -> None:
        """Answers of a chat come in the order of its messages."""
        place_of: dict[str, int] = {}
        for place, message in enumerate(one for one in self.plan if one.chat == chat):
            place_of[message.event["replyToken"]] = place
            place_of[retry_key_of(message.event_id)] = place
        places = [
            place_of.get(one.reply_token or one.retry_key or "", -1)
            for one in self.peer.chats[chat]
        ]
        if places != sorted(places) or -1 in places:
            self.found.faults.append("answers of a chat are out of order, or nobody's")

    async def _judge_journal(self, store: Any) -> None:
        """One projection a message, and the window ends with the town of the last one."""
        for chat in {message.chat for message in self.plan}:
            mine = [message for message in self.plan if message.chat == chat]
            owner = Owner(tenant="local", person=self.names.person(chat))
            seen = await store.snapshot(owner, now_ms=epoch_ms())
            if seen.generation != len(mine):
                self.found.faults.append(
                    f"{len(mine)} messages of a chat left {seen.generation} projections"
                )
            if seen.last_event != mine[-1].event_id:
                self.found.faults.append("a window was not written by the last message of its chat")
            if mine[-1].town not in (seen.window or ""):
                self.found.faults.append("a window does not end with the town of the last message")
