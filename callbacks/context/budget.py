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

    def __post_init__(self) -> None:
        # bool is an int to Python, but True is no limit.
        if type(self.limit) is not int or self.limit < 1:
            raise InvalidSetting("A budget's limit is a whole number of at least one.")
        if self.unit not in UNITS:
            raise InvalidSetting("A budget's unit is tokens or utf8_bytes.")
