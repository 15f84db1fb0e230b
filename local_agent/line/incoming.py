"""One LINE event, reduced to what a turn needs; sealed in the inbox until its turn is done."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Kind = Literal[
    "text", "sticker", "location", "image", "video", "audio", "file",
    "postback", "follow", "unfollow", "unsend", "join",
]  # fmt: skip
"""What LOCAL answers or acts on; every other type is acknowledged and dropped."""


class Incoming(BaseModel):
    """An event with its channel's own ids: never logged, never in a prompt.

    Attributes:
        source: The kind of chat.
        chat_id: LINE's id of the chat: the user's own, the group's or the room's.
        user_id: LINE's id of who sent it; None where LINE does not tell.
        text: Of a text message, without the mention of the bot.
        addressed: In a group: the bot was mentioned (isSelf).
        quoted: LINE's id of the message that was quoted.
        data: Of a postback.
        said_at_ms: LINE's timestamp of the event.
        arrived_at_ms: When the gateway got it; a reply token's age is counted from here.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    event_id: str
    kind: Kind
    source: Literal["user", "group", "room"]
    chat_id: str = Field(repr=False)
    user_id: str | None = Field(default=None, repr=False)
    message_id: str | None = None
    text: str = Field(default="", repr=False)
    addressed: bool = False
    quoted: str | None = None
    data: str = Field(default="", repr=False)
    reply_token: str | None = Field(default=None, repr=False)
    said_at_ms: Annotated[int, Field(ge=0)]
    arrived_at_ms: Annotated[int, Field(ge=0)]
    redelivered: bool = False
