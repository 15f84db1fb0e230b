"""Keys for a machine where nobody has set any: made once, readable by their owner alone.

For development. Several machines behind one service need the same keys and get them from
LOCAL_CONSENT_KEYS, LOCAL_STORE_KEYS and LOCAL_PSEUDONYM_KEY.
"""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from pathlib import Path

from local_agent.settings import MIN_KEY_BYTES, Settings, SettingsError, variable_of


def signing_keys(settings: Settings) -> tuple[bytes, ...]:
    """Return the keys that sign consent cards, newest first.

    Args:
        settings: LOCAL_CONSENT_KEYS wins; without it the key file is read, and made first if it
            does not exist.

    Raises:
        SettingsError: The file cannot be made or read, others may read it, or it holds no key.
    """
    return settings.signing_keys or (
        _key_in(settings.consent_key_file, variable_of("consent_key_file")),
    )


def store_keys(settings: Settings) -> tuple[bytes, ...]:
    """Return the keys that lock remembered values, newest first.

    Args:
        settings: LOCAL_STORE_KEYS wins; without it the key file is read, and made first if it does
            not exist.

    Raises:
        SettingsError: The file cannot be made or read, others may read it, or it holds no key.
    """
    return settings.ring_keys or (_key_in(settings.store_key_file, variable_of("store_key_file")),)


def pseudonym_key(settings: Settings) -> bytes:
    """Return the key that makes pseudonyms.

    Args:
        settings: LOCAL_PSEUDONYM_KEY wins; without it the key file is read, and made first if it
            does not exist.

    Raises:
        SettingsError: The file cannot be made or read, others may read it, or it holds no key.
    """
    if settings.pseudonym_key is not None:
        return settings.pseudonym_key.get_secret_value().encode()
    return _key_in(settings.pseudonym_dev_file, variable_of("pseudonym_dev_file"))


def _key_in(path: Path, variable: str) -> bytes:
    try:
        if not path.exists():
            _create(path)
        mode = path.stat().st_mode
        key = path.read_bytes().strip()
    except OSError:
        raise SettingsError(variable, "must be a path that can be written and read") from None
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise SettingsError(variable, "must name a file only its owner can read (mode 0600)")
    if len(key) < MIN_KEY_BYTES:
        raise SettingsError(
            variable, f"must name a file with a key of at least {MIN_KEY_BYTES} bytes"
        )
    return key


def _create(path: Path) -> None:
    """Write a new key; of two processes that start at once, both end up with the same one."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)  # mode 0600
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(48))
        Path(path).hardlink_to(temporary)  # appears whole or not at all, and never replaces a key
    except FileExistsError:
        pass  # the other process was first; its key is read next
    finally:
        Path(temporary).unlink()
