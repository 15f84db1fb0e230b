"""Secrets that a platform mounts as files: X_FILE names a file that holds the value of X."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

SUFFIX = "_FILE"


class UnreadableSecret(Exception):
    """A variable names a file of which no secret can be read.

    Attributes:
        variable: The one that names the file.
    """

    def __init__(self, variable: str) -> None:
        super().__init__(f"{variable} names no file that can be read.")
        self.variable = variable


class SecretFiles(PydanticBaseSettingsSource):
    """Reads a secret from the file that its variable with `_FILE` names."""

    def __init__(self, settings: type[BaseSettings], prefix: str) -> None:
        """Read for the secrets of `settings` whose variable begins with `prefix`."""
        super().__init__(settings)
        self._prefix = prefix

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Return the file's content without the line end that editors add; None without a file.

        Raises:
            UnreadableSecret: The file cannot be read, is empty or is no text.
        """
        variable = f"{self._prefix}{field_name.upper()}{SUFFIX}"
        place = os.environ.get(variable, "")
        if not place or field.validation_alias is not None or not _is_secret(field):
            return None, field_name, False
        try:
            content = Path(place).read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            content = ""
        if not content:
            raise UnreadableSecret(variable)
        return content, field_name, False

    def __call__(self) -> dict[str, Any]:
        """Return the values of all files that are named."""
        found = {}
        for name, field in self.settings_cls.model_fields.items():
            value, key, _ = self.get_field_value(field, name)
            if value is not None:
                found[key] = value
        return found


def _is_secret(field: FieldInfo) -> bool:
    return field.annotation is SecretStr or SecretStr in getattr(field.annotation, "__args__", ())
