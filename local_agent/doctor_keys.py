"""Keys and secrets as `local-agent doctor` sees them: lengths, files, and what the keys open."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from local_agent.check import Check, Status
from local_agent.keyfile import store_keys
from local_agent.secret_files import SUFFIX
from local_agent.settings import MIN_KEY_BYTES, Settings, SettingsError, variable_of
from stores.errors import StoreError, StoreKeyMissing
from stores.probe_keys import probe_keys

_FEW_CHARACTERS: Final = 8
"""A key of fewer different bytes than this was typed, not drawn."""

_DRAW: Final = "Draw one: python -c 'import secrets; print(secrets.token_urlsafe(48))'"


def key_checks(settings: Settings) -> Iterator[Check]:
    """Judge the three kinds of keys, from wherever they come; make none."""
    shared = not settings.database_url.get_secret_value().startswith("sqlite")
    given = (
        ("consent key", settings.consent_keys, settings.signing_keys, "consent_key_file"),
        ("store key", settings.store_keys, settings.ring_keys, "store_key_file"),
        (
            "pseudonym key",
            settings.pseudonym_key,
            _one(settings.pseudonym_key),
            "pseudonym_dev_file",
        ),
    )
    variables = ("consent_keys", "store_keys", "pseudonym_key")
    known: list[bytes] = []
    for (name, secret, set_keys, file), variable in zip(given, variables, strict=True):
        if secret is not None:
            keys = set_keys
            check = _judged(name, keys, f"{len(keys)} from {variable_of(variable)}")
        else:
            keys, check = _in_file(name, getattr(settings, file), variable_of(variable), shared)
        if check.status != "fail" and any(key in known for key in keys):
            check = Check(
                name,
                "fail",
                "It is the same as another of the keys.",
                f"Every kind needs its own. {_DRAW}",
            )
        known.extend(keys)
        yield check


def _in_file(name: str, path: Path, variable: str, shared: bool) -> tuple[tuple[bytes, ...], Check]:
    """Return the key of a development file and what is to be said of it; make none."""
    if not path.exists():
        status: Status = "warn" if shared or not os.access(path.parent, os.W_OK) else "ok"
        advice = f"Set {variable}, the same on every machine." if status == "warn" else ""
        return (), Check(name, status, f"none yet; one is made in {path} at first use", advice)
    mode = stat.S_IMODE(path.stat().st_mode)
    if _others_may_read(path):
        return (), Check(name, "fail", f"{path} has mode {mode:04o}", f"chmod 600 {path}")
    try:
        key = path.read_bytes().strip()
    except OSError:
        return (), Check(name, "fail", f"{path} cannot be read", "Let its owner run this.")
    if shared:
        return (key,), Check(
            name,
            "warn",
            f"{path}, which other machines do not have",
            f"Set {variable}, the same on every machine.",
        )
    return (key,), _judged(name, (key,), f"{path}, mode {mode:04o}")


def _judged(name: str, keys: tuple[bytes, ...], found: str) -> Check:
    """Judge keys by what can be told of them without showing any."""
    shortest = min(len(key) for key in keys)
    if shortest < MIN_KEY_BYTES:
        return Check(
            name,
            "fail",
            f"{found}; the shortest has {shortest} bytes",
            f"Draw one of at least {MIN_KEY_BYTES} bytes.",
        )
    if any(len(set(key)) < _FEW_CHARACTERS for key in keys):
        return Check(
            name,
            "warn",
            f"{found}; it has hardly any different characters",
            _DRAW,
        )
    if len(set(keys)) < len(keys):
        return Check(name, "warn", f"{found}; one stands there twice", "Take it out once.")
    return Check(name, "ok", f"{found}; the shortest has {shortest} bytes")


def _one(secret: SecretStr | None) -> tuple[bytes, ...]:
    return () if secret is None else (secret.get_secret_value().encode(),)


async def ring_check(settings: Settings) -> Check:
    """Try the store keys on data keys that lie in the store, of which each ring key wrapped one."""
    name = "data keys"
    try:
        found = await probe_keys(
            settings.database_url.get_secret_value(),
            tenant=settings.tenant,
            store_keys=_ring_there(settings),
        )
    except SettingsError as error:
        return Check(name, "fail", str(error), "See what is said of the store key.")
    except StoreError as error:
        told = f"{error} ({error.error_code}, {error.numbers.get('reason', 'failed')})"
        return Check(name, "fail", told, "Ask again; restore what is damaged from a backup.")
    if not found.in_use:
        return Check(name, "ok", "none yet; nobody has anything remembered")
    if not found.missing:
        return Check(name, "ok", f"unwrapped one of each of {found.in_use} store key(s) in use")
    status: Status = "fail" if found.missing == found.in_use else "warn"
    told = f"{found.missing} of {found.in_use} store key(s) in use are not there"
    return Check(
        name,
        status,
        f"{told}: {StoreKeyMissing.sentence} ({StoreKeyMissing.error_code})",
        "Put what is missing behind the others in LOCAL_STORE_KEYS (docs/deploy.md).",
    )


def _ring_there(settings: Settings) -> tuple[bytes, ...]:
    """Return the store keys that there are; make none.

    Raises:
        SettingsError: The file cannot be read, others may read it, or it holds no key.
    """
    there = settings.store_keys is not None or settings.store_key_file.exists()
    return store_keys(settings) if there else ()


def file_check(settings: Settings) -> Check | None:
    """Judge who may read the files that secrets come from; None where there are none."""
    open_to_others = []
    used = 0
    for name in settings.model_fields_set:
        variable = f"{variable_of(name)}{SUFFIX}"
        path = Path(os.environ.get(variable, ""))
        if variable not in os.environ or variable_of(name) in os.environ or not path.is_file():
            continue
        used += 1
        if _others_may_read(path):
            open_to_others.append(f"{variable} ({stat.S_IMODE(path.stat().st_mode):04o})")
    if open_to_others:
        return Check(
            "secret files",
            "warn",
            f"others on this machine may read: {', '.join(sorted(open_to_others))}",
            "chmod 600, or let the platform mount them for the service's user alone.",
        )
    return Check("secret files", "ok", f"{used}, for their owner alone") if used else None


def _others_may_read(path: Path) -> bool:
    return os.name == "posix" and bool(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))
