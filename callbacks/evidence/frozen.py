"""The base of every record in this room: strict, frozen, and with one canonical form."""

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from callbacks.evidence.canonical import canonical, digest, read
from callbacks.evidence.errors import EvidenceError

ID_MAX = 128
"""Longest id, in characters."""

ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._:/\-]{0,127}$"

Id = Annotated[str, StringConstraints(pattern=ID_PATTERN)]
"""A name the application gave: ASCII, so that it can stand in a boundary line as it is."""

Scope = tuple[tuple[Id, tuple[str, ...]], ...]
"""Where something holds: dimensions with their values, both sorted; an absent one means everywhere.
"""


class Frozen(BaseModel):
    """A record that does not change, takes nothing extra and converts nothing silently."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

    def as_json(self) -> dict[str, Any]:
        """Return the record as plain data."""
        return self.model_dump(mode="python")

    def canonical(self) -> bytes:
        """Return the record's canonical JSON."""
        return canonical(self.as_json())

    def digest(self) -> str:
        """Return the SHA-256 of the record's canonical JSON, as 64 hex digits."""
        return digest(self.as_json())

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        """Read a record back from JSON bytes.

        Raises:
            EvidenceError: The bytes hold no record of this kind.
        """
        return cls.from_data(read(data))

    @classmethod
    def from_data(cls, data: object) -> Self:
        """Build a record from plain data: lists stand for tuples, text for named values.

        Raises:
            EvidenceError: The data is no record of this kind.
        """
        plain = canonical(data)
        problems = 0
        try:
            return cls.model_validate_json(plain)
        except ValidationError as error:
            problems = error.error_count()
        # Outside the handler: pydantic's error names what it read.
        raise EvidenceError(
            "A record of the evidence has not the form it must have.",
            numbers={"record": cls.__name__, "problems": problems},
        )


def scope_of(values: dict[str, tuple[str, ...]]) -> Scope:
    """Return a scope in its one sorted form."""
    return tuple((name, tuple(sorted(set(members)))) for name, members in sorted(values.items()))


def covers(scope: Scope, asked: dict[str, str]) -> bool:
    """Say whether something scoped applies to what is asked; a missing answer is no (fails closed).

    Args:
        scope: Where something holds.
        asked: The task's value in each dimension.
    """
    return all(asked.get(name) in members for name, members in scope)


def overlap(one: Scope, other: Scope) -> bool:
    """Say whether there is a case to which both scopes apply."""
    mine = dict(one)
    return all(
        name not in mine or not set(mine[name]).isdisjoint(members) for name, members in other
    )
