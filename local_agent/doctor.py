"""`local-agent doctor`: is everything there that this configuration needs, and does it work?

One line a check. It changes nothing: keys that are not there yet are not made, no schema is
migrated, and what is written to the store to try it is rolled back. LINE is asked with `--live`
alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from local_agent.catalog import CatalogError, load_catalog
from local_agent.check import Check, Status
from local_agent.doctor_keys import file_check, key_checks, ring_check
from local_agent.extras import install
from local_agent.secret_files import SUFFIX
from local_agent.settings import PREFIX, Settings, SettingsError, load_settings, variable_of
from stores.errors import SchemaTooNew, StoreError
from stores.probe import Probe, probe

SKEW_WARN_MS: Final = 2_000
"""Above it, times in logs and the age of a reply token (a minute) can no longer be trusted."""

SKEW_FAIL_MS: Final = 60_000
"""Above it, consent cards (five minutes) and windows run out at the wrong time."""

LINE_WAITS_SECONDS: Final = 2
"""A webhook not answered by then counts as `request_timeout` (LINE, "Check webhook error causes and
statistics")."""

NEARLY: Final = 0.9
"""How alike (difflib's ratio) a variable that nobody reads must be to a setting to be taken for a
slip of the pen: one letter of twelve, or a missing plural."""

_CHANNEL_SECRET_LENGTH: Final = 32
"""Of the channel secrets that LINE issues: 32 hexadecimal digits."""

_ALWAYS: Final = ("google-adk", "google-genai", "sqlalchemy", "aiosqlite", "cryptography")


async def examine(*, live: bool, clock: Callable[[], int]) -> list[Check]:
    """Look at everything.

    Args:
        live: Whether LINE is asked whose token this is.
        clock: Milliseconds since the epoch.
    """
    try:
        settings = load_settings()
    except SettingsError as error:
        return [Check("settings", "fail", str(error), "See docs/settings.md.")]
    checks = [_settings(settings), *_extras(settings), _model(settings), *key_checks(settings)]
    files = file_check(settings)
    if files is not None:
        checks.append(files)
    checks.append(_catalogue(settings))
    checks.extend(await _store(settings, clock))
    checks += [_processing(settings), _line(settings)]
    if live:
        checks.append(await _bot(settings))
    return checks


def _settings(settings: Settings) -> Check:
    given = sorted(variable_of(name) for name in settings.model_fields_set)
    known = {variable_of(name) for name in type(settings).model_fields}
    known |= {f"{name}{SUFFIX}" for name in known}
    for name in sorted(os.environ):
        # Others may have variables of their own that begin so; only what is nearly ours is told.
        meant = get_close_matches(name, known, n=1, cutoff=NEARLY)
        if name.startswith(PREFIX) and name not in known and meant:
            advice = f"Did you mean {meant[0]}?"
            return Check("settings", "warn", f"{name} is set and is no setting", advice)
    return Check("settings", "ok", f"{len(given)} set: {', '.join(given) or 'defaults alone'}")


def _extras(settings: Settings) -> Iterator[Check]:
    url = settings.database_url.get_secret_value()
    needed = {
        "line-bot-sdk": settings.line_channel_secret is not None,
        "asyncpg": url.startswith("postgresql"),
        "google-cloud-firestore": url.startswith("firestore"),
    }
    extra_of = {
        "line-bot-sdk": "line",
        "asyncpg": "postgres",
        "google-cloud-firestore": "firestore",
    }
    there = {name: _version_of(name) for name in (*_ALWAYS, *needed)}
    missing = [name for name in needed if needed[name] and there[name] is None]
    missing += [name for name in _ALWAYS if there[name] is None]
    found = ", ".join(f"{name} {number}" for name, number in there.items() if number)
    if missing:
        extras = sorted({extra_of[name] for name in missing if name in extra_of})
        advice = install(*extras)
        yield Check("packages", "fail", f"missing: {', '.join(missing)}", advice)
    else:
        yield Check("packages", "ok", found)


def _model(settings: Settings) -> Check:
    chosen = "model" in settings.model_fields_set
    if chosen and settings.offline and settings.model != Settings.model_fields["model"].default:
        return Check(
            "model",
            "warn",
            "LOCAL_MODEL names a model and there is no GOOGLE_API_KEY: the offline rules answer.",
            "Set GOOGLE_API_KEY, or leave LOCAL_MODEL out.",
        )
    if settings.budget_unit == "tokens" and settings.offline:
        return Check(
            "model",
            "fail",
            "LOCAL_BUDGET_UNIT=tokens, and the offline rules have no tokens to count.",
            "Set LOCAL_BUDGET_UNIT=utf8_bytes, or a model and its key.",
        )
    if settings.budget_unit == "tokens" and not settings.approve_count_tokens:
        return Check(
            "model",
            "fail",
            "LOCAL_BUDGET_UNIT=tokens, and nobody approved that contents are sent to be counted.",
            "Set LOCAL_APPROVE_COUNT_TOKENS=yes, or LOCAL_BUDGET_UNIT=utf8_bytes.",
        )
    who = "the offline rules" if settings.offline else settings.model
    limit = f"{settings.budget_limit} {settings.budget_unit}"
    return Check("model", "ok", f"{who} within {limit}")


def _catalogue(settings: Settings) -> Check:
    where = "the one in the package" if settings.catalog is None else str(settings.catalog)
    try:
        catalogue = load_catalog(settings.catalog)
    except CatalogError as error:
        return Check(
            "catalogue", "fail", str(error), "Correct the JSON file, or unset the variable."
        )
    counted = f"{len(catalogue.places)} places, {len(catalogue.events)} events"
    return Check("catalogue", "ok", f"{where}: {counted}, of {catalogue.updated}")


async def _store(settings: Settings, clock: Callable[[], int]) -> list[Check]:
    before = clock()
    try:
        found = await probe(settings.database_url.get_secret_value(), now_ms=before)
    except SchemaTooNew as error:
        return [Check("store", "fail", str(error), "Update this program."), _clock(settings, clock)]
    except StoreError as error:
        reason = error.numbers.get("reason", error.error_code)
        advice = "See LOCAL_DATABASE_URL, its server or file, and who may use it."
        return [Check("store", "fail", f"{error} ({reason})", advice), _clock(settings, clock)]
    after = clock()
    checks = [_reached(found), _schema(found)]
    if found.current:
        checks.append(await ring_check(settings))
    return [*checks, _clock(settings, clock, found, (before + after) // 2)]


def _reached(found: Probe) -> Check:
    if found.wrote:
        return Check("store", "ok", f"{found.backend}: written, read back and taken away again")
    return Check("store", "ok", f"{found.backend}: reached; not written to before it has tables")


def _schema(found: Probe) -> Check:
    if found.current:
        return Check("schema", "ok", f"version {found.version}")
    if found.version is None:
        return Check("schema", "ok", f"none yet; version {found.known} is made at the first start")
    return Check(
        "schema",
        "warn",
        f"version {found.version}; the next start brings it to {found.known}",
        "Make a backup first.",
    )


def _clock(
    settings: Settings,
    clock: Callable[[], int],
    found: Probe | None = None,
    asked_ms: int = 0,
) -> Check:
    now = datetime.fromtimestamp(clock() / 1000, tz=UTC).astimezone(settings.zone)
    here = f"{now:%Y-%m-%d %H:%M} in {settings.timezone}"
    if found is None or found.clock_ms is None:
        return Check("clock", "ok", f"{here}; no other clock to compare with")
    skew = asked_ms - found.clock_ms
    told = f"{here}; {skew:+d} ms against the store's"
    if abs(skew) <= SKEW_WARN_MS:
        return Check("clock", "ok", told)
    status: Status = "fail" if abs(skew) > SKEW_FAIL_MS else "warn"
    return Check("clock", status, told, "Let both machines follow NTP.")


def _line(settings: Settings) -> Check:
    secret, token = settings.line_channel_secret, settings.line_channel_token
    missing = [
        variable_of(name)
        for name, value in (("line_channel_secret", secret), ("line_channel_token", token))
        if value is None
    ]
    if len(missing) == 2:
        return Check(
            "line",
            "ok",
            "no channel; the demo, the chat and the console need none, "
            f"`serve` and `work` need {' and '.join(missing)}",
        )
    if secret is None or token is None:
        return Check("line", "fail", f"missing: {', '.join(missing)}", "Set both, or neither.")
    if len(secret.get_secret_value()) != _CHANNEL_SECRET_LENGTH:
        return Check(
            "line",
            "warn",
            "the channel secret has not the 32 characters of one",
            "Copy it from Basic settings in the LINE Developers console.",
        )
    if settings.line_destination is None:
        return Check(
            "line",
            "warn",
            "secret and token are set; events for any bot are taken",
            "Set LOCAL_LINE_DESTINATION to the bot's user id (doctor --live shows it).",
        )
    return Check("line", "ok", "secret, token and destination are set")


def _processing(settings: Settings) -> Check:
    """Judge who takes turns, for the store and the platform that there are."""
    if settings.workers > 1 and settings.database_url.get_secret_value().startswith("sqlite"):
        return Check(
            "processing",
            "warn",
            f"{settings.workers} processes share one SQLite file, and wait for each other",
            "Set LOCAL_WORKERS=1, or a database on a server.",
        )
    if settings.processing == "inline" and settings.inline_seconds > LINE_WAITS_SECONDS:
        return Check(
            "processing",
            "warn",
            f"inside the request; LINE counts those over {LINE_WAITS_SECONDS} s as failed",
            "Take a worker where the CPU runs between requests (docs/deploy.md).",
        )
    who = {
        "worker": "by a worker in each gateway's process",
        "inline": "inside the request",
        "elsewhere": "by `local-agent work` elsewhere",
    }[settings.processing]
    return Check("processing", "ok", f"turns are taken {who}")


async def _bot(settings: Settings) -> Check:
    """Ask LINE whose token this is."""
    if settings.line_channel_token is None:
        return Check("bot", "fail", "no token to ask with", "Set LOCAL_LINE_CHANNEL_TOKEN.")
    if _version_of("line-bot-sdk") is None:
        return Check("bot", "fail", "line-bot-sdk is missing", install("line"))
    from local_agent.line.client import LineClient  # noqa: PLC0415 - an extra, and slow to import
    from local_agent.line.outcome import BotInfo  # noqa: PLC0415 - as above

    async with LineClient(settings.line_channel_token, host=settings.line_api_host) as client:
        answer = await client.bot_info()
    if not isinstance(answer, BotInfo):
        code = answer.verdict.error_code or "LINE_FAILED"
        status = f", status {answer.status}" if answer.status else ""
        told = f"LINE did not tell whose token this is ({code}{status})"
        if code == "LINE_UNAUTHORIZED":
            advice = "Issue a new channel access token in the LINE Developers console."
        elif answer.status:
            advice = "See whether LOCAL_LINE_API_HOST is LINE's; it was reached."
        else:
            advice = "See whether this machine reaches LOCAL_LINE_API_HOST."
        return Check("bot", "fail", told, advice)
    who = f"{answer.display_name} ({answer.basic_id}), {answer.user_id}"
    if settings.line_destination not in {None, answer.user_id}:
        return Check(
            "bot",
            "fail",
            f"{who}, which is not LOCAL_LINE_DESTINATION",
            f"Set LOCAL_LINE_DESTINATION={answer.user_id}, or take the other bot's token.",
        )
    if answer.chat_mode != "bot":
        return Check(
            "bot",
            "warn",
            f"{who}, in chat mode: people are answered by hand",
            "Switch the response mode to Bot in the LINE Official Account Manager.",
        )
    return Check("bot", "ok", who)


def _version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
