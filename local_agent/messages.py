"""What a person sent, before anything else looks at it."""

from __future__ import annotations


class BadMessage(ValueError):
    """A message that is no usable text.

    Attributes:
        error_code: INPUT_NOT_TEXT, INPUT_EMPTY, INPUT_BLANK or INPUT_TOO_LONG.
        numbers: Its length and the limit, in characters, where that is the matter.
    """

    def __init__(self, error_code: str, sentence: str, **numbers: int) -> None:
        super().__init__(sentence)
        self.error_code = error_code
        self.numbers: dict[str, int | str] = dict(numbers)


def read_message(message: object, limit: int) -> str:
    """Return the message as text that can be stored, counted and sent.

    Args:
        message: Whatever the channel got.
        limit: The most characters it may have.

    Raises:
        BadMessage: It is not text (lone surrogates included), empty, blank or too long.
    """
    if not isinstance(message, str):
        raise BadMessage("INPUT_NOT_TEXT", "The message is not text.")
    if not message:
        raise BadMessage("INPUT_EMPTY", "The message is empty.")
    if len(message) > limit:
        raise BadMessage(
            "INPUT_TOO_LONG", "The message is too long.", characters=len(message), limit=limit
        )
    if not any(character.isprintable() and not character.isspace() for character in message):
        raise BadMessage("INPUT_BLANK", "The message is blank.")
    if any("\ud800" <= character <= "\udfff" for character in message):
        raise BadMessage("INPUT_NOT_TEXT", "The message is not valid Unicode text.")
    return message
