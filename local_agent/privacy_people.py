"""Whom a command is about: the form of a channel's id, and somebody of whom nothing is held.

A mistyped id is another person's pseudonym, of whom everything is "gone". So an id has the form its
channel gives, and of a stranger it is said that nothing is held. Only click is imported here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from stores.ledger import Inspection
    from stores.records import Owner
    from stores.whole import WholeStore

_USER: Final = "U[0-9a-f]{32}"
"""https://developers.line.biz/en/docs/messaging-api/getting-user-ids/; ids of groups are C and 32,
those of rooms R and 32 of the same: https://developers.line.biz/en/faq/tags/line-platform/."""

_OF_LINE = "U and 32 of the characters 0-9 and a-f"


def checked_id(channel: str, user: str | None) -> None:
    """Refuse an unknown channel, and an id that cannot be one of it; the sentence repeats no id.

    Raises:
        click.UsageError: If there is no such channel, or its ids have another form.
    """
    from callbacks.context.nearest import nearest  # noqa: PLC0415 - see the module's docstring
    from local_agent.line.names import GROUP_PERSON, PERSON  # noqa: PLC0415 - imports pydantic

    if channel not in {PERSON, GROUP_PERSON}:
        meant = nearest(channel.strip().lower(), (PERSON, GROUP_PERSON))
        raise click.UsageError(
            f"There is no channel {channel}{meant}; there are {PERSON} and {GROUP_PERSON}."
        )
    if user is None:
        return
    if channel == GROUP_PERSON:
        if not re.fullmatch(f"[CR][0-9a-f]{{32}}/{_USER}", user):
            raise click.UsageError(
                f"Somebody in a group is GROUP/USER: the group's id (C, a room's R, and 32 of the "
                f"characters 0-9 and a-f), a slash and the user's ({_OF_LINE})."
            )
    elif re.fullmatch("[CR][0-9a-f]{32}", user):
        raise click.UsageError(
            "This is the id of a group or room, which is nobody's. Somebody in it is "
            f"--channel {GROUP_PERSON} --user GROUP/USER."
        )
    elif not re.fullmatch(_USER, user):
        raise click.UsageError(f"This is no id of a LINE user, which is {_OF_LINE}.")


async def look(store: WholeStore, owner: Owner, *, now_ms: int) -> Inspection | None:
    """Return what is held of a person; None where values are held that no key here opens."""
    from stores.errors import StoreKeyMissing  # noqa: PLC0415 - see the module's docstring

    try:
        return await store.inspect(owner, now_ms=now_ms)
    except StoreKeyMissing:  # who cannot read it can still take it away
        return None


def is_stranger(held: Inspection | None) -> bool:
    """Tell whether a store has nothing at all under a name, not even a tombstone."""
    return held is not None and held.is_empty and not held.known


def nothing_held(owner: Owner, *, was: bool, named: bool) -> str:
    """Return the sentence for a stranger; it names the tenant, which may be the mistake.

    Args:
        owner: Who was looked for.
        was: Whether something was to be taken away.
        named: Whether they were named by their pseudonym.
    """
    hint = "; a channel's own id is given with --user" if named else ""
    done = ", and nothing was written" if was else ""
    tense = "was" if was else "is"
    return f"nothing {tense} held of this person in the tenant {owner.tenant}{done}{hint}"
