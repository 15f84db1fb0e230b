"""The commands that run LOCAL on LINE: `serve`, `work`, and `inbox` to look after it."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeVar

import click

if TYPE_CHECKING:
    from local_agent.settings import Settings
    from stores.inbox import Inbox

T = TypeVar("T")


@click.command()
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Where to listen; this machine alone unless told.",
)
@click.option(
    "--port",
    default=8000,
    show_default=True,
    envvar="PORT",
    type=click.IntRange(0, 65_535),
    help="On which port; $PORT where it is set, 0 for a free one.",
)
@click.option(
    "--workers", type=click.IntRange(1, 64), help="Processes; LOCAL_WORKERS if not given."
)
@click.option(
    "--processing",
    type=click.Choice(["worker", "inline", "elsewhere"]),
    help="Who takes turns; LOCAL_PROCESSING if not given.",
)
def serve(host: str, port: int, workers: int | None, processing: str | None) -> None:
    """Serve the LINE webhook at /callback, and answer what comes in.

    Needs LOCAL_LINE_CHANNEL_SECRET and LOCAL_LINE_CHANNEL_TOKEN; see docs/settings.md. LINE talks
    to https addresses alone, so something in front of this ends TLS. /healthz says that the process
    runs, /readyz that it can work. Stops at SIGTERM or Ctrl-C, after what it is at.

    \b
    Examples:
      local-agent serve
      local-agent serve --host 0.0.0.0 --port 8080
      local-agent serve --workers 2             on PostgreSQL
      local-agent serve --processing elsewhere  and `local-agent work` beside it
    """  # noqa: D301 - click reads this escape
    import os  # noqa: PLC0415 - see the module of the command

    from local_agent.settings import load_settings  # noqa: PLC0415 - imports pydantic

    given = {"workers": workers, "processing": processing}
    settings = load_settings({name: value for name, value in given.items() if value is not None})
    _ready_to_serve(settings)
    port = _free(host, port)
    # uvicorn says what stopped an application in words that the log has no place for, and its
    # processes say nothing at all: so the store is opened once before, and migrated.
    asyncio.run(_opened(settings))
    shown = f"[{host}]" if ":" in host else host
    click.echo(f"Serving http://{shown}:{port}/callback; /readyz says when it can work.")
    # Each process reads the settings anew, from its environment.
    os.environ["LOCAL_PROCESSING"] = settings.processing
    import uvicorn  # noqa: PLC0415 - an extra, and slow to import

    uvicorn.run(
        "local_agent.line.app:app",
        host=host,
        port=port,
        workers=settings.workers if settings.workers > 1 else None,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_keep_alive=75,
        timeout_graceful_shutdown=30,
    )


@click.command()
def work() -> None:
    """Take turns, without a webhook: for `serve --processing elsewhere` in another process.

    Stops at SIGTERM or Ctrl-C, after the turns that it is at.

    \b
    Example:
      local-agent work
    """  # noqa: D301 - click reads this escape
    from local_agent.settings import load_settings  # noqa: PLC0415 - imports pydantic

    settings = load_settings()
    _ready_to_serve(settings)
    asyncio.run(_work(settings))


@click.group()
def inbox() -> None:
    """Look after events: what waits, what is dead, and let it be tried again.

    No text of a message and no id of a person is shown.

    \b
    Examples:
      local-agent inbox counts
      local-agent inbox list --state dead
      local-agent inbox retry 01HXYZ
    """  # noqa: D301 - click reads this escape


@inbox.command("counts")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def counts(*, as_json: bool) -> None:
    """Count events by state.

    \b
    Example:
      local-agent inbox counts --json
    """  # noqa: D301 - click reads this escape
    found = _ask(lambda inbox: inbox.counts())
    from local_agent.table import aligned  # noqa: PLC0415 - see the module of the command
    from stores.inbox import State  # noqa: PLC0415 - imports pydantic

    rows = [(state.value, str(found.get(state, 0))) for state in State]
    if as_json:
        click.echo(json.dumps({state: int(count) for state, count in rows}, indent=2))
        return
    for line in aligned(rows, numbers=[1]):
        click.echo(line)


@inbox.command("list")
@click.option(
    "--state",
    type=click.Choice(
        ["waiting", "ready", "sending", "held", "dead", "sent", "silent", "unknown", "refused"]
    ),
    default="dead",
    show_default=True,
    help="Of which events.",
)
@click.option("--most", default=100, show_default=True, type=click.IntRange(1), help="How many.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def listing(*, state: str, most: int, as_json: bool) -> None:
    """List events in a state, the oldest first.

    \b
    Example:
      local-agent inbox list --state unknown
    """  # noqa: D301 - click reads this escape
    from local_agent.logs import reference  # noqa: PLC0415 - see the module of the command
    from local_agent.table import aligned  # noqa: PLC0415 - as above
    from stores.inbox import State  # noqa: PLC0415 - imports pydantic

    letters = _ask(lambda inbox: inbox.letters(State(state), most=most))
    if as_json:
        rows = [
            {"ref": reference(letter.event_id), **letter.model_dump(mode="json", exclude={"chat"})}
            for letter in letters
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    if not letters:
        click.echo(f"No event is {state}.")
        return
    table = [("REF", "EVENT", "ATTEMPTS", "CODE", "ARRIVED", "CHANGED")]
    table += [
        (
            reference(letter.event_id),
            letter.event_id,
            str(letter.attempts),
            letter.error_code or "-",
            _time(letter.arrived_at_ms),
            _time(letter.changed_at_ms),
        )
        for letter in letters
    ]
    for line in aligned(table, numbers=[2]):
        click.echo(line)


@inbox.command("retry")
@click.argument("event_id", metavar="ID")
def retry(event_id: str) -> None:
    """Let a dead event wait again, as if it had never failed; ID is its own or its ref in the log.

    \b
    Example:
      local-agent inbox retry 01HXYZ
    """  # noqa: D301 - click reads this escape
    from local_agent.logs import reference  # noqa: PLC0415 - see the module of the command
    from stores.inbox import State  # noqa: PLC0415 - imports pydantic

    async def again(inbox: Inbox) -> bool:
        if await inbox.requeue(event_id, now_ms=_now()):
            return True
        dead = await inbox.letters(State.DEAD, most=RETRIED_FROM)
        meant = [one.event_id for one in dead if reference(one.event_id) == event_id]
        return len(meant) == 1 and await inbox.requeue(meant[0], now_ms=_now())

    if not _ask(again):
        raise NotDead
    click.echo("It waits for a worker.")


RETRIED_FROM: Final = 10_000
"""Among how many dead events a ref is looked for."""


class NotDead(Exception):
    """An event that cannot be retried."""

    error_code = "EVENT_NOT_DEAD"

    def __init__(self) -> None:
        super().__init__("No dead event has this id or ref.")


def _ready_to_serve(settings: Settings) -> None:
    """Say what is missing before anything is started: one sentence, and no traceback.

    Raises:
        click.UsageError: What the extra brings is not installed.
        SettingsError: A setting that LINE needs is not set.
    """
    from local_agent import extras, logs  # noqa: PLC0415 - see the module of the command

    if extras.missing_line():
        raise click.UsageError(f"This needs an extra: {extras.install('line')}.")
    from local_agent.settings import check_line  # noqa: PLC0415 - imports pydantic

    check_line(settings)
    logs.set_up(settings.log_level)


def _free(host: str, port: int) -> int:
    """Return the port, or a free one for 0, once it is known that it can be listened on.

    uvicorn tells it in a message of its own, of which the log holds no text.

    Raises:
        OSError: The address cannot be bound.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as tried:
        return int(tried.getsockname()[1])


async def _opened(settings: Settings) -> None:
    """Open the store and close it.

    Raises:
        StoreError: It cannot be opened.
    """
    from local_agent.keyfile import store_keys  # noqa: PLC0415 - see the module of the command
    from stores.open import open_store  # noqa: PLC0415 - imports SQLAlchemy

    url = settings.database_url.get_secret_value()
    async with open_store(url, store_keys=store_keys(settings)):
        pass


async def _work(settings: Settings) -> None:
    from local_agent.line import memory  # noqa: PLC0415 - as below
    from local_agent.line.building import build_line  # noqa: PLC0415 - imports ADK

    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    async with build_line(settings, worker=True):
        memory.settle()
        await stopped.wait()


def _ask(work: Callable[[Inbox], Awaitable[T]]) -> T:
    """Open the inbox of the settings, ask it, and close it."""
    from local_agent import logs  # noqa: PLC0415 - see the module of the command
    from local_agent.keyfile import store_keys  # noqa: PLC0415 - as above
    from local_agent.settings import load_settings  # noqa: PLC0415 - imports pydantic
    from stores.open import must_exist, open_store  # noqa: PLC0415 - imports SQLAlchemy

    settings = load_settings()
    logs.set_up("WARNING")

    url = settings.database_url.get_secret_value()
    # In the wrong folder an empty store would be made, and say that everything is gone.
    must_exist(url)

    async def ask() -> T:
        async with open_store(url, store_keys=store_keys(settings)) as store:
            return await work(store.inbox(settings.tenant))

    return asyncio.run(ask())


def _now() -> int:
    return time.time_ns() // 1_000_000


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
