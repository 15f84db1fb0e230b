"""`local-agent privacy` and `local-agent keys`: what is held of a person, and that it is gone.

For whoever runs the service. Only click is imported here, as in `cli`; whom a command is about is
`privacy_people`'s.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from local_agent.privacy_people import checked_id, is_stranger, look, nothing_held

if TYPE_CHECKING:
    from local_agent.settings import Settings
    from stores.ledger import Inspection
    from stores.records import ForgetResult, Owner
    from stores.whole import WholeStore

T = TypeVar("T")
Command = Callable[..., Any]

CHANNEL = "operator"
"""What the ledger says of an act that came through this command."""


class ForgettingIncomplete(Exception):
    """Reading back found something that was to be gone."""

    error_code = "FORGETTING_INCOMPLETE"

    def __init__(self, remaining: int) -> None:
        """Say so; which surfaces it is on was printed."""
        super().__init__("Something is still there; run it again, and see which surface it is.")
        self.numbers: dict[str, int | str] = {"remaining": remaining}


class NeverRemembered(Exception):
    """Something of this name was never remembered of a person, and could not be."""

    error_code = "NOT_REMEMBERED"

    def __init__(self) -> None:
        """Say so; what there is to forget is told by name."""
        super().__init__(
            f"Nothing of this name was ever remembered, so nothing was forgotten; LOCAL remembers "
            f"{_own_key()}, and `local-agent privacy inspect` shows what is held."
        )
        self.numbers: dict[str, int | str] = {}


class OutputExists(Exception):
    """A file of that name is there already; it was left alone."""

    error_code = "OUTPUT_EXISTS"

    def __init__(self) -> None:
        """Say so."""
        super().__init__("A file of that name exists and was left alone.")
        self.numbers: dict[str, int | str] = {}


class KeysLost(Exception):
    """Some data keys are wrapped by a ring key that is not in the ring."""

    error_code = "STORE_KEY_MISSING"

    def __init__(self, lost: int) -> None:
        """Say so."""
        super().__init__(
            "Some data keys stay as they are, for the ring lacks the key that wraps them."
        )
        self.numbers: dict[str, int | str] = {"lost": lost}


@click.group()
def privacy() -> None:
    """Show, export, forget or erase what is held of one person.

    PERSON is the pseudonym under which the store knows them. Or give the channel's own id of the
    user with --user; LOCAL_PSEUDONYM_KEY then says who that is. The store is LOCAL_DATABASE_URL.
    Of whom nothing is held, it says so, changes nothing and ends with 0.

    \b
    Examples:
      local-agent privacy inspect console
      local-agent privacy export console --out person.json
      local-agent privacy forget console --key dietary_type
      local-agent privacy erase --user U0123456789abcdef0123456789abcdef --yes
      local-agent privacy inspect --channel line.group --user C.../U...

    \b
    What forgetting reaches and what not: docs/privacy.md.
    """  # noqa: D301 - click reads this escape


@click.group()
def keys() -> None:
    """Look after the keys that lock remembered values.

    \b
    Example:
      LOCAL_STORE_KEYS=new,old local-agent keys rotate
    """  # noqa: D301 - click reads this escape


def _of_a_person(function: Command) -> Command:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option("--tenant", metavar="NAME", help="Whose people; LOCAL_TENANT by default."),
        click.option(
            "--channel",
            default="line",
            show_default=True,
            metavar="NAME",
            help="Of --user; line, or line.group for GROUP/USER.",
        ),
        click.option("--user", metavar="ID", help="The channel's id, in place of a pseudonym."),
        click.argument("person", required=False),
    ):
        function = option(function)
    return function


@privacy.command()
@_of_a_person
def inspect(*, as_json: bool, **who: str | None) -> None:
    """Show everything that is held of a person, the consent ledger included.

    \b
    Example:
      local-agent privacy inspect console
    """  # noqa: D301 - click reads this escape
    settings = _settings()
    owner = _owner(settings, **who)
    held = _ask(settings, lambda store: store.inspect(owner, now_ms=_now()))
    if as_json:
        click.echo(held.model_dump_json(indent=2))
        return
    if is_stranger(held):
        click.echo(nothing_held(owner, was=False, named=who["user"] is None))
        return
    click.echo(f"person        {held.owner.person} of {held.owner.tenant}")
    click.echo(f"revision      {held.revision}")
    click.echo(f"generation    {held.generation}")
    click.echo(f"open cards    {held.open_cards}")
    click.echo(f"inbox         {held.in_inbox} rows, {held.open_events} events not done")
    click.echo(f"records       {len(held.generations)} of generations")
    click.echo(f"window        {'none' if held.window is None else held.window}")
    for key, one in sorted(held.values.items()):
        click.echo(f"remembered    {key} = {one.value} ({one.scope}), for: {one.purpose}")
    for event in held.events:
        what = "everything" if event.key is None else event.key
        click.echo(f"ledger {event.number:>6} {event.kind.value} {what} through {event.channel}")
    if held.is_empty:
        click.echo("nothing is held of this person but the tombstone")


@privacy.command()
@_of_a_person
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="A new file.")
@click.option("--controller", metavar="NAME", help="Who answers for the data; the tenant if unset.")
@click.option("--contact", default="", metavar="TEXT", help="Where to write to.")
@click.option("--policy-url", default="", metavar="URL", help="Where the privacy policy stands.")
def export(
    *,
    as_json: bool,
    out: Path | None,
    controller: str | None,
    contact: str,
    policy_url: str,
    **who: str | None,
) -> None:
    """Give out everything that is held of a person as JSON, with a consent receipt.

    \b
    Example:
      local-agent privacy export console --out person.json
    """  # noqa: D301 - click reads this escape
    from stores.export import Controller, export_person  # noqa: PLC0415 - see the module's docstring

    settings, now = _settings(), _now()
    owner = _owner(settings, **who)
    held = _ask(settings, lambda store: store.inspect(owner, now_ms=now))
    if is_stranger(held):
        click.echo(nothing_held(owner, was=False, named=who["user"] is None), err=True)
    answers = Controller(name=controller or owner.tenant, contact=contact, policy_url=policy_url)
    told = export_person(held, at_ms=now, controller=answers)
    text = json.dumps(told, ensure_ascii=False, indent=2)
    if out is None:
        click.echo(text)
        return
    try:
        file = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise OutputExists from None
    with os.fdopen(file, "w", encoding="utf-8") as opened:
        opened.write(text + "\n")
    click.echo(json.dumps({"written": str(out)}) if as_json else f"written       {out}")


@privacy.command()
@_of_a_person
@click.option("--key", metavar="NAME", help="What to forget.")
@click.option("--all", "everything", is_flag=True, help="Forget everything that is remembered.")
def forget(*, as_json: bool, key: str | None, everything: bool, **who: str | None) -> None:
    """Forget one thing, or all that is remembered, and read back what is left where.

    The exit status is 0 only if nothing is left. A name under which nothing can have been
    remembered, such as a misspelt one, is refused, where anything is held of the person.

    \b
    Examples:
      local-agent privacy forget console --key dietary_type
      local-agent privacy forget console --all
    """  # noqa: D301 - click reads this escape
    if everything is (key is not None):
        raise click.UsageError("Say what to forget: --key NAME, or --all.")
    settings = _settings()
    owner = _owner(settings, **who)

    async def work(store: WholeStore) -> tuple[Inspection | None, ForgetResult | None]:
        before = await look(store, owner, now_ms=_now())
        if is_stranger(before):
            return before, None
        if key is not None:
            held = await store.inspect(owner, now_ms=_now())
            named = {*held.values, *(event.key for event in held.events)}
            if key not in named and key != _own_key():
                raise NeverRemembered
        return before, await store.forget(owner, key, now_ms=_now(), channel=CHANNEL)

    before, result = _ask(settings, work)
    if result is None:
        _tell_stranger(owner, as_json=as_json, named=who["user"] is None)
    else:
        _tell(result, before, as_json=as_json)


@privacy.command()
@_of_a_person
@click.option("--keep-ledger", is_flag=True, help="Where consent has to be accounted for.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def erase(*, as_json: bool, keep_ledger: bool, yes: bool, **who: str | None) -> None:
    """Take a person out: values, cards, conversation and ledger; read back what is left where.

    What stays is a tombstone without content. The exit status is 0 only if nothing else is left.

    \b
    Example:
      local-agent privacy erase console --yes
    """  # noqa: D301 - click reads this escape
    settings = _settings()
    owner = _owner(settings, **who)
    before = _ask(settings, lambda store: look(store, owner, now_ms=_now()))
    if is_stranger(before):
        _tell_stranger(owner, as_json=as_json, named=who["user"] is None)
        return
    if not yes:
        click.confirm("Take this person out, for good?", abort=True, err=True)
    _tell(
        _ask(
            settings,
            lambda store: store.erase(
                owner, now_ms=_now(), keep_ledger=keep_ledger, channel=CHANNEL
            ),
        ),
        before,
        as_json=as_json,
    )


@keys.command()
@click.option("--tenant", metavar="NAME", help="Whose people; LOCAL_TENANT by default.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def rotate(*, tenant: str | None, as_json: bool) -> None:
    """Wrap every data key of a tenant by the newest key of LOCAL_STORE_KEYS.

    Put the new key first, keep the old ones, and restart every process with both before this: one
    that has the old key alone can read nothing afterwards. After this has said that none is lost,
    the old ones can be destroyed, and with them what backups still hold.

    \b
    Example:
      LOCAL_STORE_KEYS=new,old local-agent keys rotate
    """  # noqa: D301 - click reads this escape
    settings = _settings()
    done = _ask(settings, lambda store: store.rotate_keys(tenant or settings.tenant))
    if as_json:
        click.echo(done.model_dump_json())
    else:
        click.echo(f"wrapped anew  {done.rewrapped}")
        click.echo(f"current       {done.current}")
        click.echo(f"lost          {done.lost}")
    if done.lost:
        raise KeysLost(done.lost)


def _tell_stranger(owner: Owner, *, as_json: bool, named: bool) -> None:
    """Print that nothing was held, so that nothing is said to be gone; a list of people goes on."""
    if as_json:
        told = {"outcome": "nothing_held", "revision": 0, "verified": [], "attempts": 0}
        click.echo(json.dumps({**told, "held": False, "complete": True}))
    else:
        click.echo(nothing_held(owner, was=True, named=named))


def _tell(result: ForgetResult, before: Inspection | None, *, as_json: bool) -> None:
    """Print what reading back found, surface by surface.

    Raises:
        ForgettingIncomplete: If something is left on any of them.
    """
    held = before is None or not before.is_empty
    if as_json:
        told = {**result.model_dump(mode="json"), "held": held, "complete": result.complete}
        click.echo(json.dumps(told))
    else:
        if not held:
            click.echo("nothing was held of this person but the tombstone")
        click.echo(f"revision      {result.revision}")
        for check in result.verified:
            found = "gone" if check.gone else f"{check.remaining} STILL THERE"
            click.echo(f"{check.surface:<13} {found}")
        click.echo(f"read back     {result.attempts} time{'s' * (result.attempts > 1)}")
    if not result.complete:
        raise ForgettingIncomplete(sum(check.remaining for check in result.verified))


def _own_key() -> str:
    """Return under which name LOCAL remembers its one preference."""
    from local_agent.context import DIETARY_KEY  # noqa: PLC0415 - imports ADK

    return DIETARY_KEY


def _settings() -> Settings:
    from local_agent import logs  # noqa: PLC0415 - see the module's docstring
    from local_agent.settings import load_settings  # noqa: PLC0415 - imports pydantic

    settings = load_settings()
    logs.set_up(settings.log_level)
    return settings


def _owner(
    settings: Settings,
    *,
    person: str | None,
    user: str | None,
    channel: str | None,
    tenant: str | None,
) -> Owner:
    """Return whose rows these are.

    Raises:
        click.UsageError: If it is said twice, or not at all, or cannot be an id of the channel.
        SettingsError: If the key that makes pseudonyms is needed and not set.
        InvalidInput: If a name is blank or too long.
    """
    from local_agent.keyfile import pseudonym_key  # noqa: PLC0415 - see the module's docstring
    from local_agent.settings import SettingsError  # noqa: PLC0415 - imports pydantic
    from stores.pseudonym import pseudonym  # noqa: PLC0415 - see the module's docstring
    from stores.records import Owner  # noqa: PLC0415 - imports pydantic

    if (person is None) is (user is None):
        raise click.UsageError("Say who it is: PERSON, or --user ID.")
    checked_id(channel or "", user)
    tenant = tenant or settings.tenant
    if user is not None:
        if settings.pseudonym_key is None and not settings.pseudonym_dev_file.exists():
            raise SettingsError("LOCAL_PSEUDONYM_KEY", "must be set to know who a user is")
        person = pseudonym(pseudonym_key(settings), tenant, channel or "", user)
    return Owner(tenant=tenant, person=person or "")


def _ask(settings: Settings, work: Callable[[WholeStore], Awaitable[T]]) -> T:
    """Open the store of the settings, do it, and close it."""
    from local_agent.keyfile import store_keys  # noqa: PLC0415 - see the module's docstring
    from stores.open import must_exist, open_store  # noqa: PLC0415 - imports SQLAlchemy

    url = settings.database_url.get_secret_value()
    # In the wrong folder an empty store would be made, and say that everything is gone.
    must_exist(url)

    async def ask() -> T:
        async with open_store(url, store_keys=store_keys(settings)) as store:
            return await work(store)

    return asyncio.run(ask())


def _now() -> int:
    return time.time_ns() // 1_000_000
