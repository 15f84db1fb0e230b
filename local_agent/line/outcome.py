"""What came of asking LINE for something, as a value: nothing here raises."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How a request ended, by what may have happened on LINE's side.

    `UNSURE` and `FAILED` are the two where a message may have been delivered all the same (LINE,
    "Retry failed API requests"); a 429 never was ("Handle HTTP status code 429 errors").
    """

    ACCEPTED = "accepted"
    """2xx."""
    REPEATED = "repeated"
    """409: this retry key was accepted before, so the message is out."""
    TOKEN_SPENT = "token_spent"  # noqa: S105 - a name, no secret
    """400: the reply token was used before, is too old, or never was one."""
    REFUSED = "refused"
    """400, 403 and every other 4xx: asking again changes nothing."""
    UNAUTHORIZED = "unauthorized"
    """401: the channel's token is not right; the message itself may be."""
    QUOTA = "quota"
    """429: this month's messages are used up."""
    BUSY = "busy"
    """429: too many requests at once; nothing was done."""
    FAILED = "failed"
    """5xx."""
    UNSURE = "unsure"
    """The request may have arrived and no answer came."""
    UNREACHABLE = "unreachable"
    """No connection was made; nothing was sent."""

    @property
    def accepted(self) -> bool:
        """Whether the message is with LINE."""
        return self in {Verdict.ACCEPTED, Verdict.REPEATED}

    @property
    def maybe(self) -> bool:
        """Whether the message may be with LINE, or not."""
        return self in {Verdict.FAILED, Verdict.UNSURE}

    @property
    def error_code(self) -> str | None:
        """The code for an operator; None where the message is out."""
        return _CODES.get(self)


_CODES = {
    Verdict.TOKEN_SPENT: "LINE_REPLY_TOKEN_SPENT",
    Verdict.REFUSED: "LINE_REFUSED",
    Verdict.UNAUTHORIZED: "LINE_UNAUTHORIZED",
    Verdict.QUOTA: "LINE_QUOTA_USED_UP",
    Verdict.BUSY: "LINE_BUSY",
    Verdict.FAILED: "LINE_FAILED",
    Verdict.UNSURE: "LINE_MAYBE_DELIVERED",
    Verdict.UNREACHABLE: "LINE_UNREACHABLE",
}


@dataclass(frozen=True)
class Outcome:
    """What came of one request.

    Attributes:
        verdict: How it ended.
        status: LINE's HTTP status; None where no answer came.
        message_ids: LINE's ids of the messages that are out, where it told them.
        request_id: LINE's own id of the request, for asking its support; no content.
    """

    verdict: Verdict
    status: int | None = None
    message_ids: tuple[str, ...] = ()
    request_id: str | None = None


@dataclass(frozen=True)
class BotInfo:
    """Who the channel's token belongs to.

    Attributes:
        user_id: The bot's own id: the `destination` of its webhooks.
        basic_id: As people find it, with an @.
        display_name: As people see it.
        chat_mode: `chat` or `bot`.
    """

    user_id: str
    basic_id: str
    display_name: str
    chat_mode: str
