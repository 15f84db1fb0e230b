"""What an id of a person looks like on each channel: a mistyped one names nobody, and is refused.

The forms are those of LINE's Messaging API: ``U``, ``C`` (a group) or ``R`` (a room), then 32
hexadecimal digits in lower case.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Final

from local_agent.line.names import GROUP_PERSON, PERSON

_USER: Final = re.compile(r"U[0-9a-f]{32}")
_CHAT: Final = re.compile(r"[CR][0-9a-f]{32}")
_DIGITS: Final = "32 hexadecimal digits in lower case"
CHANNELS: Final = (PERSON, GROUP_PERSON)
"""Under which channels a person has a pseudonym; in a group they are somebody else."""


def fault_of(channel: str, user: str | None) -> str | None:
    """Return in a sentence what is wrong with a channel or a user's id on it; None for nothing.

    Args:
        channel: As it was typed.
        user: The id; None where there is none to look at. It is not repeated.
    """
    if channel not in CHANNELS:
        near = get_close_matches(channel.casefold(), CHANNELS, n=1)
        known = f"did you mean {near[0]}?" if near else f"there are {' and '.join(CHANNELS)}."
        return f"There is no channel {channel!r}; {known}"
    if user is None:
        return None
    if channel == GROUP_PERSON:
        chat, _, member = user.partition("/")
        if _CHAT.fullmatch(chat) and _USER.fullmatch(member):
            return None
        return (
            f"Somebody in a group or room of LINE is CHAT/USER: C or R and {_DIGITS}, a slash, "
            f"U and {_DIGITS}; this is not."
        )
    if _USER.fullmatch(user):
        return None
    if _CHAT.fullmatch(user):
        return (
            f"This is a chat's id; of somebody in it say --channel {GROUP_PERSON} --user CHAT/USER."
        )
    return f"A user's id on LINE is U and {_DIGITS}; this is not."
