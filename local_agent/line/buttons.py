"""What a button carries, and what a pressed one means. Its data comes back from outside.

Anybody can send a postback of any content, so what is read here is a closed set of shapes; whether
a token is good, and for this person, is asked of the store.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from local_agent.areas import AREAS
from stores.records import TOKEN_MAX

DATA_MAX: Final = 300
"""Longest data of a postback, in characters (LINE Messaging API)."""

_FORM: Final = "local.1"
_TOKEN = re.compile(rf"[!-~]{{1,{TOKEN_MAX}}}")  # visible ASCII
_COUNTY: Final = "-"


class Act(StrEnum):
    """What a press asks for."""

    APPROVE = "approve"
    CANCEL = "cancel"
    INSPECT = "inspect"
    FORGET = "forget"
    PLACES = "places"
    EVENTS = "events"


_WITH_TOKEN = frozenset({Act.APPROVE, Act.CANCEL})
_WITH_TOWN = frozenset({Act.PLACES, Act.EVENTS})


@dataclass(frozen=True)
class Press:
    """A press that has one of our shapes.

    Attributes:
        act: What it asks for.
        token: Of a card; only with approve and cancel.
        town: A town's official name, empty for the county; only with places and events.
    """

    act: Act
    token: str = ""
    town: str = ""


def data_of(press: Press) -> str:
    """Return the data of a button.

    Raises:
        ValueError: It would not be read as the same press; a programming error.
    """
    argument = press.token or press.town or (_COUNTY if press.act in _WITH_TOWN else "")
    data = f"{_FORM} {press.act.value} {argument}".rstrip()
    if read(data) != press:
        raise ValueError("A button must carry one of the known presses.")
    return data


def read(data: str) -> Press | None:
    """Return what a postback's data asks for; None for anything that no button of ours carries."""
    if len(data) > DATA_MAX:
        return None
    form, _, rest = data.partition(" ")
    name, _, argument = rest.partition(" ")
    if form != _FORM or name not in set(Act):
        return None
    act = Act(name)
    if act in _WITH_TOKEN:
        return Press(act, token=argument) if _TOKEN.fullmatch(argument) else None
    if act in _WITH_TOWN:
        if argument == _COUNTY:
            return Press(act)
        return Press(act, town=argument) if argument in AREAS else None
    return None if argument or data != f"{_FORM} {name}" else Press(act)
