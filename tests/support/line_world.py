"""What tests of the conversation on LINE share: one over a file, and how its plans are read."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from callbacks.adk.report import TurnReport
from local_agent.bootstrap import Local, build
from local_agent.line.buttons import Act, Press, read
from local_agent.line.conversation import Conversation
from local_agent.line.incoming import Incoming
from local_agent.line.names import Names
from local_agent.line.peer_checks import faults
from local_agent.line.peer_events import EventMaker, line_id
from local_agent.line.plan import Plan
from local_agent.line.reading import read_event
from local_agent.service import LocalService
from local_agent.settings import load_settings
from stores.open import open_store
from stores.records import Owner

ANN, BEN = line_id("user", 1), line_id("user", 2)
GROUP, ROOM = line_id("group", 1), line_id("room", 1)
KEY = "k" * 48
QUESTION = "花壇有什麼吃的？"
MINUTE, DAY = 60_000, 24 * 3_600_000


class World:
    """A conversation over a file, on a clock that stands still."""

    def __init__(self, folder: Path, **overrides: Any) -> None:
        self.now = 1_700_000_000_000
        self.requests = 0
        self.reports: list[TurnReport] = []
        self.settings = load_settings({"consent_keys": KEY, "store_keys": KEY, **overrides})
        self.names = Names(KEY.encode(), self.settings.tenant)
        self.store = open_store(
            f"sqlite+aiosqlite:///{folder}/line.db",
            signing_keys=self.settings.signing_keys,
            store_keys=self.settings.ring_keys,
            synchronous="OFF",
        )
        self.inbox = self.store.inbox(self.settings.tenant)
        self.service = LocalService(self._build)
        self.conversation = Conversation(
            service=self.service,
            inbox=self.inbox,
            names=self.names,
            settings=self.settings,
            clock=lambda: self.now,
        )
        self.make = EventMaker(lambda: self.now)

    def _build(self, sink: Callable[[TurnReport], None]) -> Local:
        def take(report: TurnReport) -> None:
            self.reports.append(report)
            sink(report)

        def count(*_: object) -> None:
            self.requests += 1

        return build(
            self.settings,
            store=self.store,
            clock=lambda: self.now,
            on_report=take,
            on_request=count,
        )

    def read(self, event: dict[str, Any]) -> Incoming:
        incoming = read_event(event, now_ms=self.now)
        assert incoming is not None
        return incoming

    async def respond(self, event: dict[str, Any]) -> Plan | None:
        plan = await self.conversation.respond(self.read(event))
        assert plan is None or faults(list(plan.messages)) == []
        return plan

    async def say(self, text: str, *, user: str | None = ANN, **more: Any) -> Plan:
        plan = await self.respond(self.make.text(text, user=user, **more))
        assert plan is not None
        return plan

    async def press(self, data: str, *, user: str | None = ANN, **more: Any) -> Plan:
        plan = await self.respond(self.make.postback(data, user=user, **more))
        assert plan is not None
        return plan

    async def remembered(self, person: str) -> dict[str, str]:
        owner = Owner(tenant=self.settings.tenant, person=person)
        held = await self.store.preferences(owner, now_ms=self.now)
        return {key: one.value for key, one in held.values.items()}

    async def of(self, user: str) -> dict[str, str]:
        return await self.remembered(self.names.person(user))

    async def remember(self, user: str = ANN) -> str:
        """Let somebody agree to a diet, and return the data of the button they pressed."""
        approve = button(await self.say("記住我吃素", user=user), Act.APPROVE)
        await self.press(approve, user=user)
        assert await self.of(user) == {"dietary_type": "vegetarian"}
        return approve


def text_of(plan: Plan) -> str:
    return "\n".join(str(m.get("text") or m.get("altText")) for m in plan.messages)


def presses(value: Any) -> list[tuple[str, Press]]:
    """Every button of ours in a message: its data, and what it asks for."""
    if isinstance(value, dict):
        data = value.get("data")
        press = read(data) if isinstance(data, str) else None
        own = [(str(data), press)] if press is not None else []
        return own + [one for inner in value.values() for one in presses(inner)]
    if isinstance(value, list | tuple):
        return [one for inner in value for one in presses(inner)]
    return []


def button(plan: Plan, act: Act) -> str:
    return next(data for data, press in presses(plan.messages) if press.act is act)
