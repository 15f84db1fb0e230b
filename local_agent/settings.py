"""LOCAL's settings, read from environment variables; docs/settings.md has them in one table.

Nothing is read at import; what a platform mounts as a file is read by `secret_files`. A secret is a
`SecretStr`, and a refused value is named by its variable only, never quoted.
"""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Mapping
from datetime import tzinfo
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    Field,
    SecretStr,
    StringConstraints,
    ValidationError,
    field_validator,
)
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from local_agent.secret_files import SecretFiles, UnreadableSecret

PREFIX = "LOCAL_"
OFFLINE_MODEL = "local-offline-rules"
MIN_KEY_BYTES = 32


class SettingsError(Exception):
    """A setting has a value LOCAL cannot use.

    Attributes:
        error_code: `SETTINGS_INVALID`.
        numbers: How many settings are wrong.
        variable: The environment variable named in the message; several joined by "and".
    """

    error_code = "SETTINGS_INVALID"

    def __init__(self, variable: str, reason: str, faults: int = 1) -> None:
        """Build the sentence from the variable's name and what it must be."""
        super().__init__(f"{variable} {reason}.")
        self.variable = variable
        self.numbers: dict[str, int | str] = {"faults": faults}


def _known_timezone(name: str) -> str:
    try:
        zoneinfo.ZoneInfo(name)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        raise ValueError("unknown time zone") from None
    return name


_SAFE_HOST = re.compile(r"https://[^\s/?#@]+|http://(127\.0\.0\.1|localhost|\[::1\])(:\d+)?")


def _safe_host(url: str) -> str:
    if _SAFE_HOST.fullmatch(url) is None:
        raise ValueError("the token would travel in the open")
    return url


Identifier = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=128)]


class Settings(BaseSettings):
    """Everything a deployment can change; a variable is LOCAL_ and the field in upper case."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,
        populate_by_name=True,
    )

    model: Identifier = Field(
        default=OFFLINE_MODEL,
        description="a model's name",
    )
    google_api_key: SecretStr | None = Field(
        default=None,
        validation_alias="GOOGLE_API_KEY",
        description="a key of the Gemini API",
    )
    database_url: SecretStr = Field(
        default=SecretStr("sqlite+aiosqlite:///local.db"),
        description="a database URL such as sqlite+aiosqlite:///local.db",
    )
    budget_limit: int = Field(
        default=16_384,
        ge=1,
        description="a whole number of at least 1",
    )
    budget_unit: Literal["tokens", "utf8_bytes"] = Field(
        default="utf8_bytes",
        description="tokens or utf8_bytes",
    )
    approve_count_tokens: bool = Field(
        default=False,
        description="yes or no",
    )
    count_cache: Path = Field(
        default=Path("local_counts.db"),
        description="a path for what was counted",
    )
    max_turns: int = Field(
        default=2,
        ge=0,
        le=20,
        description="a whole number from 0 to 20",
    )
    context_ttl_seconds: int = Field(
        default=900,
        ge=1,
        le=86_400,
        description="a whole number of seconds from 1 to 86400",
    )
    max_message_chars: int = Field(
        default=1_200,
        ge=1,
        le=5_000,
        description="a whole number of characters from 1 to 5000",
    )
    tenant: Identifier = Field(
        default="local",
        description="a name of 1 to 128 characters",
    )
    consent_keys: SecretStr | None = Field(
        default=None,
        description="signing keys separated by commas, each of at least 32 bytes, the newest first",
    )
    consent_key_file: Path = Field(
        default=Path("local_consent.key"),
        description="a path for the development key",
    )
    store_keys: SecretStr | None = Field(
        default=None,
        description="store keys separated by commas, each of at least 32 bytes, the newest first",
    )
    store_key_file: Path = Field(
        default=Path("local_store.key"),
        description="a path for the development store key",
    )
    pseudonym_key: SecretStr | None = Field(
        default=None,
        description="a key of at least 32 bytes",
    )
    pseudonym_dev_file: Path = Field(
        default=Path("local_pseudonym.key"),
        description="a path for the development pseudonym key",
    )
    line_channel_secret: SecretStr | None = Field(
        default=None,
        description="a channel secret of LINE",
    )
    line_channel_token: SecretStr | None = Field(
        default=None,
        description="a channel access token of LINE",
    )
    line_destination: Annotated[str, StringConstraints(pattern=r"^U[0-9a-f]{32}$")] | None = Field(
        default=None,
        description="a user id of the bot, U and 32 hexadecimal digits",
    )
    line_allowlist: SecretStr | None = Field(
        default=None,
        description="ids of users, groups or rooms of LINE separated by commas",
    )
    line_api_host: Annotated[str, AfterValidator(_safe_host)] = Field(
        default="https://api.line.me",
        description="an https address without a path, or an http one of this machine",
    )
    processing: Literal["worker", "inline", "elsewhere"] = Field(
        default="worker",
        description="worker, inline or elsewhere",
    )
    workers: int = Field(
        default=1,
        ge=1,
        le=64,
        description="a whole number of processes from 1 to 64",
    )
    turns_at_once: int = Field(
        default=8,
        ge=1,
        le=256,
        description="a whole number from 1 to 256",
    )
    turn_seconds: int = Field(
        default=18,
        ge=1,
        le=300,
        description="a whole number of seconds from 1 to 300",
    )
    lease_seconds: int = Field(
        default=30,
        ge=1,
        le=600,
        description="a whole number of seconds from 1 to 600",
    )
    inline_seconds: int = Field(
        default=18,
        ge=1,
        le=300,
        description="a whole number of seconds from 1 to 300",
    )
    daily_turns: int = Field(
        default=200,
        ge=0,
        le=1_000_000,
        description="a whole number from 0 to 1000000",
    )
    unfollow_days: int = Field(
        default=30,
        ge=0,
        le=3_650,
        description="a whole number of days from 0 to 3650",
    )
    max_body_bytes: int = Field(
        default=1_048_576,
        ge=1_024,
        le=16_777_216,
        description="a whole number of bytes from 1024 to 16777216",
    )
    body_seconds: int = Field(
        default=10,
        ge=1,
        le=300,
        description="a whole number of seconds from 1 to 300",
    )
    catalog: Path | None = Field(
        default=None,
        description="a path of a catalogue file",
    )
    timezone: Annotated[str, AfterValidator(_known_timezone)] = Field(
        default="Asia/Taipei",
        description="a time zone such as Asia/Taipei",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO",
        description="DEBUG, INFO, WARNING or ERROR",
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Overrides win over variables, and these over files."""
        return init_settings, env_settings, SecretFiles(settings_cls, PREFIX)

    @field_validator("log_level", mode="before")
    @classmethod
    def _upper(cls, value: object) -> object:
        return value.upper() if isinstance(value, str) else value

    @field_validator("consent_keys", "store_keys")
    @classmethod
    def _long_enough(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and any(len(key) < MIN_KEY_BYTES for key in _split_keys(value)):
            raise ValueError("a key is too short")
        return value

    @field_validator("line_channel_secret", "line_channel_token")
    @classmethod
    def _not_blank(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not re.fullmatch(r"[!-~]+", value.get_secret_value()):
            raise ValueError("not printable ASCII without spaces")
        return value

    @field_validator("line_allowlist")
    @classmethod
    def _ids(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not re.fullmatch(
            r"\s*[UCR][0-9a-f]{32}\s*(,\s*[UCR][0-9a-f]{32}\s*)*", value.get_secret_value()
        ):
            raise ValueError("not ids of LINE")
        return value

    @field_validator("pseudonym_key")
    @classmethod
    def _long(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and len(value.get_secret_value().encode()) < MIN_KEY_BYTES:
            raise ValueError("the key is too short")
        return value

    @property
    def offline(self) -> bool:
        """Whether the offline rules answer: they were chosen, or there is no key for a model."""
        return self.model == OFFLINE_MODEL or self.google_api_key is None

    @property
    def signing_keys(self) -> tuple[bytes, ...]:
        """The keys of LOCAL_CONSENT_KEYS, newest first; without it none (see `keyfile`)."""
        return () if self.consent_keys is None else _split_keys(self.consent_keys)

    @property
    def ring_keys(self) -> tuple[bytes, ...]:
        """The keys of LOCAL_STORE_KEYS, newest first; without it none (see `keyfile`)."""
        return () if self.store_keys is None else _split_keys(self.store_keys)

    @property
    def allowed_ids(self) -> frozenset[str] | None:
        """The ids of LOCAL_LINE_ALLOWLIST; None lets everybody in."""
        if self.line_allowlist is None:
            return None
        return frozenset(part.strip() for part in self.line_allowlist.get_secret_value().split(","))

    @property
    def zone(self) -> tzinfo:
        """The time zone in which LOCAL says "today"."""
        return zoneinfo.ZoneInfo(self.timezone)


def variable_of(field: str) -> str:
    """Return the environment variable that sets a field.

    Raises:
        KeyError: There is no such field.
    """
    alias = Settings.model_fields[field].validation_alias
    return alias if isinstance(alias, str) else PREFIX + field.upper()


def load_settings(overrides: Mapping[str, object] | None = None) -> Settings:
    """Read the settings from the environment.

    Args:
        overrides: Field values that win over the environment, for commands and tests.

    Raises:
        SettingsError: A value cannot be used; the first one is named.
    """
    given = dict(overrides or {})
    if not given.keys() <= Settings.model_fields.keys():
        raise SettingsError("An override", "names no setting")
    try:
        return Settings(**given)  # type: ignore[arg-type]  # checked by pydantic
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        field = _field_of(str(first["loc"][0]))
        faults = error.error_count()
    except UnreadableSecret as error:
        raise SettingsError(error.variable, "must name a file that holds the secret") from None
    must_be = Settings.model_fields[field].description
    raise SettingsError(variable_of(field), f"must be {must_be}", faults)


def check_line(settings: Settings) -> None:
    """See that what LINE needs is there.

    Raises:
        SettingsError: LOCAL_LINE_CHANNEL_SECRET or LOCAL_LINE_CHANNEL_TOKEN is not set; one
            sentence names all that are missing.
    """
    needed = ("line_channel_secret", "line_channel_token")
    missing = [variable_of(name) for name in needed if getattr(settings, name) is None]
    if missing:
        raise SettingsError(" and ".join(missing), "must be set to serve LINE", len(missing))


def _field_of(place: str) -> str:
    """Return the field pydantic speaks of; it may name it by its alias."""
    return next(name for name in Settings.model_fields if place in {name, variable_of(name)})


def _split_keys(keys: SecretStr) -> tuple[bytes, ...]:
    return tuple(key.strip().encode() for key in keys.get_secret_value().split(","))
