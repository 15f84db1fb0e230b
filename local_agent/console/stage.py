"""What the console moves: the gateway, a worker beside it, and a loopback LINE before them.

All three are the real ones: events are signed and posted over HTTP, kept in the inbox of a store
in a file, taken by a worker with a store of its own, and answered through LINE's SDK. The worker
can be stopped, and comes back with other settings; the gateway stays.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final, Self

from callbacks.adk.keeper import epoch_ms
from callbacks.adk.report import TurnReport
from local_agent.bootstrap import Local, build
from local_agent.console import words
from local_agent.console.counter import BreakableCounter
from local_agent.console.news import News
from local_agent.console.recorder import Recorder, Turn
from local_agent.console.serving import serving
from local_agent.console.shadow import Shadow
from local_agent.console.view import number, summary
from local_agent.context import DIETARY_KEY
from local_agent.demo.setting import demo_settings
from local_agent.diets import LABELS
from local_agent.line.app import WEBHOOK_PATH, application
from local_agent.line.building import Line, build_line
from local_agent.line.names import Names
from local_agent.line.peer import LinePeer
from local_agent.line.peer_events import Event, line_id, redelivered
from local_agent.settings import Settings
from stores.ports import ContextStore
from stores.records import Owner

Json = dict[str, Any]

TINY_BUDGET: Final = 1
"""In bytes: less than any request."""

_LOOKS: Final = 100
_LOOK_SECONDS: Final = 0.05
"""How often, and how far apart, to ask whether an answered event is done with."""

USER: Final = line_id("user", 0xC0)
"""The one person of the console; an id of LINE's form that is nobody's."""


class Stage:
    """`async with Stage(folder) as stage`: everything runs until the end of it.

    Attributes:
        recorder: What happened to each event.
        news: Wakes who waits for a change.
        drills: What the buttons do; each returns what to tell the person.
    """

    def __init__(self, folder: Path) -> None:
        """Make the settings; nothing runs yet.

        Args:
            folder: For the store's file. Nothing else is kept.
        """
        self.news = News()
        self.recorder = Recorder(self.news.tell)
        self.drills: Mapping[str, Callable[[int | None], Awaitable[str]]] = {
            "card": lambda _: self.say(words.CARD_MESSAGE),
            "forget": lambda _: self.say(words.FORGET_MESSAGE),
            "tight": lambda _: self._switch_budget(self._one_less()),
            "tiny": lambda _: self._switch_budget(TINY_BUDGET),
            "counter": self._switch_counter,
            "redeliver": self._redeliver,
            "restart": self._restart,
            "pause": self._pause,
        }
        self._secret, token = secrets.token_hex(16), secrets.token_urlsafe(32)
        self._peer = LinePeer(
            channel_secret=self._secret, channel_token=token, on_delivered=self._delivered
        )
        self._folder, self._token = folder, token
        self._counter = BreakableCounter()
        self._chat: list[Json] = []
        self._seen = 0
        self._events: dict[str, Event] = {}
        self._reply_tokens: dict[str, str] = {}
        self._looking: set[asyncio.Task[None]] = set()
        self._moving = asyncio.Lock()
        self._worker: Line | None = None
        self._shadow = Shadow(self.news.tell)
        self._stack = AsyncExitStack()
        self._remembers = False

    async def __aenter__(self) -> Self:
        """Start LINE, the gateway and the worker, and follow the bot."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._peer)
            self._settings = self._made_settings()
            self._limit = self._usual = self._settings.budget_limit
            self._owner = Owner(tenant=self._settings.tenant, person=self._names().person(USER))
            self._gateway = build_line(self._settings, worker=False, local=self._build)
            bound = socket.create_server(("127.0.0.1", 0))
            await stack.enter_async_context(serving(application(self._gateway), bound))
            self._webhook = f"http://127.0.0.1:{bound.getsockname()[1]}{WEBHOOK_PATH}"
            await stack.enter_async_context(self._shadow.over(self._settings))
            stack.push_async_callback(self._stop_worker)
            await self._start_worker()
            follow = self._peer.events.follow(user=USER)
            self._reply_tokens[follow["replyToken"]] = follow["webhookEventId"]
            await self._peer.post(self._webhook, follow)
            self._wake()
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *failure: object) -> None:
        """Stop the worker first, then what it talks to."""
        self.news.close()
        await self._stop_worker()
        await asyncio.gather(*self._looking, return_exceptions=True)  # nothing is shown any more
        await self._stack.aclose()

    async def say(self, text: str) -> str:
        """Send a text message, as the person would from their telephone."""
        event = self._peer.events.text(text, user=USER)
        return await self._post(event, kind="message", said=text)

    async def press(self, data: str, shown: str) -> str:
        """Press a button: LINE shows its `displayText` in the chat and posts its data."""
        event = self._peer.events.postback(data, user=USER)
        return await self._post(event, kind="postback", said=shown or words.PRESSED)

    async def state(self) -> Json:
        """Return what the page shows besides the chosen turn."""
        version = self.news.version  # first: what changes meanwhile is new to whoever asks again
        snapshot = await self._gateway.store.snapshot(self._owner, now_ms=epoch_ms())
        known = await self._gateway.store.preferences(self._owner, now_ms=epoch_ms())
        counts = await self._gateway.inbox.counts()
        diet = known.values.get(DIETARY_KEY)
        if self._remembers and diet is None:
            self.recorder.forget()
        self._remembers = diet is not None
        status = {
            "budget": f"{number(self._limit)} {words.UNIT['utf8_bytes']}",
            "counter": words.COUNTER_DOWN if self._counter.down else words.COUNTER_UP,
            "worker": words.WORKER_OFF if self._worker is None else words.WORKER_ON,
            "revision": str(snapshot.revision),
            "remembered": words.NOTHING_REMEMBERED if diet is None else LABELS[diet.value],
            "inbox": "、".join(
                f"{words.INBOX_STATES[state.value]} {count}"
                for state, count in counts.items()
                if count
            )
            or words.NOTHING_WAITING,
        }
        turns = self.recorder.turns
        return {
            "version": version,
            "chat": self._chat,
            "turns": [summary(turn) for turn in turns],
            "status": [
                {"name": name, "label": words.SWITCHES[name], "value": value}
                for name, value in status.items()
            ],
            "pressed": {
                "tight": self._limit not in {self._usual, TINY_BUDGET},
                "tiny": self._limit == TINY_BUDGET,
                "counter": self._counter.down,
                "pause": self._worker is None,
            },
            "possible": {"redeliver": bool(turns), "tight": self._one_less() is not None},
            "measured": {
                "heads": [words.TURN_HEAD, *words.SERIES.values()],
                "rows": [
                    [str(turn.number), _raw(turn), _units(turn)]
                    for turn in turns
                    if turn.report is not None
                ],
            },
        }

    def _made_settings(self) -> Settings:
        return demo_settings(
            self._folder / "console.db",
            tenant="console",
            pseudonym_key=secrets.token_urlsafe(48),
            line_channel_secret=self._secret,
            line_channel_token=self._token,
            line_destination=self._peer.bot,
            line_api_host=self._peer.url,
        )

    def _names(self) -> Names:
        key = self._settings.pseudonym_key
        assert key is not None  # noqa: S101 - made above
        return Names(key.get_secret_value().encode(), self._settings.tenant)

    def _build(
        self, settings: Settings, *, store: ContextStore, on_report: Callable[[TurnReport], None]
    ) -> Local:
        """Wire LOCAL as the gateway does, and look on."""

        def report(made: TurnReport) -> None:
            self.recorder.on_report(made)
            turn = self.recorder.of_event(made.event_id)
            if turn is not None and made.refusal is None:
                self._shadow.take(turn)
            on_report(made)

        return build(
            settings,
            store=store,
            counter=self._counter,
            on_report=report,
            on_request=self.recorder.on_request,
        )

    async def _post(self, event: Event, *, kind: str, said: str) -> str:
        name = event["webhookEventId"]
        self._events[name] = event
        self._reply_tokens[event["replyToken"]] = name
        self._chat.append({"mine": True, "text": said})
        turn = self.recorder.posted(name, kind=kind, said=said)
        turn.revisions = (await self._revision(), None)
        status = await self._peer.post(self._webhook, event)
        self._wake()
        self.news.tell()  # it is in the inbox now
        return "" if status == 200 else words.REFUSED_BY_GATEWAY.format(status=status)

    async def _redeliver(self, chosen: int | None) -> str:
        """Post an event again, marked as LINE marks it."""
        turn = self.recorder.turn(chosen) if chosen is not None else None
        if turn is None:
            return words.NO_TURN
        self.recorder.posted(turn.event_id, kind=turn.kind, said=turn.said)
        await self._peer.post(self._webhook, redelivered(self._events[turn.event_id]))
        self._wake()
        self.news.tell()
        return words.REDELIVERED.format(deliveries=turn.deliveries, answers=turn.answers)

    def _delivered(self, chat: str) -> None:
        """Take what LINE was given into the chat, and tie it to the event that it answers."""
        new = self._peer.chats[chat][self._seen :]
        self._seen += len(new)
        self._chat.extend({"mine": False, "message": one.message} for one in new)
        tokens = dict.fromkeys(one.reply_token for one in new)
        for token in tokens:
            if token is not None:
                answered = self._reply_tokens.get(token)
            else:  # a push names no event: it is the oldest that waits
                waiting = (turn for turn in self.recorder.turns if not turn.answers)
                answered = next((turn.event_id for turn in waiting), None)
            if answered is not None:
                self.recorder.answered(answered)
                looking = asyncio.create_task(self._look_after(answered), name="look-after")
                self._looking.add(looking)
                looking.add_done_callback(self._looking.discard)
        self.news.tell()

    async def _look_after(self, event_id: str) -> None:
        """Note what an answered event did to the revision, and when it is done with."""
        turn = self.recorder.of_event(event_id)
        if turn is not None:
            turn.revisions = (turn.revisions[0], await self._revision())
            self.news.tell()
        for _ in range(_LOOKS):  # LINE has the answer before the inbox knows that it has
            if not await self._gateway.inbox.is_open(event_id):
                break
            await asyncio.sleep(_LOOK_SECONDS)
        self.news.tell()

    async def _revision(self) -> int:
        return (await self._gateway.store.snapshot(self._owner, now_ms=epoch_ms())).revision

    def _one_less(self) -> int | None:
        """Return a budget one byte below the last request that was sent; None before the first."""
        sent = (one.record.units for turn in reversed(self.recorder.turns) for one in turn.sent)
        last = next((units for units in sent if units is not None), None)
        return None if last is None else max(TINY_BUDGET, last - 1)

    async def _switch_budget(self, limit: int | None) -> str:
        """Start the worker anew with this budget; with the usual one where it has it already."""
        if limit is None:
            return words.NO_TURN
        async with self._moving:
            pressed = (self._limit == TINY_BUDGET) == (limit == TINY_BUDGET)
            self._limit = self._usual if self._limit != self._usual and pressed else limit
            if self._worker is not None:
                await self._stop_worker()
                await self._start_worker()
        self.news.tell()
        return words.BUDGET_NOW.format(limit=number(self._limit))

    async def _switch_counter(self, _: int | None) -> str:
        self._counter.down = not self._counter.down
        self.news.tell()
        return words.COUNTER_BROKEN if self._counter.down else words.COUNTER_MENDED

    async def _restart(self, _: int | None) -> str:
        async with self._moving:
            await self._stop_worker()
            await self._start_worker()
        self.news.tell()
        return words.RESTARTED

    async def _pause(self, _: int | None) -> str:
        async with self._moving:
            paused = self._worker is None
            await (self._start_worker() if paused else self._stop_worker())
        self.news.tell()
        return words.RESUMED if paused else words.PAUSED

    async def _start_worker(self) -> None:
        settings = self._settings.model_copy(update={"budget_limit": self._limit})
        line = build_line(settings, worker=True, local=self._build)
        await line.start()
        self._worker = line

    async def _stop_worker(self) -> None:
        line, self._worker = self._worker, None
        if line is not None:
            await line.stop()

    def _wake(self) -> None:
        if self._worker is not None and self._worker.worker is not None:
            self._worker.worker.wake()


def _raw(turn: Turn) -> str:
    return words.NOTHING if turn.raw_bytes is None else number(turn.raw_bytes)


def _units(turn: Turn) -> str:
    if turn.units is not None:
        return number(turn.units)
    refused = turn.report is not None and turn.report.refusal is not None
    return words.NOT_SENT if refused else words.UNKNOWN
