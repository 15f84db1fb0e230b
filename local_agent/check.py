"""What one look of `local-agent doctor` found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

Status = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Check:
    """What one look found.

    Attributes:
        name: Of the check, as in docs/deploy.md.
        status: `ok`; `warn`, it works here and may not do elsewhere; `fail`, it does not work.
        found: What is there, without any secret or value.
        advice: What to do; empty where there is nothing to do.
    """

    name: str
    status: Status
    found: str
    advice: str = ""

    def as_dict(self) -> dict[str, str]:
        """Return it as plain data."""
        return asdict(self)
