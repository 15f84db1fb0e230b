"""The command `local-agent`: a demo, a conversation, the service on LINE, the settings.

Only click is imported here. ADK takes seconds to import, so each command imports what it needs
when it runs: `--help` and `--version` answer at once.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NoReturn

import click

from local_agent import evidence_cli, privacy, serving

FAILED, BAD_INPUT, STOPPED = 1, 2, 130
"""Exit statuses: something failed; what was asked cannot be done; Ctrl-C."""

_BAD_INPUT_CODES = frozenset(
    {
        "CATALOG_INVALID",
        "COMMAND_INVALID",
        "EVENT_NOT_DEAD",
        "GENERATION_UNKNOWN",
        "INVALID_STORE_INPUT",
        "NOT_REMEMBERED",
        "OUTPUT_EXISTS",
        "SETTINGS_INVALID",
        "UNSUPPORTED_STORE_URL",
    }
)


def _version() -> str:
    try:
        return version("local-agent")
    except PackageNotFoundError:  # a checkout that was not installed
        return "unknown (not installed)"


def _show_version(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        click.echo(f"local-agent {_version()}")
        context.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_show_version,
    help="Say which version this is.",
)
def command() -> None:
    """LOCAL, a town-life assistant for Changhua, inside a budget that is proven.

    Without GOOGLE_API_KEY fixed offline rules answer, and nothing leaves this machine.

    \b
    Examples:
      local-agent demo --out out/demo     five turns three ways, then two drills;
                                          open out/demo/report.html afterwards
      local-agent console                 LOCAL behind its LINE gateway, in the browser
      local-agent chat                    talk to LOCAL here: 花壇有什麼吃的？
      local-agent serve                   answer on LINE; `local-agent inbox` looks after it
      local-agent settings                what is set, and by which variable
      local-agent doctor                  is everything there, and does it work?
      local-agent privacy --help          what is held of a person: show, export, forget, erase
      local-agent evidence --help         what an answer was made of: show, diff, replay
      local-agent keys rotate             lock remembered values by the newest key

    Errors are one sentence and a code on stderr. Exit status: 0 done, 1 failed,
    2 cannot be done as asked, 130 stopped with Ctrl-C.
    """  # noqa: D301 - click reads this escape


@command.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="A new folder for the report; one that exists is left alone.",
)
def demo(out: Path) -> None:
    """Run five turns three ways, refuse a budget of one byte, remember and forget.

    Needs no network and no key, and looks at no LOCAL_ variable: the offline rules answer, and
    its store lies in DIR/live. Takes a few seconds. The exit status is 0 only if every check held.

    \b
    Example:
      local-agent demo --out out/demo
      python -m json.tool out/demo/report.json
    """  # noqa: D301 - click reads this escape
    from local_agent import logs  # noqa: PLC0415 - see the module's docstring
    from local_agent.demo.run import run_demo  # noqa: PLC0415 - imports ADK

    logs.set_up("ERROR")  # it has turns refused on purpose, and checks them itself
    if not run_demo(out, say=click.echo):
        raise click.exceptions.Exit(FAILED)


@command.command()
@click.option(
    "--person",
    default="console",
    show_default=True,
    metavar="NAME",
    help="Whose conversation and preferences these are; a pseudonym.",
)
def chat(person: str) -> None:
    """Talk to LOCAL in this terminal.

    A consent card asks for y or n; only y makes LOCAL remember or forget. What is kept lies in
    LOCAL_DATABASE_URL (local.db here, if not set). Ctrl-D or 再見 ends the conversation.

    \b
    Examples:
      local-agent chat
      local-agent chat --person grandma
      printf '花壇有什麼吃的？\\n剛才那個鄉鎮有活動嗎？\\n' | local-agent chat

    \b
    Things to say:
      花壇有什麼吃的？  鹿港週末有什麼活動？  記住我吃素  我的偏好  忘記我的飲食偏好
    """  # noqa: D301 - click reads this escape
    from local_agent import logs  # noqa: PLC0415 - see the module's docstring
    from local_agent.settings import load_settings  # noqa: PLC0415 - imports pydantic

    settings = load_settings()
    logs.set_up(settings.log_level)
    from local_agent.chat import converse  # noqa: PLC0415 - imports ADK

    converse(settings, person)


@command.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def settings(*, as_json: bool) -> None:
    """Show every setting: its value, its variable, and where the value came from.

    Secrets that were set are shown as hidden. docs/settings.md says what each one does.

    \b
    Examples:
      local-agent settings
      LOCAL_MAX_TURNS=1 local-agent settings --json
    """  # noqa: D301 - click reads this escape
    from local_agent.table import aligned  # noqa: PLC0415 - see the module's docstring

    rows = _settings_rows()
    if as_json:
        named = [dict(zip(("variable", "value", "from"), row, strict=True)) for row in rows]
        click.echo(json.dumps(named, ensure_ascii=False, indent=2))
        return
    for line in aligned([("VARIABLE", "VALUE", "FROM"), *rows]):
        click.echo(line)


@command.command()
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Where to listen; another address than loopback lets others in.",
)
@click.option(
    "--port",
    default=0,
    show_default=True,
    type=click.IntRange(0, 65_535),
    help="0 takes a free one.",
)
def console(*, host: str, port: int) -> None:
    """Try LOCAL behind its LINE gateway in a browser, and see what the model saw.

    Needs no LINE channel, no network and no key, and looks at no LOCAL_ variable: the offline rules
    answer, and a loopback stand-in plays LINE. What is kept lies in a temporary folder that goes
    when Ctrl-C ends it.

    \b
    Examples:
      local-agent console
      local-agent console --port 8080
    """  # noqa: D301 - click reads this escape
    from local_agent import extras, logs  # noqa: PLC0415 - see the module's docstring

    logs.set_up("ERROR")  # its buttons bring refusals about, and the page shows them
    if extras.missing_line():
        raise click.UsageError(f"The console needs an extra: {extras.install('line')}.")
    try:
        from local_agent.console.run import run_console  # noqa: PLC0415 - imports ADK
    except ModuleNotFoundError as error:
        if error.name == "local_agent.console":  # not among what is deployed
            raise click.UsageError("The console is not part of this installation.") from None
        raise
    run_console(host=host, port=port, say=click.echo)


@command.command()
@click.option("--live", is_flag=True, help="Also ask LINE whose token this is.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of lines.")
def doctor(*, live: bool, as_json: bool) -> None:
    """Check settings, keys, packages, store, clock, catalogue and the LINE channel.

    One line a check: ok, warn or fail, and what to do. It changes nothing: what is written to the
    store to try it is rolled back. The exit status is 0 unless a check failed.

    \b
    Examples:
      local-agent doctor
      local-agent doctor --live --json
    """  # noqa: D301 - click reads this escape
    import asyncio  # noqa: PLC0415 - see the module's docstring
    import time  # noqa: PLC0415 - as above

    from local_agent.doctor import examine  # noqa: PLC0415 - imports SQLAlchemy

    checks = asyncio.run(examine(live=live, clock=lambda: time.time_ns() // 1_000_000))
    healthy = all(check.status != "fail" for check in checks)
    if as_json:
        told = {"ok": healthy, "checks": [check.as_dict() for check in checks]}
        click.echo(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        width = max(len(check.name) for check in checks)
        for check in checks:
            advice = f"  -> {check.advice}" if check.advice else ""
            click.echo(f"{check.status:4}  {check.name:{width}}  {check.found}{advice}")
    if not healthy:
        raise click.exceptions.Exit(FAILED)


command.add_command(privacy.privacy)
command.add_command(privacy.keys)
command.add_command(evidence_cli.evidence)
command.add_command(serving.serve)
command.add_command(serving.work)
command.add_command(serving.inbox)


def _settings_rows() -> list[tuple[str, str, str]]:
    """Return variable, value and origin of every setting, in the order of docs/settings.md."""
    from pydantic import SecretStr  # noqa: PLC0415 - see the module's docstring

    from local_agent.settings import Settings, load_settings, variable_of  # noqa: PLC0415 - as above

    known = load_settings()
    rows = []
    for name in Settings.model_fields:
        given = name in known.model_fields_set
        value = getattr(known, name)
        if isinstance(value, SecretStr):
            # A default is in the documentation and no secret.
            text = "(set, hidden)" if given else value.get_secret_value()
        elif isinstance(value, bool):
            text = "yes" if value else "no"
        else:
            text = "(not set)" if value is None else str(value)
        rows.append((variable_of(name), text, "environment" if given else "default"))
    return rows


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit.

    Args:
        argv: Arguments without the program's name; None takes those of the process.
    """
    speak_utf8()
    sys.exit(_status(argv))


def speak_utf8() -> None:
    """Read and write UTF-8 whatever the locale says: LOCAL speaks Chinese under LANG=C too."""
    for stream, errors in (
        (sys.stdin, "surrogateescape"),  # what is no UTF-8 is refused as a message, by name
        (sys.stdout, "replace"),
        (sys.stderr, "replace"),
    ):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)


def _status(argv: Sequence[str] | None) -> int:
    try:
        status = command.main(
            None if argv is None else list(argv), prog_name="local-agent", standalone_mode=False
        )
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return BAD_INPUT
    except click.UsageError as error:
        hint = f" Try: {error.ctx.command_path} --help" if error.ctx is not None else ""
        return _refused(
            f"{_from_environment(error)}{error.format_message()}{hint}", "COMMAND_INVALID"
        )
    except (click.Abort, KeyboardInterrupt):
        return _refused("Stopped.", "INTERRUPTED", STOPPED)
    except BrokenPipeError:  # the reader, `head` for one, has gone; nothing more can be said
        sys.stdout = None  # or Python would flush it, and fail, at exit
        return FAILED
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        return _refused(
            f"The system refused: {error.strerror or 'unknown'}{where}.", "SYSTEM_REFUSED"
        )
    except Exception as error:  # ours carry a code, whatever room they are from
        code = getattr(error, "error_code", None)
        if not isinstance(code, str):
            raise  # unforeseen: whoever mends it needs the traceback
        return _refused(str(error), code)
    return status if isinstance(status, int) else 0


def _from_environment(error: click.UsageError) -> str:
    """Name the variable that a refused value came from; nobody typed the option then."""
    if not isinstance(error, click.BadParameter) or error.param is None or error.ctx is None:
        return ""
    source = error.ctx.get_parameter_source(error.param.name or "")
    if source is not click.core.ParameterSource.ENVIRONMENT:
        return ""
    return f"${error.param.envvar}: "


def _refused(sentence: str, code: str, status: int | None = None) -> int:
    click.echo(f"{sentence} [{code}]", err=True)
    if status is not None:
        return status
    return BAD_INPUT if code in _BAD_INPUT_CODES else FAILED


if __name__ == "__main__":
    main()
