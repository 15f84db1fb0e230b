"""Typed places for public values: what a context may hold, and in which one form."""

from callbacks.context.slot.base import Slot
from callbacks.context.slot.kinds import (
    ClosedSlot,
    DateSlot,
    GroundedSlot,
    NameSlot,
    NumberSlot,
    PrivateSlot,
    TimeSlot,
    grounded_text,
)

__all__ = [
    "ClosedSlot",
    "DateSlot",
    "GroundedSlot",
    "NameSlot",
    "NumberSlot",
    "PrivateSlot",
    "Slot",
    "TimeSlot",
    "grounded_text",
]
