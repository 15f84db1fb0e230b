"""Builds LOCAL on LINE from its settings; beside `bootstrap`, which builds LOCAL itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from callbacks.adk.keeper import epoch_ms
from callbacks.adk.report import TurnReport
from local_agent.bootstrap import Local, build
from local_agent.keyfile import pseudonym_key, signing_keys, store_keys
from local_agent.line.client import LineClient
from local_agent.line.conversation import Conversation
from local_agent.line.delivery import Delivery
from local_agent.line.gateway import Gateway
from local_agent.line.inline import Inline
from local_agent.line.journal import DeferredJournal
from local_agent.line.names import Names
from local_agent.line.sweep import sweep
from local_agent.line.turns import Turns
from local_agent.line.worker import Worker
from local_agent.line.writer import Writer
from local_agent.service import LocalService
from local_agent.settings import OFFLINE_MODEL, Settings, check_line
from stores.inbox import Arrival, Inbox, InboxStore
from stores.open import open_store
from stores.ports import ContextStore

TakeReport = Callable[[TurnReport], None]


class BuildLocal(Protocol):
    """Wires LOCAL itself around a store; `bootstrap.build` unless somebody wants to look on."""

    def __call__(self, settings: Settings, *, store: ContextStore, on_report: TakeReport) -> Local:
        """Return it, with its reports going where they are asked to."""


@dataclass(frozen=True)
class Line:
    """LOCAL on LINE, wired; `start` before use.

    Attributes:
        gateway: Takes webhooks in.
        turns: Takes claimed events to their ends.
        worker: Claims them; None where another process does, or the request itself.
    """

    settings: Settings
    store: InboxStore
    inbox: Inbox
    service: LocalService
    client: LineClient
    writer: Writer
    gateway: Gateway
    turns: Turns
    worker: Worker | None

    async def start(self) -> None:
        """Open the store and start the worker.

        Raises:
            StoreError: The store cannot be opened.
        """
        await self.store.start()
        if self.worker is not None:
            await self.worker.start()

    async def stop(self) -> None:
        """Finish or give back what is held, and let go of everything."""
        await self.writer.close()
        if self.worker is not None:
            await self.worker.stop()
        await self.client.close()
        await self.service.close()  # and with it the store

    async def __aenter__(self) -> Self:
        """Start, and return itself."""
        await self.start()
        return self

    async def __aexit__(self, *failure: object) -> None:
        """Stop."""
        await self.stop()


def build_line(
    settings: Settings,
    *,
    worker: bool | None = None,
    local: BuildLocal = build,
    clock: Callable[[], int] = epoch_ms,
) -> Line:
    """Wire LOCAL on LINE.

    Args:
        settings: See docs/settings.md.
        worker: Whether turns are taken in this process, beside the gateway; as LOCAL_PROCESSING
            says if None.
        local: Wires LOCAL itself.
        clock: Milliseconds since the epoch.

    Raises:
        SettingsError: A setting is missing or cannot be used.
        StoreError: The database URL is not one that stores know.
    """
    check_line(settings)
    token = settings.line_channel_token
    assert token is not None  # noqa: S101 - checked above
    names = Names(pseudonym_key(settings), settings.tenant)
    store = open_store(
        settings.database_url.get_secret_value(),
        signing_keys=signing_keys(settings),
        store_keys=store_keys(settings),
    )
    inbox = store.inbox(settings.tenant)
    journal = DeferredJournal(store)
    service = LocalService(
        lambda sink: local(settings, store=journal, on_report=sink),
        checks_revision=False,  # `turns` does, in the transaction after which an answer leaves
    )
    client = LineClient(token, host=settings.line_api_host)
    turns = Turns(
        inbox=inbox,
        store=store,
        journal=journal,
        conversation=Conversation(service, inbox, settings=settings, names=names, clock=clock),
        delivery=Delivery(client, clock=clock),
        names=names,
        clock=clock,
        turn_seconds=settings.turn_seconds,
    )
    working = settings.processing == "worker" if worker is None else worker
    the_worker = (
        Worker(
            inbox,
            turns.run,
            clock=clock,
            at_once=settings.turns_at_once,
            lease_ms=settings.lease_seconds * 1000,
            warm_up=lambda: warm_up(settings, store),
            sweep=lambda: sweep(store, inbox, clock=clock),
        )
        if working
        else None
    )
    inline = None
    if settings.processing == "inline" and not working:
        inline = Inline(inbox, turns.run, clock=clock, seconds=settings.inline_seconds)

    async def stored(arrivals: Sequence[Arrival]) -> bool:
        if inline is not None:
            return await inline(arrivals)
        if the_worker is not None:
            the_worker.wake()
        return True

    writer = Writer(inbox, clock=clock)
    return Line(
        settings=settings,
        store=store,
        inbox=inbox,
        service=service,
        client=client,
        writer=writer,
        gateway=Gateway(
            settings=settings, names=names, inbox=inbox, writer=writer, clock=clock, stored=stored
        ),
        turns=turns,
        worker=the_worker,
    )


async def warm_up(settings: Settings, store: ContextStore) -> None:
    """Take one turn of nobody's by the offline rules: the first one imports and compiles for long.

    No model is called and nothing is written, whatever the settings say.
    """
    offline = {"model": OFFLINE_MODEL, "budget_unit": "utf8_bytes"}
    quiet = settings.model_copy(update=offline)
    service = LocalService(lambda sink: build(quiet, store=store, on_report=sink))
    await service.answer(None, "花壇有什麼吃的？")
