"""The demo's own settings: nothing of the person's environment gets in."""

from __future__ import annotations

import secrets
from pathlib import Path
from urllib.parse import quote

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from local_agent.settings import Settings

DATABASE = "local.db"
LOG = "local.log"


class DemoSettings(Settings):
    """Settings from arguments alone, so that no key found in the environment is ever used."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read the arguments and nothing else."""
        return (init_settings,)


def demo_settings(database: Path | None, **overrides: object) -> Settings:
    """Return settings of a deployment with its defaults.

    Args:
        database: The store's file; None keeps the store in memory.
        overrides: Fields that this part of the demo sets.
    """
    url = (
        "sqlite+aiosqlite://" if database is None else f"sqlite+aiosqlite:///{quote(str(database))}"
    )
    values: dict[str, object] = {
        "database_url": url,
        # In memory for this run only: no key is left in the report.
        "consent_keys": secrets.token_urlsafe(48),
        "store_keys": secrets.token_urlsafe(48),
        "tenant": "demo",
        **overrides,
    }
    return DemoSettings(**values)  # type: ignore[arg-type]  # checked by pydantic
