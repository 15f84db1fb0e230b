"""A limit and the unit it is measured in."""

from dataclasses import dataclass
from typing import Literal, get_args

from callbacks.context.errors import InvalidSetting

Unit = Literal["tokens", "utf8_bytes"]
UNITS: tuple[str, ...] = get_args(Unit)


@dataclass(frozen=True, slots=True)
class Budget:
    """How large a whole request may be.

    Attributes:
        limit: The largest size that may be sent, in ``unit``; at least 1.
        unit: ``tokens`` or ``utf8_bytes``. The two never mix (invariant 13).

    Raises:
        InvalidSetting: The limit or the unit makes no sense.
    """

    limit: int
    unit: Unit

    @classmethod
    def of(
        cls, *, window: int, output_reserve: int, safety: int = 0, unit: Unit = "tokens"
    ) -> "Budget":
        """Return what a model's window leaves for a request.

        Args:
            window: What the model takes in all, input and output, in ``unit``. You name it: there
                is no table of models here, and no default.
            output_reserve: Kept for the answer, thoughts included.
            safety: Kept free beside that.
            unit: ``tokens`` or ``utf8_bytes``.

        Raises:
            InvalidSetting: A number is no whole number of at least zero, or nothing is left.
        """
        if any(type(part) is not int or part < 0 for part in (window, output_reserve, safety)):
            raise InvalidSetting("A window and its reserves are whole numbers of at least zero.")
        left = window - output_reserve - safety
        if left < 1:
            raise InvalidSetting("The reserves leave nothing of the window for a request.")
        return cls(left, unit)

    def __post_init__(self) -> None:
        # bool is an int to Python, but True is no limit.
        if type(self.limit) is not int or self.limit < 1:
            raise InvalidSetting("A budget's limit is a whole number of at least one.")
        if self.unit not in UNITS:
            raise InvalidSetting("A budget's unit is tokens or utf8_bytes.")
