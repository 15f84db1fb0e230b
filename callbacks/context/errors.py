"""What this room refuses, each with a code and with numbers beside the sentence, never in it."""

from collections.abc import Mapping
from typing import ClassVar

from callbacks.context.trace import Block


class ContextError(Exception):
    """A request or a piece of context is refused.

    The message is one sentence without content, so that it may be shown and logged as it is. The
    code is a note beside it: a traceback prints that, and `str` does not.

    Attributes:
        error_code: The machine-readable code.
        numbers: What was measured, expected or named, as data.
        blocks: What the refusal did to each piece of context, where it is known.
    """

    error_code: ClassVar[str] = "CONTEXT_INVALID"
    sentence: ClassVar[str] = "The context is not usable."

    def __init__(
        self,
        message: str = "",
        *,
        numbers: Mapping[str, int | str] | None = None,
        blocks: tuple[Block, ...] = (),
    ) -> None:
        super().__init__(message or self.sentence)
        self.numbers: dict[str, int | str] = dict(numbers or {})
        self.blocks = blocks
        self.add_note(f"error_code: {self.error_code}")


class InvalidSchema(ContextError, ValueError):
    """A schema, slot or topic contradicts itself; raised where it is built, never in a turn.

    What is wrong are its author's own public words, so a traceback names them in notes.
    """

    error_code = "CONTEXT_SCHEMA_INVALID"
    sentence = "The context schema is not usable."

    def __init__(
        self, message: str = "", *, numbers: Mapping[str, int | str] | None = None
    ) -> None:
        super().__init__(message, numbers=numbers)
        for name, value in self.numbers.items():
            self.add_note(f"{name}: {value!r}")


class InvalidSetting(ContextError, ValueError):
    """A limit, unit or number of turns makes no sense; raised where it is given."""

    error_code = "CONTEXT_SETTING_INVALID"
    sentence = "A setting of the context is not usable."


class UnsupportedContext(ContextError):
    """A topic, slot or value is outside the schema (invariant 5)."""

    error_code = "UNSUPPORTED_PUBLIC_CONTEXT"
    sentence = "The context holds something its schema does not admit."


class SchemaChanged(UnsupportedContext):
    """A stored window was written under another schema."""

    sentence = "The context was written under another schema."


class UnitMismatch(ContextError):
    """The counter measures in another unit than the budget (invariant 13)."""

    error_code = "COUNTER_UNIT_MISMATCH"
    sentence = "The counter and the budget do not measure in the same unit."


class CounterFailed(ContextError):
    """The request could not be measured, so it is not sent (invariant 3)."""

    error_code = "COUNT_UNAVAILABLE"
    sentence = "The request could not be measured."


class InvalidCount(ContextError):
    """The counter answered with something that is no count."""

    error_code = "INVALID_COUNTER_RESULT"
    sentence = "The counter's answer is not a whole number of at least zero."


class BudgetExceeded(ContextError):
    """Even the smallest legal request is over the budget."""

    error_code = "CURRENT_AND_RULES_EXCEED_INPUT_BUDGET"
    sentence = "The newest message and the rules alone exceed the input budget."

    def __init__(
        self,
        message: str = "",
        *,
        units: int = 0,
        limit: int = 0,
        unit: str = "",
        blocks: tuple[Block, ...] = (),
    ) -> None:
        """Build the refusal.

        Args:
            message: One sentence, or nothing for the usual one.
            units: Size of the smallest legal request, in ``unit``.
            limit: The budget, in ``unit``.
            unit: ``tokens`` or ``utf8_bytes``.
            blocks: What became of each piece of context.
        """
        super().__init__(message, numbers={"units": units, "limit": limit}, blocks=blocks)
        self.unit = unit
