"""A conversation with LOCAL in a terminal: the same service as on any channel.

Reading a line blocks, so it happens outside the event loop; only then does Ctrl-C reach the
person's own line and end the conversation cleanly.
"""

from __future__ import annotations

import asyncio
import locale
import sys
from contextlib import suppress

import click

from local_agent import chat_words as words
from local_agent.bootstrap import build
from local_agent.service import LocalService, Reply
from local_agent.settings import OFFLINE_MODEL, Settings
from stores.records import Card, Owner


def converse(settings: Settings, person: str) -> None:
    """Talk until the person says goodbye, or input ends.

    Args:
        settings: See docs/settings.md.
        person: Whose preferences and window these are.

    Raises:
        SettingsError: A setting cannot be used.
        StoreError: The store cannot be opened.
    """
    interactive = sys.stdin.isatty()
    wanted = None if settings.model == OFFLINE_MODEL else settings.model
    # Where the locale is not UTF-8, readline takes Chinese for commands: plain lines are better.
    if interactive and locale.getencoding().upper() == "UTF-8":
        with suppress(ImportError):  # not on every platform; without it lines are edited less well
            import readline  # noqa: F401, PLC0415 - importing it is what makes input() edit lines
    with asyncio.Runner() as runner:
        service = LocalService(lambda sink: build(settings, on_report=sink))
        try:
            runner.run(_start(service, person))
            click.echo(words.greeting(wanted, offline=settings.offline))
            _talk(runner, service, person, prompt=words.PROMPT if interactive else "")
        finally:
            runner.run(service.close())
    click.echo(words.GOODBYE)


async def _start(service: LocalService, person: str) -> None:
    """Open the store now, so that a store that cannot be opened is said before a question is."""
    await service.local.store.preferences(
        Owner(tenant=service.local.settings.tenant, person=person), now_ms=service.local.clock()
    )


def _talk(runner: asyncio.Runner, service: LocalService, person: str, *, prompt: str) -> None:
    card: Card | None = None
    while (line := _read(prompt if card is None else words.CARD_PROMPT * bool(prompt))) is not None:
        said = line.strip()
        if said.casefold() in words.FAREWELLS:
            return
        if card is not None and said.casefold() in words.YES | words.NO:
            press = service.approve if said.casefold() in words.YES else service.cancel
            reply = runner.run(press(person, card.token))
        elif said.casefold() in words.YES | words.NO:
            reply = Reply(words.NO_CARD)
        else:
            reply = runner.run(service.answer(person, line))
        card = reply.card
        click.echo(f"{reply.text}\n")


def _read(prompt: str) -> str | None:
    """Return the next line; None where there is none, or the person pressed Ctrl-C or Ctrl-D."""
    try:
        return input(prompt)
    except EOFError:
        return None
    except KeyboardInterrupt:
        click.echo()
        return None
