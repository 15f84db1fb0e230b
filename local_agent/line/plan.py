"""What a turn is going to say on LINE, before it is sent."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

MOST_MESSAGES = 5
"""Messages in one reply or push (LINE Messaging API)."""


class Plan(BaseModel):
    """Messages in LINE's own JSON form, ready to be sent.

    Attributes:
        messages: One to five message objects (text, flex), with quick replies on the last.
        personal: It holds a value that a person had remembered: it is never stored.
        refused: Nothing was answered: what its turn would leave behind is not kept. Not stored.
        revision: The consent revision it was made under; None where it depends on none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    messages: tuple[dict[str, Any], ...] = Field(min_length=1, max_length=MOST_MESSAGES, repr=False)
    personal: bool = False
    refused: bool = Field(default=False, exclude=True)
    revision: int | None = None
