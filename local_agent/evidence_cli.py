"""`local-agent evidence`: what an answer was made of, how two differ, whether one can be rebuilt.

For whoever runs the service. What is shown is ids, kinds, sizes and reasons; originals only for
somebody whose names the access lists hold. Only click is imported here, as in `cli`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from local_agent.privacy import (  # the same person, store and time as those commands
    _ask,
    _now,
    _owner,
    _settings,
)

if TYPE_CHECKING:
    from callbacks.evidence.record import GenerationRecord
    from callbacks.evidence.release import ReleaseNote
    from stores.records import Owner
    from stores.whole import WholeStore

Command = Callable[..., Any]


class GenerationUnknown(Exception):
    """There is no record of this id for this person, or it ran out."""

    error_code = "GENERATION_UNKNOWN"

    def __init__(self) -> None:
        """Say so."""
        super().__init__("There is no such generation of this person, or its record ran out.")
        self.numbers: dict[str, int | str] = {}


@click.group()
def evidence() -> None:
    """Show, compare or rebuild what an answer was made of.

    ID is a generation's. Whose it is: --person, a pseudonym, or --user, the channel's own id. The
    store is LOCAL_DATABASE_URL, its keys are LOCAL_STORE_KEYS.

    \b
    Examples:
      local-agent evidence show CG-771-14 --person person-7 --tenant procurement
      local-agent evidence show CG-771-14 --person person-7 --originals --as group:staff
      local-agent evidence diff CG-771-13 CG-771-14 --person person-7
      local-agent evidence replay CG-771-14 --person person-7

    \b
    What a record holds and what it does not: docs/evidence.md.
    """  # noqa: D301 - click reads this escape


def _of_a_person(function: Command) -> Command:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option("--tenant", metavar="NAME", help="Whose people; LOCAL_TENANT by default."),
        click.option(
            "--channel", default="line", show_default=True, metavar="NAME", help="Of --user."
        ),
        click.option("--user", metavar="ID", help="The channel's id, in place of a pseudonym."),
        click.option("--person", metavar="NAME", help="Whose generation it is; a pseudonym."),
    ):
        function = option(function)
    return function


@evidence.command()
@click.argument("generation", metavar="ID")
@_of_a_person
@click.option("--originals", is_flag=True, help="Texts too, of what --as may read.")
@click.option("--as", "names", multiple=True, metavar="NAME", help="A group or person; repeatable.")
@click.option("--prov", is_flag=True, help="Print it as W3C PROV-JSON; needs the extra evidence.")
def show(
    *,
    generation: str,
    as_json: bool,
    originals: bool,
    names: tuple[str, ...],
    prov: bool,
    **who: str | None,
) -> None:
    """Show what a generation was made of: ids, kinds, sizes and reasons, and what became of it.

    \b
    Examples:
      local-agent evidence show CG-771-14 --person person-7
      local-agent evidence show CG-771-14 --person person-7 --prov
    """  # noqa: D301 - click reads this escape
    from callbacks.evidence.provenance import prov_json  # noqa: PLC0415 - imports pydantic

    if originals and not names:
        raise click.UsageError("Originals are shown to somebody: say whose names, by --as.")
    record, note, texts = _read(generation, who, texts=originals)
    if prov:
        click.echo(prov_json(record, note))
        return
    told = _told(record, note)
    if originals:
        told |= _originals(record, texts, names)
    if as_json:
        click.echo(json.dumps(told, ensure_ascii=False, indent=2))
        return
    for line in _lines(told):
        click.echo(line)


@evidence.command()
@click.argument("generation", metavar="ID")
@click.argument("other", metavar="OTHER")
@_of_a_person
def diff(*, generation: str, other: str, as_json: bool, **who: str | None) -> None:
    """Show what differs between two generations: claims, evidence, sizes.

    \b
    Example:
      local-agent evidence diff CG-771-13 CG-771-14 --person person-7
    """  # noqa: D301 - click reads this escape
    from callbacks.evidence.comparing import compare_records  # noqa: PLC0415 - imports pydantic

    before, _, _ = _read(generation, who)
    after, _, _ = _read(other, who)
    found = compare_records(before, after)
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False, indent=2))
        return
    for name, value in found.items():
        rows = value if isinstance(value, list) else [value]
        for row in rows or ["-"]:
            click.echo(f"{name:<16} {_flat(row)}")


@evidence.command()
@click.argument("generation", metavar="ID")
@_of_a_person
def replay(*, generation: str, as_json: bool, **who: str | None) -> None:
    """Make a generation's packet again from the store alone, and compare every byte.

    No source is asked and nothing is chosen anew. The exit status is 0 only if the bytes are those
    that were recorded.

    \b
    Example:
      local-agent evidence replay CG-771-14 --person person-7
    """  # noqa: D301 - click reads this escape
    from callbacks.evidence.record import rebuild  # noqa: PLC0415 - imports pydantic

    record, _, texts = _read(generation, who, texts=True)
    packet = rebuild(record, texts.__getitem__)
    told = {
        "generation": record.id,
        "equal": packet.sha256 == record.packet_sha256,
        "sha256": packet.sha256,
        "bytes": len(packet.text.encode("utf-8")),
    }
    if as_json:
        click.echo(json.dumps(told))
        return
    click.echo(f"generation       {record.id}")
    click.echo(f"rebuilt          {told['bytes']} bytes, equal")
    click.echo(f"sha256           {packet.sha256}")


def _read(
    generation: str, who: Mapping[str, str | None], *, texts: bool = False
) -> tuple[GenerationRecord, ReleaseNote | None, Mapping[str, bytes]]:
    """Return a record, what became of it, and its originals if they are asked for.

    Raises:
        GenerationUnknown: There is none.
    """
    from callbacks.evidence.record import GenerationRecord  # noqa: PLC0415 - imports pydantic
    from callbacks.evidence.release import SUFFIX, ReleaseNote  # noqa: PLC0415 - imports pydantic

    settings = _settings()
    owner: Owner = _owner(
        settings,
        person=who.get("person"),
        user=who.get("user"),
        channel=who.get("channel"),
        tenant=who.get("tenant"),
    )

    async def read(store: WholeStore) -> tuple[bytes | None, bytes | None, Any]:
        now_ms = _now()
        kept = await store.generation(owner, generation, now_ms=now_ms)
        note = await store.generation(owner, generation + SUFFIX, now_ms=now_ms)
        found = await store.originals(owner, generation, now_ms=now_ms) if texts else None
        return kept, note, found

    kept, note, found = _ask(settings, read)
    if kept is None or (texts and found is None):
        raise GenerationUnknown
    return (
        GenerationRecord.from_json(kept),
        None if note is None else ReleaseNote.from_json(note),
        found or {},
    )


def _told(record: GenerationRecord, note: ReleaseNote | None) -> dict[str, Any]:
    return {
        "generation": record.id,
        "outcome": record.spec.outcome.value,
        "plan_revision": record.spec.plan.revision,
        "claims": [
            {"id": one.claim, "outcome": one.outcome.value,
             "items": [placed.item for placed in one.items]}
            for one in record.spec.sections
        ],
        "unknowns": [one.id for one in record.spec.unknowns],
        "conflicts": [one.id for one in record.spec.conflicts],
        "items": [
            {"id": one.id, "kind": one.kind, "channel": one.channel, "sha256": one.sha256,
             "derived_from": list(one.inputs)}
            for one in record.items
        ],
        "blocks": [
            {"id": one.id, "channel": one.channel, "action": one.action.value,
             "reason": one.reason}
            for one in record.blocks()
        ],
        "channels": [
            {"name": name, "units": size, "limit": limit} for name, size, limit in record.sizes
        ],
        "unit": record.unit,
        "counter": record.counter,
        "chosen": record.chosen.as_json(),
        "contract_sha256": record.contract_sha256,
        "config_sha256": record.config_sha256,
        "packet_sha256": record.packet_sha256,
        "release": None if note is None else note.as_json(),
    }  # fmt: skip


def _originals(
    record: GenerationRecord, texts: Mapping[str, bytes], names: tuple[str, ...]
) -> dict[str, Any]:
    from callbacks.evidence.admission import Reader  # noqa: PLC0415 - imports pydantic
    from callbacks.evidence.reopening import reopen  # noqa: PLC0415 - imports pydantic

    found = reopen(record, texts.__getitem__, Reader(frozenset(names)))
    return {
        "originals": [{"id": item.id, "text": item.text} for item in found.items],
        "withheld": found.withheld,
    }


def _lines(told: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    for name, value in told.items():
        rows = value if isinstance(value, list) else [value]
        lines.extend(f"{name:<16} {_flat(row)}" for row in rows)
    return lines


def _flat(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{name}={_flat(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return ",".join(_flat(one) for one in value) or "-"
    return "-" if value in (None, "") else str(value)
