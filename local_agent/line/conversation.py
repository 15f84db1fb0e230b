"""What LOCAL answers to one event on LINE: by a command, a press, a kind of message, or a turn.

It knows nothing of tokens, leases and delivery. What it returns is a plan; None is silence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from local_agent import templates
from local_agent.line import words
from local_agent.line.answer import plan_of, said, towns
from local_agent.line.buttons import Act, Press, read
from local_agent.line.commands import Command, find
from local_agent.line.incoming import Incoming
from local_agent.line.names import Names
from local_agent.line.plan import Plan
from local_agent.messages import BadMessage, read_message
from local_agent.service import LocalService
from local_agent.settings import Settings
from stores.inbox import Inbox

CHANNEL: Final = "line"
"""What the consent ledger says of a press that came from here."""

_DAY_MS: Final = 24 * 3_600_000

_DEEDS: Final = {Act.INSPECT: Command.INSPECT, Act.FORGET: Command.FORGET_DIET}


@dataclass(frozen=True)
class Conversation:
    """Answers events, one at a time each.

    Attributes:
        service: LOCAL.
        inbox: Where turns of a day are counted, and who left or took a message back is noted.
        names: Makes pseudonyms.
        settings: See docs/settings.md.
        clock: Milliseconds since the epoch.
    """

    service: LocalService
    inbox: Inbox
    names: Names
    settings: Settings
    clock: Callable[[], int]

    async def respond(self, incoming: Incoming) -> Plan | None:
        """Return what to say to an event; None for nothing.

        Raises:
            StoreError: The inbox or the store cannot be used; the event may be tried again.
        """
        if incoming.kind in {"follow", "unfollow", "unsend", "join"}:
            return await self._noted(incoming)
        if incoming.kind == "postback":
            return await self._pressed(incoming)
        if incoming.source != "user" and not await self._called(incoming):
            return None
        if await self._was_unsent(incoming):
            return None
        if incoming.kind == "location":
            return towns(words.NOT_TEXT[incoming.kind])
        if incoming.kind != "text":
            return said(words.NOT_TEXT[incoming.kind], help_below=True)
        command = find(incoming.text)
        if command is None and incoming.addressed and not incoming.text.strip():
            command = Command.HELP  # called by name and nothing else
        if command is not None:
            return await self._do(command, incoming)
        return await self._turn(incoming, incoming.text)

    async def _noted(self, incoming: Incoming) -> Plan | None:
        """Note what is no message: who came, who left, what was taken back."""
        if incoming.kind == "join":
            return said(words.JOINED)
        if incoming.kind == "unsend":
            if incoming.message_id:
                name = self.names.message(incoming.message_id)
                await self.inbox.unsend(name, now_ms=self.clock())
            return None
        person = self.names.owner_of(incoming)
        if person is None or incoming.source != "user":
            return None
        if incoming.kind == "follow":
            await self.inbox.stay(person, said_at_ms=incoming.said_at_ms)
            return said(words.WELCOME, help_below=True)
        days = self.settings.unfollow_days
        due_at_ms = self.clock() + days * _DAY_MS
        await self.inbox.leave(person, said_at_ms=incoming.said_at_ms, due_at_ms=due_at_ms)
        return None

    async def _was_unsent(self, incoming: Incoming) -> bool:
        """Tell whether a message was taken back before it came: LINE redelivers in any order."""
        if incoming.message_id is None:
            return False
        return await self.inbox.has_message(self.names.unsent(incoming.message_id))

    async def _called(self, incoming: Incoming) -> bool:
        """Tell whether a message in a group is meant for us: a mention, or our words quoted."""
        if incoming.kind != "text":
            return False
        if incoming.addressed:
            return True
        if incoming.quoted is None:
            return False
        chat = self.names.chat(incoming.chat_id)
        return await self.inbox.is_ours(chat, self.names.message(incoming.quoted))

    async def _pressed(self, incoming: Incoming) -> Plan:
        """Do what a button says, if it is one of ours; its data may be anybody's."""
        press = read(incoming.data)
        if press is None:
            return said(words.BAD_BUTTON)
        if press.act in _DEEDS:
            return await self._do(_DEEDS[press.act], incoming)
        if press.act in {Act.PLACES, Act.EVENTS}:
            asked = words.ask_about(press.town, events=press.act is Act.EVENTS)
            return await self._turn(incoming, asked)
        return await self._decided(press, incoming)

    async def _decided(self, press: Press, incoming: Incoming) -> Plan:
        """Approve or cancel a card. Whether it is good, and for whom, the store knows."""
        person = self.names.owner_of(incoming)
        if incoming.source != "user":
            return said(words.PRIVATE_ONLY)
        if person is None:
            return said(words.NOBODY)
        decide = self.service.approve if press.act is Act.APPROVE else self.service.cancel
        return plan_of(await decide(person, press.token, channel=CHANNEL))

    async def _do(self, command: Command, incoming: Incoming) -> Plan:
        """Do what needs no model."""
        if command is Command.HELP:
            return said(templates.show_help("features"), help_below=True)
        person = self.names.owner_of(incoming)
        if incoming.source != "user":
            return said(words.PRIVATE_ONLY)
        if person is None:
            return said(words.NOBODY)
        if command is Command.INSPECT:
            return plan_of(await self.service.inspect(person))
        everything = command is Command.FORGET_ALL
        return plan_of(await self.service.forget(person, everything=everything, channel=CHANNEL))

    async def _turn(self, incoming: Incoming, text: str) -> Plan:
        """Ask the model, as often as a person may in a day."""
        limit = self.settings.max_message_chars
        try:
            read_message(text, limit)
        except BadMessage as error:
            return said(templates.input_error(error.error_code, limit=limit))
        if not await self._may_ask(incoming):
            return said(words.DAILY_LIMIT)
        reply = await self.service.answer(
            self.names.owner_of(incoming),
            text,
            event_id=incoming.event_id,
            said_at_ms=incoming.said_at_ms,
            channel=CHANNEL,
        )
        if incoming.source != "user" and (
            reply.card is not None or any(part.about_memory for part in reply.shown)
        ):
            # Others read along: nothing of what is remembered, and no card for them to press.
            return said(words.PRIVATE_ONLY).model_copy(update={"refused": True})
        return plan_of(reply, asked=text)

    async def _may_ask(self, incoming: Incoming) -> bool:
        """Take one of the day's turns: of the person in all chats, or of a chat of strangers."""
        who = (
            self.names.person(incoming.user_id)
            if incoming.user_id
            else self.names.chat(incoming.chat_id)
        )
        now = datetime.fromtimestamp(self.clock() / 1000, tz=UTC)
        day = now.astimezone(self.settings.zone).date().isoformat()
        return await self.inbox.spend(
            who, event_id=incoming.event_id, day=day, most=self.settings.daily_turns
        )
